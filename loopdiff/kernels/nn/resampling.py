"""Images of other sizes, at other places, and turned: interpolation, with derivatives by the places as well."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import pair
from loopdiff.kernels.operator import operator


def position(i, before, after, align_corners):
    """Where the cell `i` of `after` lies among the cells of `before`: the centres of the outermost cells, or the edges
    of the image, stay in their place."""
    if align_corners:
        return i * (before - 1) / max(after - 1, 1)
    return (i + 0.5) * before / after - 0.5


@operator
def upsample_nearest(x, *, scale):
    """Each cell of an image `scale` times: one number, or one for each axis. `(N, C, H, W)` to
    `(N, C, H * scale, W * scale)`."""
    down, across = pair(scale)
    N, C, H, W = x.shape
    y = np.empty((N, C, H * down, W * across), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for i in range(H):
                for r in range(down):
                    for j in range(W):
                        for s in range(across):
                            y[n, c, i * down + r, j * across + s] = x[n, c, i, j]
    return y


def part(t, side):
    """The weight of the nearer or the further end of a cell, at `t` between them."""
    return t if side == 1 else 1.0 - t


def cubic_weight(t, a):
    """Keys's weight of a node at the distance `t`: a cubic within 1, another one within 2, of the slope `a` at 1."""
    d = abs(t)
    if d <= 1.0:
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    return a * (((d - 5.0) * d + 8.0) * d - 4.0) if d < 2.0 else 0.0


def nearest_cell(i, before, after, middle):
    """The cell of `before` where the cell `i` of `after` begins, or has its middle."""
    return (2 * i + 1) * before // (2 * after) if middle else i * before // after


@operator
def resize_nearest(x, *, size, middle=False):
    """Images in another size: each cell is that of the image which is there.

    Args:
        x: `(N, C, H, W)`, with elements.
        size: Height and width of the result.
        middle: Whether what counts is where the middle of a cell lies (PyTorch's `nearest-exact`), else where it
            begins (`nearest`).

    Returns:
        `(N, C, *size)`.
    """
    P, Q = pair(size)
    N, C, H, W = x.shape
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    y[n, c, p, q] = x[n, c, nearest_cell(p, H, P, middle), nearest_cell(q, W, Q, middle)]
    return y


def smoothed_along(rows, after, align_corners, reach, slope):
    """Rows in another length: means of cells by a hat, or a cubic of that slope, as many cells wide as one of the
    result, and `reach` cells of it to both sides."""
    M, L = rows.shape
    step = (L - 1.0) / max(after - 1, 1) if align_corners else L / after
    wide = max(step, 1.0) if after > 1 or not align_corners else 1.0
    y = np.zeros((M, after), dtype=rows.dtype)
    for q in range(after):
        middle = step * (q + 0.5) if after > 1 or not align_corners else 0.0
        first, last = max(int(middle - reach * wide + 0.5), 0), min(int(middle + reach * wide + 0.5), L)
        shares, whole = np.zeros(L), 0.0
        for j in range(first, last):
            t = (j + 0.5 - middle) / wide
            shares[j] = max(1.0 - abs(t), 0.0) if reach == 1 else cubic_weight(t, slope)
            whole += shares[j]
        for m in range(M):
            for j in range(first, last):
                y[m, q] += shares[j] / whole * rows[m, j]
    return y


def smoothed(x, P, Q, align_corners, reach, slope):
    """Images in another size, along rows and then along columns."""
    N, C, H, W = x.shape
    across = smoothed_along(x.reshape(N * C * H, W), Q, align_corners, reach, slope).reshape(N, C, H, Q)
    columns = np.swapaxes(across, 2, 3).reshape(N * C * Q, H)
    return np.swapaxes(smoothed_along(columns, P, align_corners, reach, slope).reshape(N, C, Q, P), 2, 3)


@operator
def resize_linear(x, *, size, align_corners=False, antialias=False):
    """Images in another size, by linear interpolation; cells beyond the edge are those of the edge.

    Args:
        x: `(N, C, H, W)`, with elements.
        size: Height and width of the result.
        align_corners: Whether the centres of the outermost cells stay where they are, else the edges of the image.
        antialias: Whether, going down, each cell is a mean of all cells that it covers, by a hat as wide as two of it,
            and cells beyond the edge count nothing, as PyTorch has it; else cells between are left out.

    Returns:
        `(N, C, *size)`.
    """
    require_floats(x)
    P, Q = pair(size)
    if antialias:
        return smoothed(x, P, Q, align_corners, 1, 0.0)
    N, C, H, W = x.shape
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                u = min(max(position(p, H, P, align_corners), 0.0), H - 1.0)
                i = min(int(u), H - 1)
                below = min(i + 1, H - 1)
                for q in range(Q):
                    v = min(max(position(q, W, Q, align_corners), 0.0), W - 1.0)
                    j = min(int(v), W - 1)
                    beside = min(j + 1, W - 1)
                    upper = (1.0 - (v - j)) * x[n, c, i, j] + (v - j) * x[n, c, i, beside]
                    lower = (1.0 - (v - j)) * x[n, c, below, j] + (v - j) * x[n, c, below, beside]
                    y[n, c, p, q] = (1.0 - (u - i)) * upper + (u - i) * lower
    return y


@operator
def pixel_shuffle(x, *, scale):
    """Channels as cells between those of an image (Shi et al., 2016): `(N, C * scale ** 2, H, W)` to
    `(N, C, H * scale, W * scale)`. Raises ArgumentError (LD332) where channels do not divide."""
    N, K, H, W = x.shape
    C = K // (scale * scale)
    if C * scale * scale != K:
        raise ValueError("the channels must be a multiple of `scale ** 2`")
    y = np.empty((N, C, H * scale, W * scale), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for r in range(scale):
                for s in range(scale):
                    for i in range(H):
                        for j in range(W):
                            y[n, c, i * scale + r, j * scale + s] = x[n, (c * scale + r) * scale + s, i, j]
    return y


@operator
def pixel_unshuffle(x, *, scale):
    """What `pixel_shuffle` is undone by: `(N, C, H * scale, W * scale)` to `(N, C * scale ** 2, H, W)`. Raises
    ArgumentError (LD332) where height and width do not divide."""
    N, C, H, W = x.shape[0], x.shape[1], x.shape[2] // scale, x.shape[3] // scale
    if H * scale != x.shape[2] or W * scale != x.shape[3]:
        raise ValueError("height and width must be multiples of `scale`")
    y = np.empty((N, C * scale * scale, H, W), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for r in range(scale):
                for s in range(scale):
                    for i in range(H):
                        for j in range(W):
                            y[n, (c * scale + r) * scale + s, i, j] = x[n, c, i * scale + r, j * scale + s]
    return y


@operator
def channel_shuffle(x, *, groups):
    """The channels of groups one by one in turn (Zhang et al., 2018): `(N, groups * C, ...)` to the like, channel
    `g * C + c` to `c * groups + g`. Raises ArgumentError (LD332) where channels do not divide."""
    C = x.shape[1] // groups
    if C * groups != x.shape[1]:
        raise ValueError("the channels must be a multiple of `groups`")
    rows = x.reshape(x.shape[0], x.shape[1], -1)
    y = np.empty_like(rows)
    for n in range(rows.shape[0]):
        for g in range(groups):
            for c in range(C):
                for i in range(rows.shape[2]):
                    y[n, c * groups + g, i] = rows[n, g * C + c, i]
    return y.reshape(x.shape)
