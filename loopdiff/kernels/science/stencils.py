"""Stencils: each cell of a grid from those around it, with grids that end or close, once or step by step."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator

BOUNDARIES = ("zero", "edge", "reflect", "wrap")


def require_boundary(boundary, least, reach):
    """Refuse boundaries that there are not, and grids that are smaller than a stencil reaches."""
    if boundary not in BOUNDARIES:
        raise ValueError("`boundary` is 'zero', 'edge', 'reflect' or 'wrap'")
    if least <= reach:
        raise ValueError("the grid must be larger than the stencil reaches")


def neighbour_place(i, length, boundary):
    """Where the cell `i` of a grid is that may lie outside by less than a length; -1 where there is none."""
    if boundary == "edge":
        return min(max(i, 0), length - 1)
    if boundary == "reflect":
        return -i if i < 0 else (2 * length - 2 - i if i >= length else i)
    if boundary == "wrap":
        return i + length if i < 0 else (i - length if i >= length else i)
    return i if 0 <= i < length else -1


@operator
def stencil1d(x, weights, *, boundary="zero"):
    """`y[i] = sum over r of weights[r] * x[i + r - R]` for weights of `2 R + 1` cells.

    Args:
        x: `(N,)`, floats.
        weights: `(2 R + 1,)`.
        boundary: What is outside: "zero", "edge" (the cell at the edge), "reflect" (cells inside, mirrored at that at
            the edge, which comes once), or "wrap" (the other end).

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where weights have an even number, the grid is not larger than `R`, or `x` holds integers.
    """
    require_floats(x)
    N, R = x.shape[0], weights.shape[0] // 2
    require_boundary(boundary, N, R)
    if weights.shape[0] != 2 * R + 1:
        raise ValueError("weights must be an odd number along each axis")
    y = np.zeros_like(x)
    for i in range(N):
        for r in range(2 * R + 1):
            place = neighbour_place(i + r - R, N, boundary)
            if place >= 0:
                y[i] += weights[r] * x[place]
    return y


@operator
def stencil2d(x, weights, *, boundary="zero"):
    """`y[i, j] = sum over r and s of weights[r, s] * x[i + r - R, j + s - S]`, as `stencil1d` is along each axis.

    Args:
        x: `(H, W)`, floats.
        weights: `(2 R + 1, 2 S + 1)`.
        boundary: As in `stencil1d`.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where weights have an even number along an axis, the grid is not larger than they reach, or
            `x` holds integers.
    """
    require_floats(x)
    H, W = x.shape
    R, S = weights.shape[0] // 2, weights.shape[1] // 2
    require_boundary(boundary, H, R)
    require_boundary(boundary, W, S)
    if weights.shape != (2 * R + 1, 2 * S + 1):
        raise ValueError("weights must be an odd number along each axis")
    y = np.zeros_like(x)
    for i in range(H):
        for j in range(W):
            for r in range(2 * R + 1):
                for s in range(2 * S + 1):
                    p, q = neighbour_place(i + r - R, H, boundary), neighbour_place(j + s - S, W, boundary)
                    if p >= 0 and q >= 0:
                        y[i, j] += weights[r, s] * x[p, q]
    return y


@operator
def stencil_steps2d(x, parameters=(), *, function, steps, boundary="zero"):
    """A grid after some steps, each of which makes every cell of those around it.

    Args:
        x: `(H, W)`, floats.
        parameters: What `function` gets besides: an array, a number, or a tuple or dictionary of these.
        function: Of the cell, those above, below, to the left and to the right, and the parameters; it gives the new
            cell. It is written out.
        steps: How many.
        boundary: What is outside, as in `stencil1d`.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where the grid has fewer than two cells along an axis, or `x` holds integers.
    """
    require_floats(x)
    H, W = x.shape
    require_boundary(boundary, H, 1)
    require_boundary(boundary, W, 1)
    y = x.copy()
    for _ in range(steps):
        new = np.empty_like(x)
        for i in range(H):
            for j in range(W):
                above, below = grid_cell(y, i - 1, j, boundary), grid_cell(y, i + 1, j, boundary)
                left, right = grid_cell(y, i, j - 1, boundary), grid_cell(y, i, j + 1, boundary)
                new[i, j] = function(y[i, j], above, below, left, right, parameters)
        y = new
    return y


def grid_cell(x, i, j, boundary):
    """A cell of a grid that may lie outside by one."""
    p, q = neighbour_place(i, x.shape[0], boundary), neighbour_place(j, x.shape[1], boundary)
    return x[p, q] if p >= 0 and q >= 0 else 0.0
