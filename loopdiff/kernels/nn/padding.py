"""Images with margins: zeros, edges, mirrors, or themselves again."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.nn.extents import sides
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
