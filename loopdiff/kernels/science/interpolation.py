"""What lies between given values: linear interpolation between any nodes, and cubic convolution between equidistant
ones, on lines, in planes and in space."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator


def require_nodes(nodes, values_along):
    """Refuse nodes of an axis that do not ascend, or are not as many as values."""
    if nodes.shape[0] < 2 or nodes.shape[0] != values_along:
        raise ValueError("there must be two nodes or more along each axis, and as many as values")
    for i in range(nodes.shape[0] - 1):
        if not nodes[i] < nodes[i + 1]:
            raise ValueError("nodes must ascend")


def cell_between(nodes, first, last, x):
    """The cell `i` from `first` to below `last` with `nodes[i] <= x < nodes[i + 1]`; outside, that at the edge."""
    while last - first > 1:
        middle = (first + last) // 2
        if nodes[middle] <= x:
            first = middle
        else:
            last = middle
    return first


def part_of_cell(nodes, i, x, beyond):
    """How far along the cell `i` the place is; outside, at its end, unless lines go on."""
    if not beyond and x < nodes[0]:
        return 0.0
    if not beyond and x > nodes[nodes.shape[0] - 1]:
        return 1.0
    return (x - nodes[i]) / (nodes[i + 1] - nodes[i])


def between(t, a, b):
    return (1.0 - t) * a + t * b


@operator
def linear_interpolation1d(nodes, values, x, *, beyond=False):
    """Linear interpolation on a line, with derivatives by values, places and nodes.

    Args:
        nodes: `(N,)`, ascending, at least two.
        values: `(N,)`, floats.
        x: `(M,)`, places. At a node the derivative is that of the cell to the right, at the last one to the left.
        beyond: Whether lines go on outside; else the value at the edge does, with no derivative by the place.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where nodes do not ascend or are not as many as values, or values are integers.
    """
    require_floats(values)
    require_nodes(nodes, values.shape[0])
    y = np.empty(x.shape[0], dtype=values.dtype)
    for m in range(x.shape[0]):
        i = cell_between(nodes, 0, nodes.shape[0] - 1, x[m])
        y[m] = between(part_of_cell(nodes, i, x[m], beyond), values[i], values[i + 1])
    return y


@operator
def linear_interpolation2d(u, v, values, points, *, beyond=False):
    """Bilinear interpolation in a plane: linear along each axis.

    Args:
        u, v: `(H,)` and `(W,)`, the nodes of both axes, ascending, at least two each.
        values: `(H, W)`, floats.
        points: `(M, 2)`. Nodes and places outside are treated as in `linear_interpolation1d`, axis by axis.
        beyond: As there.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where nodes do not ascend, shapes do not fit, or values are integers.
    """
    require_floats(values)
    require_nodes(u, values.shape[0])
    require_nodes(v, values.shape[1])
    if points.shape[1] != 2:
        raise ValueError("`points` is (M, 2)")
    y = np.empty(points.shape[0], dtype=values.dtype)
    for m in range(points.shape[0]):
        i = cell_between(u, 0, u.shape[0] - 1, points[m, 0])
        j = cell_between(v, 0, v.shape[0] - 1, points[m, 1])
        s = part_of_cell(u, i, points[m, 0], beyond)
        t = part_of_cell(v, j, points[m, 1], beyond)
        y[m] = between(
            s, between(t, values[i, j], values[i, j + 1]), between(t, values[i + 1, j], values[i + 1, j + 1])
        )
    return y


@operator
def linear_interpolation3d(u, v, w, values, points, *, beyond=False):
    """Trilinear interpolation in space: linear along each axis.

    Args:
        u, v, w: `(D,)`, `(H,)` and `(W,)`, the nodes of the axes, ascending, at least two each.
        values: `(D, H, W)`, floats.
        points: `(M, 3)`. Nodes and places outside are treated as in `linear_interpolation1d`, axis by axis.
        beyond: As there.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where nodes do not ascend, shapes do not fit, or values are integers.
    """
    require_floats(values)
    require_nodes(u, values.shape[0])
    require_nodes(v, values.shape[1])
    require_nodes(w, values.shape[2])
    if points.shape[1] != 3:
        raise ValueError("`points` is (M, 3)")
    y = np.empty(points.shape[0], dtype=values.dtype)
    for m in range(points.shape[0]):
        i = cell_between(u, 0, u.shape[0] - 1, points[m, 0])
        j = cell_between(v, 0, v.shape[0] - 1, points[m, 1])
        k = cell_between(w, 0, w.shape[0] - 1, points[m, 2])
        r = part_of_cell(u, i, points[m, 0], beyond)
        s = part_of_cell(v, j, points[m, 1], beyond)
        t = part_of_cell(w, k, points[m, 2], beyond)
        total = 0.0
        for a in range(2):
            for b in range(2):
                weight = (r if a == 1 else 1.0 - r) * (s if b == 1 else 1.0 - s)
                total += weight * between(t, values[i + a, j + b, k], values[i + a, j + b, k + 1])
        y[m] = total
    return y


def held(x, length):
    """A place among `length` equidistant nodes, or the end that it is beyond."""
    if x < 0.0:
        return 0.0
    return length - 1.0 if x > length - 1.0 else x


def cell_of_place(x, length):
    """The cell of `length` equidistant nodes where a place is, which lies among them, or is NaN."""
    return min(int(x), length - 2) if x > 0.0 else 0


def keys_weights(t):
    """What the four nodes around a place count that is a part `t` beyond the second of them."""
    return np.array([
        ((1.0 - 0.5 * t) * t - 0.5) * t,
        (1.5 * t - 2.5) * t * t + 1.0,
        ((2.0 - 1.5 * t) * t + 0.5) * t,
        (0.5 * t - 0.5) * t * t,
    ])  # fmt: skip


def at_edge(i, length):
    return min(max(i, 0), length - 1)


@operator
def cubic_interpolation1d(values, x):
    """Cubic convolution between equidistant nodes (Keys, 1981, equation 15), whose derivative is continuous; it meets
    parabolas exactly. Values beyond the edge are those of the edge.

    Args:
        values: `(N,)`, floats, at least two.
        x: `(M,)`, places between 0 and `N - 1`; beyond these, the value at the edge, with no derivative by the place.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where values are integers, or fewer than two.
    """
    require_floats(values)
    N = values.shape[0]
    if N < 2:
        raise ValueError("there must be two values or more along each axis")
    y = np.empty(x.shape[0], dtype=values.dtype)
    for m in range(x.shape[0]):
        place = held(x[m], N)
        i = cell_of_place(place, N)
        weights = keys_weights(place - i)
        total = 0.0
        for a in range(4):
            total += weights[a] * values[at_edge(i + a - 1, N)]
        y[m] = total
    return y


@operator
def cubic_interpolation2d(values, points):
    """Cubic convolution in a plane: that of `cubic_interpolation1d` along each axis.

    Args:
        values: `(H, W)`, floats, at least two along each axis.
        points: `(M, 2)`, row and column, treated as there.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where values are integers, or fewer than two along an axis.
    """
    require_floats(values)
    H, W = values.shape
    if min(H, W) < 2 or points.shape[1] != 2:
        raise ValueError("`points` is (M, 2), and there must be two values or more along each axis")
    y = np.empty(points.shape[0], dtype=values.dtype)
    for m in range(points.shape[0]):
        u, v = held(points[m, 0], H), held(points[m, 1], W)
        i, j = cell_of_place(u, H), cell_of_place(v, W)
        down, across = keys_weights(u - i), keys_weights(v - j)
        total = 0.0
        for a in range(4):
            for b in range(4):
                total += down[a] * across[b] * values[at_edge(i + a - 1, H), at_edge(j + b - 1, W)]
        y[m] = total
    return y


@operator
def cubic_interpolation3d(values, points):
    """Cubic convolution in space: that of `cubic_interpolation1d` along each axis.

    Args:
        values: `(D, H, W)`, floats, at least two along each axis.
        points: `(M, 3)`, places along the three axes, treated as there.

    Returns:
        `(M,)`; NaN where a place is.

    Raises:
        ArgumentError: LD332 where values are integers, or fewer than two along an axis.
    """
    require_floats(values)
    D, H, W = values.shape
    if min(D, H, W) < 2 or points.shape[1] != 3:
        raise ValueError("`points` is (M, 3), and there must be two values or more along each axis")
    y = np.empty(points.shape[0], dtype=values.dtype)
    for m in range(points.shape[0]):
        u, v = held(points[m, 0], D), held(points[m, 1], H)
        w = held(points[m, 2], W)
        i, j, k = cell_of_place(u, D), cell_of_place(v, H), cell_of_place(w, W)
        deep, down, across = keys_weights(u - i), keys_weights(v - j), keys_weights(w - k)
        total = 0.0
        for a in range(4):
            for b in range(4):
                for c in range(4):
                    cell = values[at_edge(i + a - 1, D), at_edge(j + b - 1, H), at_edge(k + c - 1, W)]
                    total += deep[a] * down[b] * across[c] * cell
        y[m] = total
    return y
