"""Windows of images brought to one number each. The cells that `padding` adds belong to no window."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import all_sides, pair, sides, triple, windows_along
from loopdiff.kernels.operator import operator


def is_better(value, best):
    """Whether a number wins over those before it: if it is greater, and the first NaN over all."""
    return value > best or (np.isnan(value) and not np.isnan(best))


def inside(start, length, extent):
    """How many cells of a window along an axis are inside."""
    return max(min(start + length, extent) - max(start, 0), 0)


@operator
def max_pool2d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The greatest number of each window.

    The derivative goes to the winner exactly: the first of equals, in the order of rows. The first NaN wins over
    numbers. In a window of nothing but -inf nobody wins.

    Args:
        x: `(N, C, H, W)`, real.
        window: Rows and columns: one number, or one for each axis.
        stride: Steps between windows: one number, or one for each axis; by default windows do not overlap.
        padding: Cells around the image that never win: one number, one for each axis, or pairs.
        dilation: Steps inside of windows.
        ceil_mode: Whether a last window that begins inside, and ends outside, counts too.

    Returns:
        `(N, C, P, Q)` with `P = (H + top + bottom - dilation * (R - 1) - 1) // stride + 1`, or one more with
        `ceil_mode`. Windows without a cell have -inf.

    Raises:
        ArgumentError: LD332 where the window is larger than the image, without `ceil_mode`.
    """
    require_floats(x)
    R, S = pair(window)
    down, across = (R, S) if stride is None else pair(stride)
    apart, aside = pair(dilation)
    (top, bottom), (left, right) = sides(padding)
    N, C, H, W = x.shape
    P = windows_along(H, (top, bottom), R, down, apart, ceil_mode)
    Q = windows_along(W, (left, right), S, across, aside, ceil_mode)
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    best = -np.inf
                    for r in range(R):
                        for s in range(S):
                            i = p * down + r * apart - top
                            j = q * across + s * aside - left
                            if 0 <= i < H and 0 <= j < W and is_better(x[n, c, i, j], best):
                                best = x[n, c, i, j]
                    y[n, c, p, q] = best
    return y


@operator
def mean_pool2d(x, *, window, stride=None, padding=0, count_padding=True, ceil_mode=False, divisor=None):
    """The mean of each window.

    Args:
        x: `(N, C, H, W)`.
        window, stride, padding, ceil_mode: As of `max_pool2d`.
        count_padding: Whether the cells around the image count as zeros, those behind `padding` never; else the mean
            is of the cells in the image, and zero where a window has none.
        divisor: What sums are divided by, or None: how many cells count.

    Returns:
        `(N, C, P, Q)`.

    Raises:
        ArgumentError: LD332 where the window is larger than the image, without `ceil_mode`.
    """
    require_floats(x)
    R, S = pair(window)
    down, across = (R, S) if stride is None else pair(stride)
    (top, bottom), (left, right) = sides(padding)
    N, C, H, W = x.shape
    P = windows_along(H, (top, bottom), R, down, 1, ceil_mode)
    Q = windows_along(W, (left, right), S, across, 1, ceil_mode)
    y = np.zeros((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    first, last = max(p * down - top, 0), min(p * down - top + R, H)
                    start, stop = max(q * across - left, 0), min(q * across - left + S, W)
                    last, stop = max(first, last), max(start, stop)
                    total = 0.0
                    for i in range(first, last):
                        for j in range(start, stop):
                            total += x[n, c, i, j]
                    cells = R * S if divisor is None else divisor
                    if divisor is None and not count_padding:
                        cells = max((last - first) * (stop - start), 1)
                    elif divisor is None and ceil_mode:
                        cells = inside(p * down, R, H + top + bottom) * inside(q * across, S, W + left + right)
                    y[n, c, p, q] = total / cells
    return y


@operator
def lp_pool2d(x, *, p, window, stride=None, ceil_mode=False):
    """The p-norm of each window, `sum(abs(x) ** p) ** (1 / p)`, which has derivative zero where all of it is zero.

    Args:
        x: `(N, C, H, W)`.
        p: The order, at least 1.
        window, stride: As of `max_pool2d`.
        ceil_mode: As of `max_pool2d`: what ends outside has the mean of its cells for those that it has not, as
            PyTorch has it.

    Returns:
        `(N, C, P, Q)`.

    Raises:
        ArgumentError: LD332 where the window is larger than the image, without `ceil_mode`.
    """
    require_floats(x)
    R, S = pair(window)
    down, across = (R, S) if stride is None else pair(stride)
    N, C, H, W = x.shape
    P, Q = windows_along(H, (0, 0), R, down, 1, ceil_mode), windows_along(W, (0, 0), S, across, 1, ceil_mode)
    y = np.zeros((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for i in range(P):
                for j in range(Q):
                    total = 0.0
                    for r in range(R):
                        for s in range(S):
                            if not ceil_mode or (i * down + r < H and j * across + s < W):
                                total += abs(x[n, c, i * down + r, j * across + s]) ** p
                    if ceil_mode:
                        total *= R * S / (inside(i * down, R, H) * inside(j * across, S, W))
                    y[n, c, i, j] = 0.0 if total == 0.0 else total ** (1.0 / p)
    return y


def piece(k, length, parts):
    """Where the part `k` of an axis that is shared evenly begins, and where it ends: parts overlap rather than leave
    cells out."""
    return k * length // parts, ((k + 1) * length + parts - 1) // parts


@operator
def adaptive_mean_pool2d(x, *, size):
    """The mean of each of `size` windows that share the image evenly: rows `i * H // P` up to, without it,
    `-(-(i + 1) * H // P)`, as PyTorch has it.

    Args:
        x: `(N, C, H, W)`.
        size: Height and width of the result: one number, or one for each axis.

    Returns:
        `(N, C, P, Q)`.
    """
    require_floats(x)
    P, Q = pair(size)
    N, C, H, W = x.shape
    y = np.zeros((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    (first, last), (start, stop) = piece(p, H, P), piece(q, W, Q)
                    total = 0.0
                    for i in range(first, last):
                        for j in range(start, stop):
                            total += x[n, c, i, j]
                    y[n, c, p, q] = total / ((last - first) * (stop - start))
    return y


@operator
def adaptive_max_pool2d(x, *, size):
    """The greatest number of each window of `adaptive_mean_pool2d`; the first of equals has the derivative."""
    require_floats(x)
    P, Q = pair(size)
    N, C, H, W = x.shape
    y = np.zeros((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    (first, last), (start, stop) = piece(p, H, P), piece(q, W, Q)
                    best = -np.inf
                    for i in range(first, last):
                        for j in range(start, stop):
                            if is_better(x[n, c, i, j], best):
                                best = x[n, c, i, j]
                    y[n, c, p, q] = best
    return y


@operator
def max_pool1d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """`max_pool2d` of signals: `x` is `(N, C, L)`, the result `(N, C, Q)`. `padding` is one number or a pair."""
    step = window if stride is None else stride
    y = max_pool2d(
        x[:, :, None, :],
        window=(1, window),
        stride=(1, step),
        padding=((0, 0), pair(padding)),
        dilation=(1, dilation),
        ceil_mode=ceil_mode,
    )
    return y[:, :, 0, :]


@operator
def mean_pool1d(x, *, window, stride=None, padding=0, count_padding=True, ceil_mode=False, divisor=None):
    """`mean_pool2d` of signals: `x` is `(N, C, L)`, the result `(N, C, Q)`. `padding` is one number or a pair."""
    step = window if stride is None else stride
    y = mean_pool2d(
        x[:, :, None, :],
        window=(1, window),
        stride=(1, step),
        padding=((0, 0), pair(padding)),
        count_padding=count_padding,
        ceil_mode=ceil_mode,
        divisor=divisor,
    )
    return y[:, :, 0, :]


@operator
def max_pool3d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """`max_pool2d` of volumes: `x` is `(N, C, D, H, W)`, the result `(N, C, O, P, Q)`. Options are one number, or one
    for each axis, `padding` also three pairs. The derivative goes to the first of equals. Errors as of `max_pool2d`."""
    require_floats(x)
    T, R, S = triple(window)
    back, down, across = (T, R, S) if stride is None else triple(stride)
    deep, apart, aside = triple(dilation)
    (near, far), (top, bottom), (left, right) = all_sides(padding)
    all_inside = not ceil_mode and near + far + top + bottom + left + right == 0
    N, C, D, H, W = x.shape
    O = windows_along(D, (near, far), T, back, deep, ceil_mode)
    P = windows_along(H, (top, bottom), R, down, apart, ceil_mode)
    Q = windows_along(W, (left, right), S, across, aside, ceil_mode)
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        best = -np.inf
                        for t in range(T):
                            for r in range(R):
                                for s in range(S):
                                    h = o * back + t * deep - near
                                    i = p * down + r * apart - top
                                    j = q * across + s * aside - left
                                    if all_inside or (0 <= h < D and 0 <= i < H and 0 <= j < W):
                                        value = x[n, c, h, i, j]
                                        if is_better(value, best):
                                            best = value
                        y[n, c, o, p, q] = best
    return y


@operator
def mean_pool3d(x, *, window, stride=None, padding=0, count_padding=True, ceil_mode=False, divisor=None):
    """`mean_pool2d` of volumes: `x` is `(N, C, D, H, W)`, the result `(N, C, O, P, Q)`. Options are one number, or one
    for each axis, `padding` also three pairs. Errors as of `max_pool2d`."""
    require_floats(x)
    T, R, S = triple(window)
    back, down, across = (T, R, S) if stride is None else triple(stride)
    (front, behind), (top, bottom), (left, right) = all_sides(padding)
    all_inside = not ceil_mode and front + behind + top + bottom + left + right == 0
    N, C, D, H, W = x.shape
    O = windows_along(D, (front, behind), T, back, 1, ceil_mode)
    P = windows_along(H, (top, bottom), R, down, 1, ceil_mode)
    Q = windows_along(W, (left, right), S, across, 1, ceil_mode)
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        first, upper, start = o * back - front, p * down - top, q * across - left
                        total, cells = 0.0, T * R * S if divisor is None else divisor
                        for t in range(T):
                            for r in range(R):
                                for s in range(S):
                                    h, i, j = first + t, upper + r, start + s
                                    if all_inside or (0 <= h < D and 0 <= i < H and 0 <= j < W):
                                        total += x[n, c, h, i, j]
                        if divisor is None and not count_padding:
                            cells = max(inside(first, T, D) * inside(upper, R, H) * inside(start, S, W), 1)
                        elif divisor is None and ceil_mode:
                            cells = inside(o * back, T, D + front + behind) * inside(p * down, R, H + top + bottom)
                            cells *= inside(q * across, S, W + left + right)
                        y[n, c, o, p, q] = total / cells
    return y


@operator
def adaptive_mean_pool1d(x, *, size):
    """`adaptive_mean_pool2d` of signals: `(N, C, L)` to `(N, C, size)`."""
    return adaptive_mean_pool2d(x[:, :, None, :], size=(1, size))[:, :, 0, :]


@operator
def adaptive_max_pool1d(x, *, size):
    """`adaptive_max_pool2d` of signals: `(N, C, L)` to `(N, C, size)`."""
    return adaptive_max_pool2d(x[:, :, None, :], size=(1, size))[:, :, 0, :]


@operator
def adaptive_mean_pool3d(x, *, size):
    """`adaptive_mean_pool2d` of volumes: `(N, C, D, H, W)` to `(N, C, *size)`, `size` one number or three."""
    require_floats(x)
    O, P, Q = triple(size)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        (near, far), (first, last), (start, stop) = piece(o, D, O), piece(p, H, P), piece(q, W, Q)
                        total = 0.0
                        for h in range(near, far):
                            for i in range(first, last):
                                for j in range(start, stop):
                                    total += x[n, c, h, i, j]
                        y[n, c, o, p, q] = total / ((far - near) * (last - first) * (stop - start))
    return y


@operator
def adaptive_max_pool3d(x, *, size):
    """`adaptive_max_pool2d` of volumes: `(N, C, D, H, W)` to `(N, C, *size)`, `size` one number or three."""
    require_floats(x)
    O, P, Q = triple(size)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        (near, far), (first, last), (start, stop) = piece(o, D, O), piece(p, H, P), piece(q, W, Q)
                        best = -np.inf
                        for h in range(near, far):
                            for i in range(first, last):
                                for j in range(start, stop):
                                    if is_better(x[n, c, h, i, j], best):
                                        best = x[n, c, h, i, j]
                        y[n, c, o, p, q] = best
    return y


@operator
def lp_pool1d(x, *, p, window, stride=None, ceil_mode=False):
    """`lp_pool2d` of signals: `x` is `(N, C, L)`, the result `(N, C, Q)`."""
    step = window if stride is None else stride
    y = lp_pool2d(x[:, :, None, :], p=p, window=(1, window), stride=(1, step), ceil_mode=ceil_mode)
    return y[:, :, 0, :]


@operator
def lp_pool3d(x, *, p, window, stride=None, ceil_mode=False):
    """`lp_pool2d` of volumes: `x` is `(N, C, D, H, W)`, the result `(N, C, O, P, Q)`. Options are one number, or one
    for each axis."""
    require_floats(x)
    T, R, S = triple(window)
    back, down, across = (T, R, S) if stride is None else triple(stride)
    N, C, D, H, W = x.shape
    O = windows_along(D, (0, 0), T, back, 1, ceil_mode)
    P, Q = windows_along(H, (0, 0), R, down, 1, ceil_mode), windows_along(W, (0, 0), S, across, 1, ceil_mode)
    y = np.zeros((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for i in range(P):
                    for j in range(Q):
                        total = 0.0
                        for t in range(T):
                            for r in range(R):
                                for s in range(S):
                                    h, u, v = o * back + t, i * down + r, j * across + s
                                    if not ceil_mode or (h < D and u < H and v < W):
                                        total += abs(x[n, c, h, u, v]) ** p
                        if ceil_mode:
                            cells = inside(o * back, T, D) * inside(i * down, R, H) * inside(j * across, S, W)
                            total *= T * R * S / cells
                        y[n, c, o, i, j] = 0.0 if total == 0.0 else total ** (1.0 / p)
    return y
