"""Products of stacks of matrices, and how near vectors are to each other."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_ascending, require_floats
from loopdiff.kernels.nn.rows import back_from_rows, rows_along
from loopdiff.kernels.operator import operator


@operator
def batched_matmul(a, b, *, turn_a=False, turn_b=False):
    """Products of matrices in two stacks, pair by pair; a stack of one is that of each pair.

    Args:
        a: `(B, M, K)`, or `(B, K, M)` where `turn_a`, floats.
        b: `(B, K, N)`, or `(B, N, K)` where `turn_b`.
        turn_a, turn_b: Whether matrices are taken as their transposes. Nothing is copied for that.

    Returns:
        `(B, M, N)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `a` holds integers.
    """
    require_floats(a)
    M, K = (a.shape[2], a.shape[1]) if turn_a else (a.shape[1], a.shape[2])
    N, L = (b.shape[1], b.shape[2]) if turn_b else (b.shape[2], b.shape[1])
    if K != L or (a.shape[0] != b.shape[0] and a.shape[0] != 1 and b.shape[0] != 1):
        raise ValueError(
            "stacks are as long as each other, or have one matrix, and rows of one are as long as columns of the other"
        )
    B = max(a.shape[0], b.shape[0]) if min(a.shape[0], b.shape[0]) > 0 else 0
    y = np.zeros((B, M, N), dtype=a.dtype)
    for n in range(B):
        first, second = a[n if a.shape[0] > 1 else 0], b[n if b.shape[0] > 1 else 0]
        for i in range(M):
            for j in range(N):
                for k in range(K):
                    y[n, i, j] += (first[k, i] if turn_a else first[i, k]) * (second[j, k] if turn_b else second[k, j])
    return y


@operator
def grouped_matmul(x, w, starts):
    """Products of rows that follow one another, each group of rows with a matrix of its own, `y[a:b] = x[a:b] @ w[g]`
    for `a, b = starts[g], starts[g + 1]`: what a mixture of experts does behind its gates.

    Args:
        x: `(N, K)`, floats.
        w: `(G, K, M)`.
        starts: `(G + 1,)`, where groups begin, and where the last one ends.

    Returns:
        `(N, M)`, zero for rows of no group.

    Raises:
        ArgumentError: LD310 where a group ends outside; LD332 where shapes do not fit, groups overlap, or `x` holds
            integers.
    """
    require_floats(x)
    require_ascending(starts)
    (G, K, M), N = w.shape, x.shape[0]
    if x.shape[1] != K or starts.shape[0] != G + 1:
        raise ValueError("`x` is (N, K), `w` (G, K, M), `starts` (G + 1,)")
    y = np.zeros((N, M), dtype=x.dtype)
    for g in range(G):
        for n in range(starts[g], starts[g + 1]):
            for k in range(K):
                for m in range(M):
                    y[n, m] += x[n, k] * w[g, k, m]
    return y


@operator
def bilinear(x, y, w, bias=None):
    """`x[n] @ w[k] @ y[n] + bias[k]`, a number for each matrix `w[k]`.

    Args:
        x, y: `(N, D)` and `(N, E)`, floats.
        w: `(K, D, E)`.
        bias: `(K,)`, or None.

    Returns:
        `(N, K)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_floats(x)
    (N, D), (K, E) = x.shape, (w.shape[0], y.shape[1])
    if y.shape[0] != N or w.shape[1] != D or w.shape[2] != E:
        raise ValueError("`x` is (N, D), `y` (N, E) and `w` (K, D, E)")
    z = np.zeros((N, K), dtype=x.dtype)
    for n in range(N):
        for k in range(K):
            total = 0.0
            for d in range(D):
                for e in range(E):
                    total += x[n, d] * w[k, d, e] * y[n, e]
            z[n, k] = total if bias is None else total + bias[k]
    return z


@operator
def unit_vectors(x, *, axis=-1, epsilon=1e-12):
    """Vectors along an axis by their lengths, or by `epsilon` where they are shorter: at zero the derivative is that of
    `x / epsilon`, and never NaN.

    Args:
        x: Floats of any shape with an axis.
        axis: Along which vectors lie.
        epsilon: What is divided by at least, above zero.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where `x` holds integers.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    y = np.empty_like(rows)
    for i in range(rows.shape[0]):
        squares = 0.0
        for j in range(rows.shape[1]):
            squares += rows[i, j] ** 2
        length = np.sqrt(squares) if squares > epsilon * epsilon else epsilon
        for j in range(rows.shape[1]):
            y[i, j] = rows[i, j] / length
    return back_from_rows(y, x, axis)


@operator
def cosine_similarity(x, y, *, axis=-1, epsilon=1e-8):
    """Cosines of the angles between vectors along an axis, with lengths of `epsilon` where vectors are shorter: at zero
    they are 0, with finite derivatives.

    Args:
        x, y: Floats of one shape with an axis.
        axis: Along which vectors lie.
        epsilon: How long vectors are at least, above zero.

    Returns:
        An array without that axis.

    Raises:
        ArgumentError: LD332 where shapes differ, or `x` holds integers.
    """
    require_floats(x)
    if x.shape != y.shape:
        raise ValueError("both arrays have one shape")
    return (unit_vectors(x, axis=axis, epsilon=epsilon) * unit_vectors(y, axis=axis, epsilon=epsilon)).sum(axis=axis)


def length_between(x, i, y, j, p):
    """The p-norm of the difference of two rows, with derivative zero where it is zero."""
    total = 0.0
    for d in range(x.shape[1]):
        total += (x[i, d] - y[j, d]) ** 2 if p == 2.0 else abs(x[i, d] - y[j, d]) ** p
    if p == 2.0:
        return np.sqrt(total) if total > 0.0 else total
    return total ** (1.0 / p) if total > 0.0 else total


@operator
def distances(x, y, *, p=2.0):
    """Lengths of the differences of all rows of two matrices; where rows are equal the derivative is zero.

    Args:
        x, y: `(M, D)` and `(N, D)`, floats.
        p: Lengths are `sum(abs(difference) ** p) ** (1 / p)`, `p` at least 1.

    Returns:
        `(M, N)`.

    Raises:
        ArgumentError: LD332 where rows are not as long as each other, or `x` holds integers.
    """
    require_floats(x)
    if x.shape[1] != y.shape[1]:
        raise ValueError("`x` is (M, D), and `y` (N, D)")
    z = np.zeros((x.shape[0], y.shape[0]), dtype=x.dtype)
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            z[i, j] = length_between(x, i, y, j, p)
    return z


@operator
def distances_within(x, *, p=2.0):
    """Lengths of the differences of all pairs of rows of a matrix, each pair once: those of the first row with the rows
    behind it, of the second, and so on. Where rows are equal the derivative is zero.

    Args:
        x: `(N, D)`, floats.
        p: As of `distances`.

    Returns:
        `(N * (N - 1) // 2,)`.

    Raises:
        ArgumentError: LD332 where `x` holds integers.
    """
    require_floats(x)
    N = x.shape[0]
    z = np.empty(N * (N - 1) // 2, dtype=x.dtype)
    for i in range(N):
        for j in range(i + 1, N):
            z[i * N - i * (i + 1) // 2 + j - i - 1] = length_between(x, i, x, j, p)
    return z


@operator
def distances_by_row(x, y, *, p=2.0):
    """Lengths of the differences of rows, each with that in its place: `(N, D)` and `(N, D)` to `(N,)`. Where rows are
    equal the derivative is zero. `p` and errors as of `distances`."""
    require_floats(x)
    if x.shape != y.shape:
        raise ValueError("both arrays have one shape")
    z = np.empty(x.shape[0], dtype=x.dtype)
    for i in range(x.shape[0]):
        z[i] = length_between(x, i, y, i, p)
    return z
