"""Signs of zeros, ties at the ends of the range, and sizes that Python refuses: the same answer in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad

pytestmark = pytest.mark.part(2)
VALUES = (-0.0, 0.0, -0.4, 1.0, -3.0)
BOTH = ("cpu", "cuda-emulated")


def signs(x, y, out):
    for i in range(x.shape[0]):
        out[0, i] = max(x[i], y[i])
        out[1, i] = min(x[i], y[i])
        out[2, i] = np.fmax(x[i], y[i])
        out[3, i] = np.fmin(x[i], y[i])
        out[4, i] = np.clip(x[i], y[i], 1.0)
        out[5, i] = max(x[i], y[i], 0.0)
        out[6, i] = abs(x[i])
        out[7, i] = np.round(x[i])
        out[8, i] = np.trunc(x[i])
        out[9, i] = np.sign(x[i])
        out[10, i] = np.copysign(2.0, x[i])
        out[11, i] = -x[i]
        out[12, i] = x[i] * 0.0
        out[13, i] = x[i] + y[i]
        out[14, i] = np.ceil(x[i])


def number(x, y):
    return max(x, y), min(x, y), abs(x), np.sign(x) + 0.0 * y, -x


def assert_same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected)
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])


@pytest.mark.parametrize("fastmath", [True, False])
@pytest.mark.parametrize("target", BOTH)
def test_signs_of_zeros_are_those_of_python(target: Any, fastmath: bool) -> None:
    x, y = (a.ravel() for a in np.meshgrid(VALUES, VALUES))
    expected = np.zeros((15, x.size))
    signs(x, y, expected)
    f = vectorize_grad(target=target, fastmath=fastmath)(signs)
    calls: list[Callable[[Any], Any]] = [
        lambda out: f(x, y, out),
        lambda out: f.vjp(x, y, out),
        lambda out: f.jvp((x, y, out), {"x": x}),
    ]
    for call in calls:
        found = np.zeros((15, x.size))
        call(found)
        assert_same(found, expected)


def test_signs_in_scalar_code() -> None:
    f = vectorize_grad(number)
    for x in VALUES:
        for y in VALUES:
            expected = np.array(number(x, y))
            assert_same(np.array(f(x, y)), expected)
            assert_same(np.array(f.vjp(x, y)[0]), expected)


@pytest.mark.parametrize("target", BOTH)
def test_fmax_and_fmin_ignore_nan(target: Any) -> None:
    @vectorize_grad(target=target)
    def ignoring(x, y, out):
        for i in range(x.shape[0]):
            out[0, i] = np.fmax(x[i], y[i])
            out[1, i] = np.fmin(x[i], y[i])

    values = (1.0, -2.0, np.nan, np.inf)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    out = np.zeros((2, x.size))
    ignoring(x, y, out)
    np.testing.assert_array_equal(out, [np.fmax(x, y), np.fmin(x, y)])
    found = ignoring.vjp(x, y, np.zeros((2, x.size)))[1](out=np.ones((2, x.size)))
    np.testing.assert_array_equal(found.x + found.y, 2.0)  # each of the two goes to one that is there, or is shared
    assert not found.x[np.isnan(x) & ~np.isnan(y)].any()


@pytest.mark.parametrize("target", BOTH)
def test_whole_negative_powers_at_zero(target: Any) -> None:
    @vectorize_grad(target=target)
    def inverse(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] ** -1 + x[i] ** -2

    y = np.zeros(2)
    inverse(np.array([0.0, 2.0]), y)
    np.testing.assert_array_equal(y, [np.inf, 0.75])
    one = vectorize_grad(lambda x: x**-2)
    assert one(np.float64(0.0)) == np.inf


def test_an_initial_value_takes_part_in_a_tie() -> None:
    @vectorize_grad
    def largest(x):
        m = -np.inf
        for i in range(x.shape[0]):
            m = max(m, x[i])
        return m

    x = np.full(3, -np.inf)
    np.testing.assert_array_equal(largest.grad(x).x, 0.25)
    np.testing.assert_array_equal(largest.jvp((x,), {"x": np.ones(3)})[1].result, 0.75)
    np.testing.assert_array_equal(largest.grad(np.array([1.0, -np.inf, 1.0])).x, [0.5, 0.0, 0.5])


def test_nothing_attains_an_extremum_that_is_nan() -> None:
    """The two modes agree: as in reverse, where no operand equals the result, so forwards, wherever the NaN stands."""

    @vectorize_grad(check="first")
    def extrema(x, low):
        m = -np.inf
        for i in range(x.shape[0]):
            m = max(m, x[i])
        for i in range(x.shape[0]):
            low[i] = min(low[i], x[i])
        return m + x.max()

    for place in range(3):
        x, low = np.array([1.0, 3.0, 2.0]), np.array([2.0, 2.0, 5.0])
        x[place] = np.nan
        assert np.isnan(extrema.grad(x, low.copy())[0]).sum() == 0
        for k in range(3):
            along = np.eye(3)[k]
            tangents = extrema.jvp((x, low.copy()), {"x": along})[1]
            assert tangents.result == 0.0
            expected = np.where((x < low) & (along > 0.0), 1.0, 0.0)
            np.testing.assert_array_equal(tangents.low, expected)
            assert not extrema.vjp(x, low.copy())[1](1.0).x.any()


def array(x, n):
    t = np.zeros(n)
    for i in range(n):
        t[i] = x
    return x * t.sum()


def matrix(x, n):
    t = np.empty((2, n - 1))
    for i in range(n - 1):
        t[0, i] = x
    return x * x


def filled(x, n):
    t = np.full(n, 2.0)
    s = np.ones(n).sum()
    for i in range(n):
        s += t[i]
    return x * s


def product(x, n, m):
    s = 0.0
    for _ in range(n * m):
        s += x
    return s


def difference(x, n, m):
    s = 0.0
    for _ in range(n - m):
        s += x
    return s


SIZES = [
    (array, (-1,), "LD324"),
    (matrix, (0,), "LD324"),
    (filled, (-5,), "LD324"),
    (product, (2**32, 2**32), "LD325"),
    (product, (2**62 + 1, 4), "LD325"),
    (difference, (-(2**63), 2), "LD325"),
]


@pytest.mark.parametrize(("function", "numbers", "code"), SIZES)
def test_sizes_are_refused_in_every_mode(function: Any, numbers: tuple[int, ...], code: str) -> None:
    f = vectorize_grad(function)
    args = (2.0, *numbers)
    k = f.compile(*args)
    calls: list[Callable[[], Any]] = [
        lambda: f(*args),
        lambda: f.value_and_grad(*args),
        lambda: f.grad(*args),
        lambda: f.vjp(*args),
        lambda: f.jvp(args, {"x": 1.0}),
        lambda: k.primal(*args),
        lambda: k.forward(*args, *k.workspace(*args)),
    ]
    for call in calls:
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.codes == (code,)


@pytest.mark.parametrize(("function", "numbers", "code"), SIZES[::3])
def test_sizes_are_refused_through_jax(function: Any, numbers: tuple[int, ...], code: str) -> None:
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    f = wrap(vectorize_grad(function))
    for call in (f, jax.value_and_grad(f)):
        with pytest.raises(Exception, match=code):
            call(2.0, *numbers)
