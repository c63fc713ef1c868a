"""Grids of many resolutions whose corners share tables by a hash (Müller, Evans, Schied and Keller, 2022).

Each level is a grid of its own over the places from 0 to 1. Levels with no more corners than the table has entries keep
them in order, the first axis next to one another; others find the entry of a corner by the hash of its integers,

    (i ^ j * 2654435761 ^ k * 805459861 ^ l * 3674653429) % T,

in 32 bits without sign, as Instant-NGP does (equation 4). Entries that several corners share get the derivatives of
all. A level of `cells` is met at `x * cells`, as section 3 has it; the published program shifts levels by half a cell.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.encodings.cells import cell_at, corner, portion, scaled
from loopdiff.kernels.operator import operator

SECOND, THIRD, FOURTH = 2654435761, 805459861, 3674653429
BITS = 0xFFFFFFFF


def hashed(i, j, k=0, m=0):
    """The hash of a corner, the 32 bits of the product of integers of 32 bits without sign."""
    return (i ^ (j * SECOND) ^ (k * THIRD) ^ (m * FOURTH)) & BITS


def require_levels(tables, cells, points, dimensions):
    """Refuse tables, resolutions and places that do not fit."""
    require_floats(tables)
    if points.shape[1] != dimensions or cells.shape[0] != tables.shape[0]:
        raise ValueError("`points` has a column for each axis, and `cells` a number for each table")
    if tables.shape[1] == 0 or tables.shape[1] & (tables.shape[1] - 1) != 0:
        raise ValueError("tables have a power of two of entries")
    for level in range(cells.shape[0]):
        if not 1 <= cells[level] < 2**31:
            raise ValueError("levels have one cell or more along each axis, and fewer than 2 ** 31")


@operator
def hash_grid2d(points, tables, cells, *, smooth=False):
    """Features of places in a plane, from tables that grids of several resolutions share.

    Args:
        points: `(N, 2)`, from 0 to 1; outside as at the edge, with no derivative.
        tables: `(L, T, F)`, floats: of each level `T` entries, a power of two, of `F` features.
        cells: `(L,)` integers, how many cells a level has along each axis: in the paper
            `floor(16 * growth ** level)`.
        smooth: Whether corners count by smoothstep (appendix A): then features have continuous derivatives.

    Returns:
        `(N, L * F)`, level by level; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, `T` is no power of two, a level has no cell, or tables hold
            integers.
    """
    require_levels(tables, cells, points, 2)
    N, (L, T, F) = points.shape[0], tables.shape
    y = np.zeros((N, L, F), dtype=tables.dtype)
    for level in range(L):
        side = cells[level]
        dense = (side + 1.0) ** 2 <= T
        for n in range(N):
            u, v = scaled(points[n, 0], side), scaled(points[n, 1], side)
            i, j = cell_at(u, side), cell_at(v, side)
            s, t = portion(u - i, smooth), portion(v - j, smooth)
            for a in (0, 1):
                for b in (0, 1):
                    weight = corner(s, a) * corner(t, b)
                    order = i + a + (side + 1) * (j + b)
                    entry = (order if dense else hashed(i + a, j + b)) & (T - 1)
                    for f in range(F):
                        y[n, level, f] += weight * tables[level, entry, f]
    return y.reshape(N, L * F)


@operator
def hash_grid3d(points, tables, cells, *, smooth=False):
    """Features of places in space, from tables that grids of several resolutions share.

    Args:
        points: `(N, 3)`.
        tables, cells, smooth: As of `hash_grid2d`.

    Returns:
        `(N, L * F)`, level by level; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, `T` is no power of two, a level has no cell, or tables hold
            integers.
    """
    require_levels(tables, cells, points, 3)
    N, (L, T, F) = points.shape[0], tables.shape
    y = np.zeros((N, L, F), dtype=tables.dtype)
    for level in range(L):
        side = cells[level]
        dense = (side + 1.0) ** 3 <= T
        for n in range(N):
            u, v, w = scaled(points[n, 0], side), scaled(points[n, 1], side), scaled(points[n, 2], side)
            i, j, k = cell_at(u, side), cell_at(v, side), cell_at(w, side)
            r, s, t = portion(u - i, smooth), portion(v - j, smooth), portion(w - k, smooth)
            for a in (0, 1):
                for b in (0, 1):
                    for c in (0, 1):
                        weight = corner(r, a) * corner(s, b) * corner(t, c)
                        order = i + a + (side + 1) * (j + b + (side + 1) * (k + c))
                        entry = (order if dense else hashed(i + a, j + b, k + c)) & (T - 1)
                        for f in range(F):
                            y[n, level, f] += weight * tables[level, entry, f]
    return y.reshape(N, L * F)


@operator
def hash_grid4d(points, tables, cells, *, smooth=False):
    """Features of places in space and time, from tables that grids of several resolutions share.

    Args:
        points: `(N, 4)`.
        tables, cells, smooth: As of `hash_grid2d`.

    Returns:
        `(N, L * F)`, level by level; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, `T` is no power of two, a level has no cell, or tables hold
            integers.
    """
    require_levels(tables, cells, points, 4)
    N, (L, T, F) = points.shape[0], tables.shape
    y = np.zeros((N, L, F), dtype=tables.dtype)
    for level in range(L):
        side = cells[level]
        dense = (side + 1.0) ** 4 <= T
        for n in range(N):
            u, v = scaled(points[n, 0], side), scaled(points[n, 1], side)
            w, x = scaled(points[n, 2], side), scaled(points[n, 3], side)
            i, j, k, m = cell_at(u, side), cell_at(v, side), cell_at(w, side), cell_at(x, side)
            q, r, s, t = portion(u - i, smooth), portion(v - j, smooth), portion(w - k, smooth), portion(x - m, smooth)
            for a in (0, 1):
                for b in (0, 1):
                    for c in (0, 1):
                        for d in (0, 1):
                            weight = corner(q, a) * corner(r, b) * corner(s, c) * corner(t, d)
                            order = i + a + (side + 1) * (j + b + (side + 1) * (k + c + (side + 1) * (m + d)))
                            entry = (order if dense else hashed(i + a, j + b, k + c, m + d)) & (T - 1)
                            for f in range(F):
                                y[n, level, f] += weight * tables[level, entry, f]
    return y.reshape(N, L * F)
