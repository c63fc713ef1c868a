"""What a choice leaves out gets nothing, though the slope behind it is infinite: functions at the ends of where they
are defined, behind max, min, clip, where and masks, against closed forms, in both modes and for second derivatives,
with all tape policies, in vectors and scalar code, on both targets and in JAX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.corpus.traps import truncated_variance

pytestmark = pytest.mark.part(2)


def in_loops(x, k, y):
    for i in range(x.shape[0]):
        v = x[i]
        y[0, i] = math.sqrt(max(v, 0.0))
        y[1, i] = math.sqrt(max(v, 0.0, v - 50.0))
        y[2, i] = np.sqrt(np.clip(v, 0.0, 1.0) * 0.1)
        y[3, i] = np.fmax(v, 0.0) ** 0.7
        y[4, i] = np.cbrt(np.fmin(v, 0.0))
        y[5, i] = np.arccos(np.clip(v, -1.0, 1.0))
        y[6, i] = math.asin(min(max(v, -1.0), 1.0))
        y[7, i] = np.arccosh(max(v, 1.0))
        y[8, i] = np.log(max(v, 0.0))
        y[9, i] = 1.0 / max(v, 0.0)
        y[10, i] = np.sqrt(v * (v > 0.0))
        y[11, i] = np.sqrt(np.where(v > 0.0, v, 0.0) * 0.5)
        y[12, i] = np.where(v > 0.0, np.sqrt(v), 0.0)
        y[13, i] = np.sqrt(v) if v > 0.0 else 0.0
        y[14, i] = np.sqrt(max(abs(v) - 0.5, 0.0))
        y[15, i] = np.log1p(max(v, -1.0))
        y[16, i] = np.arctanh(np.clip(v, -1.0, 1.0))
        y[17, i] = np.sqrt(np.hypot(max(v, 0.0), 0.0))
        y[18, i] = 3.0 * np.sqrt(max(v, 0.0)) - np.sqrt(2.0 * max(v, 0.0))
        y[19, i] = np.sqrt(abs(v ** k[i] - 1.0))
        y[20, i] = np.sqrt(max(v, 0.0) * np.exp(v))
        p = 0.0
        if v > 0.0:
            p = v
        y[21, i] = np.sqrt(p)


def root(v: Any) -> Any:
    """The slope of the root of what is positive, and 0 elsewhere."""
    return np.where(v > 0.0, 0.5 / np.sqrt(np.abs(v)), 0.0)


def inside(v: Any, low: float, high: float, slope: Any) -> Any:
    return np.where((v > low) & (v < high), slope(np.clip(v, low + 1e-9, min(high, 99.0) - 1e-9)), 0.0)


SLOPES = (
    root,
    root,
    lambda v: np.where(v < 1.0, math.sqrt(0.1) * root(v), 0.0),
    lambda v: inside(v, 0.0, np.inf, lambda u: 0.7 * u**-0.3),
    lambda v: np.where(v < 0.0, np.abs(v) ** (-2.0 / 3.0) / 3.0, 0.0),
    lambda v: inside(v, -1.0, 1.0, lambda u: -1.0 / np.sqrt(1.0 - u * u)),
    lambda v: inside(v, -1.0, 1.0, lambda u: 1.0 / np.sqrt(1.0 - u * u)),
    lambda v: inside(v, 1.0, np.inf, lambda u: 1.0 / np.sqrt(u * u - 1.0)),
    lambda v: inside(v, 0.0, np.inf, lambda u: 1.0 / u),
    lambda v: inside(v, 0.0, np.inf, lambda u: -1.0 / (u * u)),
    root,
    lambda v: math.sqrt(0.5) * root(v),
    root,
    root,
    lambda v: np.sign(v) * root(np.abs(v) - 0.5),
    lambda v: inside(v, -1.0, np.inf, lambda u: 1.0 / (1.0 + u)),
    lambda v: inside(v, -1.0, 1.0, lambda u: 1.0 / (1.0 - u * u)),
    root,
    lambda v: (3.0 - math.sqrt(2.0)) * root(v),
    lambda v: 0.0 * v,
    lambda v: inside(v, 0.0, np.inf, lambda u: np.exp(0.5 * u) * (0.5 / np.sqrt(u) + 0.5 * np.sqrt(u))),
    root,
)
POINTS = np.array([-3.0, -0.2, 0.25, 0.7, 1.5, -1.25, 2.0, -0.75, 0.4])
PLANS = [("cpu", "store"), ("cpu", "recompute"), ("cuda-emulated", "auto")]


@pytest.mark.parametrize(("target", "tape"), PLANS)
def test_slopes_behind_choices(target: Any, tape: Any) -> None:
    f = vectorize_grad(target=target, tape=tape)(in_loops)
    count = len(SLOPES)
    args = (POINTS, np.zeros(POINTS.size, int), np.zeros((count, POINTS.size)))
    _, pullback = f.vjp(*args)
    _, tangents = f.jvp(args, {"x": np.ones(POINTS.size)})
    for row, slope in enumerate(SLOPES):
        seeds = np.zeros((count, POINTS.size))
        seeds[row] = 1.0
        expected = slope(POINTS)
        np.testing.assert_allclose(pullback(y=seeds).x, expected, rtol=1e-7, err_msg=f"row {row}")
        np.testing.assert_allclose(tangents.y[row], expected, rtol=1e-7, err_msg=f"row {row}, forward")


def whole(x, m, w):
    kept = x > 0.0
    s = np.sqrt(kept * x).sum() + np.sqrt(np.maximum(np.sort(x), 0.0)).sum() + np.linalg.norm(np.maximum(x, 5.0) - 5.0)
    return s + np.sqrt(np.maximum(x.min(), 0.0)) + np.sqrt(m * x).sum() + (np.maximum(w, 0.0) ** 0.5 @ w)


@pytest.mark.parametrize("tape", ["store", "auto"])
def test_whole_arrays(tape: Any) -> None:
    f = vectorize_grad(wrt=("x", "w"), tape=tape)(whole)
    m = (POINTS > 0.5) * 2.0
    found = f.grad(POINTS, m, POINTS)
    np.testing.assert_allclose(found.x, (2.0 + math.sqrt(2.0) * (POINTS > 0.5)) * root(POINTS), rtol=1e-12)
    np.testing.assert_allclose(found.w, np.where(POINTS > 0.0, 1.5 * np.sqrt(np.abs(POINTS)), 0.0), rtol=1e-12)


@pytest.mark.parametrize("tape", ["store", "recompute", "auto"])
def test_truncated_variance(tape: Any) -> None:
    z = np.random.default_rng(3).normal(size=(8, 20))
    numbers = np.array([0.04, 1.5, 0.05, 0.9, 0.1])
    f = vectorize_grad(tape=tape)(truncated_variance)
    found = f.grad(*numbers, z)
    for k, name in enumerate(("v0", "kappa", "theta", "xi", "dt")):
        step = 1e-7 * np.eye(5)[k] * numbers
        above, below = (truncated_variance(*(numbers + s), z) for s in (step, -step))
        difference = (above - below) / (2.0 * step[k])
        assert getattr(found, name) == pytest.approx(difference, rel=1e-6), name
    assert np.isfinite(found.z).all()


def products(x, h, c):
    s = 0.0
    for i in range(x.shape[0]):
        kept = max(x[i], 0.0)
        s += np.sqrt(max(x[i], 0.0) * h) + np.sqrt(max(x[i], 0.0) * c[i]) + np.sqrt(kept * c[i])
    return s


def test_what_multiplies_what_was_left_out() -> None:
    """A factor of nothing is nothing, for a number and for elements: the root of 0 * h is 0 for all h."""
    found = vectorize_grad(products).grad(POINTS, 0.3, np.full(POINTS.size, 0.6))
    kept = np.where(POINTS > 0.0, POINTS, 0.0)
    assert found.h == pytest.approx(0.5 * np.sqrt(kept / 0.3).sum(), rel=1e-12)
    np.testing.assert_allclose(found.c, np.sqrt(kept / 0.6), rtol=1e-12)


def numbers(a, b, c):
    return math.sqrt(a * b) + np.cbrt(a * b * c)


def test_two_factors_that_vanish_together_have_no_derivative() -> None:
    """cbrt(t * t * t) has slope 1 at 0, which partial derivatives do not show: no number is given for it."""
    f = vectorize_grad(numbers)
    assert np.isnan(f.grad(0.0, 0.0, 0.0)).all()
    assert f.grad(2.0, 0.0, 1.0)[0] == 0.0
    assert f.grad(2.0, 0.0, 1.0)[1] == np.inf


def energy(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sqrt(max(x[i], 0.0)) + max(x[i], 0.0, -5.0) ** 1.5
    return s


energies = vectorize_grad(energy)


def test_a_tie_keeps_its_shares() -> None:
    """At the kink itself the slope is infinite on one side, and half of that is."""
    assert energies.grad(np.zeros(1)).x == np.inf


def slope_energy(x):
    g = energies.grad(x).x
    return (g * g).sum()


def test_second_derivatives() -> None:
    first = root(POINTS) + np.where(POINTS > 0.0, 1.5 * np.sqrt(np.abs(POINTS)), 0.0)
    bend = np.where(POINTS > 0.0, -0.25 * np.abs(POINTS) ** -1.5 + 0.75 / np.sqrt(np.abs(POINTS)), 0.0)
    _, gradients, along = energies.hvp((POINTS,), {"x": np.ones(POINTS.size)})
    np.testing.assert_allclose(gradients.x, first, rtol=1e-12)
    np.testing.assert_allclose(along.x, bend, rtol=1e-12)
    np.testing.assert_allclose(vectorize_grad(slope_energy).grad(POINTS).x, 2.0 * first * bend, rtol=1e-12)


def guarded(x, y):
    n = x.shape[0]
    for i in range(n):
        y[i] = (x[i + 1] if i + 1 < n else 0.0) * x[i] + np.sqrt((x[i + 2] ** 2 if i + 2 < n else 0.0) * x[i])


def test_subscripts_that_a_choice_keeps_inside() -> None:
    """A factor that is chosen is asked for where it is chosen only: there is nothing past the end of an array."""
    x = np.array([1.0, 2.0, 3.0])
    f = vectorize_grad(guarded)
    np.testing.assert_allclose(f.vjp(x, x.copy())[1](y=np.ones(3)).x, [3.5, 4.0, 3.0], rtol=1e-14)
    np.testing.assert_allclose(f.jvp((x, x.copy()), {"x": np.ones(3)})[1].y, [5.5, 5.0, 0.0], rtol=1e-14)


def test_infinite_tangents_that_are_left_out() -> None:
    """Forward mode, where infinity comes from in front: the root of zero, behind choices that leave it out."""

    @vectorize_grad
    def after(x, y):
        for i in range(x.shape[0]):
            r = np.sqrt(x[i])
            y[0, i] = max(r, 1.0)
            y[1, i] = max(r, 1.0, 0.5)
            y[2, i] = np.clip(r, 0.5, 1.0)
            y[3, i] = r * (x[i] > 0.0)
            y[4, i] = min(1.0 - r, -1.0)

    _, tangents = after.jvp((np.zeros(5), np.zeros((5, 5))), {"x": np.ones(5)})
    np.testing.assert_array_equal(tangents.y, 0.0)


def test_in_jax() -> None:
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        wrapped = wrap(energies)
        found = jax.grad(wrapped)(POINTS)
    expected = root(POINTS) + np.where(POINTS > 0.0, 1.5 * np.sqrt(np.abs(POINTS)), 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "cuda-emulated"])
def test_choices_are_no_products_in_code(target: Any) -> None:
    """Generated code chooses what it would multiply: one selection in place of a product and a test of a share."""

    @vectorize_grad(target=target)
    def rectified(x, y):
        for i in range(x.shape[0]):
            y[i] = max(x[i], 0.0)

    text = rectified.compile(POINTS, POINTS.copy()).source("reverse")
    assert "strong_mul" not in text
    assert "!= 0.0" not in text
