"""Reverse mode over reverse mode through `wrap`, against JAX's own derivatives of twins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import DifferentiationError, vectorize_grad

jax = pytest.importorskip("jax")
jnp = jax.numpy

from loopdiff.jax import wrap  # noqa: E402

pytestmark = pytest.mark.part(3)


@vectorize_grad
def chain(x, w, c, y, total):
    """A pure output, an array that is only added to, a recurrence and a scalar."""
    v = 0.0
    for i in range(x.shape[0]):
        v = np.sin(v * c + x[i]) * w[i]
        y[i] = v * x[i]
        total[i] += y[i] * y[i]
    return v


def twin(x, w, c, total):
    v, ys = 0.0, []
    for i in range(x.shape[0]):
        v = jnp.sin(v * c + x[i]) * w[i]
        ys.append(v * x[i])
    y = jnp.stack(ys)
    return v, y, total + y * y


wrapped = wrap(chain, outputs={"y": lambda x, w, c, total: x.shape})
POINT = (jnp.array([0.3, 0.8, -0.5]), jnp.array([1.1, 0.7, 0.9]), 0.6, jnp.array([0.2, 0.1, 0.4]))


def weighted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A number that all outputs decide, nonlinearly."""

    def loss(*args: Any) -> Any:
        v, y, total = function(*args)
        return v * jnp.sum(y * jnp.arange(1.0, 4.0)) + jnp.sum(total**2)

    return loss


def check_blocks(found: Any, expected: Any) -> None:
    """Compare Hessians, which have a block for each pair of arguments."""
    for row, right in zip(found, expected, strict=True):
        for block, value in zip(row, right, strict=True):
            np.testing.assert_allclose(block, value, rtol=1e-10, atol=1e-12)


def test_one_number_and_arrays_in_place() -> None:
    """The pullback returns a tuple of one number."""

    @vectorize_grad
    def running(x, k):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.sin(k * x[i])
            x[i] = s
        return (s,)

    function = wrap(running)
    x, k = POINT[0], 0.7
    found = jax.jacrev(jax.grad(lambda x, k: function(x, k)[0] ** 2, (0, 1)), (0, 1))(x, k)
    expected = jax.hessian(lambda x, k: jnp.sum(jnp.sin(k * x)) ** 2, (0, 1))(x, k)
    check_blocks(found, expected)


def test_hessians_by_reverse_mode_alone() -> None:
    every = (0, 1, 2, 3)
    found = jax.jit(jax.jacrev(jax.grad(weighted(wrapped), every), every))(*POINT)
    expected = jax.hessian(weighted(twin), every)(*POINT)
    check_blocks(found, expected)


def test_under_vmap() -> None:
    batch = jnp.stack([POINT[0], 2.0 * POINT[0]])

    def squared_slope(function: Callable[..., Any]) -> Callable[..., Any]:
        slope = jax.grad(weighted(function))
        return jax.vmap(jax.grad(lambda x: jnp.sum(slope(x, *POINT[1:]) ** 2)))

    np.testing.assert_allclose(squared_slope(wrapped)(batch), squared_slope(twin)(batch), rtol=1e-10)


def test_third_order_and_array_results() -> None:
    @vectorize_grad
    def cubes(x):
        out = np.empty(x.shape[0])
        for i in range(x.shape[0]):
            out[i] = x[i] ** 3 * x[0]
        return out

    def energy(function: Callable[..., Any]) -> Callable[..., Any]:
        def value(t: Any) -> Any:
            return jnp.sum(function(jnp.array([1.0, 2.0]) * t))

        return jax.grad(jax.grad(jax.grad(value)))

    assert float(energy(wrap(cubes))(1.5)) == pytest.approx(float(energy(lambda x: x**3 * x[0])(1.5)), rel=1e-12)


def test_gradients_as_functions() -> None:
    @vectorize_grad
    def coupled(x, c):
        s = 0.0
        for i in range(x.shape[0] - 1):
            s += c * np.sin(x[i] * x[i + 1])
        return s

    slope = wrap(vectorize_grad(coupled.grad))
    hessian = jax.jacrev(lambda x: slope(x, 2.0)[0])(POINT[0])
    expected = jax.hessian(lambda x: jnp.sum(2.0 * jnp.sin(x[:-1] * x[1:])))(POINT[0])
    np.testing.assert_allclose(hessian, expected, rtol=1e-12, atol=1e-14)


def test_a_second_derivative_outside_wrt_is_refused() -> None:
    @vectorize_grad(wrt="x")
    def scaled(x, c):
        return c * x[0] * x[0]

    f = wrap(scaled)
    assert jax.grad(lambda x: jax.grad(f)(x, 2.0)[0])(POINT[0])[0] == 4.0
    with pytest.raises(DifferentiationError) as caught:
        jax.grad(lambda c: jax.grad(f)(POINT[0], c)[0])(2.0)
    assert caught.value.codes == ("LD405",)


@pytest.mark.parametrize("order", ["jacfwd(jacrev)", "jacrev(jacfwd)", "jacfwd(jacfwd)", "jacrev(jacrev)"])
def test_hessians_in_every_order_of_modes(order: str) -> None:
    outer, inner = (getattr(jax, name) for name in order.rstrip(")").split("("))
    every = (0, 1, 2, 3)
    found = jax.jit(outer(inner(weighted(wrapped), every), every))(*POINT)
    expected = jax.hessian(weighted(twin), every)(*POINT)
    check_blocks(found, expected)


def test_by_custom_vjp_alone() -> None:
    """Reverse mode to any order; forward mode is refused by JAX."""
    plain = wrap(chain, outputs={"y": lambda x, w, c, total: x.shape}, via="custom_vjp")
    every = (0, 1, 2, 3)
    found = jax.jit(jax.jacrev(jax.grad(weighted(plain), every), every))(*POINT)
    expected = jax.hessian(weighted(twin), every)(*POINT)
    check_blocks(found, expected)
    with pytest.raises(TypeError, match="custom_vjp"):
        jax.hessian(weighted(plain))(*POINT)


@pytest.mark.parametrize("outer", [jax.grad, jax.jacfwd])
@pytest.mark.parametrize("inner", [jax.grad, jax.jacfwd])
def test_by_one_argument_and_then_by_another(inner: Any, outer: Any) -> None:
    """Each sweep is that of the arguments that need a derivative; its derivatives are by all that may have one."""

    @vectorize_grad(wrt=("u", "rate"))
    def field(u, rate, fixed):
        s = 0.0
        for i in range(u.shape[0]):
            s += rate[i] * np.sin(u[i]) * fixed[i]
        return s

    function, u, rate, fixed = wrap(field), POINT[0], POINT[1], POINT[3]

    def mixed(f: Callable[..., Any]) -> Any:
        return outer(lambda rate: jnp.sum(inner(lambda u: f(u, rate, fixed))(u) ** 2))(rate)

    expected = mixed(lambda u, rate, fixed: jnp.sum(rate * jnp.sin(u) * fixed))
    np.testing.assert_allclose(mixed(function), expected, rtol=1e-12)
    with pytest.raises(DifferentiationError) as caught:
        outer(lambda fixed: jnp.sum(inner(lambda u: function(u, rate, fixed))(u)))(fixed)
    assert caught.value.codes == ("LD405",)
