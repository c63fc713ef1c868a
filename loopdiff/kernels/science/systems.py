"""Systems of linear equations whose matrices are mostly zeros: tridiagonal, banded, sparse and triangular."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_ascending, require_floats
from loopdiff.kernels.operator import operator


def require_pivot(pivot):
    if pivot == 0:
        raise ValueError("a pivot is zero: the matrix needs rows to change places, or is singular")


@operator
def tridiagonal_solve(lower, diagonal, upper, right):
    """`x` of `lower[i - 1] x[i - 1] + diagonal[i] x[i] + upper[i] x[i + 1] = right[i]`: Gauss's elimination without
    exchange of rows (Thomas, 1949), which is stable for matrices that their diagonal dominates, or positive definite.

    Args:
        lower, upper: `(N - 1,)`, floats.
        diagonal: `(N,)`, with elements.
        right: `(N,)`, or `(N, K)` for several right sides.

    Returns:
        An array like `right`.

    Raises:
        ArgumentError: LD332 where a pivot is zero, lengths differ, or `right` holds integers.
    """
    require_floats(right)
    N = diagonal.shape[0]
    if N == 0 or lower.shape[0] != N - 1 or upper.shape[0] != N - 1 or right.shape[0] != N:
        raise ValueError("`diagonal` and `right` have a row for each unknown, `lower` and `upper` one less")
    x = right.reshape(N, right.size // max(N, 1)).copy()
    ratios = np.empty_like(upper)
    pivot = diagonal[0]
    require_pivot(pivot)
    for k in range(x.shape[1]):
        x[0, k] /= pivot
    for i in range(1, N):
        ratios[i - 1] = upper[i - 1] / pivot
        pivot = diagonal[i] - lower[i - 1] * ratios[i - 1]
        require_pivot(pivot)
        for k in range(x.shape[1]):
            x[i, k] = (x[i, k] - lower[i - 1] * x[i - 1, k]) / pivot
    for i in range(N - 2, -1, -1):
        for k in range(x.shape[1]):
            x[i, k] -= ratios[i] * x[i + 1, k]
    return x.reshape(right.shape)


@operator
def banded_solve(bands, right, *, below, above):
    """`x` of `A x = right` for a matrix with few diagonals: Gauss's elimination without exchange of rows (Golub and Van
    Loan, Matrix Computations, 2013, section 4.3), stable as that of `tridiagonal_solve` is.

    Args:
        bands: `(below + above + 1, N)`: `bands[above + i - j, j]` is `A[i, j]`, as SciPy's `solve_banded` has it. The
            corners, which are no elements of `A`, are not read.
        right: `(N,)`, or `(N, K)` for several right sides.
        below, above: How many diagonals there are below and above the main one.

    Returns:
        An array like `right`.

    Raises:
        ArgumentError: LD332 where a pivot is zero, shapes do not fit, or arrays hold integers.
    """
    require_floats(bands)
    require_floats(right)
    N = bands.shape[1]
    if N == 0 or bands.shape[0] != below + above + 1 or right.shape[0] != N:
        raise ValueError("`bands` is (below + above + 1, N), and `right` has N rows")
    a = bands.copy()
    x = right.reshape(N, right.size // max(N, 1)).copy()
    for m in range(N):
        require_pivot(a[above, m])
        for i in range(m + 1, min(m + below + 1, N)):
            factor = a[above + i - m, m] / a[above, m]
            for j in range(m + 1, min(m + above + 1, N)):
                a[above + i - j, j] -= factor * a[above + m - j, j]
            for k in range(x.shape[1]):
                x[i, k] -= factor * x[m, k]
    for i in range(N - 1, -1, -1):
        for k in range(x.shape[1]):
            total = x[i, k]
            for j in range(i + 1, min(i + above + 1, N)):
                total -= a[above + i - j, j] * x[j, k]
            x[i, k] = total / a[above, i]
    return x.reshape(right.shape)


@operator
def csr_triangular_solve(values, columns, starts, right, *, upper=False):
    """`x` of `A x = right` for a sparse triangular matrix, row by row (Saad, Iterative Methods, 2003, section 3.5.2).

    Args:
        values, columns: `(P,)`: the numbers of the matrix, row by row, and their columns, in any order in a row. Those
            in one place add up.
        starts: `(N + 1,)`: where rows begin, and the last one ends.
        right: `(N,)`, or `(N, K)` for several right sides.
        upper: Whether nothing stands below the diagonal, else above.

    Returns:
        An array like `right`.

    Raises:
        ArgumentError: LD310 for a start outside; LD332 where a number stands on the wrong side, an element of the
            diagonal is zero, starts descend, lengths do not fit, or `right` holds integers.
    """
    require_floats(right)
    N = right.shape[0]
    if N == 0 or starts.shape[0] != N + 1 or columns.shape[0] != values.shape[0]:
        raise ValueError("`starts` has one element more than `right` has rows, and `columns` as many as `values`")
    require_ascending(starts)
    x = right.reshape(N, right.size // max(N, 1)).copy()
    for n in range(N):
        i = N - 1 - n if upper else n
        pivot = 0.0
        for p in range(starts[i], starts[i + 1]):
            if columns[p] == i:
                pivot += values[p]
            elif 0 <= columns[p] < N and (columns[p] > i) == upper:
                for k in range(x.shape[1]):
                    x[i, k] -= values[p] * x[columns[p], k]
            else:
                raise ValueError("the matrix is not triangular")
        require_pivot(pivot)
        for k in range(x.shape[1]):
            x[i, k] /= pivot
    return x.reshape(right.shape)
