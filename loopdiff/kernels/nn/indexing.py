"""Rows taken and put by index, segments, sparse products and messages on graphs. Indices that are used are checked."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_ascending, require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def require_as_many(rows, indices):
    if indices.shape[0] != rows.shape[0]:
        raise ValueError("there must be as many indices as rows")


@operator
def gather(x, indices):
    """`x[indices]`, rows of a matrix: `(M, D)` and `(N,)` give `(N, D)`. Raises ArgumentError (LD310) for an index
    outside."""
    N, D = indices.shape[0], x.shape[1]
    y = np.empty((N, D), dtype=x.dtype)
    for n in range(N):
        for d in range(D):
            y[n, d] = x[indices[n], d]
    return y


@operator
def scatter_add(rows, indices, *, size):
    """Sums of rows that have one index: `y[indices[n]] += rows[n]`.

    Args:
        rows: `(N, D)`.
        indices: `(N,)`.
        size: How many sums there are.

    Returns:
        `(size, D)`; zero where no row goes.

    Raises:
        ArgumentError: LD310 for an index outside; LD332 where there are not as many as rows.
    """
    require_as_many(rows, indices)
    y = np.zeros((size, rows.shape[1]), dtype=rows.dtype)
    for n in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            y[indices[n], d] += rows[n, d]
    return y


@operator
def scatter_mean(rows, indices, *, size):
    """Means of rows that have one index; zero where no row goes. Arguments as of `scatter_add`."""
    require_floats(rows)
    require_as_many(rows, indices)
    y = np.zeros((size, rows.shape[1]), dtype=rows.dtype)
    counts = np.zeros(size, dtype=np.int64)
    for n in range(rows.shape[0]):
        counts[indices[n]] += 1
        for d in range(rows.shape[1]):
            y[indices[n], d] += rows[n, d]
    for k in range(size):
        for d in range(rows.shape[1]):
            y[k, d] = y[k, d] / max(counts[k], 1)
    return y


@operator
def scatter_max(rows, indices, *, size):
    """The greatest of rows that have one index, column by column; -inf where no row goes. Equal numbers share the
    derivative evenly: its sum is that of the seed, where the greatest is finite. Arguments as of `scatter_add`."""
    require_floats(rows)
    require_as_many(rows, indices)
    y = np.full((size, rows.shape[1]), -np.inf, dtype=rows.dtype)
    counts = np.zeros((size, rows.shape[1]), dtype=np.int64)
    for n in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            y[indices[n], d] = np.maximum(y[indices[n], d], stop_gradient(rows[n, d]))
    greatest = y.copy()
    for n in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            counts[indices[n], d] += rows[n, d] == greatest[indices[n], d]
    for n in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            if rows[n, d] == greatest[indices[n], d] and np.isfinite(rows[n, d]):
                # Zero, with the derivative of a share.
                y[indices[n], d] += (rows[n, d] - stop_gradient(rows[n, d])) / counts[indices[n], d]
    return y


@operator
def scatter_min(rows, indices, *, size):
    """The least of rows that have one index, column by column; inf where no row goes. Equal numbers share the
    derivative as in `scatter_max`. Arguments as of `scatter_add`."""
    return -scatter_max(-rows, indices, size=size)


@operator
def scatter_prod(rows, indices, *, size):
    """Products of rows that have one index; one where no row goes. Exact at zeros: nothing is divided. Arguments as of
    `scatter_add`."""
    require_as_many(rows, indices)
    y = np.ones((size, rows.shape[1]), dtype=rows.dtype)
    for n in range(rows.shape[0]):
        for d in range(rows.shape[1]):
            y[indices[n], d] *= rows[n, d]
    return y


@operator
def scatter_sub(rows, indices, *, size):
    """What is left of zero without the rows that have one index. Arguments as of `scatter_add`."""
    return -scatter_add(rows, indices, size=size)


@operator
def scatter_div(rows, indices, *, size):
    """One divided by all rows that have one index; one where no row goes. Arguments as of `scatter_add`."""
    require_floats(rows)
    return 1.0 / scatter_prod(rows, indices, size=size)


@operator
def segment_sum(rows, starts):
    """Sums of rows that follow one another: `y[k] = rows[starts[k]:starts[k + 1]].sum(axis=0)`.

    Args:
        rows: `(N, D)`.
        starts: `(K + 1,)`, ascending.

    Returns:
        `(K, D)`.

    Raises:
        ArgumentError: LD310 for a start outside; LD332 where starts descend.
    """
    require_ascending(starts)
    K, D = starts.shape[0] - 1, rows.shape[1]
    y = np.zeros((K, D), dtype=rows.dtype)
    for k in range(K):
        for n in range(starts[k], starts[k + 1]):
            for d in range(D):
                y[k, d] += rows[n, d]
    return y


@operator
def csr_matmul(values, columns, starts, x):
    """A sparse matrix by a dense one: `y[i] = sum of values[p] * x[columns[p]]` for `p` of row `i`.

    Args:
        values, columns: `(P,)`: the numbers of the matrix, row by row, and their columns.
        starts: `(M + 1,)`: where rows begin, and the last one ends.
        x: `(N, D)`.

    Returns:
        `(M, D)`.

    Raises:
        ArgumentError: LD310 for a column or a start outside.
    """
    require_floats(x)
    require_as_many(values, columns)
    require_ascending(starts)
    M, D = starts.shape[0] - 1, x.shape[1]
    y = np.zeros((M, D), dtype=x.dtype)
    for i in range(M):
        for p in range(starts[i], starts[i + 1]):
            for d in range(D):
                y[i, d] += values[p] * x[columns[p], d]
    return y


@operator
def message_passing(nodes, weights, senders, receivers):
    """What nodes of a graph get from their neighbours: `y[receivers[e]] += weights[e] * nodes[senders[e]]`.

    Args:
        nodes: `(N, D)`.
        weights: `(E,)`, of edges.
        senders, receivers: `(E,)`, integers.

    Returns:
        `(N, D)`.

    Raises:
        ArgumentError: LD310 for a node that is not there.
    """
    require_floats(nodes)
    require_as_many(senders, receivers)
    require_as_many(senders, weights)
    y = np.zeros_like(nodes)
    for e in range(senders.shape[0]):
        for d in range(nodes.shape[1]):
            y[receivers[e], d] += weights[e] * nodes[senders[e], d]
    return y


@operator
def embedding_bag(table, indices, starts, weights=None, *, mode="sum"):
    """Sums of rows of a table, by lists of indices one after the other: `segment_sum` of `gather`, and neither is made.

    Args:
        table: `(M, D)`.
        indices: `(N,)`.
        starts: `(K + 1,)`, where lists begin, and the last one ends.
        weights: `(N,)`, what rows are multiplied with, or None.
        mode: `sum`; `mean`, sums by how many rows there are; or `max`, the greatest number of each column, of which the
            first of equals has the derivative. Of a list of nothing all of these are zero.

    Returns:
        `(K, D)`.

    Raises:
        ArgumentError: LD310 for an index or a start outside, or where there are fewer weights; LD332 for another mode.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("`mode` is sum, mean or max")
    require_ascending(starts)
    if weights is not None:
        require_as_many(weights, indices)
    K, D = starts.shape[0] - 1, table.shape[1]
    y = np.zeros((K, D), dtype=table.dtype)
    for k in range(K):
        for n in range(starts[k], starts[k + 1]):
            for d in range(D):
                value = table[indices[n], d] if weights is None else weights[n] * table[indices[n], d]
                if mode != "max":
                    y[k, d] += value
                elif n == starts[k] or value > y[k, d]:
                    y[k, d] = value
        if mode == "mean" and starts[k + 1] > starts[k]:
            for d in range(D):
                y[k, d] /= starts[k + 1] - starts[k]
    return y
