"""Images and volumes at places between their cells, turned images, and grids of places, with derivatives by places."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import pair, triple
from loopdiff.kernels.nn.resampling import cubic_weight, part
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def require_modes(mode, modes, padding):
    """Refuse other ways between cells, and beyond the edge."""
    if mode not in modes:
        raise ValueError("`mode` is linear, nearest or, in planes, cubic")
    if padding not in ("zeros", "border", "reflection"):
        raise ValueError("`padding` is zeros, border or reflection")


def place_of(t, extent, align_corners):
    """Where a place between -1 and 1 lies among the cells of an axis."""
    return (t + 1.0) * 0.5 * (extent - 1) if align_corners else ((t + 1.0) * extent - 1.0) * 0.5


def bounded(u, extent, mode, padding, align_corners):
    """A place on an axis that has the same around it, and is not far outside; with zeros outside the place itself."""
    if padding == "border":
        reach = 3.0 if mode == "cubic" else 0.0  # what is farther outside sees nothing but the edge
        return min(max(u, -reach), extent - 1.0 + reach)
    if padding == "reflection":
        low, span = (0.0, max(extent - 1.0, 1.0)) if align_corners else (-0.5, 1.0 * extent)
        turns = np.floor(stop_gradient(abs(u - low)) / span)
        rest = abs(u - low) - turns * span
        return low + rest if turns == 2.0 * np.floor(0.5 * turns) else low + span - rest
    return u


def is_far(u):
    """Whether a place has no cell, or is NaN."""
    return not abs(u) < 1e9


def neighbour(i, extent, padding, align_corners):
    """The cell that is seen at the place of the cell `i` of an axis, which may be outside."""
    if padding == "border":
        return min(max(i, 0), extent - 1)
    if padding == "reflection":
        span = max(extent - 1, 1) if align_corners else extent
        k = (abs(i) if align_corners or i >= 0 else -1 - i) % (2 * span)
        return min(min(k, 2 * span - k if align_corners else 2 * span - 1 - k), extent - 1)
    return i


def cell(x, n, c, i, j, padding, align_corners):
    """What is seen at a cell of an image."""
    H, W = x.shape[2], x.shape[3]
    a, b = neighbour(i, H, padding, align_corners), neighbour(j, W, padding, align_corners)
    return x[n, c, a, b] if padding != "zeros" or (0 <= a < H and 0 <= b < W) else 0.0


def sampled(x, n, c, u, v, mode, padding, align_corners):
    """The image at the row `u` and the column `v`, between its cells."""
    if is_far(u) or is_far(v):
        return 0.0 if u == u and v == v else np.nan * u * v
    i, j = first_cell(u, mode), first_cell(v, mode)
    first = -1 if mode == "cubic" else 0
    last = 1 if mode == "nearest" else 3 if mode == "cubic" else 2
    total = 0.0
    for r in range(first, last):
        row = 0.0
        for s in range(first, last):
            row += share(v - j, s, mode) * cell(x, n, c, i + r, j + s, padding, align_corners)
        total += share(u - i, r, mode) * row
    return total


def first_cell(u, mode):
    """The cell that shares of a place are counted from: the nearest one, or the one before it."""
    return int(np.rint(stop_gradient(u))) if mode == "nearest" else int(np.floor(stop_gradient(u)))


def share(t, k, mode):
    """The weight of the cell `k` for a place at the distance `t` behind the cell 0."""
    if mode == "nearest":
        return 1.0
    return cubic_weight(t - k, -0.75) if mode == "cubic" else part(t, k)


@operator
def grid_sample(x, grid, *, mode="linear", padding="zeros", align_corners=False):
    """Images at places between their cells (Jaderberg et al., 2015, section 3.3), with derivatives by the places.

    Args:
        x: `(N, C, H, W)`.
        grid: `(N, P, Q, 2)`: column and row of each place, -1 and 1 being the ends of the image.
        mode: Between cells: "linear"; "cubic", by Keys's weights of the slope -0.75, as in `resize_cubic`; or
            "nearest", whose derivative by the places is zero, and half way the cell with an even number.
        padding: Outside: "zeros", "border" for what is at the edge, or "reflection" for the image in mirrors at both
            ends, where no place is infinite.
        align_corners: Whether the ends are the centres of the outermost cells, else their outer edges.

    Returns:
        `(N, C, P, Q)`. At NaN it is NaN.

    Raises:
        ArgumentError: LD332 for another shape, `mode` or `padding`, for images without cells, or where `x` holds
            integers.
    """
    require_floats(x)
    require_modes(mode, ("linear", "nearest", "cubic"), padding)
    N, C, H, W = x.shape
    P, Q = grid.shape[1], grid.shape[2]
    if grid.shape[0] != N or grid.shape[3] != 2:
        raise ValueError("`grid` is (N, P, Q, 2)")
    if H == 0 or W == 0:
        raise ValueError("an image has cells")
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                u = bounded(place_of(grid[n, p, q, 1], H, align_corners), H, mode, padding, align_corners)
                v = bounded(place_of(grid[n, p, q, 0], W, align_corners), W, mode, padding, align_corners)
                for c in range(C):
                    y[n, c, p, q] = sampled(x, n, c, u, v, mode, padding, align_corners)
    return y


@operator
def grid_sample3d(x, grid, *, mode="linear", padding="zeros", align_corners=False):
    """`grid_sample` of volumes: `x` is `(N, C, D, H, W)`, `grid` `(N, O, P, Q, 3)`, with the last axis of a volume
    first; the result `(N, C, O, P, Q)`. `mode` is "linear" or "nearest"."""
    require_floats(x)
    require_modes(mode, ("linear", "nearest"), padding)
    N, C, D, H, W = x.shape
    O, P, Q = grid.shape[1], grid.shape[2], grid.shape[3]
    if grid.shape[0] != N or grid.shape[4] != 3:
        raise ValueError("`grid` is (N, O, P, Q, 3)")
    if D == 0 or H == 0 or W == 0:
        raise ValueError("a volume has cells")
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for o in range(O):
            for p in range(P):
                for q in range(Q):
                    t = bounded(place_of(grid[n, o, p, q, 2], D, align_corners), D, mode, padding, align_corners)
                    u = bounded(place_of(grid[n, o, p, q, 1], H, align_corners), H, mode, padding, align_corners)
                    v = bounded(place_of(grid[n, o, p, q, 0], W, align_corners), W, mode, padding, align_corners)
                    for c in range(C):
                        y[n, c, o, p, q] = sampled_volume(x, n, c, t, u, v, mode, padding, align_corners)
    return y


def sampled_volume(x, n, c, t, u, v, mode, padding, align_corners):
    """The volume at the place `t`, `u`, `v`, between its cells."""
    if is_far(t) or is_far(u) or is_far(v):
        return 0.0 if t == t and u == u and v == v else np.nan * t * u * v
    D, H, W = x.shape[2], x.shape[3], x.shape[4]
    h, i, j = first_cell(t, mode), first_cell(u, mode), first_cell(v, mode)
    total = 0.0
    for r in range(1 if mode == "nearest" else 2):
        for s in range(1 if mode == "nearest" else 2):
            for k in range(1 if mode == "nearest" else 2):
                d = neighbour(h + r, D, padding, align_corners)
                a, b = neighbour(i + s, H, padding, align_corners), neighbour(j + k, W, padding, align_corners)
                weight = share(t - h, r, mode) * share(u - i, s, mode) * share(v - j, k, mode)
                if padding != "zeros" or (0 <= d < D and 0 <= a < H and 0 <= b < W):
                    total += weight * x[n, c, d, a, b]
    return total


@operator
def rotate(x, angle):
    """Images turned about their middle by an angle, against the clock where rows go down, zero where there is no image.
    It has a derivative by the angle.

    Args:
        x: `(N, C, H, W)`.
        angle: In radians.

    Returns:
        An array like `x`.
    """
    require_floats(x)
    N, C, H, W = x.shape
    y = np.empty_like(x)
    for n in range(N):
        for i in range(H):
            for j in range(W):
                down, across = i - 0.5 * (H - 1), j - 0.5 * (W - 1)
                u = np.cos(angle) * down + np.sin(angle) * across + 0.5 * (H - 1)
                v = np.cos(angle) * across - np.sin(angle) * down + 0.5 * (W - 1)
                for c in range(C):
                    y[n, c, i, j] = sampled(x, n, c, u, v, "linear", "zeros", False)
    return y


@operator
def affine_grid(theta, *, size, align_corners=False):
    """Places for `grid_sample`: those of an image of `size`, mapped by `theta` (Jaderberg et al., 2015, section 3.2).

    Args:
        theta: `(N, 2, 3)`: what column, row and 1 are multiplied with.
        size: Height and width.
        align_corners: As of `grid_sample`.

    Returns:
        `(N, height, width, 2)`.
    """
    require_floats(theta)
    P, Q = pair(size)
    N = theta.shape[0]
    if theta.shape[1] != 2 or theta.shape[2] != 3:
        raise ValueError("`theta` is (N, 2, 3)")
    y = np.empty((N, P, Q, 2), dtype=theta.dtype)
    for n in range(N):
        for p in range(P):
            for q in range(Q):
                down, across = normal_place(p, P, align_corners), normal_place(q, Q, align_corners)
                for k in range(2):
                    y[n, p, q, k] = theta[n, k, 0] * across + theta[n, k, 1] * down + theta[n, k, 2]
    return y


@operator
def affine_grid3d(theta, *, size, align_corners=False):
    """`affine_grid` of volumes: `theta` is `(N, 3, 4)`, `size` three extents, the result `(N, *size, 3)`."""
    require_floats(theta)
    O, P, Q = triple(size)
    N = theta.shape[0]
    if theta.shape[1] != 3 or theta.shape[2] != 4:
        raise ValueError("`theta` is (N, 3, 4)")
    y = np.empty((N, O, P, Q, 3), dtype=theta.dtype)
    for n in range(N):
        for o in range(O):
            for p in range(P):
                for q in range(Q):
                    deep = normal_place(o, O, align_corners)
                    down, across = normal_place(p, P, align_corners), normal_place(q, Q, align_corners)
                    for k in range(3):
                        at = theta[n, k, 0] * across + theta[n, k, 1] * down
                        y[n, o, p, q, k] = at + theta[n, k, 2] * deep + theta[n, k, 3]
    return y


def normal_place(i, extent, align_corners):
    """Where a cell lies between -1 and 1: the centres of the outermost cells, or their outer edges."""
    if align_corners:
        return 2.0 * i / max(extent - 1, 1) - 1.0
    return (2.0 * i + 1.0) / extent - 1.0
