"""Convolutions in one to three dimensions, their transposes, and the windows they go over.

Images are `(batch, channels, height, width)`, filters `(filters, channels of a group, rows, columns)`. As in PyTorch
and JAX filters are not turned around unless `flip` asks for that. Results have the type of the images.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import all_sides, pair, sides, triple, windows_along
from loopdiff.kernels.operator import operator


def margined(x, padding):
    """Images with zeros around them."""
    (top, bottom), (left, right) = sides(padding)
    if top == 0 and bottom == 0 and left == 0 and right == 0:
        return x
    N, C, H, W = x.shape
    wide = np.zeros((N, C, H + top + bottom, W + left + right), dtype=x.dtype)
    wide[:, :, top : top + H, left : left + W] = x
    return wide


def margined_volume(x, padding):
    """Volumes with zeros around them."""
    (z0, z1), (y0, y1), (x0, x1) = all_sides(padding)
    N, C, D, H, W = x.shape
    wide = np.zeros((N, C, D + z0 + z1, H + y0 + y1, W + x0 + x1), dtype=x.dtype)
    wide[:, :, z0 : z0 + D, y0 : y0 + H, x0 : x0 + W] = x
    return wide


def require_steps(stride, dilation):
    if stride[0] < 1 or stride[1] < 1 or dilation[0] < 1 or dilation[1] < 1:
        raise ValueError("`stride` and `dilation` are at least 1")


def require_bias(bias, channels):
    if bias is not None and bias.shape[0] != channels:
        raise ValueError("`bias` has one number for each channel of the result")


def add_windows(y, x, w, stride, dilation, flip):
    """The sums of `conv2d` without groups."""
    (N, K, P, Q), (_, C, R, S) = y.shape, w.shape
    filters = np.empty((K, R, S, C), dtype=w.dtype)  # channels last: their gradients are sums of long vectors
    for k in range(K):
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    filters[k, r, s, c] = w[k, c, R - 1 - r, S - 1 - s] if flip else w[k, c, r, s]
    for n in range(N):
        for k in range(K):
            for c in range(C):
                for r in range(R):
                    for s in range(S):
                        for p in range(P):
                            for q in range(Q):
                                i, j = p * stride[0] + r * dilation[0], q * stride[1] + s * dilation[1]
                                y[n, k, p, q] += x[n, c, i, j] * filters[k, r, s, c]


def add_windows_of_groups(y, x, w, stride, dilation, groups, flip):
    """The sums of `conv2d` where each group of filters has channels of its own."""
    (N, K, P, Q), (_, D, R, S) = y.shape, w.shape
    F = K // groups
    for n in range(N):
        for g in range(groups):
            for f in range(F):
                for c in range(D):
                    for r in range(R):
                        for s in range(S):
                            for p in range(P):
                                for q in range(Q):
                                    i, j = p * stride[0] + r * dilation[0], q * stride[1] + s * dilation[1]
                                    h, v = (R - 1 - r, S - 1 - s) if flip else (r, s)
                                    y[n, g * F + f, p, q] += x[n, g * D + c, i, j] * w[g * F + f, c, h, v]


def add_windows_of_channels(y, x, w, stride, dilation, flip):
    """The sums of `conv2d` where each channel has one filter of its own, `(C, 1, R, S)`: depthwise."""
    (N, C, P, Q), (_, _, R, S) = y.shape, w.shape
    for n in range(N):
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    for p in range(P):
                        for q in range(Q):
                            i, j = p * stride[0] + r * dilation[0], q * stride[1] + s * dilation[1]
                            h, v = (R - 1 - r, S - 1 - s) if flip else (r, s)
                            y[n, c, p, q] += x[n, c, i, j] * w[c, 0, h, v]


@operator
def conv2d(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1, flip=False):
    """Sums over windows of images, each channel of the result with a filter of its own.

    `y[n, k, p, q] = bias[k] + sum of x[n, c, p * stride + r * dilation, q * stride + s * dilation] * w[k, c, r, s]`

    Args:
        x: `(N, C, H, W)`, real or complex.
        w: `(K, C // groups, R, S)`.
        bias: `(K,)`, or None.
        stride: Steps between windows: one number, or one for each axis.
        padding: Zeros around the image: one number, one for each axis, or pairs `((top, bottom), (left, right))`.
        dilation: Steps inside of windows: one number, or one for each axis.
        groups: So many groups of channels have filters of their own; as many groups as channels: depthwise.
        flip: Whether filters are turned around, as the convolution of mathematics has it.

    Returns:
        `(N, K, P, Q)` with `P = (H + top + bottom - dilation * (R - 1) - 1) // stride + 1`, and `Q` likewise.

    Raises:
        ArgumentError: LD332 where channels do not fit, the window is larger than the image, or `x` holds integers.
    """
    down, across = pair(stride)
    apart, aside = pair(dilation)
    require_floats(x)
    require_steps((down, across), (apart, aside))
    require_bias(bias, w.shape[0])
    wide = margined(x, padding)
    N, C, H, W = wide.shape
    K, D, R, S = w.shape
    if D * groups != C or K % groups != 0:
        raise ValueError("the channels do not fit: `w` is (K, C // groups, R, S), and `groups` divides K")
    P, Q = windows_along(H, (0, 0), R, down, apart), windows_along(W, (0, 0), S, across, aside)
    y = np.zeros((N, K, P, Q), dtype=x.dtype)
    if bias is not None:
        y += bias[:, None, None]
    if groups == 1:
        add_windows(y, wide, w, (down, across), (apart, aside), flip)
    elif D == 1 and groups == K:
        add_windows_of_channels(y, wide, w, (down, across), (apart, aside), flip)
    else:
        add_windows_of_groups(y, wide, w, (down, across), (apart, aside), groups, flip)
    return y


@operator
def conv1d(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1, flip=False):
    """`conv2d` of signals: `x` is `(N, C, L)`, `w` `(K, C // groups, S)`, the result `(N, K, Q)`. `padding` is one
    number or a pair. Errors as of `conv2d`."""
    rows = ((0, 0), pair(padding))
    y = conv2d(
        x[:, :, None, :], w[:, :, None, :], bias,
        stride=(1, stride), padding=rows, dilation=(1, dilation), groups=groups, flip=flip,
    )  # fmt: skip
    return y[:, :, 0, :]


@operator
def conv3d(x, w, bias=None, *, stride=1, padding=0, dilation=1, groups=1, flip=False):
    """Sums over windows of volumes, as `conv2d` of images.

    Args:
        x: `(N, C, D, H, W)`.
        w: `(K, C // groups, T, R, S)`.
        bias: `(K,)`, or None.
        stride, padding, dilation: One number, or one for each of three axes; `padding` may be three pairs.
        groups, flip: As of `conv2d`.

    Returns:
        `(N, K, O, P, Q)`.

    Raises:
        ArgumentError: LD332 where channels do not fit, the window is larger than the volume, or `x` holds integers.
    """
    deep, down, across = triple(stride)
    behind, apart, aside = triple(dilation)
    require_floats(x)
    require_steps((down, across), (apart, aside))
    require_steps((deep, 1), (behind, 1))
    require_bias(bias, w.shape[0])
    wide = margined_volume(x, padding)
    N, C, D, H, W = wide.shape
    K, B, T, R, S = w.shape
    if B * groups != C or K % groups != 0:
        raise ValueError("the channels do not fit: `w` is (K, C // groups, T, R, S), and `groups` divides K")
    F = K // groups
    O = windows_along(D, (0, 0), T, deep, behind)
    P, Q = windows_along(H, (0, 0), R, down, apart), windows_along(W, (0, 0), S, across, aside)
    y = np.zeros((N, K, O, P, Q), dtype=x.dtype)
    if bias is not None:
        y += bias[:, None, None, None]
    for n in range(N):
        for g in range(groups):
            for f in range(F):
                for c in range(B):
                    for t in range(T):
                        for r in range(R):
                            for s in range(S):
                                for o in range(O):
                                    for p in range(P):
                                        for q in range(Q):
                                            h, i, j = (T - 1 - t, R - 1 - r, S - 1 - s) if flip else (t, r, s)
                                            y[n, g * F + f, o, p, q] += (
                                                wide[
                                                    n,
                                                    g * B + c,
                                                    o * deep + t * behind,
                                                    p * down + r * apart,
                                                    q * across + s * aside,
                                                ]
                                                * w[g * F + f, c, h, i, j]
                                            )
    return y


@operator
def conv_transpose2d(x, w, bias=None, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """Each pixel spreads a filter: the transpose of `conv2d` by its images.

    `y[n, c, p * stride + r * dilation, q * stride + s * dilation] += x[n, k, p, q] * w[k, c, r, s]`, without `padding`
    cells at the edges.

    Args:
        x: `(N, K, P, Q)`.
        w: `(K, C // groups, R, S)`, the filter of the convolution that this transposes.
        bias: `(C,)`, or None.
        stride, padding, dilation, groups: Those of that convolution.
        output_padding: Rows and columns more at the bottom and at the right: strided convolutions of images of
            several sizes give one size. One number, or one for each axis.

    Returns:
        `(N, C, H, W)` with `H = (P - 1) * stride + dilation * (R - 1) + 1 - top - bottom + output_padding`.

    Raises:
        ArgumentError: LD332 where channels do not fit, or nothing would be left of the image.
    """
    down, across = pair(stride)
    apart, aside = pair(dilation)
    (top, bottom), (left, right) = sides(padding)
    below, beyond = pair(output_padding)
    require_floats(x)
    require_steps((down, across), (apart, aside))
    require_bias(bias, w.shape[1] * groups)
    if top < 0 or bottom < 0 or left < 0 or right < 0:
        raise ValueError("`padding` is not negative")
    N, K, P, Q = x.shape
    B, D, R, S = w.shape
    if K != B or K % groups != 0:
        raise ValueError("the channels do not fit: `x` is (N, K, P, Q), `w` (K, C // groups, R, S)")
    F = K // groups
    H = (P - 1) * down + apart * (R - 1) + 1 + below
    W = (Q - 1) * across + aside * (S - 1) + 1 + beyond
    if top + bottom >= H or left + right >= W:
        raise ValueError("`padding` takes the whole image away")
    wide = np.zeros((N, D * groups, H, W), dtype=x.dtype)
    for n in range(N):
        for g in range(groups):
            for d in range(D):
                for f in range(F):
                    for r in range(R):
                        for s in range(S):
                            for p in range(P):
                                for q in range(Q):
                                    wide[n, g * D + d, p * down + r * apart, q * across + s * aside] += (
                                        x[n, g * F + f, p, q] * w[g * F + f, d, r, s]
                                    )
    y = wide[:, :, top : H - bottom, left : W - right].copy()
    if bias is not None:
        y += bias[:, None, None]
    return y


@operator
def conv_transpose1d(x, w, bias=None, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """`conv_transpose2d` of signals: `x` is `(N, K, Q)`, `w` `(K, C // groups, S)`; the result `(N, C, L)`."""
    y = conv_transpose2d(
        x[:, :, None, :], w[:, :, None, :], bias, stride=(1, stride), padding=((0, 0), pair(padding)),
        output_padding=(0, output_padding), dilation=(1, dilation), groups=groups,
    )  # fmt: skip
    return y[:, :, 0, :]


@operator
def conv_transpose3d(x, w, bias=None, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """`conv_transpose2d` of volumes: the transpose of `conv3d` by its volumes.

    Args:
        x: `(N, K, O, P, Q)`.
        w: `(K, C // groups, T, R, S)`, the filter of the convolution that this transposes.
        bias: `(C,)`, or None.
        stride, padding, dilation, groups: Those of that convolution.
        output_padding: How much longer the result is: one number, or one for each axis.

    Returns:
        `(N, C, D, H, W)`, the axes as of `conv_transpose2d`.

    Raises:
        ArgumentError: LD332 where channels do not fit, or nothing would be left of the volume.
    """
    deep, down, across = triple(stride)
    behind, apart, aside = triple(dilation)
    (z0, z1), (y0, y1), (x0, x1) = all_sides(padding)
    further, below, beyond = triple(output_padding)
    require_floats(x)
    require_steps((down, across), (apart, aside))
    require_steps((deep, 1), (behind, 1))
    require_bias(bias, w.shape[1] * groups)
    N, K, O, P, Q = x.shape
    B, C, T, R, S = w.shape
    if K != B or K % groups != 0:
        raise ValueError("the channels do not fit: `x` is (N, K, O, P, Q), `w` (K, C // groups, T, R, S)")
    F = K // groups
    D = (O - 1) * deep + behind * (T - 1) + 1 + further
    H = (P - 1) * down + apart * (R - 1) + 1 + below
    W = (Q - 1) * across + aside * (S - 1) + 1 + beyond
    if min(z0, z1, y0, y1, x0, x1) < 0 or z0 + z1 >= D or y0 + y1 >= H or x0 + x1 >= W:
        raise ValueError("`padding` is not negative, and leaves something of the volume")
    wide = np.zeros((N, C * groups, D, H, W), dtype=x.dtype)
    for n in range(N):
        for g in range(groups):
            for c in range(C):
                for f in range(F):
                    for t in range(T):
                        for r in range(R):
                            for s in range(S):
                                for o in range(O):
                                    for p in range(P):
                                        for q in range(Q):
                                            h, i, j = (
                                                o * deep + t * behind,
                                                p * down + r * apart,
                                                q * across + s * aside,
                                            )
                                            wide[n, g * C + c, h, i, j] += (
                                                x[n, g * F + f, o, p, q] * w[g * F + f, c, t, r, s]
                                            )
    y = wide[:, :, z0 : D - z1, y0 : H - y1, x0 : W - x1].copy()
    if bias is not None:
        y += bias[:, None, None, None]
    return y


@operator
def unfold(x, *, window, stride=1, padding=0, dilation=1):
    """The windows that a convolution goes over, one after the other (im2col).

    Args:
        x: `(N, C, H, W)`.
        window: Rows and columns of windows: one number, or two.
        stride, padding, dilation: As of `conv2d`.

    Returns:
        `(N, C * R * S, P * Q)`, as `torch.nn.functional.unfold` orders them.

    Raises:
        ArgumentError: LD332 where the window is larger than the image.
    """
    R, S = pair(window)
    down, across = pair(stride)
    apart, aside = pair(dilation)
    wide = margined(x, padding)
    N, C, H, W = wide.shape
    require_steps((down, across), (apart, aside))
    P, Q = windows_along(H, (0, 0), R, down, apart), windows_along(W, (0, 0), S, across, aside)
    y = np.zeros((N, C, R, S, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    for p in range(P):
                        for q in range(Q):
                            y[n, c, r, s, p, q] = wide[n, c, p * down + r * apart, q * across + s * aside]
    return y.reshape(N, C * R * S, P * Q)


@operator
def fold(x, *, size, window, stride=1, padding=0, dilation=1):
    """Windows added up in their places: the transpose of `unfold`.

    Args:
        x: `(N, C * R * S, P * Q)`.
        size: Height and width of the images.
        window, stride, padding, dilation: As of `unfold`.

    Returns:
        `(N, C, H, W)`.

    Raises:
        ArgumentError: LD310, LD322 or LD332 where there are not as many windows, or elements of them, as these options
            say.
    """
    height, width = size
    R, S = pair(window)
    down, across = pair(stride)
    apart, aside = pair(dilation)
    (top, bottom), (left, right) = sides(padding)
    H, W = height + top + bottom, width + left + right
    P, Q = windows_along(H, (0, 0), R, down, apart), windows_along(W, (0, 0), S, across, aside)
    N, M, L = x.shape
    if P * Q != L or M % (R * S) != 0:
        raise ValueError("`x` is (N, C * R * S, P * Q)")
    C = M // (R * S)
    parts = x.reshape(N, C, R, S, P, Q)
    wide = np.zeros((N, C, H, W), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for r in range(R):
                for s in range(S):
                    for p in range(P):
                        for q in range(Q):
                            wide[n, c, p * down + r * apart, q * across + s * aside] += parts[n, c, r, s, p, q]
    return wide[:, :, top : top + height, left : left + width].copy()
