"""Grids of simplices: the permutohedral lattice, in coordinates in which its corners are integers.

A place in `D` dimensions lies among `D + 1` corners, where a grid of cubes has `2 ** D` (Adams, Baek and Davis, "Fast
high-dimensional filtering using the permutohedral lattice", 2010). Along the diagonal stretched by `sqrt(D + 1)`, the
lattice becomes that of integers, and its simplices those that the order of the fractions says (Kuhn, 1960): from the
corner below, one step along the axis with the largest fraction, then along the next one.
"""

from __future__ import annotations

import math

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator

PRIMES = (1, 2654435761, 805459861, 3674653429, 2097192037, 1434869437, 2165219737)  # of Instant-NGP's hash


def corner_below(place):
    """The integer at or below a place; of NaN 0."""
    return int(np.floor(place)) if abs(place) < 2.0**31 else 0


@operator
def permutohedral_grid(points, tables, scales):
    """Features of places in one to seven dimensions, from tables that lattices of several resolutions share by a hash.
    Each corner counts its barycentric coordinate, so features are continuous, and linear in each simplex; where
    fractions are equal, the derivative is that of the simplex in which the axis that comes first has the larger one.

    Args:
        points: `(N, D)`, floats, anywhere.
        tables: `(L, T, F)`, floats: of each level `T` entries, a power of two, of `F` features. A corner has the entry
            that the exclusive or of its integers times primes says, in 32 bits, as that of `hash_grid2d`.
        scales: `(L,)`, how many steps of a lattice there are to the length 1 along the axes.

    Returns:
        `(N, L * F)`, level by level; NaN where a place is.

    Raises:
        ArgumentError: LD332 where shapes do not fit, `T` is no power of two, there are more than seven dimensions, or
            arrays hold integers.
    """
    require_floats(points)
    require_floats(tables)
    (N, D), (L, T, F) = points.shape, tables.shape
    if not 1 <= D <= 7 or scales.shape[0] != L or T == 0 or T & (T - 1) != 0:
        raise ValueError(
            "`points` has one to seven columns, and there is one of `scales` for each table of 2 ** k entries"
        )
    primes = np.array(PRIMES)
    stretch = (math.sqrt(D + 1.0) - 1.0) / D
    y = np.zeros((N, L, F), dtype=tables.dtype)
    for level in range(L):
        for n in range(N):
            below, part, rank = np.empty(D, dtype=np.int64), np.empty_like(points[n]), np.empty(D, dtype=np.int64)
            diagonal = 0.0
            for d in range(D):
                diagonal += stretch * points[n, d]
            for d in range(D):
                place = scales[level] * (points[n, d] + diagonal)
                below[d] = corner_below(place)
                part[d] = place - below[d]
            for d in range(D):
                rank[d] = 0
                for e in range(D):
                    if part[e] > part[d] or (part[e] == part[d] and e < d):
                        rank[d] += 1
            for k in range(D + 1):
                weight, entry = 1.0 if k == 0 else 0.0, 0
                for d in range(D):
                    if rank[d] == k - 1:
                        weight += part[d]
                    if rank[d] == k:
                        weight -= part[d]
                    entry ^= (below[d] + (1 if rank[d] < k else 0)) * primes[d]
                for f in range(F):
                    y[n, level, f] += weight * tables[level, entry & (T - 1), f]
    return y.reshape(N, L * F)
