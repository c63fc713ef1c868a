"""Complex linear systems on their real and imaginary parts, each in an array of its own.

A row's parts then lie side by side, and a sum of four products goes through them in vectors with nothing exchanged
between lanes. What rows are multiplied by is copied out of the matrix: it is a matrix of its own then, which the loops
of the reverse sweep go through together with that of the rows.
"""

from __future__ import annotations

import numpy as np


def solve_complex(a, b, x):
    """`x` with a @ x = b, for a vector or for the columns of a matrix, by elimination with LAPACK's pivots."""
    n, kind = a.shape[0], x.real[:0].ravel()
    if b.ndim == 1:
        re, im = np.empty((n, n + 1), dtype=kind.dtype), np.empty((n, n + 1), dtype=kind.dtype)
        found_re, found_im = np.empty((n, 1), dtype=kind.dtype), np.empty((n, 1), dtype=kind.dtype)
    else:
        re, im = np.empty((n, n + b.shape[1]), dtype=kind.dtype), np.empty((n, n + b.shape[1]), dtype=kind.dtype)
        found_re, found_im = np.empty(b.shape, dtype=kind.dtype), np.empty(b.shape, dtype=kind.dtype)
    for i in range(n):
        for j in range(n):
            re[i, j], im[i, j] = a[i, j].real, a[i, j].imag
        if b.ndim == 1:
            re[i, n], im[i, n] = b[i].real, b[i].imag
        else:
            for j in range(b.shape[1]):
                re[i, n + j], im[i, n + j] = b[i, j].real, b[i, j].imag
    row_re, row_im = np.empty(re.shape, dtype=kind.dtype), np.empty(re.shape, dtype=kind.dtype)
    reduce_complex_rows(re, im, row_re, row_im)
    substitute_complex_rows(row_re, row_im, found_re, found_im)
    for i in range(n):
        if b.ndim == 1:
            x[i] = complex(found_re[i, 0], found_im[i, 0])
        else:
            for j in range(b.shape[1]):
                x[i, j] = complex(found_re[i, j], found_im[i, j])


def reduce_complex_rows(re, im, row_re, row_im):
    """A matrix, with what is on the right beside it, as the rows of an upper triangle, each divided by its first
    element. Next comes the row with the greatest |real| + |imaginary| in its column; the one in its way goes where that
    was."""
    n = re.shape[0]
    following_re, following_im = np.empty(re.shape, dtype=re.dtype), np.empty(re.shape, dtype=re.dtype)
    times_re, times_im = np.empty((n, n), dtype=re.dtype), np.empty((n, n), dtype=re.dtype)
    for k in range(n):
        best, most = k, abs(re[k, k]) + abs(im[k, k])
        for i in range(k + 1, n):
            size = abs(re[i, k]) + abs(im[i, k])
            if size > most:
                best, most = i, size
        assert most != 0.0, "Singular matrix"
        for j in range(k, re.shape[1]):
            following_re[k, j], following_im[k, j] = re[best, j], im[best, j]
            re[best, j], im[best, j] = re[k, j], im[k, j]
        one = 1.0 / complex(following_re[k, k], following_im[k, k])
        for j in range(k + 1, re.shape[1]):
            row_re[k, j] = one.real * following_re[k, j] - one.imag * following_im[k, j]
            row_im[k, j] = one.real * following_im[k, j] + one.imag * following_re[k, j]
        for i in range(k + 1, n):
            times_re[k, i], times_im[k, i] = re[i, k], im[i, k]
        for i in range(k + 1, n):
            for j in range(k + 1, re.shape[1]):
                re[i, j] -= times_re[k, i] * row_re[k, j] - times_im[k, i] * row_im[k, j]
                im[i, j] -= times_re[k, i] * row_im[k, j] + times_im[k, i] * row_re[k, j]


def substitute_complex_rows(row_re, row_im, found_re, found_im):
    """What the rows of an upper triangle, with what is on the right beside them, say of the unknowns."""
    n = row_re.shape[0]
    left_re, left_im = np.empty(found_re.shape, dtype=row_re.dtype), np.empty(found_re.shape, dtype=row_re.dtype)
    times_re, times_im = np.empty((n, n), dtype=row_re.dtype), np.empty((n, n), dtype=row_re.dtype)
    for i in range(n):
        for j in range(found_re.shape[1]):
            left_re[i, j], left_im[i, j] = row_re[i, n + j], row_im[i, n + j]
    for k in range(n - 1, -1, -1):
        for j in range(found_re.shape[1]):
            found_re[k, j], found_im[k, j] = left_re[k, j], left_im[k, j]
        for i in range(k):
            times_re[k, i], times_im[k, i] = row_re[i, k], row_im[i, k]
        for i in range(k):
            for j in range(found_re.shape[1]):
                left_re[i, j] -= times_re[k, i] * found_re[k, j] - times_im[k, i] * found_im[k, j]
                left_im[i, j] -= times_re[k, i] * found_im[k, j] + times_im[k, i] * found_re[k, j]
