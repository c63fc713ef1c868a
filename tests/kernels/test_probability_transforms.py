"""Transforms: what they give is where it has to be, and the log Jacobian is that of JAX's Jacobian matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import loopdiff
from loopdiff.kernels import probability

pytestmark = pytest.mark.part(3)

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
X = np.array([0.3, -1.2, 0.0, 2.1, -0.4, 0.7])


def broken(x: Any) -> Any:
    """The first K - 1 shares, one after the other."""
    shares: list[Any] = []
    for k in range(len(x)):
        shares.append((1.0 - sum(shares)) / (1.0 + jnp.exp(jnp.log(len(x) - k) - x[k])))
    return jnp.stack(shares)


def below(x: Any) -> Any:
    """The entries below the diagonal of a Cholesky factor, row by row."""
    entries: list[Any] = []
    for i in range(1, 4):
        row: list[Any] = []
        for j in range(i):
            row.append(jnp.tanh(x[i * (i - 1) // 2 + j]) * jnp.sqrt(1.0 - sum(v * v for v in row)))
        entries += row
    return jnp.stack(entries)


# By name: options, the map in JAX, and what it gives of the operator's result.
MAPS: dict[str, tuple[dict[str, Any], tuple[float, ...], Callable[..., Any], Callable[[Any], Any]]] = {
    "positive": ({}, (), jnp.exp, lambda y: y),
    "interval": ({}, (-1.0, 3.0), lambda x: -1.0 + 4.0 / (1.0 + jnp.exp(-x)), lambda y: y),
    "ordered_vector": ({}, (), lambda x: jnp.cumsum(jnp.concatenate([x[:1], jnp.exp(x[1:])])), lambda y: y),
    "simplex": ({}, (), broken, lambda y: y[:-1]),
    "correlation_cholesky": ({"size": 4}, (), below, lambda L: L[np.tril_indices(4, -1)]),
}


@pytest.mark.parametrize("name", MAPS)
def test_values_jacobians_and_derivatives(name: str) -> None:
    options, bounds, reference, chosen = MAPS[name]
    (y, log_jacobian), pullback = getattr(probability, name).of(**options).vjp(X, *bounds)
    np.testing.assert_allclose(chosen(y), reference(jnp.asarray(X)), rtol=1e-13)
    same, same_jacobian = getattr(probability, name).py_func(X, *bounds, **options)
    np.testing.assert_allclose(y, same, rtol=1e-14)
    assert log_jacobian == pytest.approx(same_jacobian, rel=1e-14)

    def volume(x: Any) -> Any:
        matrix = jax.jacfwd(reference)(x)
        return jnp.linalg.slogdet(matrix)[1], matrix

    gradient, matrix = jax.jit(jax.grad(volume, has_aux=True))(X)
    assert log_jacobian == pytest.approx(np.linalg.slogdet(np.array(matrix))[1], rel=1e-12)
    np.testing.assert_allclose(pullback((np.zeros_like(y), 1.0)).x, gradient, rtol=1e-10, atol=1e-13)
    seed = np.random.default_rng(0).normal(size=X.shape)
    widened = np.zeros_like(y)
    if name == "correlation_cholesky":
        widened[np.tril_indices(4, -1)] = seed
    else:
        widened[: len(X)] = seed
    np.testing.assert_allclose(pullback((widened, 0.0)).x, seed @ np.array(matrix), rtol=1e-11, atol=1e-14)


def test_bounds_have_derivatives() -> None:
    (y, log_jacobian), pullback = probability.interval.of().vjp(X, -1.0, 3.0)
    assert np.all((y > -1.0) & (y < 3.0))
    gradients = pullback((np.zeros(6), 1.0))
    assert (gradients.lower, gradients.upper) == pytest.approx((-6 / 4.0, 6 / 4.0), rel=1e-14)
    gradients = pullback((np.ones(6), 0.0))
    assert gradients.lower + gradients.upper == pytest.approx(6.0, rel=1e-14)
    wide, log_wide = probability.interval(X, np.full(6, -1.0), 3.0)
    np.testing.assert_array_equal(wide, y)
    assert log_wide == pytest.approx(log_jacobian, rel=1e-15)
    assert np.isnan(probability.interval(0.5, 3.0, -1.0)[1])


def test_numbers() -> None:
    y, log_jacobian = probability.positive(0.5)
    assert (y, log_jacobian) == pytest.approx((np.exp(0.5), 0.5), rel=1e-15)


def test_far_out() -> None:
    """Logarithms keep what is left of a stick or a row, and the log Jacobian, where numbers of 64 bits have none."""
    y, log_jacobian = probability.simplex(np.array([50.0, 50.0, -50.0]))
    assert y.sum() == pytest.approx(1.0, rel=1e-15)
    assert y[1] == pytest.approx(3.0 * np.exp(-50.0), rel=1e-13)
    assert np.isfinite(log_jacobian)
    equal, _ = probability.simplex(np.zeros(3))
    np.testing.assert_allclose(equal, 0.25, rtol=1e-15)
    L, log_jacobian = probability.correlation_cholesky(np.array([30.0, -30.0, 30.0]), size=3)
    np.testing.assert_allclose((L * L).sum(axis=1), 1.0, rtol=1e-15)
    assert L[1, 1] == pytest.approx(2.0 * np.exp(-30.0), rel=1e-13)
    assert np.isfinite(log_jacobian)


def test_what_correlations_are() -> None:
    L, _ = probability.correlation_cholesky(X, size=4)
    R = L @ L.T
    np.testing.assert_allclose(np.diagonal(R), 1.0, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.cholesky(R), L, rtol=1e-12, atol=1e-14)
    for length in (5, 7):
        with pytest.raises(loopdiff.ArgumentError, match=r"LD310|LD332"):
            probability.correlation_cholesky(np.zeros(length), size=4)


def test_unit_vector() -> None:
    (y, log_density), pullback = probability.unit_vector.of().vjp(X)
    norm = np.linalg.norm(X)
    np.testing.assert_allclose(y, X / norm, rtol=1e-15)
    # With it, the norm has the chi distribution, and all directions are alike.
    area = np.log(2.0) + 3.0 * np.log(np.pi) - np.log(2.0)  # of the sphere in six dimensions, pi**3
    normalized = log_density - 3.0 * np.log(2.0 * np.pi)
    assert normalized == pytest.approx(stats.chi(6).logpdf(norm) - area - 5.0 * np.log(norm), rel=1e-12)
    np.testing.assert_allclose(pullback((np.zeros(6), 1.0)).x, -X, rtol=1e-15)
    seed = np.arange(6.0)
    np.testing.assert_allclose(pullback((seed, 0.0)).x, (seed - y * (y @ seed)) / norm, rtol=1e-12, atol=1e-14)


@loopdiff.vectorize_grad
def log_posterior(theta, y):
    scale, log_jacobian = probability.positive(theta[1])
    prior = probability.normal(theta[0], 0.0, 10.0) + probability.half_cauchy(scale, 2.5)
    return probability.normal(y, theta[0], scale).sum() + prior + log_jacobian


def test_operators_in_a_program() -> None:
    """The one that the package shows."""
    theta, y = np.array([0.4, -0.3]), np.array([0.1, 1.2, -0.4])
    value, gradients = log_posterior.value_and_grad(theta, y)
    scale = np.exp(theta[1])
    prior = stats.norm.logpdf(theta[0], 0.0, 10.0) + stats.halfcauchy.logpdf(scale, 0.0, 2.5)
    assert value == pytest.approx(stats.norm.logpdf(y, theta[0], scale).sum() + prior + theta[1], rel=1e-14)
    z = (y - theta[0]) / scale
    by_log_scale = (z * z - 1.0).sum() - 2.0 * scale**2 / (2.5**2 + scale**2) + 1.0
    np.testing.assert_allclose(gradients.theta, [(z / scale).sum() - theta[0] / 100.0, by_log_scale], rtol=1e-13)
