"""Likelihoods of sequences against sums over all ways through the states, and densities of everything at once."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import loopdiff
from loopdiff.kernels import probability

pytestmark = pytest.mark.part(3)

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
jsp = pytest.importorskip("jax.scipy")
S, T = 3, 5
WAYS = np.array(list(product(range(S), repeat=T)))


def chain() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return np.log(rng.dirichlet(np.ones(S))), np.log(rng.dirichlet(np.ones(S), S)), rng.normal(size=(T, S))


def of_ways(first: Any, transitions: Any, emissions: Any) -> Any:
    steps = transitions[WAYS[:, :-1], WAYS[:, 1:]].sum(axis=1)
    return jsp.special.logsumexp(first[WAYS[:, 0]] + steps + emissions[np.arange(T), WAYS].sum(axis=1))


def test_hidden_markov() -> None:
    value, pullback = probability.hidden_markov.of().vjp(*chain())
    expected, gradients = jax.jit(jax.value_and_grad(of_ways, (0, 1, 2)))(*map(jnp.asarray, chain()))
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert value == pytest.approx(probability.hidden_markov.py_func(*chain()), rel=1e-14)
    for mine, its in zip(pullback(1.0), gradients, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-11, atol=1e-12)


def test_both_modes() -> None:
    """The product of a derivative and a direction is the same from both sides."""
    arguments, rng = chain(), np.random.default_rng(1)
    function = probability.hidden_markov.of()
    along = {n: rng.normal(size=a.shape) for n, a in zip(probability.hidden_markov.parameters, arguments, strict=True)}
    _, change = function.jvp(arguments, along)
    gradients = function.vjp(*arguments)[1](1.0)
    assert change.result == pytest.approx(sum((g * along[n]).sum() for n, g in gradients._asdict().items()), rel=1e-12)


def test_what_is_impossible_in_a_hidden_markov_model() -> None:
    first, transitions, emissions = chain()
    transitions[:, 1] = -np.inf
    transitions[1, :] = -np.inf
    emissions[2, 0] = -np.inf
    function = probability.hidden_markov.of()
    value, pullback = function.vjp(first, transitions, emissions)
    with np.errstate(all="ignore"):
        assert value == pytest.approx(
            float(of_ways(first, jnp.asarray(transitions), jnp.asarray(emissions))), rel=1e-13
        )
    gradients = pullback(1.0)
    assert all(np.all(np.isfinite(g)) for g in gradients)
    assert gradients.log_emissions[2] == pytest.approx([0.0, 0.0, 1.0])
    np.testing.assert_allclose(gradients.log_emissions.sum(axis=1), 1.0, rtol=1e-13)
    value, pullback = function.vjp(first, np.full((S, S), -np.inf), emissions)
    assert value == -np.inf
    assert all(np.all(g == 0.0) for g in pullback(1.0))
    emissions[1, 1] = np.nan
    assert np.isnan(function.vjp(*chain()[:2], emissions)[0])


def test_a_long_chain_neither_overflows_nor_vanishes() -> None:
    first, transitions, _ = chain()
    value, pullback = probability.hidden_markov.of().vjp(first, transitions, np.full((3000, S), -2.0))
    assert value == pytest.approx(-6000.0, rel=1e-12)
    np.testing.assert_allclose(pullback(1.0).log_emissions.sum(axis=1), 1.0, rtol=1e-9)


def test_linear_chain_crf() -> None:
    _, transitions, scores = chain()
    path = np.array([0, 2, 2, 1, 0])

    def likelihood(scores: Any, transitions: Any) -> Any:
        score = scores[np.arange(T), path].sum() + transitions[path[:-1], path[1:]].sum()
        return score - of_ways(jnp.zeros(S), transitions, scores)

    function = probability.linear_chain_crf.of()
    value, pullback = function.vjp(scores, transitions, path)
    expected, gradients = jax.jit(jax.value_and_grad(likelihood, (0, 1)))(jnp.asarray(scores), jnp.asarray(transitions))
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert value == pytest.approx(probability.linear_chain_crf.py_func(scores, transitions, path), rel=1e-14)
    np.testing.assert_allclose(pullback(1.0).scores, gradients[0], rtol=1e-11)
    np.testing.assert_allclose(pullback(1.0).transitions, gradients[1], rtol=1e-11, atol=1e-13)
    for wrong in (np.array([0, 1]), np.array([0, 1, 2, 3, 0]), np.array([0, 1, 2, -1, 0]), np.zeros(7, dtype=np.int64)):
        with pytest.raises(loopdiff.ArgumentError, match=r"LD310|LD332"):
            function(scores, transitions, wrong)


def test_probabilities_of_paths_have_the_sum_one() -> None:
    _, transitions, scores = chain()
    function = probability.linear_chain_crf.of()
    assert special.logsumexp([function(scores, transitions, way) for way in WAYS]) == pytest.approx(0.0, abs=1e-12)
    partition = probability.chain_log_partition(scores, transitions)
    assert partition == pytest.approx(float(of_ways(np.zeros(S), transitions, scores)), rel=1e-13)


def joint(y: Any, A: Any, C: Any, Q: Any, R: Any, mean: Any, covariance: Any) -> Any:
    """The density of all observations at once, a normal distribution of T M numbers."""
    steps, wide = y.shape
    means, spreads = [mean], [covariance]
    for _ in range(steps - 1):
        means.append(A @ means[-1])
        spreads.append(A @ spreads[-1] @ A.T + Q)
    blocks = [[None] * steps for _ in range(steps)]
    for s in range(steps):
        between = spreads[s]
        for t in range(s, steps):
            block = C @ between @ C.T  # of times t and s
            blocks[t][s], blocks[s][t] = block, block.T
            between = A @ between
        blocks[s][s] = blocks[s][s] + R
    everything = jnp.block(blocks)
    L = jnp.linalg.cholesky(everything, symmetrize_input=False)
    z = jsp.linalg.solve_triangular(L, (y - jnp.stack(means) @ C.T).ravel(), lower=True)
    return -0.5 * z @ z - jnp.log(jnp.diagonal(L)).sum() - 0.5 * steps * wide * np.log(2 * np.pi)


def space(n: int, m: int, steps: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(2)

    def spread(k: int) -> np.ndarray:
        B = rng.normal(size=(k, k))
        return B @ B.T + np.eye(k)

    A, C = 0.5 * rng.normal(size=(n, n)), rng.normal(size=(m, n))
    return rng.normal(size=(steps, m)), A, C, spread(n), spread(m), rng.normal(size=n), spread(n)


def test_kalman() -> None:
    arguments = space(3, 2, 3)
    value, pullback = probability.kalman.of().vjp(*arguments)
    expected, gradients = jax.jit(jax.value_and_grad(joint, tuple(range(7))))(*map(jnp.asarray, arguments))
    assert value == pytest.approx(float(expected), rel=1e-12)
    assert value == pytest.approx(probability.kalman.py_func(*arguments), rel=1e-13)
    for name, mine, its in zip(probability.kalman.parameters, pullback(1.0), gradients, strict=True):
        if name in ("Q", "R", "covariance"):  # of a symmetric matrix, the sum by both entries is what counts
            mine, its = mine + mine.T, its + its.T
        np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-12, err_msg=name)


def test_kalman_of_one_observation() -> None:
    y, A, C, Q, R, mean, covariance = space(3, 2, 1)
    expected = stats.multivariate_normal(C @ mean, C @ covariance @ C.T + R).logpdf(y[0])
    function = probability.kalman.of()
    assert function.vjp(y, A, C, Q, R, mean, covariance)[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(loopdiff.ArgumentError, match="LD332"):
        function.vjp(y, A, C, Q, -100.0 * R, mean, covariance)
