"""Grids and planes that keep features of every corner."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.encodings.cells import cell_at, corner, portion, scaled
from loopdiff.kernels.operator import operator


@operator
def dense_grid2d(points, grid, *, smooth=False):
    """Features of places in a plane, from those of the corners of a grid around them.

    Args:
        points: `(N, 2)`, from 0 to 1; outside as at the edge, with no derivative.
        grid: `(H + 1, W + 1, F)`, floats, at least two along both axes.
        smooth: Whether corners count by smoothstep: then features have continuous derivatives; else linearly.

    Returns:
        `(N, F)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or the grid holds integers.
    """
    require_floats(grid)
    N, F = points.shape[0], grid.shape[2]
    H, W = grid.shape[0] - 1, grid.shape[1] - 1
    if points.shape[1] != 2 or min(H, W) < 1:
        raise ValueError("`points` is (N, 2), and the grid has two corners or more along each axis")
    y = np.zeros((N, F), dtype=grid.dtype)
    for n in range(N):
        u, v = scaled(points[n, 0], H), scaled(points[n, 1], W)
        i, j = cell_at(u, H), cell_at(v, W)
        s, t = portion(u - i, smooth), portion(v - j, smooth)
        for a in (0, 1):
            for b in (0, 1):
                for f in range(F):
                    y[n, f] += corner(s, a) * corner(t, b) * grid[i + a, j + b, f]
    return y


@operator
def dense_grid3d(points, grid, *, smooth=False):
    """Features of places in space, from those of the corners of a grid around them.

    Args:
        points: `(N, 3)`.
        grid: `(D + 1, H + 1, W + 1, F)`, floats, at least two along each axis.
        smooth: As of `dense_grid2d`.

    Returns:
        `(N, F)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or the grid holds integers.
    """
    require_floats(grid)
    N, F = points.shape[0], grid.shape[3]
    D, H, W = grid.shape[0] - 1, grid.shape[1] - 1, grid.shape[2] - 1
    if points.shape[1] != 3 or min(D, H, W) < 1:
        raise ValueError("`points` is (N, 3), and the grid has two corners or more along each axis")
    y = np.zeros((N, F), dtype=grid.dtype)
    for n in range(N):
        u, v, w = scaled(points[n, 0], D), scaled(points[n, 1], H), scaled(points[n, 2], W)
        i, j, k = cell_at(u, D), cell_at(v, H), cell_at(w, W)
        r, s, t = portion(u - i, smooth), portion(v - j, smooth), portion(w - k, smooth)
        for a in (0, 1):
            for b in (0, 1):
                for c in (0, 1):
                    for f in range(F):
                        weight = corner(r, a) * corner(s, b) * corner(t, c)
                        y[n, f] += weight * grid[i + a, j + b, k + c, f]
    return y


@operator
def triplane(points, planes, *, product=False, smooth=False):
    """Features of places in space, from those of their shadows in three planes: their sum (Chan et al., 2022), or their
    product (Fridovich-Keil et al., 2023).

    Args:
        points: `(N, 3)`, from 0 to 1; outside as at the edge, with no derivative.
        planes: `(3, R + 1, R + 1, F)`, floats, at least two along both axes: of the first and the second coordinate, of
            the first and the third, of the second and the third.
        product: Whether the planes are multiplied, else added.
        smooth: As of `dense_grid2d`.

    Returns:
        `(N, F)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or planes hold integers.
    """
    require_floats(planes)
    if points.shape[1] != 3 or planes.shape[0] != 3:
        raise ValueError("`points` is (N, 3), and `planes` (3, R + 1, R + 1, F)")
    first = dense_grid2d(points[:, :2], planes[0], smooth=smooth)
    second = dense_grid2d(points[:, ::2], planes[1], smooth=smooth)
    third = dense_grid2d(points[:, 1:], planes[2], smooth=smooth)
    return first * second * third if product else first + second + third
