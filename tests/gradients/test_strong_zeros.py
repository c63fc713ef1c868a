"""Nothing comes of an adjoint or a tangent that is zero, whatever the partial: at zeros, at the ends of the range, at
infinities and NaN, for each elementary operation, in both modes, in vectors and in scalar code, on both targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

pytestmark = pytest.mark.part(2)
EXTREMES = np.array([0.0, -0.0, 5e-324, 1e-308, 0.5, -3.0, 1.0, 710.0, 1e200, 1e308, -1e308, np.inf, -np.inf, np.nan])
BOTH = ("cpu", "cuda-emulated")


def unary(x, y, z):
    for i in range(x.shape[0]):
        v = x[i]
        y[0, i] = v**2 + v**3 + v * v * v + v * (v * v) + v**-1 + v**0.5 + v**1.5 + v**2.5
        y[1, i] = v / (1.0 + v * v) + (1.0 + v * v) * v + 1.0 / v + v / 3.0
        y[2, i] = abs(v) + max(v, 0.0) + min(v, 1.0, -v) + np.copysign(v, -1.0) + np.clip(v, -1.0, 1.0)
        y[3, i] = np.sqrt(v) + np.cbrt(v) + np.exp(v) + np.exp2(v) + np.expm1(v)
        y[4, i] = np.log(v) + np.log2(v) + np.log10(v) + np.log1p(v)
        y[5, i] = np.sin(v) + np.cos(v) + np.tan(v) + np.arcsin(v) + np.arccos(v)
        y[6, i] = np.sinh(v) + np.cosh(v) + np.arccosh(v) + np.arctanh(v)
        y[7, i] = math.gamma(v) + math.lgamma(v)
        y[8, i] = np.hypot(v, 1.0) + np.arctan2(v, 2.0) + np.fmod(v, 2.0) + v % 2.0 + 2.0**v + np.fmax(v, 1.0)
        z[i] = 2.0 * v


def bounded(x, y, z):
    for i in range(x.shape[0]):
        y[i] = np.tanh(x[i]) + np.arctan(x[i]) + np.arcsinh(x[i]) + math.erf(x[i]) + math.erfc(x[i])
        z[i] = 2.0 * x[i]


def binary(x, w, y, z):
    for i in range(x.shape[0]):
        y[0, i] = x[i] / w[i] + w[i] / x[i]
        y[1, i] = np.hypot(x[i], w[i]) + np.arctan2(x[i], w[i])
        y[2, i] = x[i] ** w[i]
        y[3, i] = np.fmod(x[i], w[i]) + x[i] % w[i] + np.copysign(x[i], w[i])
        y[4, i] = max(x[i], w[i]) + min(x[i], w[i]) + np.fmin(x[i], w[i])
        y[5, i] = np.exp(x[i]) * np.sin(w[i]) + x[i] * x[i] * np.log(w[i])
        z[i] = 2.0 * x[i] + 3.0 * w[i]


def one(x):
    y = x**2 + x * x * x + x / (1.0 + x * x) + np.sin(x) + np.hypot(x, 1.0) + np.exp(x) + np.sqrt(x) + np.tan(x)
    return y, 2.0 * x


@pytest.mark.parametrize("tape", ["store", "recompute"])
@pytest.mark.parametrize("target", BOTH)
def test_what_is_not_seeded_adds_nothing(target: Any, tape: Any) -> None:
    f = vectorize_grad(target=target, tape=tape)(unary)
    x = np.concatenate((EXTREMES, EXTREMES, EXTREMES))
    _, pullback = f.vjp(x, np.zeros((9, x.size)), np.zeros(x.size))
    np.testing.assert_array_equal(pullback(z=np.ones(x.size)).x, 2.0)
    seeds = np.zeros((9, x.size))
    seeds[:, 4] = 1.0  # at 0.5, where some of these functions have no slope; the others are not affected
    np.testing.assert_array_equal(np.delete(pullback(y=seeds).x, 4), 0.0)


@pytest.mark.parametrize("target", BOTH)
def test_bounded_slopes_that_are_not_seeded_add_nothing(target: Any) -> None:
    f = vectorize_grad(target=target)(bounded)
    x = EXTREMES[~np.isnan(EXTREMES)]
    zeros, ones = np.zeros(x.size), np.ones(x.size)
    _, pullback = f.vjp(x, zeros.copy(), zeros.copy())
    np.testing.assert_array_equal(pullback(z=ones).x, 2.0)
    _, tangents = f.jvp((x, zeros.copy(), zeros.copy()), {"x": zeros})
    assert not tangents.y.any()


@pytest.mark.parametrize("target", BOTH)
def test_pairs_that_are_not_seeded_add_nothing(target: Any) -> None:
    f = vectorize_grad(target=target)(binary)
    x, w = (a.ravel() for a in np.meshgrid(EXTREMES, EXTREMES))
    _, pullback = f.vjp(x, w, np.zeros((6, x.size)), np.zeros(x.size))
    found = pullback(z=np.ones(x.size))
    np.testing.assert_array_equal(found.x, 2.0)
    np.testing.assert_array_equal(found.w, 3.0)


@pytest.mark.parametrize("target", BOTH)
def test_what_does_not_move_has_no_tangent(target: Any) -> None:
    x, w = (a.ravel() for a in np.meshgrid(EXTREMES, EXTREMES))
    first = vectorize_grad(target=target)(unary)
    _, tangents = first.jvp((x, np.zeros((9, x.size)), np.zeros(x.size)), {"x": np.zeros(x.size)})
    assert not tangents.y.any()
    assert not tangents.z.any()
    second = vectorize_grad(target=target)(binary)
    along = {"x": np.zeros(x.size), "w": np.zeros(x.size)}
    _, tangents = second.jvp((x, w, np.zeros((6, x.size)), np.zeros(x.size)), along)
    assert not tangents.y.any()
    assert not tangents.z.any()


def test_numbers_in_scalar_code() -> None:
    f = vectorize_grad(one)
    for x in EXTREMES:
        _, pullback = f.vjp(float(x))
        assert pullback((0.0, 1.0)).x == 2.0, x
        assert f.jvp((float(x),), {"x": 0.0})[1].result == (0.0, 0.0), x


def test_adjoints_that_are_zero_by_a_mask() -> None:
    @vectorize_grad
    def masked(x, m):
        s = 0.0
        for i in range(x.shape[0]):
            s += m[i] * (x[i] * x[i] * x[i] + np.sin(x[i]))
        return s

    x = EXTREMES.copy()
    assert not masked.grad(x, np.zeros(x.size)).x.any()


TRUTHS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "x ** 2": (lambda x: x**2, lambda x: 2.0 * x),
    "x ** 3": (lambda x: x**3, lambda x: 3.0 * (x * x)),
    "x * x * x": (lambda x: x * x * x, lambda x: x * x + x * x + x * x),
    "1 / x": (lambda x: 1.0 / x, lambda x: -((1.0 / x) * (1.0 / x))),
    "sqrt": (lambda x: np.sqrt(x), lambda x: 0.5 / np.sqrt(x)),
    "exp": (lambda x: np.exp(x), lambda x: np.exp(x)),
    "log": (lambda x: np.log(x), lambda x: 1.0 / x),
    "sin": (lambda x: np.sin(x), lambda x: np.cos(x)),
    "tanh": (lambda x: np.tanh(x), lambda x: (1.0 - np.tanh(x)) * (1.0 + np.tanh(x))),
    "arctan": (lambda x: np.arctan(x), lambda x: 1.0 / (1.0 + x * x)),
    "abs": (lambda x: abs(x), lambda x: np.where(np.isnan(x), 0.0, np.sign(x))),
    "cosh": (lambda x: np.cosh(x), lambda x: np.sinh(x)),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", TRUTHS)
def test_seeded_slopes_at_extremes(name: str) -> None:
    """A zero is strong; what is seeded has the infinite slope that it has, in both modes."""
    formula, slope = TRUTHS[name]

    def each(x, y):
        for i in range(x.shape[0]):
            y[i] = formula(x[i])

    f = vectorize_grad(each)
    with np.errstate(all="ignore"):
        expected = slope(EXTREMES)
    _, pullback = f.vjp(EXTREMES, np.zeros(EXTREMES.size))
    ones = np.ones(EXTREMES.size)
    np.testing.assert_allclose(pullback(y=ones).x, expected, rtol=1e-14)
    _, tangents = f.jvp((EXTREMES, np.zeros(EXTREMES.size)), {"x": ones})
    np.testing.assert_allclose(tangents.y, expected, rtol=1e-14)


def test_contractions_take_elements_as_they_are() -> None:
    """What is documented as not strong: the other factor of a product, where it is an element."""

    @vectorize_grad
    def product(A, B, C):
        for i in range(A.shape[0]):
            for j in range(B.shape[1]):
                for k in range(B.shape[0]):
                    C[i, j] += A[i, k] * B[k, j]

    rng = np.random.default_rng(0)
    A, B = rng.random((5, 6)), rng.random((6, 7))
    B[2, 3] = np.inf
    _, pullback = product.vjp(A, B, np.zeros((5, 7)))
    finite = np.delete(pullback(C=np.zeros((5, 7))).A, 2, axis=1)
    np.testing.assert_array_equal(finite, 0.0)
