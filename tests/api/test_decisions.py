"""Decisions are those of plain Python, whatever sweep makes them: thresholds that data meet exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from ctypes import CDLL, c_double
from ctypes.util import find_library
from typing import Any

import numpy as np
import pytest

from loopdiff import Differentiable, vectorize_grad
from loopdiff.backends.cpu.threads import pool
from tests.api.thresholds import arguments, function_of, program
from tests.lengths import IS_LONG, each_in_turns

pytestmark = pytest.mark.part(5)
SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {}, "store": {"tape": "store"}, "recompute": {"tape": "recompute"}, "threads": {"parallel": True},
    "cuda": {"target": "cuda-emulated"}, "strict": {"fastmath": False},
}  # fmt: skip
Ways = Callable[[Differentiable, tuple[Any, ...]], Iterator[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def eager_threads() -> Iterator[None]:
    """Threads run loops of any length."""
    pool.word(pool.EAGER).value = 1
    yield
    pool.word(pool.EAGER).value = 0


def ways(f: Differentiable, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The value, and the last argument after it, by all ways of calling the differentiable `f`."""
    calls: tuple[Callable[..., Any], ...] = (
        f,
        lambda *a: f.value_and_grad(*a)[0],
        lambda *a: f.vjp(*a)[0],
        lambda *a: f.jvp(a, {"x": np.ones_like(a[0])})[0],
    )
    for call in calls:
        mine = copied(args)
        yield call(*mine), mine[-1]


def ways_of_jax(f: Differentiable, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The same through JAX, which gives the last argument after it as a second result; `x` is the first one."""
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    wrapped = wrap(f)
    yield wrapped(*copied(args))
    yield jax.value_and_grad(wrapped, has_aux=True)(*copied(args))[0]
    yield jax.jvp(lambda x: wrapped(x, *copied(args[1:])), (args[0],), (np.ones_like(args[0]),))[0]


def all_ways(f: Differentiable, args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield from ways(f, args)
    yield from ways_of_jax(f, args)


def copied(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in args)


def check(
    function: Callable[..., Any],
    settings: dict[str, Any],
    args: tuple[Any, ...],
    decided: np.ndarray | None = None,
    by: Ways = ways,
) -> None:
    """The same decisions, noted in the last argument, and the same value but for the order of sums; to the bit where
    sums keep their order. `decided`: the decisions, if they are not those of Python."""
    mine = copied(args)
    with np.errstate(all="ignore"):
        value = function(*mine)
    for found, after in by(vectorize_grad(wrt=("x",), **settings)(function), args):
        np.testing.assert_array_equal(after, mine[-1] if decided is None else decided)
        np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9)
        if settings == SETTINGS["strict"]:
            assert found == value


def sides(x, n, d):
    s = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1.0)
        r = 0.5
        if t > 0.0:
            r = 1.0
        if t < 0.0:
            r = -1.0
        d[i] = r
        s += r * x[i]
    return s


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_the_middle_of_a_grid(settings: dict[str, Any]) -> None:
    for n in (2, 7, 13, 31, 50, 95):
        check(sides, settings, (np.random.default_rng(n).random(n), n, np.zeros(n)))


@pytest.mark.parametrize(("seed", "name"), each_in_turns(range(12 if IS_LONG else 6), (*SETTINGS,)), ids=str)
def test_random_programs(seed: int, name: str) -> None:
    """A long run goes through JAX, too."""
    f = function_of(program(seed), f"thresholds {seed}")
    for n in (7, 11, 37):
        check(f, SETTINGS[name], arguments(seed * 7 + n, n), by=all_ways if IS_LONG else ways)


def in_steps(x, d):
    n = x.shape[0]
    w = np.empty(n)
    for i in range(n):
        w[i] = 0.1
        w[i] = w[i] + 0.2 - 0.3 * (i % 2)
    s = 0.0
    for i in range(n):
        t = 0.1
        t = t + 0.2 - 0.3
        t += x[i] * 0.0
        d[i] = (1.0 if t == 0.0 else 2.0) + (4.0 if w[i] + 0.0 * x[i] == 0.0 else 8.0)
        s += x[i] * t
    return s


def handed_on(x, d):
    t = 0.0
    s = 0.0
    for i in range(x.shape[0]):
        t = t + 0.1 + 0.2 * x[i]
        if t >= 0.3:
            t -= 0.3
            s += x[i]
        d[i] = np.floor(t / 0.1)
    k = 0
    e = 0.0
    while e < 1.0:
        e += 0.1
        k += 1
    d[0] = k
    return s * e


@pytest.mark.parametrize(
    ("name", "function"), each_in_turns(("auto", "recompute", "cuda", "strict"), (in_steps, handed_on))
)
def test_sums_in_several_steps(function: Callable[..., Any], name: str) -> None:
    """`0.1 + 0.2 - 0.3` is not zero, and `0.1 + (0.2 - 0.3)` is not `0.1 + 0.2 - 0.3`."""
    check(function, SETTINGS[name], (np.array([0.5, 0.25, -0.5, 1.0, 0.0, 0.5, 0.5, 0.75, 0.1]), np.zeros(9)))


FUNCTIONS = (
    "exp(t)", "log(t)", "sin(t)", "cos(t)", "tan(t)", "tanh(t)", "sinh(t)", "cosh(t)", "asin(0.1 * t)",
    "acos(0.1 * t)", "atan(t)", "atan2(t, -0.7)", "expm1(t)", "log1p(t)", "log10(t)", "log2(t)", "erf(t)",
    "erfc(t)", "sqrt(t)", "asinh(t)", "atanh(0.1 * t)", "acosh(1.0 + t)",
    "pow(t, 2.5)", "pow(t, 3)", "pow(t, -2)", "pow(t, 0.5)", "pow(t, i)", "cbrt(t)", "exp2(t)",
)  # fmt: skip


# Python has formulas of its own for them, compiled code those of the C library: how that calls them, and with what.
OF_LIBRARY = {"hypot(t, 0.3)": ("hypot", 0.3), "gamma(t)": ("tgamma",), "lgamma(t)": ("lgamma",)}


def of_library(t: float, name: str, *others: float) -> float:
    """What the function `name` of the C library makes of `t`."""
    function = CDLL(find_library("m"))[name]
    function.restype = c_double
    return function(*map(c_double, (t, *others)))


def functions(calls: tuple[str, ...]) -> Callable[..., Any]:
    """Functions of numbers, each with a decision on its value, which is noted to the bit."""
    lines = ["def f(x, d):", "    s = 0.0", "    for i in range(x.shape[0]):", "        t = x[i]"]
    for k, call in enumerate(calls):
        lines += [f"        u{k} = math.{call}", f"        d[i, {k}] = u{k} if u{k} > -100.0 else 0.0"]
    return function_of("\n".join([*lines, "        s += t", "    return s", ""]), f"{len(calls)} functions")


# Threads run what one alone would: the two have different functions, but in a long run.
ONE, SEVERAL = (FUNCTIONS, FUNCTIONS) if IS_LONG else (FUNCTIONS[1::2], FUNCTIONS[::2])


@pytest.mark.parametrize(
    ("name", "calls"), [("auto", ONE), ("threads", SEVERAL), ("cuda", FUNCTIONS), ("strict", FUNCTIONS)]
)
def test_functions_that_decide_have_one_implementation(name: str, calls: tuple[str, ...]) -> None:
    """That of the C library, which is mostly Python's, on every target, in vectors or not: to the bit."""
    x, f = np.random.default_rng(0).random(61) * 2.9 + 0.1, functions((*calls, *OF_LIBRARY))
    decided = np.zeros((61, len(calls) + len(OF_LIBRARY)))
    f(x, decided)
    own = np.array([[of_library(t, *call) for call in OF_LIBRARY.values()] for t in x])
    np.testing.assert_allclose(own, decided[:, len(calls) :], rtol=1e-11)
    decided[:, len(calls) :] = own
    check(f, SETTINGS[name], (x, np.zeros(decided.shape)), decided)


def edges(x, y, d):
    s = 0.0
    for i in range(x.shape[0]):
        t = x[i] * x[i]
        t -= y[i] * y[i]
        d[i] = np.sqrt(x[i] * x[i] - y[i] * y[i]) + (0.0 if math.sqrt(t) == 0.0 else 1.0)
        s += np.sqrt(x[i] * x[i] - y[i] * y[i])
    return s


@pytest.mark.parametrize("settings", [SETTINGS["auto"], SETTINGS["cuda"]], ids=["auto", "cuda"])
def test_differences_that_are_zero_have_roots(settings: dict[str, Any]) -> None:
    x = np.arange(1.0, 30.0) * 0.1
    check(edges, settings, (x, x.copy(), np.zeros(29)))


def test_through_jax() -> None:
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    jax.config.update("jax_enable_x64", True)

    def f(x):
        n = x.shape[0]
        d = np.zeros(n)
        return sides(x, n, d)

    wrapped, strict = wrap(vectorize_grad(f)), wrap(vectorize_grad(fastmath=False)(f))
    for n in (7, 13):
        x = np.random.default_rng(n).random(n)
        value, gradient = jax.value_and_grad(wrapped)(x)
        side = np.sign(-1.0 + 2.0 * np.arange(n) / (n - 1.0))
        np.testing.assert_array_equal(gradient, np.where(side == 0.0, 0.5, side))
        np.testing.assert_allclose(value, f(x), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(wrapped(x), f(x), rtol=1e-12, atol=1e-12)
        assert strict(x) == jax.value_and_grad(strict)(x)[0] == f(x)


def within(z, bound, x, d):
    for i in range(z.shape[0]):
        d[0, i] = abs(z[i]) < bound
        d[1, i] = abs(z[i]) <= bound
        d[2, i] = bound < abs(z[i])
        d[3, i] = bound <= abs(z[i])
        d[4, i] = abs(z[i]) == bound
        d[5, i] = bound != abs(z[i])
        x[i] = z[i].real if abs(z[i]) < bound else 0.0


NUMBERS_OF_ALL_SIZES = (
    0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e-160, 1e-44, 3e-8, 0.1, 1.0, 1e8, 3e38, 1e154, 1e300, 1.7e308, math.inf,
    math.nan,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_distances_on_either_side_of_a_bound(dtype: str) -> None:
    """A bound that lanes meet, or miss by the last bit, and numbers of all sizes."""
    rng = np.random.default_rng(5)
    f, real = vectorize_grad(within, wrt=("x",)), np.zeros(1, dtype).real.dtype.type
    with np.errstate(all="ignore"):
        special = np.array([complex(a, b) for a in NUMBERS_OF_ALL_SIZES for b in NUMBERS_OF_ALL_SIZES]).astype(dtype)
        cases = [(special, bound) for bound in NUMBERS_OF_ALL_SIZES]
        for size in (2.0, 0.3, 1e-3, 5.0):
            around = (size * np.exp(1j * rng.uniform(0.0, 7.0, 203))).astype(dtype)
            cases += [(np.append(special, around), bound) for bound in (size, *np.abs(around[:3]))]
        for z, bound in cases:
            ours, python = ((np.zeros(len(z)), np.zeros((6, len(z)), np.bool_)) for _ in range(2))
            f(z, real(bound), *ours)
            within(z, real(bound), *python)
            np.testing.assert_array_equal(ours[1], python[1])
            np.testing.assert_array_equal(ours[0], python[0])
