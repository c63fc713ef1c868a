"""Calls of functions of whole arrays: what shapes decide, and when names mean what."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad

SCALE = 2.0


def doubled(x):
    return 2.0 * x


@vectorize_grad
def weighted(A, w):
    return (A * w).sum()


@vectorize_grad
def written(x, y, z):
    x[:] = 1.0
    y[1:] = z * x[1:]


@pytest.mark.parametrize("shape", [(3, 4), (1, 4), (3, 1), (1, 1)])
def test_axes_of_one_element_are_repeated(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    A, w = rng.random((3, 4)), rng.random(shape)
    value, gradients = weighted.value_and_grad(A, w)
    np.testing.assert_allclose(value, (A * w).sum(), rtol=1e-14)
    np.testing.assert_allclose(gradients.A, np.broadcast_to(w, A.shape), rtol=1e-14)
    axes = tuple(k for k, n in enumerate(shape) if n == 1)
    np.testing.assert_allclose(gradients.w, A.sum(axis=axes, keepdims=True), rtol=1e-14)


def test_code_is_made_once_for_each_way_to_repeat() -> None:
    product = vectorize_grad(weighted.__wrapped__)
    for _ in range(2):
        for shape in ((3, 4), (5, 4), (3, 1)):
            product(np.ones((shape[0], 4)), np.ones(shape))
    assert len({id(s) for s in product.specializations.values()}) == 2


def test_shapes_that_do_not_fit_are_refused_before_anything_is_written() -> None:
    x, y = np.zeros(4), np.zeros(4)
    with pytest.raises(ArgumentError) as caught:
        written(x, y, np.ones(4))
    assert caught.value.codes == ("LD320",)
    assert not x.any()
    written(x, y, np.ones(3))
    np.testing.assert_array_equal(y, [0.0, 1.0, 1.0, 1.0])


def test_names_mean_what_they_did_when_decorated(monkeypatch: pytest.MonkeyPatch) -> None:
    @vectorize_grad(cache=False)
    def f(x):
        return (doubled(x) * SCALE)[1:].sum()

    monkeypatch.setitem(globals(), "SCALE", 3.0)
    monkeypatch.setitem(globals(), "doubled", None)
    assert f(np.ones(3)) == 8.0


def test_compiled_for_types() -> None:
    x = np.arange(4.0)
    compiled = weighted.compile(np.ones((2, 4)), x)
    assert compiled.primal(np.ones((2, 4)), x) == 12.0
    with pytest.raises(ValueError, match="LD320"):
        compiled.primal(np.ones((2, 4)), np.ones(3))


def test_jax_sees_the_axes_that_are_repeated() -> None:
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    A, w = np.arange(12.0).reshape(3, 4), np.array([[1.0], [2.0], [3.0]])
    found = jax.grad(wrap(weighted), argnums=1)(A, w)
    np.testing.assert_allclose(found, A.sum(axis=1, keepdims=True), rtol=1e-6)


def test_arrays_called_as_indices_are() -> None:
    @vectorize_grad
    def gates(x, c):
        for t in range(x.shape[0]):
            i = x[t] * c
            d = np.exp(i)
            c = c + i
        return (c * d).sum()

    x, c = np.array([0.5, -2.0]), np.array([0.25, 3.0])
    value, g = gates.value_and_grad(x, c)
    once, twice = c * (1.0 + x[0]), c * (1.0 + x[0]) * (1.0 + x[1])
    d = np.exp(x[1] * once)
    assert value == pytest.approx((twice * d).sum())
    by_c = (1.0 + x[0]) * (1.0 + x[1]) * d + twice * d * x[1] * (1.0 + x[0])
    np.testing.assert_allclose(g.c, by_c)
    by_x = [c * (1.0 + x[1]) * d + twice * d * x[1] * c, once * d + twice * d * once]
    np.testing.assert_allclose(g.x, np.sum(by_x, axis=1))
