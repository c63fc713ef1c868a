"""Softmax and its family, normalisation and attention, against JAX; infinities and masks by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import Operator, nn
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

draw = np.random.default_rng(4).standard_normal
x3 = draw((3, 5, 4))


def normed(x: Any, axes: Any, epsilon: float = 1e-5) -> Any:
    mean = x.mean(axis=axes, keepdims=True)
    return (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)


def channels(v: Any) -> Any:
    return v[:, None, None]


def grouped(x: Any, w: Any, b: Any) -> Any:
    y = normed(x.reshape(2, 3, 2, 5, 4), (2, 3, 4)).reshape(x.shape)
    return y * channels(w) + channels(b)


def batched(x: Any, w: Any, b: Any) -> Any:
    axes = (0, 2, 3)
    return normed(x, axes) * channels(w) + channels(b), x.mean(axis=axes), x.var(axis=axes)


def attended(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, causal: bool = False) -> Any:
    k, v = (jnp.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    seen = jnp.ones(scores.shape, dtype=bool)
    seen = seen if mask is None else seen & (mask[:, None, None, :] != 0)
    seen = seen & jnp.tri(*scores.shape[2:], k=scores.shape[3] - scores.shape[2], dtype=bool) if causal else seen
    return jnp.einsum("bhij,bhje->bhie", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1), v)


images = draw((2, 6, 5, 4))
q, k, v = draw((2, 4, 5, 3)), draw((2, 2, 7, 3)), draw((2, 2, 7, 6))
CASES = [
    *(Case(nn.softmax, (x3,), lambda x, axis=axis: jax.nn.softmax(x, axis), {"axis": axis}) for axis in (-1, 0, 1)),
    Case(nn.log_softmax, (x3,), jax.nn.log_softmax),
    Case(nn.log_softmax, (x3,), lambda x: jax.nn.log_softmax(x, 1), {"axis": 1}),
    Case(nn.logsumexp, (x3,), lambda x: jax.nn.logsumexp(x, axis=1), {"axis": 1}),
    Case(nn.logsumexp, (x3,), lambda x: jax.nn.logsumexp(x, axis=2, keepdims=True), {"keepdims": True}),
    Case(nn.softmax, (draw(6) * 300.0,), jax.nn.softmax),
    Case(nn.layer_norm, (x3, draw(4), draw(4)), lambda x, w, b: normed(x, -1) * w + b),
    Case(nn.layer_norm, (x3,), lambda x: normed(x, 0, 0.1), {"axis": 0, "epsilon": 0.1}),
    Case(nn.rms_norm, (x3, draw(4)), lambda x, w: x / jnp.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6) * w),
    Case(nn.group_norm, (images, draw(6), draw(6)), grouped, {"groups": 3}),
    Case(nn.group_norm, (images,), lambda x: normed(x, (2, 3)), {"groups": 6}),
    Case(nn.batch_norm, (images, draw(6), draw(6)), batched),
    Case(nn.batch_norm_inference, (images, draw(6), draw(6) ** 2 + 0.1, draw(6), draw(6)),
         lambda x, m, s, w, b: (x - channels(m)) / jnp.sqrt(channels(s) + 1e-5) * channels(w) + channels(b)),
    *(case for operator in (nn.attention, nn.attention_online) for case in (
        Case(operator, (q, draw((2, 4, 7, 3)), draw((2, 4, 7, 6))), attended),
        Case(operator, (q, k, v), lambda q, k, v: attended(q, k, v, causal=True), {"causal": True, "shared": 2}),
        Case(operator, (q, k, v, np.arange(14).reshape(2, 7) % 3 > 0, draw((4, 5, 7))), attended, {"shared": 2}))),
]  # fmt: skip


@pytest.mark.part(7)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_are_those_of_jax(case: Case) -> None:
    check(case)


def test_sparsemax_is_the_projection_on_the_simplex() -> None:
    """Optimality of the projection, and Jacobian `diag(s) - s s' / |s|` with `s` the support."""
    x = draw((40, 7)) * 2.0
    value, pullback = nn.sparsemax.of().vjp(x)
    np.testing.assert_allclose(value.sum(axis=1), 1.0, rtol=1e-14)
    assert (value >= 0.0).all()
    assert (value == 0.0).any()
    vertices = np.einsum("ij,ij->i", x - value, value)
    assert ((x - value).max(axis=1) <= vertices + 1e-12).all()
    seed, support = draw(x.shape), value > 0.0
    mean = (seed * support).sum(axis=1, keepdims=True) / support.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pullback(seed).x, support * (seed - mean), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(nn.sparsemax(np.array([0.3, 0.1, 5.0])), [0.0, 0.0, 1.0])


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("operator", "row", "expected", "gradient"),
    [
        (nn.softmax, [np.inf, 1.0], [1.0, 0.0], [0.0, 0.0]),
        (nn.softmax, [np.inf, -1.0, np.inf], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]),
        (nn.softmax, [-np.inf, 1.0], [0.0, 1.0], [0.0, 0.0]),
        (nn.softmax, [-np.inf, -np.inf], [0.0, 0.0], [0.0, 0.0]),
        (nn.log_softmax, [-np.inf, -np.inf], [-np.inf, -np.inf], [0.0, 0.0]),
        (nn.log_softmax, [np.inf, 1.0], [0.0, -np.inf], [0.0, 0.0]),
        (nn.logsumexp, [-np.inf, -np.inf], -np.inf, [0.0, 0.0]),
        (nn.logsumexp, [np.inf, 1.0, np.inf], np.inf, [0.5, 0.0, 0.5]),
        (nn.logsumexp, [-np.inf, 2.0], 2.0, [0.0, 1.0]),
    ],
)
def test_rows_of_infinities(operator: Any, row: list[float], expected: Any, gradient: list[float]) -> None:
    value, pullback = operator.of().vjp(np.array(row))
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(pullback(np.ones_like(value)).x, gradient)


@pytest.mark.parametrize("operator", [nn.attention, nn.attention_online], ids=lambda f: f.__name__)
def test_nothing_is_seen_nothing_comes_back(operator: Operator) -> None:
    mask = np.array([[0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0]])
    value, pullback = operator.of(shared=2).vjp(q, k, v, mask)
    assert (value[0] == 0.0).all()
    np.testing.assert_allclose(value[1], np.broadcast_to(np.repeat(v[1, :, 1:2], 2, axis=0), (4, 5, 6)), rtol=1e-14)
    gradients = pullback(np.ones_like(value))
    assert all(np.isfinite(g).all() for g in gradients)
    assert all((g[0] == 0.0).all() for g in gradients)


def test_scores_are_never_in_memory() -> None:
    """What is kept are the result, and numbers for each query; the rest are rows of some queries, however many there
    are."""
    long = draw((1, 2, 300, 4)), draw((1, 2, 80, 4)), draw((1, 2, 80, 4))
    kept = nn.attention_online.of(causal=True).compile(*long)
    assert max(t.bytes for t in kept.temporaries) <= long[0].nbytes
    assert max(w.size for w in kept.workspace(*long)) <= 64 * 80


def test_all_stays_in_float32() -> None:
    x = x3.astype(np.float32)
    for operator in (nn.softmax, nn.log_softmax, nn.logsumexp, nn.sparsemax, nn.layer_norm, nn.rms_norm):
        assert operator(x).dtype == np.float32
    assert nn.attention(*(a.astype(np.float32) for a in (q, k, v)), shared=2).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.group_norm(images, groups=4), "must divide"),
        (lambda: nn.attention(q, k[:, :, :5], v), r"`q` is \(B, G"),
    ],
)
def test_rows_that_do_not_fit_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
