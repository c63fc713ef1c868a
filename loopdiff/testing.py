"""Checks of derivatives: reverse mode against forward mode, and forward mode against differences."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.api import vectorize_grad
from loopdiff.calls.bound_method import BoundMethod
from loopdiff.checking.identity import (
    directions,
    drawn_like,
    floating_outputs,
    identity_from,
    named_slopes,
    paired,
    pull,
)
from loopdiff.checking.rules import RuleCheckError, check_rule
from loopdiff.differentiable import Differentiable, in_structures
from loopdiff.errors import LoopdiffError
from loopdiff.immutable import immutable
from loopdiff.ir.types import HALVES

__all__ = ["GradientCheckError", "RuleCheckError", "check_grads", "check_rule"]

Values = dict[str, Any]
TOLERANCES = {
    "float64": (1e-10, 1e-6, 1e-5), "float32": (1e-4, 2e-2, 1e-2), "float16": (1e-2, 3e-2, 1e-2),
    "bfloat16": (1e-1, 1e-1, 1e-2),
}  # fmt: skip
SINGLE = {"complex64": "float32"}


class GradientCheckError(LoopdiffError, AssertionError):
    """Derivatives disagree; `report` is the GradientReport."""

    def __init__(self, report: GradientReport) -> None:
        self.report = report
        super().__init__(f"derivatives disagree\n{report}")


@immutable
class PairReport:
    """How far the derivative of `output` by `input` is off, and the entry of `input` where it is most."""

    output: str
    input: str
    reverse: complex
    difference: complex
    error: float
    entry: tuple[int, ...]
    is_good: bool

    def __str__(self) -> str:
        where = f" at {self.input}[{', '.join(map(str, self.entry))}]" if self.entry else ""
        verdict = "ok" if self.is_good else "WRONG"
        return (
            f"{self.output:>12s} by {self.input:<12s} reverse {self.reverse:+.9e}  difference "
            f"{self.difference:+.9e}  error {self.error:.1e}{where}  {verdict}"
        )


@immutable
class GradientReport:
    """One row for each pair of an output and an input, and how well the two modes agree."""

    pairs: tuple[PairReport, ...]
    transpose_error: float
    is_transpose: bool

    @property
    def is_good(self) -> bool:
        return self.is_transpose and all(p.is_good for p in self.pairs)

    def __str__(self) -> str:
        rows = [str(p) for p in self.pairs]
        verdict = "ok" if self.is_transpose else "WRONG"
        return "\n".join([*rows, f"reverse against forward mode: error {self.transpose_error:.1e}  {verdict}"])


@immutable
class Tolerances:
    """Of the two modes against each other, of differences, and the step of the differences."""

    transpose: float
    difference: float
    step: float


def check_grads(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    seed: int = 0,
    entries: int = 8,
    step: float | None = None,
    rtol: float | None = None,
) -> GradientReport:
    """Compare gradients of `f` at `args` with differences of the plain function, and with forward mode.

    Args:
        f: A function made by `vectorize_grad`, or one that it accepts.
        args: Arguments by position. They are copied, not changed.
        seed: Seed of the random cotangents, directions and checked entries.
        entries: How many entries of each input are compared one by one.
        step: Step of the differences, relative to the size of the entry.
        rtol: Tolerance of the differences, relative to the largest derivative of the pair.

    Returns:
        A report with a row for each pair of output and input; of structures, of their leaves.

    Raises:
        GradientCheckError: A derivative is off; the message is the report.
    """
    rng = np.random.default_rng(seed)
    if isinstance(f, BoundMethod):
        f, args = f.__func__, (f.__self__, *args)
    if not isinstance(f, Differentiable):
        f = vectorize_grad(f)
    args = f.arranged(tuple(args), {})
    if (structured := in_structures(f.checked(args))) is not None:
        flat = structured.flat
        args = structured.leaves(args)
        f = Differentiable(structured.plain(f.plain), flat.program, flat.requested, f.options)
    values = dict(zip(f.signature.parameters, args, strict=True))
    tolerances = choose_tolerances(values, step, rtol)
    result, pullback = f.vjp(*copied(values).values())
    spec = pullback.run.spec
    after = copied(values)
    outputs = floating_outputs(f.plain(*after.values()), after, spec.written)
    weights = {n: drawn_like(v, lambda shape: rng.uniform(0.5, 1.5, shape)) for n, v in outputs.items()}
    pairs = [
        compare_pair(f, values, output, name, gradient, rng, entries, tolerances, weights)
        for output in outputs
        for name, gradient in zip(spec.wrt_of_caller, pull(pullback, result, {output: weights[output]}), strict=True)
    ]
    error = transpose_error(f, values, pullback, result, weights, rng)
    report = GradientReport(tuple(pairs), error, error <= tolerances.transpose)
    if not report.is_good:
        raise GradientCheckError(report)
    return report


def choose_tolerances(values: Values, step: float | None, rtol: float | None) -> Tolerances:
    """Those of the type among `values` that has the fewest digits."""
    names = [str(getattr(v, "dtype", "")) for v in values.values()]
    kinds = [SINGLE.get(name, name) for name in names]
    transpose, difference, width = TOLERANCES[next((k for k in reversed(TOLERANCES) if k in kinds), "float64")]
    return Tolerances(transpose, difference if rtol is None else rtol, width if step is None else step)


def copied(values: Mapping[str, Any]) -> Values:
    return {n: copy.copy(v) for n, v in values.items()}


def compare_pair(
    f: Differentiable, values: Values, output: str, name: str, gradient: Any, rng: np.random.Generator,
    entries: int, tolerances: Tolerances, weights: Values,
) -> PairReport:  # fmt: skip
    """The derivative of one weighted output along single entries of one input."""
    gradient = np.asarray(gradient)
    total = gradient.size
    chosen = np.arange(total) if total <= entries else np.sort(rng.choice(total, entries, replace=False))
    scale = max(float(np.max(np.abs(gradient), initial=0.0)), 1e-8)
    worst: tuple[float, tuple[int, ...], complex, complex] = (0.0, (), 0.0, 0.0)
    for flat in chosen:
        entry = tuple(int(k) for k in np.unravel_index(flat, gradient.shape))
        expected: complex = difference(f, values, output, name, entry, tolerances.step, weights[output])
        if np.iscomplexobj(gradient):
            expected -= 1j * difference(f, values, output, name, entry, 1j * tolerances.step, weights[output])
        found = gradient[entry].item()
        error = abs(found - expected) / max(scale, abs(expected))
        if not error <= worst[0]:
            worst = (error, entry, found, expected)
    error, entry, found, expected = worst
    return PairReport(output, name, found, expected, error, entry, bool(error <= tolerances.difference))


def difference(
    f: Differentiable,
    values: Values,
    output: str,
    name: str,
    entry: tuple[int, ...],
    step: complex,
    weight: Any,
) -> float:
    """Fourth-order central difference of the weighted output by one entry of an input, in plain Python.

    An imaginary step is one along the imaginary part. Arrays of halves are widened.
    """
    start = np.asarray(values[name])[entry].item()
    width = step * max(1.0, abs(start))

    def at(shift: complex) -> float:
        args = {n: widened(v) for n, v in copied(values).items()}
        if isinstance(args[name], np.ndarray):
            args[name][entry] = start + shift
        else:
            args[name] = type(values[name])(start + shift)
        result = f.plain(*args.values())
        found = result if output == "result" else args.get(output)
        if output.startswith("result_") and isinstance(result, tuple):
            found = result[int(output.removeprefix("result_"))]
        return float(np.sum(paired(found, weight)))

    return (8 * (at(width) - at(-width)) - (at(2 * width) - at(-2 * width))) / (12 * abs(width))


def widened(value: Any) -> Any:
    """An array of halves as one of float32, in which small steps make a difference."""
    is_half = isinstance(value, np.ndarray) and value.dtype.name in HALVES
    return value.astype(np.float32) if is_half else value


def transpose_error(
    f: Differentiable, values: Values, pullback: Any, result: Any, weights: Values, rng: np.random.Generator
) -> float:
    """`<w, J v> - <J' w, v>` relative to the size of its terms, for random `w` and `v`."""
    along = directions(values, pullback.run.spec.wrt_of_caller, rng)
    _, tangents = f.jvp(tuple(copied(values).values()), along)
    gradients = dict(zip(along, pull(pullback, result, weights), strict=True))
    return identity_from(weights, named_slopes(tangents), along, gradients).error
