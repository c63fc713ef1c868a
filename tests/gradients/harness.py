"""What the gradient battery asks of a program: outputs, tangents and gradients, as mappings of arrays.

Floating outputs are named after the written array, or `result` (`result_0`, ... for tuples). Weights of
outputs and directions of inputs come from fixed seeds, so every check sees the same numbers.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import scipy.special

from loopdiff import vectorize_grad
from tests.corpus import BY_NAME, ENTRIES, SUITE, Arguments, Entry, carried, cases, found, traps
from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG, every

Values = dict[str, Any]
# All goes through one code generation: these stand for all, in both sweeps those that were wrong once or are delicate.
LONG = frozenset(() if IS_LONG else ("leverage", "tracked", "written_out"))  # minutes in all that they go through
COMPILED = frozenset(e.name for e in (*SUITE, *every(19, ENTRIES))) - LONG
COMPILED_SWEEPS = COMPILED.union(e.name for m in (carried, cases, found, traps) for e in m.ENTRIES)


def decorate(name: str, **settings: Any) -> Any:
    """The function of the entry `name`, decorated."""
    entry = BY_NAME[name]
    return vectorize_grad(wrt=entry.wrt, **settings)(entry.function)


# Once for all tests of a process; `interpreted` ones are to be called in `interpreting()` only.
decorated, interpreted = cache(decorate), cache(decorate)


def is_floating(value: Any) -> bool:
    return np.asarray(value).dtype.kind in "fc"


def is_narrow(entry: Entry) -> bool:
    """Whether some of the arguments have 24 bits of precision."""
    return any(np.asarray(v).dtype in (np.float32, np.complex64) for v in entry.args(0).values())


def outputs_of(entry: Entry, result: Any, args: Arguments) -> Values:
    """Every floating output after a call that returned `result` and left `args` behind."""
    found = named_results(result) | {name: args[name] for name in entry.outputs}
    return {name: np.asarray(value) for name, value in found.items() if is_floating(value)}


def named_results(result: Any) -> Values:
    if result is None:
        return {}
    if isinstance(result, tuple):
        return {f"result_{k}": value for k, value in enumerate(result)}
    return {"result": result}


def run_python(entry: Entry, args: Arguments) -> Values:
    """All outputs of the plain Python function, integer and boolean arrays included."""
    result = entry.function(*args.values())
    return {**named_results(result), **{name: args[name] for name in entry.outputs}}


def run_decorated(entry: Entry, args: Arguments) -> Values:
    """All outputs of the decorated function."""
    result = in_one_language(entry, COMPILED, lambda f: f(*args.values()))
    return {**named_results(result), **{name: args[name] for name in entry.outputs}}


def run_forward_sweep(entry: Entry, args: Arguments) -> Values:
    """All outputs of the forward sweep."""
    result, _ = in_one_language(entry, COMPILED_SWEEPS, lambda f: f.vjp(*args.values()))
    return {**named_results(result), **{name: args[name] for name in entry.outputs}}


def in_one_language(entry: Entry, compiled: frozenset[str], call: Callable[[Any], Any]) -> Any:
    """`call` of the decorated entry: compiled if it is one of `compiled`, else interpreted."""
    if entry.name in compiled:
        return call(decorated(entry.name))
    with interpreting():
        return call(interpreted(entry.name))


def weights(outputs: Values, seed: int) -> Values:
    """A cotangent for every output."""
    rng = np.random.default_rng([seed, 1])
    return {name: weight_like(v, rng) for name, v in sorted(outputs.items())}


def weight_like(value: Any, rng: np.random.Generator) -> Any:
    drawn = rng.uniform(0.5, 1.5, np.shape(value))
    turned = drawn * (1.0 + 1j * rng.uniform(-1.0, 1.0, np.shape(value))) if value.dtype.kind == "c" else drawn
    return turned.astype(value.dtype)[()]


def direction(entry: Entry, args: Arguments, seed: int) -> Values:
    """A tangent for every differentiated argument."""
    rng = np.random.default_rng([seed, 2])
    found: Values = {}
    for name in entry.wrt:
        drawn = rng.standard_normal(np.shape(args[name]))
        value = args[name]
        if np.iscomplexobj(value):
            drawn = drawn + 1j * rng.standard_normal(np.shape(value))
        found[name] = drawn.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(drawn)
    return found


def inner(left: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """The dot product over all names of `right`; of complex values as cotangents and tangents pair."""
    return math.fsum(float(np.sum(product(left[k], v))) for k, v in right.items())


def product(left: Any, right: Any) -> np.ndarray:
    return np.real(np.asarray(left, complex) * np.asarray(right, complex))


def magnitude(left: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """Sum of the absolute terms of `inner`: what rounding errors scale with."""
    return math.fsum(float(np.sum(np.abs(product(left[k], v)))) for k, v in right.items())


def pull_back(entry: Entry, args: Arguments, weight: Values | None = None, seed: int = 0) -> Values:
    """Gradients by reverse mode with `weight` (default: drawn) on outputs, from a pullback called twice."""

    def gradients(function: Any) -> Values:
        result, pullback = function.vjp(*args.values())
        given = weights(outputs_of(entry, result, args), seed) if weight is None else weight
        seeds = seeds_of(result, given)
        cotangents = {name: given[name] for name in entry.outputs if name in given}
        first = pullback(*seeds, **cotangents)
        kept = {name: np.array(value, copy=True) for name, value in zip(entry.wrt, first, strict=True)}
        second = pullback(*seeds, **cotangents)
        for name, value in zip(entry.wrt, second, strict=True):
            np.testing.assert_array_equal(value, kept[name], err_msg=f"second pullback, {name}")
        return kept

    return in_one_language(entry, COMPILED_SWEEPS, gradients)


def seeds_of(result: Any, weight: Values) -> tuple[Any, ...]:
    """The positional argument of the pullback, if the function returns anything floating."""
    if result is None:
        return ()
    if isinstance(result, tuple):
        return (tuple(weight.get(f"result_{k}", np.zeros(np.shape(v))) for k, v in enumerate(result)),)
    return (weight.get("result", 0.0),)


def push_forward(entry: Entry, args: Arguments, along: Values) -> Values:
    """Tangents of all floating outputs by forward mode."""
    result, tangents = in_one_language(entry, COMPILED, lambda f: f.jvp(tuple(args.values()), along))
    names = [k for k, v in named_results(result).items() if is_floating(v)]
    names += [k for k in entry.outputs if is_floating(args[k])]
    found = tangents._asdict()
    slopes = named_results(found.pop("result", None)) | found
    return {name: np.asarray(slopes[name]) for name in names}


def difference(entry: Entry, seed: int, along: Values, step: float = 1e-4) -> Values:
    """Tangents of the plain Python function by fourth-order central differences."""

    def shifted(amount: float) -> Values:
        args = entry.args(seed)
        for name, v in along.items():
            moved = args[name] + amount * v
            args[name] = (
                np.asarray(moved, args[name].dtype) if isinstance(args[name], np.ndarray) else type(args[name])(moved)
            )
        return outputs_of(entry, entry.function(*args.values()), args)

    near, far = (shifted(step), shifted(-step)), (shifted(2 * step), shifted(-2 * step))
    return {k: (8 * (near[0][k] - near[1][k]) - (far[0][k] - far[1][k])) / (12 * step) for k in near[0]}


def complex_step(entry: Entry, seed: int, along: Values, step: float = 1e-30) -> Values:
    """Tangents of the plain Python function run on complex arrays: exact to rounding where it is analytic."""
    args = entry.args(seed)
    floating = {k: v for k, v in args.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
    args.update({k: v.astype(complex) for k, v in floating.items()})
    for name, v in along.items():
        args[name] = args[name] + 1j * step * v
        if name in floating:
            args[name] = np.asarray(args[name])
    result = on_complex_numbers(entry.function)(*args.values())
    return {k: np.imag(v) / step for k, v in outputs_of(entry, result, args).items()}


def on_complex_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the analytic continuations of the functions of `math`."""
    assert isinstance(function, FunctionType)
    shim = ModuleType("math")
    shim.__dict__.update(vars(math))
    for name in ("sqrt", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
        setattr(shim, name, getattr(np, name))
    setattr(shim, "erf", scipy.special.erf)  # noqa: B010
    names = {**function.__globals__, "math": shim}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


def oracle_outputs(entry: Entry, args: Arguments, xp: Any = np) -> Values:
    """What the entry's oracle says, under the names of outputs."""
    assert entry.oracle is not None
    found = dict(entry.oracle(xp, **args))
    return named_results(found.pop("result", None)) | found


# Gradients of oracles as JAX compiles them, by the name of the entry and the arguments that are not differentiated.
JAX_GRADIENTS: dict[tuple[str, bytes], Any] = {}


def jax_gradient(entry: Entry, seed: int, weight: Values, size: str | None = None) -> Values:
    """Gradients by `jax.grad` of the entry's oracle, weighted like the outputs: one weight for each of them."""
    import jax
    import jax.numpy as jnp

    assert set(weight) == set(oracle_outputs(entry, entry.args(seed, size)))

    args = entry.args(seed, size)
    rest = {k: v for k, v in args.items() if k not in entry.wrt}

    def loss(active: Values, weight: Values) -> Any:
        found = oracle_outputs(entry, {k: active.get(k, rest.get(k)) for k in args}, jnp)
        return sum(jnp.sum(w * found[name]).real for name, w in weight.items())

    active = {k: jnp.asarray(args[k]) for k in entry.wrt}
    gradient = JAX_GRADIENTS.setdefault((entry.name, pickle.dumps(rest)), jax.jit(jax.grad(loss)))
    return {k: np.asarray(v) for k, v in gradient(active, weight).items()}
