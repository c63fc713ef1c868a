"""Splines: pieces of polynomials that meet smoothly, by their coefficients or through given points."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.kernels.science.interpolation import cell_between, require_nodes
from loopdiff.kernels.science.systems import tridiagonal_solve


@operator
def b_spline(knots, coefficients, x, *, degree=3):
    """The sum of B-splines by coefficients, by de Boor's algorithm (A Practical Guide to Splines, 1978, chapter X).

    With `degree + 1` equal knots at both ends it begins and ends in the first and the last coefficient.

    Args:
        knots: `(C + degree + 1,)`, ascending; equal ones are allowed.
        coefficients: `(C,)`, or `(C, D)` for a curve of D dimensions; floats.
        x: `(M,)`. Before `knots[degree]` and from `knots[C]` on, the polynomials at the ends go on. At a knot the
            derivative is that from the right.
        degree: 1 or more.

    Returns:
        `(M,)`, or `(M, D)`.

    Raises:
        ArgumentError: LD332 where knots descend, are too few, or leave no room for a piece, or coefficients are
            integers.
    """
    require_floats(coefficients)
    C = coefficients.shape[0]
    if degree >= C or knots.shape[0] != C + degree + 1:
        raise ValueError("`knots` are as many as coefficients, and `degree + 1` more")
    if knots[degree] == knots[degree + 1] or knots[C - 1] == knots[C]:
        raise ValueError("there must be a piece between `knots[degree]` and the next, and between those at the end")
    for k in range(C + degree):
        if not knots[k] <= knots[k + 1]:
            raise ValueError("`knots` must ascend")
    points = coefficients.reshape(C, coefficients.size // max(C, 1))
    D = points.shape[1]
    y = np.empty((x.shape[0], D), dtype=coefficients.dtype)
    for m in range(x.shape[0]):
        k = cell_between(knots, degree, C, x[m])
        p = points[k - degree : k + 1].copy()
        for r in range(1, degree + 1):
            for j in range(degree, r - 1, -1):
                left = knots[k - degree + j]
                t = (x[m] - left) / (knots[k + 1 + j - r] - left)
                for d in range(D):
                    p[j, d] = (1.0 - t) * p[j - 1, d] + t * p[j, d]
        for d in range(D):
            y[m, d] = p[degree, d]
    return y.reshape(x.shape[0], *coefficients.shape[1:])


@operator
def cubic_spline(nodes, values, x, first=0.0, last=0.0, *, ends="natural"):
    """The cubic spline through given points: its first two derivatives are continuous (de Boor, 1978, chapter IV).

    Its slopes at the nodes are found by `tridiagonal_solve`, and derivatives go through that: by values, nodes, places
    and slopes at the ends.

    Args:
        nodes: `(N,)`, ascending, at least two.
        values: `(N,)`, or `(N, D)` for a curve of D dimensions; floats.
        x: `(M,)`. Outside, the polynomials at the ends go on.
        first, last: Slopes at the ends, numbers; nothing is done with them where the ends are natural.
        ends: "natural", where second derivatives at the ends are zero, or "clamped", where slopes are as given.

    Returns:
        `(M,)`, or `(M, D)`.

    Raises:
        ArgumentError: LD332 where nodes do not ascend or are not as many as values, values are integers, or `ends` is
            something else.
    """
    require_floats(values)
    N = nodes.shape[0]
    require_nodes(nodes, values.shape[0])
    if ends not in ("natural", "clamped"):
        raise ValueError("`ends` is 'natural' or 'clamped'")
    points = values.reshape(N, values.size // max(N, 1))
    D = points.shape[1]
    lower, diagonal, upper = np.zeros(N - 1), np.zeros(N), np.zeros(N - 1)
    right = np.zeros_like(points)
    for i in range(N - 1):
        width = nodes[i + 1] - nodes[i]
        lower[i] = upper[i] = 1.0 / width
        diagonal[i] += 2.0 / width
        diagonal[i + 1] += 2.0 / width
        for d in range(D):
            rise = 3.0 * (points[i + 1, d] - points[i, d]) / width**2
            right[i, d] += rise
            right[i + 1, d] += rise
    if ends == "clamped":
        diagonal[0] = diagonal[N - 1] = 1.0
        upper[0] = lower[N - 2] = 0.0
        for d in range(D):
            right[0, d] = first
            right[N - 1, d] = last
    slopes = tridiagonal_solve(lower, diagonal, upper, right)
    y = np.empty((x.shape[0], D), dtype=values.dtype)
    for m in range(x.shape[0]):
        i = cell_between(nodes, 0, N - 1, x[m])
        width = nodes[i + 1] - nodes[i]
        t = (x[m] - nodes[i]) / width
        for d in range(D):
            bend = t * (1.0 - t) * width * ((1.0 - t) * slopes[i, d] - t * slopes[i + 1, d])
            y[m, d] = (1.0 + 2.0 * t) * (1.0 - t) ** 2 * points[i, d] + (3.0 - 2.0 * t) * t**2 * points[i + 1, d] + bend
    return y.reshape(x.shape[0], *values.shape[1:])
