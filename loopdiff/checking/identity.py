"""Forward against reverse mode by one number: `<w, J v> = <J' w, v>` for weights `w` and directions `v`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from loopdiff.calls.runs import Arguments, ReverseRun, with_copies_of_written
from loopdiff.calls.sweep_entry_points import vjp
from loopdiff.calls.tangents import tangent_run
from loopdiff.errors import DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.specialize.specialization import Specialization

Values = Mapping[str, Any]
TOLERANCES = {"float64": 1e-8, "float32": 1e-3, "float16": 1e-2, "bfloat16": 1e-1}


@immutable
class Identity:
    """Both sides, and the sum of the absolute terms, which rounding errors scale with."""

    forward: float
    reverse: float
    size: float

    @property
    def error(self) -> float:
        """The difference of the sides, relative to the size of their terms."""
        return abs(self.forward - self.reverse) / max(self.size, 1e-30)


def identity_from(weights: Values, tangents: Values, along: Values, gradients: Values) -> Identity:
    """From tangents of the weighted outputs along `along`, and the gradients of their weighted sum."""
    left = [np.sum(paired(w, tangents[n])) for n, w in weights.items()]
    right = [paired(along[n], gradients[n]) for n in along]
    sizes = [np.sum(np.abs(terms)) for terms in right]
    return Identity(float(sum(left)), float(sum(np.sum(terms) for terms in right)), float(sum(sizes)))


def paired(cotangent: Any, tangent: Any) -> np.ndarray:
    """Products whose sum is the change of a real number."""
    return np.real(np.asarray(cotangent, complex) * np.asarray(tangent, complex))


def drawn_like(value: Any, draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """Random numbers of the shape and dtype of `value`."""
    shape, dtype = np.shape(value), np.asarray(value).dtype
    drawn = np.asarray(draw(shape) + 1j * draw(shape) if dtype.kind == "c" else draw(shape))
    return drawn.astype(dtype)[()]


def named_slopes(tangents: Any) -> dict[str, Any]:
    """Tangents by the names of `floating_outputs`."""
    slopes = tangents._asdict()
    if isinstance(slopes.get("result"), tuple):
        slopes |= {f"result_{k}": v for k, v in enumerate(slopes.pop("result"))}
    return slopes


def directions(values: Values, names: Iterable[str], rng: np.random.Generator) -> dict[str, Any]:
    """A random direction of each of `names`, in its type."""
    return {n: drawn_like(values[n], rng.standard_normal) for n in names}


def floating_outputs(result: Any, after: Values, written: frozenset[str]) -> Values:
    """Results (`result`, or `result_0`, ... of a tuple) and written arrays that are floating."""
    found: dict[str, Any] = {n: v for n, v in after.items() if n in written}
    if isinstance(result, tuple):
        found = {f"result_{k}": v for k, v in enumerate(result)} | found
    elif result is not None:
        found = {"result": result} | found
    return {n: np.asarray(v) for n, v in found.items() if np.asarray(v).dtype.name in TOLERANCES or np.iscomplexobj(v)}


def pull(pullback: Any, result: Any, weights: Mapping[str, Any]) -> tuple[Any, ...]:
    """Gradients with the given weights on outputs and zero on the others."""
    cotangents = {n: w for n, w in weights.items() if n in pullback.run.spec.written}
    if result is None:
        return pullback(**cotangents)
    if isinstance(result, tuple):
        seed: Any = tuple(weights.get(f"result_{k}", np.zeros(np.shape(v))) for k, v in enumerate(result))
    else:
        seed = weights.get("result", np.zeros(np.shape(result)))
    return pullback(seed, **cotangents)


def prove(spec: Specialization, run: ReverseRun, args: Arguments) -> bool:
    """Compare the two modes of `spec` at the arguments of a call, which stay as they are.

    Raises DifferentiationError (LD406) with both numbers if they disagree.
    """
    rng = np.random.default_rng(0)
    values = spec.interface.arguments(args)
    result, pullback = vjp(run, with_copies_of_written(spec, args))
    after = spec.interface.arguments(pullback.args)
    outputs = floating_outputs(result, after, spec.written)
    weights = {n: drawn_like(v, lambda shape: rng.uniform(0.5, 1.5, shape)) for n, v in outputs.items()}
    along = directions(values, spec.wrt_of_caller, rng)
    _, tangents = tangent_run(spec).jvp(with_copies_of_written(spec, args), along)
    gradients = dict(zip(along, pull(pullback, result, weights), strict=True))
    found = identity_from(weights, named_slopes(tangents), along, gradients)
    rounded = [np.asarray(v) for n, v in values.items() if n in along]  # derivatives of halves are halves, too
    tolerance = max((TOLERANCES[np.real(v).dtype.name] for v in (*outputs.values(), *rounded)), default=0.0)
    both_undefined = not np.isfinite(found.forward) and not np.isfinite(found.reverse)
    if not (found.error <= tolerance or both_undefined):
        message = (
            f"forward and reverse mode of `{spec.normal.name}` disagree: {found.forward!r} and {found.reverse!r}, of "
            f"terms that add up to {found.size:.3g}"
        )
        raise DifferentiationError(reject("LD406", message, spec.normal.loc))
    return True
