"""Convolutions in one to three dimensions, as sums over windows.

Images are `(batch, channels, height, width)`, filters `(filters, channels of a group, rows, columns)`; like PyTorch's
and JAX's they are not flipped unless that is asked for. With `channels_last`, images are `(batch, height, width,
channels)` and filters `(rows, columns, channels of a group, filters)`.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.operator import operator


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def margins(padding):
    """Cells before and behind each of two axes: of a number, of two, or of two pairs."""
    above, left = pair(padding)
    return pair(above), pair(left)


def padded(x, padding):
    """Images with zeros around them."""
    (top, bottom), (left, right) = margins(padding)
    if top == 0 and bottom == 0 and left == 0 and right == 0:
        return x
    N, C, H, W = x.shape
    wide = np.zeros((N, C, H + top + bottom, W + left + right), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for i in range(H):
                for j in range(W):
                    wide[n, c, i + top, j + left] = x[n, c, i, j]
    return wide


@operator
def conv2d(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1, flip=False):
    """Sums over windows of images.

    y[n, k, p, q] = bias[k] + sum over c, r, s of x[n, c, p * stride + r * dilation, q * stride + s * dilation] * w[k, c, r, s]

    Args:
        x: `(N, C, H, W)`.
        w: `(K, C // groups, R, S)`.
        bias: `(K,)`, or None.
        stride: Steps between windows, one number or two.
        padding: Zeros around the image: one number, two, or two pairs `((top, bottom), (left, right))`.
        dilation: Steps inside of windows, one number or two.
        groups: Filters and channels belong together in so many groups; as many as channels: depthwise.
        flip: Whether the filter is turned around, as in mathematics.

    Returns:
        `(N, K, P, Q)` with `P = (H + top + bottom - dilation * (R - 1) - 1) // stride + 1`, of the type of `x`.

    Raises:
        ArgumentError: LD332 where channels do not fit or the window is larger than the image.
    """
    down, across = pair(stride)
    apart, aside = pair(dilation)
    image = padded(x, padding)
    N, C, H, W = image.shape
    K, D, R, S = w.shape
    if C != D * groups or K % groups != 0:
        raise ValueError("the channels of `x` and `w` do not fit: `w` is (K, C // groups, R, S)")
    if H <= apart * (R - 1) or W <= aside * (S - 1):
        raise ValueError("the window of `w` is larger than the image")
    P = (H - apart * (R - 1) - 1) // down + 1
    Q = (W - aside * (S - 1) - 1) // across + 1
    F = K // groups
    y = np.zeros((N, K, P, Q), dtype=x.dtype)
    for n in range(N):
        for g in range(groups):
            for f in range(F):
                for c in range(D):
                    for r in range(R):
                        for s in range(S):
                            for p in range(P):
                                for q in range(Q):
                                    i, j = (R - 1 - r, S - 1 - s) if flip else (r, s)
                                    y[n, g * F + f, p, q] += (
                                        image[n, g * D + c, p * down + r * apart, q * across + s * aside]
                                        * w[g * F + f, c, i, j]
                                    )
    if bias is not None:
        for n in range(N):
            for k in range(K):
                for p in range(P):
                    for q in range(Q):
                        y[n, k, p, q] += bias[k]
    return y
