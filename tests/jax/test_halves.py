"""Arrays of float16 and bfloat16 in JAX: what twins in float32 give for the widened arrays, rounded to the type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

import loopdiff.jax
from loopdiff import vectorize_grad

pytestmark = pytest.mark.part(3)
DTYPES = (jnp.float16, jnp.bfloat16)
each = pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
each_way = pytest.mark.parametrize("via", ["primitives", "custom_vjp"])


@vectorize_grad
def loss(w, X, t):
    e = 0.0
    for i in range(X.shape[0]):
        z = 0.0
        for j in range(X.shape[1]):
            z += X[i, j] * w[j]
        e += np.sin(z - t[i]) ** 2
    return e


@vectorize_grad
def smoothed(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a * x[i] * x[i - 1] + 0.5


@vectorize_grad
def product(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[m, k] * B[k, n]
            C[m, n] = np.tanh(s)


@vectorize_grad
def copies(x):
    y = x.copy()
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y, y.sum()


def loss_twin(w: Any, X: Any, t: Any) -> Any:
    return (jnp.sin(X @ w - t) ** 2).sum()


def product_twin(A: Any, B: Any) -> Any:
    return jnp.tanh(A @ B)


wrapped_loss = loopdiff.jax.wrap(loss)
wrapped_product = loopdiff.jax.wrap(product, outputs={"C": lambda A, B: (A.shape[0], B.shape[1])})


def drawn(dtype: Any, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), dtype)


def wide(tree: Any) -> Any:
    return jax.tree.map(lambda v: v.astype(jnp.float32), tree)


def near(found: Any, expected: Any, dtype: Any, units: float = 0.51) -> None:
    """Of type `dtype`, and no further from `expected` than a rounding takes it, with what float32 loses before."""
    for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert got.dtype == dtype
        got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
        unit = float(jnp.finfo(dtype).eps) * np.maximum(2.0 ** np.floor(np.log2(np.abs(want) + 1e-30)), 2.0**-14)
        np.testing.assert_array_less(np.abs(got - want), units * unit + 4e-6 * np.abs(want).max())


@each
@each_way
def test_gradients_are_of_the_type_and_rounded_once(dtype: Any, via: Any) -> None:
    args = drawn(dtype, 5), drawn(dtype, 7, 5), drawn(dtype, 7)
    value, found = jax.jit(jax.value_and_grad(loopdiff.jax.wrap(loss, via=via), (0, 1, 2)))(*args)
    wanted, expected = jax.value_and_grad(loss_twin, (0, 1, 2))(*wide(args))
    assert value.dtype == jnp.float32
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    near(found, expected, dtype)


@each
@each_way
def test_written_arrays_and_their_cotangents(dtype: Any, via: Any) -> None:
    """Elements are rounded where they are stored; the derivative of that is one."""
    f, x, seed = loopdiff.jax.wrap(smoothed, via=via), drawn(dtype, 9), drawn(dtype, 9)
    y, pull = jax.vjp(f, x, 0.7)
    expected = [np.float32(x[0])]
    for v in x[1:]:
        expected.append(np.float32(jnp.asarray(np.float32(0.7) * np.float32(v) * expected[-1] + 0.5, dtype)))
    near(y, np.array(expected), dtype, units=1.01)
    adjoint, of_x, of_a = np.asarray(wide(seed)).copy(), np.zeros(9), 0.0
    for i in range(8, 0, -1):
        of_x[i] = adjoint[i] * 0.7 * float(x[i - 1] if i == 1 else y[i - 1])
        of_a += adjoint[i] * float(x[i]) * float(y[i - 1])
        adjoint[i - 1] += adjoint[i] * 0.7 * float(x[i])
    of_x[0] = adjoint[0]
    found = pull(seed)
    near(found[0], of_x, dtype)
    np.testing.assert_allclose(found[1], of_a, rtol=1e-5)


@each
def test_pure_outputs_are_of_the_type_of_the_arguments(dtype: Any) -> None:
    args, seed = (drawn(dtype, 4, 3), drawn(dtype, 3, 5)), drawn(dtype, 4, 5)
    C, pull = jax.vjp(jax.jit(wrapped_product), *args)
    expected, pull_twin = jax.vjp(product_twin, *wide(args))
    near(C, expected, dtype)
    near(pull(seed), pull_twin(wide(seed)), dtype)
    single = loopdiff.jax.wrap(product, outputs={"C": jax.ShapeDtypeStruct((4, 5), jnp.float32)})(*args)
    np.testing.assert_allclose(single, expected, rtol=1e-5, atol=1e-6)


@each
def test_tangents_and_jacobians(dtype: Any) -> None:
    args, ways = (drawn(dtype, 4, 3), drawn(dtype, 3, 5)), (drawn(dtype, 4, 3), drawn(dtype, 3, 5))
    _, tangent = jax.jvp(wrapped_product, args, ways)
    near(tangent, jax.jvp(product_twin, wide(args), wide(ways))[1], dtype)
    _, some = jax.jvp(lambda A: wrapped_product(A, args[1]), args[:1], ways[:1])
    near(some, jax.jvp(lambda A: product_twin(A, wide(args[1])), wide(args[:1]), wide(ways[:1]))[1], dtype)
    for make in (jax.jacfwd, jax.jacrev):
        near(make(wrapped_product)(*args), make(product_twin)(*wide(args)), dtype)


@each
@each_way
def test_second_derivatives(dtype: Any, via: Any) -> None:
    args, way = (drawn(dtype, 5), drawn(dtype, 7, 5), drawn(dtype, 7)), drawn(dtype, 5)

    def slope(f: Any) -> Any:
        return lambda w, X, t, way: jnp.vdot(wide(jax.grad(f)(w, X, t)), wide(way))

    found = jax.grad(slope(loopdiff.jax.wrap(loss, via=via)))(*args, way)
    near(found, jax.grad(slope(loss_twin))(*wide((*args, way))), dtype)
    if via == "primitives":
        found = jax.jvp(jax.grad(wrapped_loss), args, (way, *map(jnp.zeros_like, args[1:])))[1]
        expected = jax.jvp(jax.grad(loss_twin), wide(args), wide((way, *map(jnp.zeros_like, args[1:]))))[1]
        near(found, expected, dtype)


@each
def test_batches(dtype: Any) -> None:
    """Gradients of what all examples share are summed in float32."""
    w, X, t = drawn(dtype, 5), drawn(dtype, 6, 7, 5), drawn(dtype, 6, 7)

    def total(f: Any) -> Any:
        return lambda *args: jax.vmap(f, (None, 0, 0))(*args).sum()

    near(jax.grad(total(wrapped_loss), (0, 1))(w, X, t), jax.grad(total(loss_twin), (0, 1))(*wide((w, X, t))), dtype)
    each_w = jax.vmap(jax.grad(wrapped_loss), (None, 0, 0))(w, X, t)
    near(each_w, jax.vmap(jax.grad(loss_twin), (None, 0, 0))(*wide((w, X, t))), dtype)
    ways = drawn(dtype, 6, 5)
    along = jax.vmap(lambda way: jax.jvp(lambda w: jax.grad(wrapped_loss)(w, X[0], t[0]), (w,), (way,))[1])(ways)

    def twin(way: Any) -> Any:
        return jax.jvp(lambda w: jax.grad(loss_twin)(w, *wide((X[0], t[0]))), (wide(w),), (way,))[1]

    near(along, jax.vmap(twin)(wide(ways)), dtype)


@each
def test_arrays_that_are_returned_and_numbers(dtype: Any) -> None:
    f, x = loopdiff.jax.wrap(copies), drawn(dtype, 6)
    y, total = f(x)
    near(y, wide(x) ** 2, dtype)
    assert total.dtype == jnp.float32
    near(jax.grad(lambda x: f(x)[1])(x), 2.0 * wide(x), dtype)
    a = jnp.asarray(0.75, dtype)
    of_a = jax.grad(lambda a: loopdiff.jax.wrap(smoothed)(wide(x), a).sum())(a)
    near(of_a, jax.grad(lambda a: loopdiff.jax.wrap(smoothed)(wide(x), a).sum())(jnp.float32(0.75)), dtype)


@each
def test_what_is_beyond_the_largest_is_infinite(dtype: Any) -> None:
    largest = jnp.asarray(jnp.finfo(dtype).max, dtype)
    y, _ = loopdiff.jax.wrap(copies)(jnp.stack([largest, -largest]))
    assert bool(jnp.isinf(y).all())
