"""Images with margins: zeros, edges, mirrors, or themselves again."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.nn.extents import all_sides, pair, sides
from loopdiff.kernels.operator import operator

MODES = ("constant", "replicate", "reflect", "symmetric", "circular")


def source(place, length, mode):
    """Where the cell `place` of an axis comes from, which may be outside of the axis."""
    if mode == "replicate":
        return min(max(place, 0), length - 1)
    if mode == "circular":
        return place % length
    if mode == "reflect":
        period = max(2 * length - 2, 1)
        turned = place % period
        return min(turned, period - turned) if length > 1 else 0
    if mode == "symmetric":
        turned = place % (2 * length)
        return min(turned, 2 * length - 1 - turned)
    return place


@operator
def pad2d(x, *, padding, mode="constant", value=0.0):
    """Images with more rows and columns around them.

    Args:
        x: `(N, C, H, W)`, with elements.
        padding: How many: one number, one for each axis, or pairs `((top, bottom), (left, right))`, not negative.
        mode: `constant`; `replicate`, the edge again; `reflect`, a mirror on the edge; `symmetric`, a mirror beside it;
            or `circular`, the other end. Mirrors and circles may be wider than the image.
        value: What margins hold in the mode `constant`.

    Returns:
        `(N, C, top + H + bottom, left + W + right)`.

    Raises:
        ArgumentError: LD332 for another mode; LD320 where `padding` is negative.
    """
    if mode not in MODES:
        raise ValueError("`mode` is constant, replicate, reflect, symmetric or circular")
    (top, bottom), (left, right) = sides(padding)
    N, C, H, W = x.shape
    y = np.full((N, C, top + H + bottom, left + W + right), value, dtype=x.dtype)
    if mode == "constant":
        y[:, :, top : top + H, left : left + W] = x
        return y
    for n in range(N):
        for c in range(C):
            for i in range(y.shape[2]):
                for j in range(y.shape[3]):
                    y[n, c, i, j] = x[n, c, source(i - top, H, mode), source(j - left, W, mode)]
    return y


@operator
def pad1d(x, *, padding, mode="constant", value=0.0):
    """`pad2d` of signals: `(N, C, L)` to `(N, C, left + L + right)`; `padding` is one number or a pair."""
    return pad2d(x[:, :, None, :], padding=((0, 0), pair(padding)), mode=mode, value=value)[:, :, 0, :]


@operator
def pad3d(x, *, padding, mode="constant", value=0.0):
    """`pad2d` of volumes: `x` is `(N, C, D, H, W)`, `padding` one number, three, or three pairs. Modes and errors as
    there."""
    if mode not in MODES:
        raise ValueError("`mode` is constant, replicate, reflect, symmetric or circular")
    (z0, z1), (y0, y1), (x0, x1) = all_sides(padding)
    N, C, D, H, W = x.shape
    y = np.full((N, C, z0 + D + z1, y0 + H + y1, x0 + W + x1), value, dtype=x.dtype)
    if mode == "constant":
        y[:, :, z0 : z0 + D, y0 : y0 + H, x0 : x0 + W] = x
        return y
    for n in range(N):
        for c in range(C):
            for h in range(y.shape[2]):
                for i in range(y.shape[3]):
                    for j in range(y.shape[4]):
                        k, p, q = source(h - z0, D, mode), source(i - y0, H, mode), source(j - x0, W, mode)
                        y[n, c, h, i, j] = x[n, c, k, p, q]
    return y
