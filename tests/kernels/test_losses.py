"""Losses against JAX, and CTC against the sum over all alignments written out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import nn
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

draw = np.random.default_rng(8).standard_normal
logits, other, third = draw((6, 5)), draw((6, 5)), draw((6, 5))
labels = np.array([0, 4, 2, 2, 1, 3])
probabilities = np.exp(other) / np.exp(other).sum(axis=1, keepdims=True)
logarithms = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))


def entropy(x: Any, labels: Any, smoothing: float = 0.0) -> Any:
    target = (1.0 - smoothing) * jax.nn.one_hot(labels, 5) + smoothing / 5
    return -(target * jax.nn.log_softmax(x)).sum(axis=1)


def binary(x: Any, y: Any) -> Any:
    return -y * jax.nn.log_sigmoid(x) - (1 - y) * jax.nn.log_sigmoid(-x)


def focal(x: Any, y: Any) -> Any:
    right = y * jax.nn.sigmoid(x) + (1 - y) * jax.nn.sigmoid(-x)
    return (1 - right) ** 3.0 * binary(x, y)


def hinged(x: Any, labels: Any) -> Any:
    excess = jnp.maximum(0.0, x - jnp.take_along_axis(x, labels[:, None], axis=1) + 0.5)
    return jnp.where(jnp.arange(5) == labels[:, None], 0.0, excess).sum(axis=1)


def huber(x: Any, y: Any) -> Any:
    return jnp.where(abs(x - y) < 0.7, 0.5 * (x - y) ** 2, 0.7 * (abs(x - y) - 0.35))


def tripled(a: Any, near: Any, far: Any) -> Any:
    return jnp.maximum(0.0, jnp.linalg.norm(a - near, axis=1) - jnp.linalg.norm(a - far, axis=1) + 1.0)


CASES = [
    Case(nn.cross_entropy, (logits, labels), entropy),
    Case(nn.cross_entropy, (logits, labels), lambda x, k: entropy(x, k, 0.1), {"smoothing": 0.1}),
    Case(nn.cross_entropy_of_probabilities, (logits, probabilities),
         lambda x, p: (jax.nn.logsumexp(x, axis=1, keepdims=True) * p - p * x).sum(axis=1)),
    Case(nn.binary_cross_entropy, (logits, probabilities), binary),
    Case(nn.focal_loss, (logits, probabilities), focal, {"gamma": 3.0}),
    Case(nn.huber, (logits, other), huber, {"delta": 0.7}),
    Case(nn.kl_divergence, (logarithms, probabilities), lambda q, p: (p * (jnp.log(p) - q)).sum(axis=1)),
    Case(nn.hinge, (logits, labels), hinged, {"margin": 0.5}),
    Case(nn.triplet, (logits, other, third), tripled),
]  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_losses_are_those_of_jax(case: Case) -> None:
    check(case)


def test_negative_labels_count_nothing() -> None:
    value, pullback = nn.cross_entropy.of().vjp(logits, np.array([0, -1, 2, -1, 1, 3]))
    assert (value[[1, 3]] == 0.0).all()
    assert (pullback(np.ones(6)).logits[[1, 3]] == 0.0).all()
    with pytest.raises(ArgumentError, match="LD310"):
        nn.cross_entropy(logits, labels + 1)


def test_losses_of_certain_predictions_are_finite() -> None:
    for logit in (-1e3, 1e3):
        for target in (0.0, 1.0):
            value, pullback = nn.binary_cross_entropy.of().vjp(np.array([logit]), np.array([target]))
            assert value == abs(logit) * ((logit > 0) != target)
            assert np.isfinite(pullback(np.ones(1)).logits).all()


def alignments(times: int, symbols: int, label: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All paths that are `label` without repetitions and blanks."""
    paths = itertools.product(range(symbols), repeat=times)
    return [p for p in paths if tuple(k for k, _ in itertools.groupby(p) if k != 0) == label]


@pytest.mark.part(2)
@pytest.mark.parametrize("label", [(), (1,), (1, 2), (1, 1), (2, 1, 2)])
def test_ctc_is_the_sum_over_all_alignments(label: tuple[int, ...]) -> None:
    scores = draw((2, 6, 3))
    paths = np.array(alignments(5, 3, label))

    def expected(x: Any) -> Any:
        return -jax.nn.logsumexp(x[0, np.arange(5), paths].sum(axis=1))

    padded = np.zeros((2, 4), dtype=np.int64)
    padded[:, : len(label)] = label
    value, pullback = nn.ctc.of().vjp(scores, padded, np.array([5, 6]), np.array([len(label)] * 2))
    with jax.enable_x64(True):
        wanted, gradient = jax.value_and_grad(expected)(scores)
    assert value[0] == pytest.approx(float(wanted), rel=1e-12)
    np.testing.assert_allclose(pullback(np.array([1.0, 0.0])).log_probabilities, gradient, rtol=1e-11, atol=1e-13)


def test_labels_that_do_not_fit_are_impossible() -> None:
    value, pullback = nn.ctc.of().vjp(draw((1, 2, 3)), np.array([[1, 1]]), np.array([2]), np.array([2]))
    assert value == np.inf
    assert (pullback(np.ones(1)).log_probabilities == 0.0).all()
