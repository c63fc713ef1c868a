"""One benchmark of NPBench at one size, in a process of its own: what `npbench.py` puts together.

The loss that is differentiated is the sum of the outputs times weights. Gradients are compared with JAX's, and where
JAX has none with differences of the NumPy source, before anything is timed.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import math
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import limited
import numpy as np
from npbench_kernels import Benchmark, Outputs, copies, error, module_at, outputs_of, unjitted, weights_of
from timing import Call, paired

from loopdiff import LoopdiffError, vectorize_grad

# Of values and gradients, in units of the largest element.
TOLERANCE = {"float64": 1e-7, "complex128": 1e-7, "float32": 2e-3, "complex64": 2e-3}
OF_DIFFERENCES = 1e-4  # what differences of a function say of its gradient
STEPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
FORMS = {"numpy": "NumPy source", "numba_n": "loop form"}
Said = Callable[[str], None]
Gradient = Callable[[], Any]
Row = dict[str, Any]


def rows(task: Mapping[str, Any], trying: Said) -> Iterator[Row]:
    """What is known of the benchmark, piece by piece."""
    sys.dont_write_bytecode = True  # the checkout is somebody else's
    trying("making the arguments")
    at = Benchmark(Path(task["path"]), task["name"], task["size"])
    yield {"arguments": len(at.args)}
    limited.forget_peak()
    own: Own | None = None
    for variant, form in FORMS.items():
        trying(f"compiling the {form}")
        start = time.process_time()
        try:
            own = Own(at, vectorize_grad(cache=False)(unjitted(at.function(variant))))
        except LoopdiffError as refused:
            yield {f"refused {variant}": codes(refused)}
            continue
        yield {"form": form, **spent("value", start)}
        trying("compiling value and gradient")
        yield own.compile_gradient(start)
        break
    if own is None:
        return
    trying("running the NumPy source")
    check("value", own.outputs.all, own.expected.all)
    yield from time_values(at, own, trying, task["budget"])
    if own.wrt:
        yield from time_gradients(at, own, trying, task)


def codes(refused: LoopdiffError) -> str:
    return ", ".join(dict.fromkeys(refused.codes))


def spent(what: str, start: float) -> Row:
    """CPU seconds since `start`, and the most memory that there ever was."""
    return {f"{what}_seconds": time.process_time() - start, f"{what}_memory": limited.peak_megabytes()}


def check(what: str, found: Sequence[Any], want: Sequence[Any]) -> None:
    """Raise ValueError where what was found is not what was wanted: zeros up to roundings of the largest of all."""
    least = 1e-9 * max((float(np.nanmax(np.abs(b), initial=0.0)) for b in want), default=0.0) + 1e-300
    for a, b in zip(map(np.asarray, found), map(np.asarray, want), strict=True):
        if (lost := int(np.isnan(b).sum())) and not np.isnan(a).any():
            raise ValueError(f"the {what} has {lost} NaN where ours has none")
        if not (off := error(a, b, least)) <= TOLERANCE.get(a.dtype.name, 0.0):
            raise ValueError(f"the {what} is off by {off:.1e}")


def said(failed: Exception) -> str:
    return f"{type(failed).__name__}: {' '.join(str(failed).split())[:160]}"


class Own:
    """loopdiff's function `f` of a benchmark, compiled, and its gradient by the arguments at `wrt`.

    `weights` are what outputs count in the loss, None for those that do not. Raises LoopdiffError where `f` is refused.
    """

    def __init__(self, at: Benchmark, f: Any) -> None:
        self.at, self.f = at, f
        args = copies(at.args)
        found = outputs_of(f, args, range(len(args)))
        self.touched = at.changed(args)
        self.written = [k for k in at.outputs if k in self.touched]
        if not self.written and not found.results:
            self.written = [*self.touched]
        self.outputs = Outputs(found.results, {k: args[k] for k in self.written})
        self.names = tuple(f.signature.parameters)[: len(args)]
        self.weights = weights_of(self.outputs.all)
        self.wrt: tuple[int, ...] = ()

    def run(self, function: Callable[..., Any], args: Sequence[Any] | None = None) -> Outputs:
        """What another function for the same thing computes; it may return what it leaves in arguments as well."""
        found = outputs_of(function, copies(self.at.args) if args is None else args, self.written)
        return Outputs(found.results[: len(self.outputs.results)], found.written)

    @cached_property
    def expected(self) -> Outputs:
        """What the NumPy source computes."""
        return self.run(self.at.function("numpy"))

    def caller(self, function: Callable[..., Any]) -> Callable[[], Any]:
        """Calls of `function` with arguments of their own, restored before every call."""
        args = copies(self.at.args)

        def call() -> Any:
            for k in self.touched:
                np.copyto(args[k], self.at.args[k])
            return function(*args)

        return call

    def compile_gradient(self, start: float) -> Row:
        """What that took since `start`, or why there is no gradient."""
        if all(w is None for w in self.weights):
            return {"no gradient": "integers"}
        try:
            found = self.caller(self.pulled_back)()
        except LoopdiffError as refused:
            return {"no gradient": codes(refused)}
        self.wrt = tuple(self.names.index(n) for n in found._fields)
        return spent("gradient", start)

    def pulled_back(self, *args: Any) -> Any:
        """The gradients by `vjp`."""
        _, pullback = self.f.vjp(*args)
        seeds = [np.zeros_like(r) if w is None else w for r, w in zip(self.outputs.results, self.weights, strict=False)]
        seed = () if not seeds else (seeds[0] if len(seeds) == 1 else tuple(seeds),)
        written = zip(self.outputs.written, self.weights[len(seeds) :], strict=True)
        return pullback(*seed, **{self.names[p]: w for p, w in written if w is not None})

    @cached_property
    def loss(self) -> Callable[..., Any]:
        """A function of the arguments that gives the loss and its gradients, by `value_and_grad`."""
        count, names = len(self.outputs.results), [f"result_{k}" for k in range(len(self.outputs.results))]
        call = f"program({', '.join(self.names)})"
        values = [*names, *(self.names[p] for p in self.outputs.written)]
        used = [k for k, w in enumerate(self.weights) if w is not None]
        terms = [term(f"weight_{k}", values[k], self.outputs.all[k]) for k in used]
        lines = [
            f"def loss({', '.join([*self.names, *(f'weight_{k}' for k in used)])}):",
            f"    {', '.join(names)} = {call}" if count else f"    {call}",
            f"    return {' + '.join(terms)}",
        ]
        made = module_of("\n".join(lines))
        vars(made)["program"] = self.f.__wrapped__
        f = vectorize_grad(wrt=[self.names[k] for k in self.wrt], cache=False)(made.loss)
        weights = [w if w.ndim else w.item() for w in (self.weights[k] for k in used) if w is not None]
        return lambda *args: f.value_and_grad(*args, *weights)[1]


def term(weight: str, value: str, like: np.ndarray) -> str:
    """An output's share of the loss, as text."""
    product = f"({weight} * {value}).real" if np.iscomplexobj(like) else f"{weight} * {value}"
    return f"np.sum({product})" if like.ndim else product


def module_of(text: str) -> ModuleType:
    """A module of `text`, in a file that is gone when this process ends."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "written.py").write_text(f"import numpy as np\n\n\n{text}\n")
    return module_at("written", folder / "written.py")


def time_values(at: Benchmark, own: Own, trying: Said, budget: float) -> Iterator[Row]:
    """Seconds of the value, in turns with NPBench's variant for Numba."""
    candidates: dict[str, Call] = {"value": own.caller(own.f)}
    trying("Numba")
    try:
        function = at.function("numba_n")
        start = time.process_time()
        found = own.run(function)
        yield {"numba_seconds": time.process_time() - start}
        check("value of Numba", found.all, own.expected.all)
        candidates["numba"] = own.caller(function)
    except Exception as failed:  # of a peer: the row says so
        yield {"no numba": said(failed)}
    trying("timing the value")
    yield {name: t.median for name, t in paired(candidates, budget).items()}


def time_gradients(at: Benchmark, own: Own, trying: Said, task: Mapping[str, Any]) -> Iterator[Row]:
    """Seconds of value and gradient, in turns with NPBench's variant for JAX, once both are right."""
    vjp = own.caller(own.pulled_back)
    candidates: dict[str, Gradient] = {}
    trying("JAX")
    try:
        start = time.process_time()
        peer = jax_gradient(at, own, task)
        expected = peer()
        yield {"jax_seconds": time.process_time() - start}
        candidates["jax"] = peer
    except Exception as failed:  # of a peer: the row says so
        expected = None
        yield {"no jax": str(failed) if isinstance(failed, ImportError) else said(failed)}
    trying("checking the gradient")
    try:
        check("gradient", vjp(), vjp() if expected is None else expected)
    except ValueError as other:  # JAX's variant may be another function, which has the same value at these arguments
        expected = None
        del candidates["jax"]
        yield {"no jax": said(other)}
    yield {"checked": "JAX" if expected is not None else by_slopes(at, own, vjp())}
    candidates["vjp"] = vjp
    trying("compiling the loss")
    try:
        loss = own.caller(own.loss)
        check("gradient of the loss", loss(), vjp())
        candidates["value_and_grad"] = loss
    except LoopdiffError as refused:
        yield {"no loss": codes(refused)}
    trying("timing value and gradient")
    yield {name: t.median for name, t in paired(candidates, task["budget"]).items()}


def jax_gradient(at: Benchmark, own: Own, task: Mapping[str, Any]) -> Gradient:
    """Calls of NPBench's variant for JAX. Raises ImportError where there is no JAX, or is to be none."""
    if not task["jax"]:
        raise ImportError(task["why"])
    if importlib.util.find_spec("jax") is None:
        raise ImportError("not installed")
    from npbench_jax import gradient_of

    return gradient_of(at, own)


def by_slopes(at: Benchmark, own: Own, gradients: Sequence[Any]) -> str:
    """What the gradients were checked by, along one direction: differences of the NumPy source, or forward mode where
    the function jumps. Raises ValueError where neither finds the same slope.
    """
    rng = np.random.default_rng(1)
    directions = [rng.standard_normal(np.shape(at.args[k])) for k in own.wrt]
    slope = sum(float(np.sum(g * v).real) for g, v in zip(gradients, directions, strict=True))

    def off(other: float) -> float:
        return abs(other - slope) / max(abs(other), abs(slope), 1e-300)

    found = min(map(off, differences(at, own, directions)), default=math.inf)
    if found <= OF_DIFFERENCES:
        return f"differences, {found:.0e}"
    found = off(tangent(at, own, directions))
    if not found <= OF_DIFFERENCES:
        raise ValueError(f"neither differences nor forward mode find the slope of the gradient: off by {found:.1e}")
    return f"forward mode, {found:.0e}"


def differences(at: Benchmark, own: Own, directions: Sequence[np.ndarray]) -> Iterator[float]:
    """Slopes of the loss of the NumPy source, by central differences with those steps that do not lead to where it
    raises: from a matrix that is positive definite to one that is not."""
    source = at.function("numpy")

    def loss(step: float) -> float:
        args = list(copies(at.args))
        for k, v in zip(own.wrt, directions, strict=True):
            args[k] = args[k] + step * v
        return weighted(own, own.run(source, args).all)

    for h in STEPS:
        with contextlib.suppress(np.linalg.LinAlgError):
            yield (loss(h) - loss(-h)) / (2 * h)


def tangent(at: Benchmark, own: Own, directions: Sequence[np.ndarray]) -> float:
    """The slope of the loss by forward mode."""
    along = {own.names[k]: v if v.ndim else v.item() for k, v in zip(own.wrt, directions, strict=True)}
    _, found = own.f.jvp(copies(at.args), along)
    count = len(own.outputs.results)
    results = () if not count else (found.result,) if count == 1 else found.result
    return weighted(own, [*results, *(getattr(found, own.names[p]) for p in own.written)])


def weighted(own: Own, outputs: Sequence[Any]) -> float:
    """The loss of outputs, or of their tangents."""
    pairs = zip(own.weights, outputs, strict=True)
    return sum(float(np.sum(w * value).real) for w, value in pairs if w is not None)
