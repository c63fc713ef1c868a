"""Attention of several heads, with shared keys, masks and biases: with the scores of one query at a time in memory,
or of none."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.exponentials import softmax
from loopdiff.kernels.nn.random_masks import uniform_at
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def require_heads(q, k, v, mask, bias, shared, seed, rate):
    """Refuse shapes that do not fit."""
    (B, H, L, D), (G, M) = q.shape, (k.shape[1], k.shape[2])
    require_floats(q)
    if k.shape[0] != B or v.shape[0] != B or G * shared != H or v.shape[1] != G or v.shape[2] != M or k.shape[3] != D:
        raise ValueError("`q` is (B, G * shared, L, D), `k` (B, G, M, D), `v` (B, G, M, E)")
    if mask is not None and (mask.shape[0] != B or mask.shape[1] != M):
        raise ValueError("`mask` is (B, M)")
    if bias is not None and (bias.shape[0] != H or bias.shape[1] != L or bias.shape[2] != M):
        raise ValueError("`bias` is (H, L, M)")
    if rate < 0.0 or rate >= 1.0 or (seed is None and rate > 0.0):
        raise ValueError("`rate` is a probability below 1, and needs a `seed`")


def left_in(part, seed, place, rate):
    """A part of a sum, or zero with the probability `rate`."""
    if seed is None:
        return part
    return part if uniform_at(seed, place) >= rate else 0.0


@operator
def attention(q, k, v, mask=None, bias=None, seed=None, *, shared=1, causal=False, scale=None, rate=0.0):
    """Means of values by the exponentials of scores (Vaswani et al., 2017, section 3.2).

    `y[b, h, i] = sum over j of softmax(scale * q[b, h, i] . k[b, g, j] + bias[h, i, j]) * v[b, g, j]`, and
    `g = h // shared`.

    Args:
        q: `(B, H, L, D)`.
        k: `(B, G, M, D)`.
        v: `(B, G, M, E)`.
        mask: `(B, M)`, booleans or integers: which keys there are, zero for those that are padding; or None.
        bias: `(H, L, M)`, added to scores, or None; -inf where a query does not see a key.
        seed: An integer, or None: keys are left out by what `dropout` draws for an array `(B, H, L, M)`.
        shared: How many heads share keys and values: `H == G * shared`.
        causal: Whether query `i` sees the keys up to `i + M - L` only.
        scale: What scores are multiplied by; by default `1 / sqrt(D)`.
        rate: The probability that a query leaves out a key, and the others count `1 / (1 - rate)` times. Nothing is
            kept for that: numbers are drawn again.

    Returns:
        `(B, H, L, E)`. A query that sees no key gets zeros, and no derivative.

    Raises:
        ArgumentError: LD332 where shapes do not fit, `q` holds integers, or `rate` is no probability below 1.
    """
    require_heads(q, k, v, mask, bias, shared, seed, rate)
    B, H, L, D = q.shape
    M, E = k.shape[2], v.shape[3]
    factor = 1.0 / np.sqrt(1.0 * D) if scale is None else scale
    y = np.zeros((B, H, L, E), dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            g = h // shared
            for i in range(L):
                row = np.empty(M, dtype=q.dtype)
                greatest, total = -np.inf, 0.0
                for j in range(M):
                    score = 0.0
                    for d in range(D):
                        score += q[b, h, i, d] * k[b, g, j, d]
                    score = score * factor if bias is None else score * factor + bias[h, i, j]
                    if causal and j > i + M - L:
                        score = -np.inf
                    if mask is not None and mask[b, j] == 0:
                        score = -np.inf
                    row[j] = score
                    greatest = max(greatest, stop_gradient(score))
                if greatest == -np.inf:
                    greatest = 0.0
                for j in range(M):
                    row[j] = np.exp(row[j] - greatest)
                    total += row[j]
                for j in range(M):
                    held = left_in(row[j], seed, ((b * H + h) * L + i) * M + j, rate)
                    for e in range(E):
                        y[b, h, i, e] += held * v[b, g, j, e]
                whole = total if seed is None else total * (1.0 - rate)
                for e in range(E):
                    y[b, h, i, e] = 0.0 if total == 0.0 else y[b, h, i, e] / whole
    return y


@operator(tape="recompute")
def attention_online(q, k, v, mask=None, bias=None, seed=None, *, shared=1, causal=False, scale=None, rate=0.0):
    """`attention` without scores in memory, in either sweep (Rabe and Staats, 2021): the greatest score of a query is
    found first, then scores are made again, one by one; for derivatives once more. Arguments, result and errors as
    there.

    By itself it is compiled with `tape="recompute"`; a decorated function that calls it says so for itself.
    """
    require_heads(q, k, v, mask, bias, shared, seed, rate)
    B, H, L, D = q.shape
    M, E = k.shape[2], v.shape[3]
    factor = 1.0 / np.sqrt(1.0 * D) if scale is None else scale
    y = np.zeros((B, H, L, E), dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            g = h // shared
            for i in range(L):
                greatest, total = -np.inf, 0.0
                for j in range(M):
                    score = 0.0
                    for d in range(D):
                        score += q[b, h, i, d] * k[b, g, j, d]
                    score = score * factor if bias is None else score * factor + bias[h, i, j]
                    if not ((causal and j > i + M - L) or (mask is not None and mask[b, j] == 0)):
                        greatest = max(greatest, stop_gradient(score))
                if greatest == -np.inf:
                    greatest = 0.0
                for j in range(M):
                    score = 0.0
                    for d in range(D):
                        score += q[b, h, i, d] * k[b, g, j, d]
                    score = score * factor if bias is None else score * factor + bias[h, i, j]
                    if (causal and j > i + M - L) or (mask is not None and mask[b, j] == 0):
                        score = -np.inf
                    part = np.exp(score - greatest)
                    total += part
                    held = left_in(part, seed, ((b * H + h) * L + i) * M + j, rate)
                    for e in range(E):
                        y[b, h, i, e] += held * v[b, g, j, e]
                whole = total if seed is None else total * (1.0 - rate)
                for e in range(E):
                    y[b, h, i, e] = 0.0 if total == 0.0 else y[b, h, i, e] / whole
    return y


@operator
def attention_weights(q, k, mask=None, bias=None, *, shared=1, causal=False, scale=None):
    """What `attention` multiplies values with: `softmax(scale * q . k + bias)` over keys, `(B, H, L, M)`. Arguments and
    errors as there; a query that sees no key has zeros."""
    require_heads(q, k, k, mask, bias, shared, None, 0.0)
    B, H, L, D = q.shape
    M = k.shape[2]
    factor = 1.0 / np.sqrt(1.0 * D) if scale is None else scale
    scores = np.empty((B, H, L, M), dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            for i in range(L):
                for j in range(M):
                    score = 0.0
                    for d in range(D):
                        score += q[b, h, i, d] * k[b, h // shared, j, d]
                    score = score * factor if bias is None else score * factor + bias[h, i, j]
                    unseen = (causal and j > i + M - L) or (mask is not None and mask[b, j] == 0)
                    scores[b, h, i, j] = -np.inf if unseen else score
    return softmax(scores)


def split_heads(x, heads):
    """`(B, L, heads * D)` as `(B, heads, L, D)`."""
    B, L, E = x.shape
    return np.swapaxes(x.reshape(B, L, heads, E // heads), 1, 2)


def in_features(x, w, b):
    """`x @ w.T + b` for sequences `(B, L, D)`."""
    B, L, D = x.shape
    return (x.reshape(B * L, D) @ w.T + b).reshape(B, L, w.shape[0])


@operator
def multi_head_attention(
    q, k, v, w, b, w_out, b_out, mask=None, bias=None, seed=None, *, heads, causal=False, rate=0.0
):
    """`attention` of features that dense layers make of sequences, with a dense layer behind it (Vaswani et al., 2017,
    section 3.2.2).

    Args:
        q: `(B, L, E)`, and `E` a multiple of `heads`.
        k, v: `(B, M, E)`.
        w, b: `(3 * E, E)` and `(3 * E,)`, for queries, keys and values, in this order.
        w_out, b_out: `(E, E)` and `(E,)`.
        mask, bias, seed, causal, rate: As of `attention`.
        heads: How many heads share the features.

    Returns:
        `(B, L, E)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `q` holds integers.
    """
    require_floats(q)
    B, L, E = q.shape
    if E % heads != 0 or w.shape != (3 * E, E) or b.shape != (3 * E,) or w_out.shape != (E, E) or b_out.shape != (E,):
        raise ValueError("`w` is (3 * E, E), `b` (3 * E,), `w_out` (E, E), `b_out` (E,), and `heads` divides E")
    if k.shape != v.shape or k.shape[0] != B or k.shape[2] != E:
        raise ValueError("`q` is (B, L, E), `k` and `v` are (B, M, E)")
    queries = split_heads(in_features(q, w[:E], b[:E]), heads)
    keys = split_heads(in_features(k, w[E : 2 * E], b[E : 2 * E]), heads)
    values = split_heads(in_features(v, w[2 * E :], b[2 * E :]), heads)
    y = attention(queries, keys, values, mask, bias, seed, causal=causal, rate=rate)
    return in_features(np.swapaxes(y, 1, 2).reshape(B, L, E), w_out, b_out)
