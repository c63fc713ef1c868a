"""Complex linear systems on the real numbers that complex ones are in memory, side by side.

A row times i is that row with its parts exchanged, one of them with the other sign: it is kept beside each row that
others are reduced by, so that one sum of two products does what complex arithmetic takes four for. What rows are
multiplied by is copied out of the matrix: it is a matrix of its own then, which the loops of the reverse sweep go
through together with that of the rows.
"""

from __future__ import annotations

import numpy as np


def solve_complex(a, b, x):
    """`x` with a @ x = b, for a vector or for the columns of a matrix, by elimination with LAPACK's pivots."""
    n, kind = a.shape[0], x.real[:0].ravel()
    left = np.empty((n, 2 * a.shape[1]), dtype=kind.dtype)
    for i in range(n):
        for j in range(a.shape[1]):
            left[i, 2 * j], left[i, 2 * j + 1] = a[i, j].real, a[i, j].imag
    rows = complex_pivots(left)
    if b.ndim == 1:
        both, found = np.empty((n, 2 * n + 2), dtype=kind.dtype), np.empty((n, 2), dtype=kind.dtype)
    else:
        both = np.empty((n, 2 * n + 2 * b.shape[1]), dtype=kind.dtype)
        found = np.empty((n, 2 * b.shape[1]), dtype=kind.dtype)
    for i in range(n):
        for j in range(n):
            both[i, 2 * j], both[i, 2 * j + 1] = a[rows[i], j].real, a[rows[i], j].imag
        if b.ndim == 1:
            both[i, 2 * n], both[i, 2 * n + 1] = b[rows[i]].real, b[rows[i]].imag
        else:
            for j in range(b.shape[1]):
                both[i, 2 * n + 2 * j], both[i, 2 * n + 2 * j + 1] = b[rows[i], j].real, b[rows[i], j].imag
    row = np.empty(both.shape, dtype=kind.dtype)
    reduce_complex_rows(both, row)
    substitute_complex_rows(row, found)
    for i in range(n):
        if b.ndim == 1:
            x[i] = complex(found[i, 0], found[i, 1])
        else:
            for j in range(b.shape[1]):
                x[i, j] = complex(found[i, 2 * j], found[i, 2 * j + 1])


def reduce_complex_rows(both, row):
    """A matrix, with what is on the right beside it, as the `row`s of an upper triangle, each divided by its first
    element."""
    n = both.shape[0]
    turned = np.empty(both.shape, dtype=both.dtype)
    real, imaginary = np.empty((n, n), dtype=both.dtype), np.empty((n, n), dtype=both.dtype)
    for k in range(n):
        one = 1.0 / complex(both[k, 2 * k], both[k, 2 * k + 1])
        for j in range(k + 1, both.shape[1] // 2):
            row[k, 2 * j] = one.real * both[k, 2 * j] - one.imag * both[k, 2 * j + 1]
            row[k, 2 * j + 1] = one.real * both[k, 2 * j + 1] + one.imag * both[k, 2 * j]
            turned[k, 2 * j], turned[k, 2 * j + 1] = -row[k, 2 * j + 1], row[k, 2 * j]
        for i in range(k + 1, n):
            real[k, i], imaginary[k, i] = both[i, 2 * k], both[i, 2 * k + 1]
        for i in range(k + 1, n):
            for j in range(2 * k + 2, both.shape[1]):
                both[i, j] -= real[k, i] * row[k, j] + imaginary[k, i] * turned[k, j]


def substitute_complex_rows(row, found):
    """What the `row`s of an upper triangle, with what is on the right beside them, say of the unknowns."""
    n = row.shape[0]
    left, turned = np.empty(found.shape, dtype=row.dtype), np.empty(found.shape, dtype=row.dtype)
    real, imaginary = np.empty((n, n), dtype=row.dtype), np.empty((n, n), dtype=row.dtype)
    for i in range(n):
        for j in range(found.shape[1]):
            left[i, j] = row[i, 2 * n + j]
    for k in range(n - 1, -1, -1):
        for j in range(found.shape[1] // 2):
            found[k, 2 * j], found[k, 2 * j + 1] = left[k, 2 * j], left[k, 2 * j + 1]
            turned[k, 2 * j], turned[k, 2 * j + 1] = -left[k, 2 * j + 1], left[k, 2 * j]
        for i in range(k):
            real[k, i], imaginary[k, i] = row[i, 2 * k], row[i, 2 * k + 1]
        for i in range(k):
            for j in range(found.shape[1]):
                left[i, j] -= real[k, i] * found[k, j] + imaginary[k, i] * turned[k, j]


def complex_pivots(left):
    """Which row of a square matrix to take next in its elimination: that with the greatest |real| + |imaginary|."""
    n = left.shape[0]
    assert left.shape[1] == 2 * n, "Last 2 dimensions of the array must be square"
    rows = np.arange(n)
    row, turned = np.empty(2 * n, dtype=left.dtype), np.empty(2 * n, dtype=left.dtype)
    for k in range(n):
        best, most = k, abs(left[k, 2 * k]) + abs(left[k, 2 * k + 1])
        for i in range(k + 1, n):
            size = abs(left[i, 2 * k]) + abs(left[i, 2 * k + 1])
            if size > most:
                best, most = i, size
        assert most != 0.0, "Singular matrix"
        rows[k], rows[best] = rows[best], rows[k]
        for j in range(2 * n):
            left[k, j], left[best, j] = left[best, j], left[k, j]
        one = 1.0 / complex(left[k, 2 * k], left[k, 2 * k + 1])
        for j in range(k + 1, n):
            row[2 * j] = one.real * left[k, 2 * j] - one.imag * left[k, 2 * j + 1]
            row[2 * j + 1] = one.real * left[k, 2 * j + 1] + one.imag * left[k, 2 * j]
            turned[2 * j], turned[2 * j + 1] = -row[2 * j + 1], row[2 * j]
        for i in range(k + 1, n):
            for j in range(2 * k + 2, 2 * n):
                left[i, j] -= left[i, 2 * k] * row[j] + left[i, 2 * k + 1] * turned[j]
    return rows
