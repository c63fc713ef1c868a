"""More hard cases: masked attention, infinite scores, values that ride along, and loops that share their names."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.gradients.harness import decorated

pytestmark = pytest.mark.part(2)


def attention(Q, K, V, mask, out):
    """Causal attention, one row of scores at a time; a row without any key gives zeros."""
    n, d = Q.shape
    row = np.empty(n)
    for i in range(n):
        top = -np.inf
        for j in range(i + 1):
            t = 0.0
            for k in range(d):
                t += Q[i, k] * K[j, k]
            row[j] = t / np.sqrt(d) if mask[i, j] else -np.inf
        for j in range(i + 1):
            top = max(top, row[j])
        total = 0.0
        keys = 0
        for j in range(i + 1):
            keys += mask[i, j]
            row[j] = np.exp(row[j] - top) if mask[i, j] else 0.0
            total += row[j]
        for k in range(V.shape[1]):
            out[i, k] = 0.0
            for j in range(i + 1):
                out[i, k] += row[j] * V[j, k]
            out[i, k] = out[i, k] / total if keys > 0 else 0.0


def attention_twin(Q, K, V, mask):
    import jax.numpy as jnp

    n, d = Q.shape
    seen = mask & np.tri(n, dtype=bool)
    scores = jnp.where(seen, Q @ K.T / np.sqrt(d), -1e300)
    weights = jnp.where(seen, jnp.exp(scores - scores.max(1, keepdims=True)), 0.0)
    total = weights.sum(1, keepdims=True)
    return jnp.where(total > 0.0, weights @ V / jnp.where(total > 0.0, total, 1.0), 0.0)


def test_attention_with_a_masked_row_keeps_no_matrix_of_scores() -> None:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(9)
    n, d = 40, 4
    Q, K, V, seed = (rng.standard_normal((n, d)) for _ in range(4))
    mask = rng.random((n, n)) > 0.3
    mask[7] = False
    f = vectorize_grad(wrt=("Q", "K", "V"), tape="recompute")(attention)
    out = np.full((n, d), np.nan)
    _, pullback = f.vjp(Q, K, V, mask, out)
    expected, pull = jax.vjp(lambda *a: attention_twin(*a, mask), Q, K, V)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
    assert not out[7].any()
    for found, wanted in zip(pullback(out=seed), pull(seed), strict=True):
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13)
    assert max(t.bytes for t in f.compile(Q, K, V, mask, out).temporaries) < n * n * 8


def softmax(x, y):
    m = x[0]
    for i in range(1, x.shape[0]):
        m = max(m, x[i])
    s = 0.0
    for i in range(x.shape[0]):
        y[i] = 1.0 if x[i] == m else np.exp(x[i] - m)
        s += y[i]
    for i in range(x.shape[0]):
        y[i] /= s


def test_softmax_of_an_infinite_score() -> None:
    x, y = np.array([np.inf, 1.0]), np.zeros(2)
    _, pullback = vectorize_grad(wrt=("x",))(softmax).vjp(x, y)
    assert y.tolist() == [1.0, 0.0]
    for seed in ([1.0, 0.0], [0.0, 1.0]):
        assert np.isfinite(pullback(y=np.array(seed)).x).all()


def test_value_that_only_rides_along() -> None:
    x, y = np.array([0.5, 1.5, 3.0]), np.zeros(3)
    steps, pullback = decorated("passenger_in_while").vjp(x, y)
    # 0.5 -> 0.75 -> 1.0625 -> 1.62890625 -> 3.153...; 1.5 -> 2.75; 3 stays
    v = [0.5, 0.75, 1.0625, 1.62890625, 1.62890625**2 + 0.5]
    assert steps == 5
    assert y.tolist() == [v[4] * 1.5, 2.75 * 4.5, 27.0]
    expected = [3 * v[4] + 1.5 * 16 * v[0] * v[1] * v[2] * v[3], 3 * 2.75 + 4.5 * 3.0, 18.0]
    np.testing.assert_allclose(pullback(y=np.ones(3)).x, expected, rtol=1e-15)


def test_sibling_loops_and_a_name_that_is_used_again() -> None:
    A, y = np.array([[1.0, 2.0, 3.0], [2.0, 0.5, 1.0]]), np.zeros(2)
    value, g = decorated("reset_and_reused").value_and_grad(A, y)
    assert y.tolist() == [14.0, 5.25]
    assert value == 6.0 * 14.0 + 1.0 * 5.25
    # d(p q) = p q (1/a + 2 a / q) for p the product and q the sum of squares
    p, q = A.prod(1, keepdims=True), (A * A).sum(1, keepdims=True)
    np.testing.assert_allclose(g.A, p * q / A + 2 * p * A, rtol=1e-15)


def product_energy(A, B, C):
    e = 0.0
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0.0
            for k in range(B.shape[0]):
                C[i, j] += A[i, k] * B[k, j]
            e += C[i, j].real ** 2 + 2.0 * C[i, j].imag
    return e


def test_complex_matrix_product() -> None:
    rng = np.random.default_rng(10)
    A, B = (rng.standard_normal(s) + 1j * rng.standard_normal(s) for s in ((3, 4), (4, 5)))
    value, g = vectorize_grad(wrt=("A", "B"))(product_energy).value_and_grad(A, B, np.zeros((3, 5), complex))
    C = A @ B
    assert value == pytest.approx((C.real**2 + 2 * C.imag).sum(), rel=1e-13)
    C_adj = 2 * C.real - 2j  # d e = Re(C_adj d C), so no conjugates
    np.testing.assert_allclose(g.A, C_adj @ B.T, rtol=1e-12)
    np.testing.assert_allclose(g.B, A.T @ C_adj, rtol=1e-12)


@pytest.mark.parametrize("seed", [0.0, 1.0])
def test_swapped_and_reversed_views_and_empty_arrays(seed: float) -> None:
    f = decorated("passenger_in_while")
    x, y = np.linspace(0.6, 1.4, 10)[::-3], np.zeros(8)[::2]
    _, pullback = f.vjp(x, y)
    _, expected = f.vjp(x.copy(), np.zeros(4))
    np.testing.assert_array_equal(pullback(y=np.full(4, seed)).x, expected(y=np.full(4, seed)).x)
    assert f.vjp(np.zeros(0), np.zeros(0))[1](y=np.zeros(0)).x.shape == (0,)
