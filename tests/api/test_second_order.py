"""Hessian products, Jacobians and gradients as functions, compiled."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, DifferentiationError, check_grads, vectorize_grad
from tests.api.programs import grow, halves_and_count, total, weighted_square


@vectorize_grad(wrt=("x", "c"))
def waves(x, idx, c, y):
    """Written and gathered arrays, a scalar and a guard."""
    s = 0.0
    for i in range(x.shape[0]):
        y[i] = np.sin(x[idx[i]]) * x[i] * c
        if y[i] > 0.2:
            s += y[i] * y[i]
    return s


@vectorize_grad
def settled(x, tolerance):
    """Sums fixed points, whose number of steps depends on data."""
    s = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        while abs(v * v - x[i]) > tolerance:
            v = 0.5 * (v + x[i] / v)
        s += v * x[i]
    return s


def arguments() -> tuple[Any, ...]:
    x = np.random.default_rng(5).uniform(0.3, 1.2, 6)
    return x, np.array([1, 0, 3, 2, 5, 4]), 0.8, np.zeros(6)


def test_value_gradients_and_products() -> None:
    x, idx, c, y = arguments()
    dx, dc = np.linspace(-1.0, 1.0, 6), 0.3
    value, g, h = waves.hvp((x, idx, c, y), dict(x=dx, c=dc))
    assert (g._fields, h._fields) == (("x", "c"), ("x", "c"))
    after = np.zeros(6)
    expected, right = waves.value_and_grad(x, idx, c, after)
    assert value == pytest.approx(expected, rel=1e-14)
    np.testing.assert_allclose(y, after, rtol=1e-14)
    np.testing.assert_allclose(g.x, right.x, rtol=1e-13)
    step = 1e-5
    up = waves.grad(x + step * dx, idx, c + step * dc, y)
    down = waves.grad(x - step * dx, idx, c - step * dc, y)
    np.testing.assert_allclose(h.x, (up.x - down.x) / (2 * step), rtol=1e-7)
    assert h.c == pytest.approx((up.c - down.c) / (2 * step), rel=1e-7)
    _, _, none = waves.hvp((x, idx, c, y), {})
    assert not none.x.any()
    assert none.c == 0.0


def test_the_gradient_is_a_function() -> None:
    """Called, pulled back, pushed forward; both ways to a Hessian product agree."""
    slope = vectorize_grad(waves.grad)
    x, idx, c, y = arguments()
    dx = np.linspace(-1.0, 1.0, 6)
    found, right = slope(x, idx, c, y), waves.grad(x, idx, c, y)
    assert found._fields == right._fields
    assert (type(found).__name__, repr(slope)) == ("Gradients", "<loopdiff function waves.grad>")
    np.testing.assert_allclose(found.x, right.x, rtol=1e-13)
    value, pullback = slope.vjp(x, idx, c, y.copy())
    assert value.c == pytest.approx(right.c)
    _, _, h = waves.hvp((x, idx, c, y), dict(x=dx))
    np.testing.assert_allclose(pullback((dx, 0.0)).x, h.x, rtol=1e-12)
    _, tangents = slope.jvp((x, idx, c, y), dict(x=dx))
    np.testing.assert_allclose(tangents.result.x, h.x, rtol=1e-12)
    assert tangents.y.shape == y.shape
    assert check_grads(slope, (x, idx, c, y)).is_good
    hessian = slope.jacobian(x, idx, c, y)
    np.testing.assert_allclose(hessian.result.x.x, hessian.result.x.x.T, atol=1e-13)
    np.testing.assert_allclose(hessian.result.x.x @ dx, h.x, rtol=1e-12)
    assert hessian.result.c.x.shape == (6,)
    assert hessian.y.x.shape == (6, 6)


def test_settings_of_a_gradient_are_its_own() -> None:
    slope = vectorize_grad(wrt="c", cache=False)(waves.grad)
    again = pickle.loads(pickle.dumps(slope))
    assert again.requested == ("c",)
    assert not again.options.cache
    x, idx, c, y = arguments()
    step = 1e-6
    difference = (waves.grad(x, idx, c + step, y).c - waves.grad(x, idx, c - step, y).c) / (2 * step)
    assert again.jvp((x, idx, c, y), dict(c=1.0))[1].result.c == pytest.approx(difference, rel=1e-7)


def test_derivatives_of_any_order() -> None:
    @vectorize_grad
    def fifth(x):
        return x**5

    second = vectorize_grad(vectorize_grad(fifth.grad).grad)
    assert second(2.0) == (160.0,)
    assert second.grad(2.0).x == 240.0
    assert second.value_and_grad(2.0) == ((160.0,), (240.0,))
    assert second.hvp((2.0,), dict(x=1.0)) == ((160.0,), (240.0,), (240.0,))
    single = vectorize_grad(fifth.grad)(np.float32(2.0))
    assert (type(single.x), single.x) == (np.float32, 80.0)


def test_trip_counts_that_depend_on_data() -> None:
    x = np.linspace(1.2, 3.0, 5)
    value, g, h = settled.hvp((x, 1e-12), dict(x=np.ones(5)))
    assert value == pytest.approx(np.sum(x**1.5))
    np.testing.assert_allclose(g.x, 1.5 * x**0.5, rtol=1e-9)
    np.testing.assert_allclose(h.x, 0.75 * x**-0.5, rtol=1e-6)
    np.testing.assert_allclose(vectorize_grad(settled.grad)(x, 1e-12).x, g.x, rtol=1e-12)


def test_jacobians_of_every_output() -> None:
    """Both modes: `y` against itself, more outputs than inputs, results that are no numbers."""
    y = np.array([0.5, 2.0, 3.0])
    before = y.copy()
    found = grow.jacobian(y, 2)
    assert found._fields == ("y",)
    np.testing.assert_allclose(found.y.y, np.diag(4 * before**3))
    np.testing.assert_allclose(y, before**4)
    x = np.array([1.0, 2.0, 3.0])
    halves = halves_and_count.jacobian(x, 1.5).result
    np.testing.assert_allclose(halves[0].x, np.diag(x))
    assert halves[1] is None
    np.testing.assert_allclose(halves[2].x, [0.0, 2.0, 3.0])
    assert halves[0].limit.shape == (3,)
    np.testing.assert_allclose(total.jacobian(x).result.x, 2 * x)
    w, out = np.array([2.0, 1.0, 0.5]), np.zeros(3)
    both = weighted_square.jacobian(x, w, out, 2.0)
    np.testing.assert_allclose(both.y.x, np.diag(2 * w * x))
    np.testing.assert_allclose(both.result.w, 2 * x * x)
    np.testing.assert_allclose(out, w * x * x)
    assert total.jacobian(np.zeros(0)).result.x.shape == (0,)


def test_what_has_no_second_derivative() -> None:
    with pytest.raises(DifferentiationError) as caught:
        grow.hvp((np.ones(2), 1), {})
    assert caught.value.codes == ("LD404",)
    with pytest.raises(ArgumentError) as refused:
        total.hvp(np.ones(2), {})  # type: ignore[arg-type]
    assert refused.value.codes == ("LD302",)
    with pytest.raises(ArgumentError) as unknown:
        total.hvp((np.ones(2),), dict(z=np.ones(2)))
    assert unknown.value.codes == ("LD343",)


def test_a_third_derivative_without_a_rule_is_refused() -> None:
    @vectorize_grad
    def of_gamma(x):
        return np.log(2.0) * math.lgamma(x)

    second = vectorize_grad(of_gamma.grad)
    assert second.grad(2.5).x == pytest.approx(np.log(2.0) * 0.49035775610023486)
    with pytest.raises(DifferentiationError) as caught:
        second.hvp((2.5,), dict(x=1.0))
    assert caught.value.codes == ("LD410",)
