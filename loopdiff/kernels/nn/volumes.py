"""Signals and volumes in other sizes and at other places, images by cubic interpolation, and grids of places."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import pair, triple
from loopdiff.kernels.nn.resampling import (
    cubic_weight,
    nearest_cell,
    part,
    position,
    resize_linear,
    resize_nearest,
    smoothed,
    upsample_nearest,
)
from loopdiff.kernels.operator import operator


@operator
def upsample_nearest1d(x, *, scale):
    """`upsample_nearest` of signals: `(N, C, L)` to `(N, C, L * scale)`."""
    return upsample_nearest(x[:, :, None, :], scale=(1, scale))[:, :, 0, :]


@operator
def upsample_nearest3d(x, *, scale):
    """`upsample_nearest` of volumes: `(N, C, D, H, W)` to `(N, C, D * scale, H * scale, W * scale)`; `scale` is one
    number, or one for each axis."""
    deep, down, across = triple(scale)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, D * deep, H * down, W * across), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for h in range(D):
                for t in range(deep):
                    for i in range(H):
                        for r in range(down):
                            for j in range(W):
                                for s in range(across):
                                    y[n, c, h * deep + t, i * down + r, j * across + s] = x[n, c, h, i, j]
    return y


@operator
def resize_nearest1d(x, *, size, middle=False):
    """`resize_nearest` of signals: `(N, C, L)` to `(N, C, size)`."""
    return resize_nearest(x[:, :, None, :], size=(1, size), middle=middle)[:, :, 0, :]


@operator
def resize_nearest3d(x, *, size, middle=False):
    """`resize_nearest` of volumes: `(N, C, D, H, W)`, with elements, to `(N, C, *size)`."""
    O, P, Q = triple(size)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        h, i = nearest_cell(o, D, O, middle), nearest_cell(p, H, P, middle)
                        y[n, c, o, p, q] = x[n, c, h, i, nearest_cell(q, W, Q, middle)]
    return y


@operator
def resize_linear1d(x, *, size, align_corners=False):
    """`resize_linear` of signals: `(N, C, L)` to `(N, C, size)`."""
    return resize_linear(x[:, :, None, :], size=(1, size), align_corners=align_corners)[:, :, 0, :]


@operator
def resize_linear3d(x, *, size, align_corners=False):
    """`resize_linear` of volumes: `(N, C, D, H, W)`, with elements, to `(N, C, *size)`."""
    require_floats(x)
    O, P, Q = triple(size)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                t = min(max(position(o, D, O, align_corners), 0.0), D - 1.0)
                h = min(int(t), D - 1)
                for p in range(P):
                    u = min(max(position(p, H, P, align_corners), 0.0), H - 1.0)
                    i = min(int(u), H - 1)
                    for q in range(Q):
                        v = min(max(position(q, W, Q, align_corners), 0.0), W - 1.0)
                        j = min(int(v), W - 1)
                        total = 0.0
                        for dh in range(2):
                            for di in range(2):
                                for dj in range(2):
                                    weight = part(t - h, dh) * part(u - i, di) * part(v - j, dj)
                                    a, b, d = min(h + dh, D - 1), min(i + di, H - 1), min(j + dj, W - 1)
                                    total += weight * x[n, c, a, b, d]
                        y[n, c, o, p, q] = total
    return y


@operator
def resize_cubic(x, *, size, align_corners=False, slope=None, antialias=False):
    """Images in another size, by cubic interpolation (Keys, 1981); cells beyond the edge are those of the edge.

    Args:
        x: `(N, C, H, W)`, with elements.
        size: Height and width of the result.
        align_corners: Whether the centres of the outermost cells stay where they are, else the edges of the image.
        slope: Of the weight at the distance 1: Keys's is -0.5, which None is with `antialias`, PyTorch's -0.75, which
            None is without.
        antialias: As of `resize_linear`.

    Returns:
        `(N, C, *size)`.
    """
    require_floats(x)
    P, Q = pair(size)
    if antialias:
        return smoothed(x, P, Q, align_corners, 2, -0.5 if slope is None else slope)
    steep = -0.75 if slope is None else slope
    N, C, H, W = x.shape
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    u, v = position(p, H, P, align_corners), position(q, W, Q, align_corners)
                    i, j = int(np.floor(u)), int(np.floor(v))
                    total = 0.0
                    for r in range(-1, 3):
                        for s in range(-1, 3):
                            weight = cubic_weight(u - i - r, steep) * cubic_weight(v - j - s, steep)
                            total += weight * x[n, c, min(max(i + r, 0), H - 1), min(max(j + s, 0), W - 1)]
                    y[n, c, p, q] = total
    return y
