"""Particles: who is near whom, and energies of pairs. Forces are derivatives of the energy by the positions."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_ascending, require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def require_pairs(positions, starts, box):
    """Refuse lists of pairs that are not those of so many particles, and boxes of another dimension."""
    require_floats(positions)
    require_ascending(starts)
    if starts.shape[0] != positions.shape[0] + 1:
        raise ValueError("`starts` has one element more than there are particles")
    require_box(positions, box)


def require_box(positions, box):
    if box is not None and box.shape[0] != positions.shape[1]:
        raise ValueError("`box` has a length for each dimension")


def squared_distance(positions, i, j, box):
    """From one particle to the other, or to its nearest image in a box whose sides are joined."""
    total = 0.0
    for d in range(positions.shape[1]):
        step = positions[i, d] - positions[j, d]
        if box is not None:
            step -= box[d] * np.round(stop_gradient(step / box[d]))
        total += step * step
    return total


@operator
def neighbour_list(positions, box=None, *, cutoff, capacity):
    """Which particles are nearer than `cutoff`: each pair once, with the particle that comes first.

    Args:
        positions: `(N, D)`.
        box: `(D,)`, lengths of a box whose sides are joined, more than twice `cutoff` each; or None.
        cutoff: A length.
        capacity: How many pairs there is room for.

    Returns:
        `(capacity,)`, neighbours behind one another, then -1; and `(N + 1,)`, where those of each particle begin. Both
        are integers, without derivatives.

    Raises:
        ArgumentError: LD332 where there are more pairs than room, or the box is too small.
    """
    N = positions.shape[0]
    require_box(positions, box)
    if box is not None:
        for d in range(box.shape[0]):
            if not box[d] > 2.0 * cutoff:
                raise ValueError("the box must be longer than twice the cutoff")
    neighbours = np.full(capacity, -1, dtype=np.int64)
    starts = np.zeros(N + 1, dtype=np.int64)
    found = 0
    for i in range(N):
        for j in range(i + 1, N):
            if squared_distance(positions, i, j, box) < cutoff * cutoff:
                if found >= capacity:
                    raise ValueError("there are more pairs than `capacity`")
                neighbours[found] = j
                found += 1
        starts[i + 1] = found
    return neighbours, starts


@operator
def lennard_jones(positions, neighbours, starts, epsilon, sigma, box=None, *, cutoff=None):
    """`sum of 4 epsilon ((sigma / r)^12 - (sigma / r)^6)` over pairs at a distance `r` (Jones, 1924).

    Args:
        positions: `(N, D)`, floats.
        neighbours: `(P,)` integers, the second particles of pairs, in the order of the first.
        starts: `(N + 1,)`: where those of each particle begin, and the last ones end, as `neighbour_list` has them.
        epsilon, sigma: Numbers, depth and size.
        box: `(D,)`, lengths of a box whose sides are joined, or None: pairs are at the distance of the nearest image.
        cutoff: From where on pairs count nothing; nearer ones are lifted so that nothing jumps there. None: all count.

    Returns:
        A number. Two particles in one place have an infinite energy.

    Raises:
        ArgumentError: LD310 for a start or a neighbour outside; LD332 where starts descend, shapes do not fit, or
            positions are integers.
    """
    require_pairs(positions, starts, box)
    energy = 0.0
    at_cutoff = 0.0
    if cutoff is not None:
        sixth = (sigma / cutoff) ** 6
        at_cutoff = 4.0 * epsilon * sixth * (sixth - 1.0)
    for i in range(positions.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            square = squared_distance(positions, i, neighbours[p], box)
            if cutoff is None or square < cutoff * cutoff:
                sixth = (sigma * sigma / square) ** 3
                energy += 4.0 * epsilon * sixth * (sixth - 1.0) - at_cutoff
    return energy


@operator
def coulomb(positions, charges, neighbours, starts, box=None, *, screening=0.0):
    """`sum of charges[i] * charges[j] * exp(-screening * r) / r` over pairs at a distance `r`.

    Args:
        positions: `(N, D)`, floats.
        charges: `(N,)`.
        neighbours, starts, box: As of `lennard_jones`.
        screening: One over the length of Debye and Yukawa; zero for charges that nothing shields.

    Returns:
        A number. Two charged particles in one place have an infinite energy.

    Raises:
        ArgumentError: LD310 for a start or a neighbour outside; LD332 where starts descend, shapes do not fit, or
            positions are integers.
    """
    require_pairs(positions, starts, box)
    if charges.shape[0] != positions.shape[0]:
        raise ValueError("there must be as many charges as particles")
    energy = 0.0
    for i in range(positions.shape[0]):
        for p in range(starts[i], starts[i + 1]):
            r = np.sqrt(squared_distance(positions, i, neighbours[p], box))
            energy += charges[i] * charges[neighbours[p]] * np.exp(-screening * r) / r
    return energy
