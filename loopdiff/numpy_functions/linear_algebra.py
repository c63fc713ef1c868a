"""Linear systems, determinants and factors of matrices, by elimination; stacks of matrices one by one.

The elimination of a system chooses each row as it comes to it, and writes the rows that it has chosen, and what rows
are multiplied by, once, in arrays of their own: the reverse sweep finds it where it is, keeps nothing, and goes through
each matrix once. Rows and columns of determinants, which zeros may be left of, change places before.
"""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_complex
from loopdiff.numpy_functions.complex_systems import solve_complex
from loopdiff.numpy_functions.vectors import squares


def solve(a, b):
    """`x` with a @ x = b, for a vector or for the columns of a matrix, by LU with partial pivoting."""
    if a.ndim == 3:
        assert b.ndim == 3, "np.linalg.solve of a stack of matrices takes a stack of matrices"
        assert b.shape[0] == a.shape[0], "np.linalg.solve takes stacks of one length"
        both = of_both(a, b)
        out = np.empty(b.shape, dtype=both.dtype)
        for i in range(a.shape[0]):
            out[i] = solved(a[i], b[i])
        return out
    assert b.ndim < 3, "np.linalg.solve of one matrix takes a vector or a matrix on the right"
    return solved(a, b)


def solved(a, b):
    assert a.ndim == 2, "functions of np.linalg take a matrix, or matrices along a first axis"
    n = a.shape[0]
    assert b.shape[0] == n, "np.linalg.solve takes as many rows on the right as there are equations"
    assert a.shape[1] == n, "Last 2 dimensions of the array must be square"
    both = of_both(a, b)
    x = np.empty(b.shape, dtype=both.dtype)
    if holds_complex(both):
        solve_complex(a, b, x)
    else:
        solve_any(a, b, x)
    return x


def solve_any(a, b, x):
    """`x` with a @ x = b."""
    n = a.shape[0]
    if b.ndim == 1:
        both, found = np.empty((n, n + 1), dtype=x.dtype), np.empty((n, 1), dtype=x.dtype)
    else:
        both, found = np.empty((n, n + b.shape[1]), dtype=x.dtype), np.empty(b.shape, dtype=x.dtype)
    for i in range(n):
        for j in range(n):
            both[i, j] = a[i, j]
        if b.ndim == 1:
            both[i, n] = b[i]
        else:
            for j in range(b.shape[1]):
                both[i, n + j] = b[i, j]
    row = np.empty(both.shape, dtype=x.dtype)
    reduce_rows(both, row)
    substitute_rows(row, found)
    for i in range(n):
        if b.ndim == 1:
            x[i] = found[i, 0]
        else:
            for j in range(b.shape[1]):
                x[i, j] = found[i, j]


def reduce_rows(both, row):
    """A matrix, with what is on the right beside it, as the `row`s of an upper triangle, each divided by its first
    element. Next comes the row with the greatest number in its column; the one in its way goes where that was."""
    n = both.shape[0]
    following, factor = np.empty(both.shape, dtype=both.dtype), np.empty((n, n), dtype=both.dtype)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(both[i, k]) > abs(both[best, k]):
                best = i
        assert both[best, k] != 0.0, "Singular matrix"
        for j in range(k, both.shape[1]):
            following[k, j] = both[best, j]
            both[best, j] = both[k, j]
        for j in range(k + 1, both.shape[1]):
            row[k, j] = following[k, j] / following[k, k]
        for i in range(k + 1, n):
            factor[k, i] = both[i, k]
        for i in range(k + 1, n):
            for j in range(k + 1, both.shape[1]):
                both[i, j] -= factor[k, i] * row[k, j]


def substitute_rows(row, found):
    """What the `row`s of an upper triangle, with what is on the right beside them, say of the unknowns."""
    n = row.shape[0]
    left, factor = np.empty(found.shape, dtype=row.dtype), np.empty((n, n), dtype=row.dtype)
    for i in range(n):
        for j in range(found.shape[1]):
            left[i, j] = row[i, n + j]
    for k in range(n - 1, -1, -1):
        for j in range(found.shape[1]):
            found[k, j] = left[k, j]
        for i in range(k):
            factor[k, i] = row[i, k]
        for i in range(k):
            for j in range(found.shape[1]):
                left[i, j] -= factor[k, i] * found[k, j]


def of_both(a, b):
    """An array without elements, of the type of floats that holds those of `a` and `b`."""
    return np.concatenate((1.0 * a[:0].ravel(), 1.0 * b[:0].ravel()))


def eliminate(lu, k):
    """Column `k` becomes factors of row `k`, which is taken from the rows below it as often."""
    for i in range(k + 1, lu.shape[0]):
        lu[i, k] /= lu[k, k]
        for j in range(k + 1, lu.shape[0]):
            lu[i, j] -= lu[i, k] * lu[k, j]


def exchange(numbers, left, k, other):
    """Two rows of a matrix change places, and their numbers do."""
    numbers[k], numbers[other] = numbers[other], numbers[k]
    for j in range(left.shape[1]):
        left[k, j], left[other, j] = left[other, j], left[k, j]


def det(a):
    """The determinant: zero, with the derivatives that it has there, of a singular matrix."""
    if a.ndim == 3:
        each = 1.0 * a[:0].ravel()
        out = np.empty(a.shape[0], dtype=each.dtype)
        for i in range(a.shape[0]):
            out[i] = determinant(a[i])
        return out
    return determinant(a)


def determinant(a):
    assert a.ndim == 2, "functions of np.linalg take a matrix, or matrices along a first axis"
    n = a.shape[0]
    rows, columns, sign = complete_pivots(a)
    lu = 1.0 * a[rows][:, columns]
    product = sign * np.diagonal(lu)[:0].prod()
    rank = 0
    for k in range(n):
        if lu[k, k] != 0.0:
            rank += 1
            eliminate(lu, k)
        product *= lu[k, k]
    if rank == n - 2:  # where four zeros are left, whose product of two has second derivatives
        rest = sign * lu[n - 2, n - 1] * lu[n - 1, n - 2]
        for k in range(n - 2):
            rest *= lu[k, k]
        product -= rest
    return product


def slogdet(a):
    """The sign of the determinant, and the logarithm of its magnitude."""
    if a.ndim == 3:
        one = 1.0 * a[:0].ravel()
        real = np.abs(one)
        signs, logarithms = np.empty(a.shape[0], dtype=one.dtype), np.empty(a.shape[0], dtype=real.dtype)
        for i in range(a.shape[0]):
            signs[i], logarithms[i] = sign_and_logarithm(a[i])
        return signs, logarithms
    return sign_and_logarithm(a)


def sign_and_logarithm(a):
    assert a.ndim == 2, "functions of np.linalg take a matrix, or matrices along a first axis"
    rows, columns, sign = complete_pivots(a)
    lu = 1.0 * a[rows][:, columns]
    for k in range(a.shape[0]):
        if lu[k, k] != 0.0:
            eliminate(lu, k)
    diagonal = np.diagonal(lu)
    return sign * np.sign(diagonal).prod(), np.log(np.abs(diagonal)).sum()


def complete_pivots(a):
    """Rows and columns of a square matrix in an order in which its elimination takes the greatest number left each
    time, so that only zeros are left where that is zero; and the sign of the change of their places."""
    n = a.shape[0]
    assert a.shape[1] == n, "Last 2 dimensions of the array must be square"
    rows, columns = np.arange(n), np.arange(n)
    sign = 1
    left = 1.0 * a
    for k in range(n):
        row, column = k, k
        for i in range(k, n):
            for j in range(k, n):
                if abs(left[i, j]) > abs(left[row, column]):
                    row, column = i, j
        if row != k:
            sign = -sign
            exchange(rows, left, k, row)
        if column != k:
            sign = -sign
            exchange(columns, left.T, k, column)
        if left[k, k] != 0.0:
            eliminate(left, k)
    return rows, columns, sign


def inv(a):
    """The inverse: what solves a system for every column of the identity."""
    assert a.ndim >= 2, "functions of np.linalg take a matrix, or matrices along a first axis"
    out = 1.0 * a
    if a.ndim == 3:
        for i in range(a.shape[0]):
            out[i] = solved(a[i], np.eye(a.shape[1], a.shape[2], dtype=out.dtype))
        return out
    return solved(a, np.eye(a.shape[0], a.shape[1], dtype=out.dtype))


def cholesky(a):
    """The lower triangle L with L @ L.T = a (L.T conjugate), made of the lower triangle of `a`."""
    out = 0.0 * a
    out[:] = 0.0
    if a.ndim == 3:
        for i in range(a.shape[0]):
            factor_symmetric(a[i], out[i])
        return out
    factor_symmetric(a, out)
    return out


def factor_symmetric(a, out):
    assert a.ndim == 2, "functions of np.linalg take a matrix, or matrices along a first axis"
    n = a.shape[0]
    assert a.shape[1] == n, "Last 2 dimensions of the array must be square"
    for i in range(n):
        for j in range(i):
            out[i, j] = a[i, j]
            for k in range(j):
                out[i, j] -= out[i, k] * np.conj(out[j, k])
            out[i, j] /= out[j, j]
        left = np.real(a[i, i])
        for k in range(i):
            left -= squares(out[i, k])
        assert left > 0.0, "Matrix is not positive definite"
        out[i, i] = np.sqrt(left)


def matrix_power(a, n):
    """The product of `n` times `a`, of squares; of the inverse for negative `n`."""
    assert a.ndim == 2, "np.linalg.matrix_power takes a matrix"
    assert a.shape[0] == a.shape[1], "Last 2 dimensions of the array must be square"
    if n == 1:
        return a
    if n < 0:
        square = inv(a)
    else:
        square = a.copy()
    out = np.eye(a.shape[0], dtype=square.dtype)
    left = abs(n)
    while left > 0:
        if left & 1 == 1:
            out[:] = out @ square
        left >>= 1
        if left > 0:
            square[:] = square @ square
    return out
