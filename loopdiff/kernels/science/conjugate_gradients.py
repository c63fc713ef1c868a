"""Conjugate gradients, whose derivative is another solution: nothing is kept of the steps."""

from __future__ import annotations

import numpy as np
from numba import njit

from loopdiff.kernels.checks import require_ascending, require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.definitions import rule


@njit
def csr_product(values, columns, starts, x, y):
    """`y = A x`."""
    for i in range(x.shape[0]):
        y[i] = 0.0
        for p in range(starts[i], starts[i + 1]):
            y[i] += values[p] * x[columns[p]]


@njit
def csr_descent(values, columns, starts, right, tolerance, most, x):
    """Hestenes' and Stiefel's steps from zero, until the residual is `tolerance` of the right side, or `most` times."""
    residual, direction, image = np.empty_like(right), np.empty_like(right), np.empty_like(right)
    left = 0.0
    for i in range(x.shape[0]):
        x[i] = 0.0
        residual[i] = direction[i] = right[i]
        left += right[i] * right[i]
    enough = tolerance * tolerance * left
    for _ in range(most):
        if left == 0.0:
            break
        csr_product(values, columns, starts, direction, image)
        curvature = 0.0
        for i in range(x.shape[0]):
            curvature += direction[i] * image[i]
        length = left / curvature
        before, left = left, 0.0
        for i in range(x.shape[0]):
            x[i] += length * direction[i]
            residual[i] -= length * image[i]
            left += residual[i] * residual[i]
        if not left > enough:
            break
        for i in range(x.shape[0]):
            direction[i] = residual[i] + left / before * direction[i]


def csr_solve(values, columns, starts, right, tolerance, most, x):
    """`x` of `A x = right`, in place."""
    csr_descent(values, columns, starts, right, tolerance, most, x)


@rule(csr_solve, active=("values", "right", "x"), outputs=("x",))
class SolutionRule:
    """`A dx = d right - dA x`; back, `z` of `A z = x_adj` is the adjoint of the right side, and `-z x` that of `A`."""

    def tangent(values, values_tan, columns, starts, right, right_tan, tolerance, most, x, x_tan):
        csr_descent(values, columns, starts, right, tolerance, most, x)
        if x_tan is not None:
            change = np.zeros_like(x)
            if values_tan is not None:
                csr_product(values_tan, columns, starts, x, change)
            for i in range(change.shape[0]):
                change[i] = -change[i]
                if right_tan is not None:
                    change[i] += right_tan[i]
            csr_descent(values, columns, starts, change, tolerance, most, x_tan)

    def reverse(values, values_adj, columns, starts, right_adj, tolerance, most, x_out, x_adj):
        z = np.empty_like(x_adj)
        csr_descent(values, columns, starts, x_adj, tolerance, most, z)
        for i in range(z.shape[0]):
            x_adj[i] = 0.0
            if right_adj is not None:
                right_adj[i] += z[i]
            if values_adj is not None:
                for p in range(starts[i], starts[i + 1]):
                    values_adj[p] -= z[i] * x_out[columns[p]]


@operator
def conjugate_gradients(values, columns, starts, right, *, tolerance=1e-10, most=10_000):
    """`x` of `A x = right` for a sparse matrix that is symmetric and positive definite, by conjugate gradients
    (Hestenes and Stiefel, 1952). Its derivative solves with `A` once more, whatever steps were taken: it has the error
    that `tolerance` leaves in both solutions. There are first derivatives, in both modes.

    Args:
        values, columns: `(P,)`: the numbers of the matrix, row by row, and their columns. Both triangles are there, and
            the gradient of `values` is by each number alone.
        starts: `(N + 1,)`: where rows begin, and the last one ends.
        right: `(N,)`, floats like `values`.
        tolerance: Steps end where the norm of the residual is that part of the norm of `right`; numbers of 32 bits
            come no nearer than some `1e-6`.
        most: How many steps are taken at most.

    Returns:
        `(N,)`.

    Raises:
        ArgumentError: LD332 where lengths do not fit, columns are outside, starts descend, arrays hold integers, or
            `x` is no solution, as where the matrix is not positive definite: a residual above `100 * tolerance`.
    """
    require_floats(values)
    require_floats(right)
    N, P = right.shape[0], values.shape[0]
    if starts.shape[0] != N + 1 or columns.shape[0] != P:
        raise ValueError("`starts` has one element more than `right` has rows, and `columns` as many as `values`")
    require_ascending(starts)
    if starts[0] < 0 or starts[N] > P:
        raise ValueError("`starts` are places in `values`")
    for p in range(P):
        if not 0 <= columns[p] < N:
            raise ValueError("`columns` are places in `right`")
    x = np.zeros(N, dtype=right.dtype)
    csr_solve(values, columns, starts, right, tolerance, most, x)
    wrong, whole = 0.0, 0.0
    for i in range(N):
        residual = right[i]
        for p in range(starts[i], starts[i + 1]):
            residual -= values[p] * x[columns[p]]
        wrong += residual * residual
        whole += right[i] * right[i]
    if wrong > (100.0 * tolerance) ** 2 * whole:
        raise ValueError("no solution was reached: the matrix is not positive definite, or more steps are needed")
    return x
