"""Attention of several heads, with shared keys, masks and biases. The scores of one head at a time are in memory."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def shares(scores, factor, bias, mask, causal):
    """Scores of a head as exponentials, row by row, in place, and the sums of these rows."""
    L, M = scores.shape
    totals = np.zeros(L, dtype=scores.dtype)
    for i in range(L):
        greatest = -np.inf
        for j in range(M):
            score = scores[i, j] * factor if bias is None else scores[i, j] * factor + bias[i, j]
            if causal and j > i + M - L:
                score = -np.inf
            if mask is not None and mask[j] == 0:
                score = -np.inf
            scores[i, j] = score
            greatest = max(greatest, stop_gradient(score))
        if greatest == -np.inf:
            greatest = 0.0
        for j in range(M):
            scores[i, j] = np.exp(scores[i, j] - greatest)
            totals[i] += scores[i, j]
    return totals


@operator
def attention(q, k, v, mask=None, bias=None, *, shared=1, causal=False, scale=None):
    """Means of values by the exponentials of scores (Vaswani et al., 2017, section 3.2).

    `y[b, h, i] = sum over j of softmax(scale * q[b, h, i] . k[b, g, j] + bias[h, i, j]) * v[b, g, j]`, and
    `g = h // shared`.

    Args:
        q: `(B, H, L, D)`.
        k: `(B, G, M, D)`.
        v: `(B, G, M, E)`.
        mask: `(B, M)`, booleans or integers: which keys there are, zero for those that are padding; or None.
        bias: `(H, L, M)`, added to scores, or None; -inf where a query does not see a key.
        shared: How many heads share keys and values: `H == G * shared`.
        causal: Whether query `i` sees the keys up to `i + M - L` only.
        scale: What scores are multiplied by; by default `1 / sqrt(D)`.

    Returns:
        `(B, H, L, E)`. A query that sees no key gets zeros, and no derivative.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `q` holds integers.
    """
    B, H, L, D = q.shape
    G, M, E = k.shape[1], k.shape[2], v.shape[3]
    require_floats(q)
    if k.shape[0] != B or v.shape[0] != B or G * shared != H or v.shape[1] != G or v.shape[2] != M or k.shape[3] != D:
        raise ValueError("`q` is (B, G * shared, L, D), `k` (B, G, M, D), `v` (B, G, M, E)")
    if mask is not None and (mask.shape[0] != B or mask.shape[1] != M):
        raise ValueError("`mask` is (B, M)")
    if bias is not None and (bias.shape[0] != H or bias.shape[1] != L or bias.shape[2] != M):
        raise ValueError("`bias` is (H, L, M)")
    factor = 1.0 / np.sqrt(1.0 * D) if scale is None else scale
    y = np.zeros((B, H, L, E), dtype=q.dtype)
    for b in range(B):
        for g in range(G):
            for r in range(shared):
                h = g * shared + r
                scores = np.zeros((L, M), dtype=q.dtype)
                for i in range(L):
                    for j in range(M):
                        for d in range(D):
                            scores[i, j] += q[b, h, i, d] * k[b, g, j, d]
                own_bias = None if bias is None else bias[h]
                own_mask = None if mask is None else mask[b]
                totals = shares(scores, factor, own_bias, own_mask, causal)
                for i in range(L):
                    for j in range(M):
                        for e in range(E):
                            y[b, h, i, e] += scores[i, j] * v[b, g, j, e]
                for i in range(L):
                    for e in range(E):
                        y[b, h, i, e] = 0.0 if totals[i] == 0.0 else y[b, h, i, e] / totals[i]
    return y
