"""Log densities of vectors and matrices against SciPy's and formulas, and their derivatives against JAX's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate, special, stats

import loopdiff
from loopdiff.kernels import Operator, probability

pytestmark = pytest.mark.part(3)

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jsp = pytest.importorskip("jax.scipy")
D = 4


def spread(seed: int) -> np.ndarray:
    """A Cholesky factor whose upper triangle holds what nobody may read."""
    B = np.random.default_rng(seed).normal(size=(D, D))
    return np.linalg.cholesky(B @ B.T + np.eye(D)) + np.triu(np.full((D, D), 7.0), 1)


def check(made: Operator, reference: Any, arguments: tuple[Any, ...], rtol: float = 1e-11) -> None:
    """Values, in Python, too, and derivatives by all arguments against those of `reference`, a function of JAX."""

    def total(*arguments: Any) -> Any:
        values = reference(*arguments)
        return values.sum(), values

    value, pullback = made.of().vjp(*arguments)
    np.testing.assert_allclose(value, made.py_func(*arguments), rtol=1e-13)
    expected, gradients = jax.jit(jax.value_and_grad(total, tuple(range(len(arguments))), has_aux=True))(*arguments)
    np.testing.assert_allclose(value, expected[1], rtol=1e-12)
    for mine, its in zip(pullback(np.ones_like(value)), gradients, strict=True):
        np.testing.assert_allclose(mine, its, rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("shape", [(D,), (3, D)])
def test_multivariate_normal(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, mean, L = rng.normal(size=shape), rng.normal(size=D), spread(2)

    def reference(x: Any, mean: Any, L: Any) -> Any:
        z = jsp.linalg.solve_triangular(L, (x - mean).T, lower=True)
        return -0.5 * (z * z).sum(axis=0) - jnp.log(jnp.diagonal(L)).sum() - 0.5 * D * np.log(2 * np.pi)

    function = probability.multivariate_normal.of()
    check(probability.multivariate_normal, reference, (x, mean, L))
    C = np.tril(L) @ np.tril(L).T
    np.testing.assert_allclose(function(x, mean, L), stats.multivariate_normal(mean, C).logpdf(x), rtol=1e-12)
    assert np.all(np.isnan(function(x, mean, -L)))
    with pytest.raises(loopdiff.ArgumentError, match=r"`cholesky` is \(D, D\)"):
        function(x, mean, L[:3, :3].copy())
    with pytest.raises(loopdiff.ArgumentError, match="LD332"):
        function(x, mean, np.eye(D + 1))


def test_dirichlet() -> None:
    rng = np.random.default_rng(3)
    x, a = rng.dirichlet(np.ones(D), 3), np.array([0.5, 1.0, 2.0, 30.0])
    function = probability.dirichlet.of()

    def reference(x: Any, a: Any) -> Any:
        gammas = jsp.special.gammaln(a.sum()) - jsp.special.gammaln(a).sum()
        return ((a - 1.0) * jnp.log(x)).sum(axis=-1) + gammas

    check(probability.dirichlet, reference, (x, a))
    np.testing.assert_allclose(function(x, a), stats.dirichlet(a).logpdf(x.T), rtol=1e-12)
    assert probability.dirichlet(x[0], a) == pytest.approx(function(x, a)[0], rel=1e-14)
    outside = x.copy()
    outside[0] = [-0.5, 0.5, 0.5, 0.5]
    value, pullback = function.vjp(outside, a)
    assert value[0] == -np.inf
    assert np.all(np.isfinite(value[1:]))
    assert np.all(pullback(np.ones(3)).x[0] == 0.0)
    assert np.all(np.isnan(function(x, np.array([0.5, 1.0, 2.0, 0.0]))))


def test_wishart() -> None:
    L, C, df = spread(4), spread(5), 5.5
    function = probability.wishart.of()

    def reference(L: Any, df: Any, C: Any) -> Any:
        z = jsp.linalg.solve_triangular(C, jnp.tril(L), lower=True)
        dets = (df - D - 1) * jnp.log(jnp.diagonal(L)).sum() - df * jnp.log(jnp.diagonal(C)).sum()
        gammas = jsp.special.gammaln((df - jnp.arange(D)) / 2).sum() + D * (D - 1) / 4 * np.log(np.pi)
        return dets - 0.5 * (z * z).sum() - df * D / 2 * np.log(2.0) - gammas

    check(probability.wishart, reference, (L, df, C), rtol=1e-10)
    X, V = (np.tril(m) @ np.tril(m).T for m in (L, C))
    assert function(L, df, C) == pytest.approx(stats.wishart(df, V).logpdf(X), rel=1e-12)
    assert np.isnan(function(L, 2.9, C))
    assert np.isnan(function(L, df, -C))
    value, pullback = function.vjp(-L, df, C)
    assert value == -np.inf
    assert all(np.all(np.asarray(g) == 0.0) for g in pullback(1.0))


def test_lkj_has_the_mass_one() -> None:
    """Over the three entries below the diagonal; of three rows, the first two by the angle of the last."""
    function = probability.lkj_cholesky.of()

    def density(b: float, a: float, eta: float) -> float:
        c = np.sqrt(1.0 - a * a - b * b)
        return np.exp(function(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [a, b, c]]), eta))

    for eta in (1.0, 2.5):
        mass = integrate.dblquad(
            density, -1.0, 1.0, lambda a: -np.sqrt(1 - a * a), lambda a: np.sqrt(1 - a * a), (eta,)
        )
        edge = special.beta(0.5, eta + 0.5)  # the integral of (1 - r**2)**(eta - 1 / 2) for the second row
        assert mass[0] * edge == pytest.approx(1.0, rel=1e-6)


def test_lkj() -> None:
    R = np.corrcoef(np.random.default_rng(6).normal(size=(D, 9)))
    L, eta = np.linalg.cholesky(R), 1.7
    function = probability.lkj_cholesky.of()

    def reference(L: Any, eta: Any) -> Any:
        k = jnp.arange(2, D + 1)
        lg = jsp.special.gammaln
        top = eta + (D - 1) / 2
        rows = jnp.arange(1, D)
        constant = (rows / 2 * np.log(np.pi) + lg(top - rows / 2) - lg(top)).sum()
        return ((D - k + 2 * eta - 2) * jnp.log(jnp.diagonal(L)[1:])).sum() - constant

    check(probability.lkj_cholesky, reference, (L, eta))
    assert np.isnan(function(L, 0.0))
    value, pullback = function.vjp(-L, eta)
    assert value == -np.inf
    assert np.all(pullback(1.0).cholesky == 0.0)
    assert function(np.ones((1, 1)), eta) == 0.0


def test_mixture() -> None:
    rng = np.random.default_rng(7)
    weights, densities = np.log(rng.dirichlet(np.ones(3))), rng.normal(size=(5, 3))
    check(probability.mixture, lambda w, d: jsp.special.logsumexp(w + d, axis=-1), (weights, densities))
    shared = probability.mixture(weights + 3.0, densities, normalized=False)
    np.testing.assert_allclose(shared, special.logsumexp(weights + densities, axis=-1), rtol=1e-13)


def test_a_mixture_of_what_is_impossible() -> None:
    weights = np.array([0.0, -np.inf, -1.0])
    densities = np.array([[-np.inf, 0.0, -np.inf], [-1000.0, 5.0, -1000.0], [-1.0, np.nan, 2.0]])
    value, pullback = probability.mixture.of().vjp(weights, densities)
    assert value[0] == -np.inf
    assert value[1] == pytest.approx(-1000.0 + np.log1p(np.exp(-1.0)), rel=1e-15)
    assert np.isnan(value[2])
    gradients = pullback(np.array([1.0, 1.0, 0.0]))
    share = 1.0 / (1.0 + np.exp(-1.0))
    np.testing.assert_allclose(gradients.log_weights, [share, 0.0, 1.0 - share], rtol=1e-12)
    np.testing.assert_allclose(gradients.log_densities[0], 0.0)
