"""Where the winners of pools are, numbers put back there, and pools of windows that are drawn at random."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.extents import all_sides, pair, sides, triple, windows_along
from loopdiff.kernels.nn.pooling import is_better, piece
from loopdiff.kernels.nn.random_masks import uniform_at
from loopdiff.kernels.operator import operator


@operator
def max_places2d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """Where the winners of `max_pool2d` are, as integers: `i * W + j` in their image, -1 where nobody wins. Arguments
    and errors as there."""
    require_floats(x)
    R, S = pair(window)
    down, across = (R, S) if stride is None else pair(stride)
    apart, aside = pair(dilation)
    (top, bottom), (left, right) = sides(padding)
    N, C, H, W = x.shape
    P = windows_along(H, (top, bottom), R, down, apart, ceil_mode)
    Q = windows_along(W, (left, right), S, across, aside, ceil_mode)
    places = np.empty((N, C, P, Q), dtype=np.int64)
    for n in range(N):
        for c in range(C):
            for p in range(P):
                for q in range(Q):
                    best, place = -np.inf, -1
                    for r in range(R):
                        for s in range(S):
                            i = p * down + r * apart - top
                            j = q * across + s * aside - left
                            if 0 <= i < H and 0 <= j < W and is_better(x[n, c, i, j], best):
                                best, place = x[n, c, i, j], i * W + j
                    places[n, c, p, q] = place
    return places


@operator
def max_places1d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """`max_places2d` of signals, for `max_pool1d`: `x` is `(N, C, L)`, the result `(N, C, Q)`."""
    step = window if stride is None else stride
    places = max_places2d(
        x[:, :, None, :],
        window=(1, window),
        stride=(1, step),
        padding=((0, 0), pair(padding)),
        dilation=(1, dilation),
        ceil_mode=ceil_mode,
    )
    return places[:, :, 0, :]


@operator
def max_places3d(x, *, window, stride=None, padding=0, dilation=1, ceil_mode=False):
    """Where the winners of `max_pool3d` are, as integers: `(h * H + i) * W + j` in their volume, -1 where nobody wins.
    Arguments and errors as there."""
    require_floats(x)
    T, R, S = triple(window)
    back, down, across = (T, R, S) if stride is None else triple(stride)
    deep, apart, aside = triple(dilation)
    (near, far), (top, bottom), (left, right) = all_sides(padding)
    N, C, D, H, W = x.shape
    O = windows_along(D, (near, far), T, back, deep, ceil_mode)
    P = windows_along(H, (top, bottom), R, down, apart, ceil_mode)
    Q = windows_along(W, (left, right), S, across, aside, ceil_mode)
    places = np.empty((N, C, O, P, Q), dtype=np.int64)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        best, place = -np.inf, -1
                        for t in range(T):
                            for r in range(R):
                                for s in range(S):
                                    h = o * back + t * deep - near
                                    i = p * down + r * apart - top
                                    j = q * across + s * aside - left
                                    inside = 0 <= h < D and 0 <= i < H and 0 <= j < W
                                    if inside and is_better(x[n, c, h, i, j], best):
                                        best, place = x[n, c, h, i, j], (h * H + i) * W + j
                        places[n, c, o, p, q] = place
    return places


def place_of_greatest(x, n, c, near, far, first, last, start, stop):
    """Where the first of the greatest numbers of a part of a volume is, -1 where there is nothing but -inf."""
    best, place = -np.inf, -1
    for h in range(near, far):
        for i in range(first, last):
            for j in range(start, stop):
                if is_better(x[n, c, h, i, j], best):
                    best, place = x[n, c, h, i, j], (h * x.shape[3] + i) * x.shape[4] + j
    return place


@operator
def adaptive_max_places3d(x, *, size):
    """Where the winners of `adaptive_max_pool3d` are, as `max_places3d` has it: `(N, C, D, H, W)` to
    `(N, C, *size)`."""
    require_floats(x)
    O, P, Q = triple(size)
    N, C, D, H, W = x.shape
    places = np.empty((N, C, O, P, Q), dtype=np.int64)
    for n in range(N):
        for c in range(C):
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        (near, far), (first, last), (start, stop) = piece(o, D, O), piece(p, H, P), piece(q, W, Q)
                        places[n, c, o, p, q] = place_of_greatest(x, n, c, near, far, first, last, start, stop)
    return places


@operator
def adaptive_max_places2d(x, *, size):
    """`adaptive_max_places3d` of images: `(N, C, H, W)` to `(N, C, *size)`, places `i * W + j`."""
    P, Q = pair(size)
    return adaptive_max_places3d(x[:, :, None, :, :], size=(1, P, Q))[:, :, 0, :, :]


@operator
def adaptive_max_places1d(x, *, size):
    """`adaptive_max_places3d` of signals: `(N, C, L)` to `(N, C, size)`."""
    return adaptive_max_places3d(x[:, :, None, None, :], size=(1, 1, size))[:, :, 0, 0, :]


@operator
def max_unpool(x, places, *, size):
    """Numbers put where others were taken from, and zero elsewhere: what PyTorch's `max_unpool1d` to `3d` do.

    Args:
        x: `(N, C, ...)`.
        places: Like `x`, as `max_places2d` gives them: places among the cells of an image, row by row. Negative ones
            are nowhere. Of several numbers for one place the last stays.
        size: The extents of the result behind `N` and `C`, a tuple.

    Returns:
        `(N, C, *size)`.

    Raises:
        ArgumentError: LD310 for a place outside; LD332 where there are not as many places as numbers.
    """
    if places.shape != x.shape:
        raise ValueError("there is a place for each number")
    N, C = x.shape[0], x.shape[1]
    y = np.zeros((N, C, *size), dtype=x.dtype)
    cells, numbers, at = y.reshape(N, C, -1), x.reshape(N, C, -1), places.reshape(N, C, -1)
    for n in range(N):
        for c in range(C):
            for k in range(numbers.shape[2]):
                if at[n, c, k] >= 0:
                    cells[n, c, at[n, c, k]] = numbers[n, c, k]
    return y


def start_of(k, u, length, window, parts):
    """Where the window `k` of as many `parts` begins: at steps of two sizes, the last window at the end."""
    if k == parts - 1:
        return length - window
    step = (length - window) / (parts - 1)
    return int((k + u) * step) - int(u * step)


def require_room(extent, window, parts):
    """Refuse more windows than can begin at cells of their own."""
    if parts < 1 or parts + window - 1 > extent:
        raise ValueError("there is no room for as many windows")


def require_samples(samples, N, C, axes):
    """Refuse other numbers of samples, and samples that are no parts of a step."""
    if samples.shape != (N, C, axes):
        raise ValueError("`samples` has a number for each channel and axis")
    for n in range(N):
        for c in range(C):
            for k in range(axes):
                if not 0.0 <= samples[n, c, k] < 1.0:
                    raise ValueError("`samples` are from 0 and below 1")


def windows_of_image(x, samples, window, size):
    """Rows and columns of fractional windows, and how many there are, where there is room for them."""
    require_floats(x)
    (R, S), (P, Q) = pair(window), pair(size)
    N, C, H, W = x.shape
    require_room(H, R, P)
    require_room(W, S, Q)
    if samples is not None:
        require_samples(samples, N, C, 2)
    return R, S, P, Q


def windows_of_volume(x, samples, window, size):
    """`windows_of_image` of three axes."""
    require_floats(x)
    (T, R, S), (O, P, Q) = triple(window), triple(size)
    N, C, D, H, W = x.shape
    require_room(D, T, O)
    require_room(H, R, P)
    require_room(W, S, Q)
    if samples is not None:
        require_samples(samples, N, C, 3)
    return T, R, S, O, P, Q


def samples_of_image(seed, samples, n, c, C):
    """The numbers that decide of the windows of a channel, by rows and by columns. PyTorch has columns first."""
    k = 2 * (n * C + c)
    return (uniform_at(seed, k), uniform_at(seed, k + 1)) if samples is None else (samples[n, c, 1], samples[n, c, 0])


def samples_of_volume(seed, samples, n, c, C):
    """The numbers that decide of the windows of a channel, for each axis."""
    if samples is not None:
        return samples[n, c, 0], samples[n, c, 1], samples[n, c, 2]
    k = 3 * (n * C + c)
    return uniform_at(seed, k), uniform_at(seed, k + 1), uniform_at(seed, k + 2)


@operator
def fractional_max_pool2d(x, seed, samples=None, *, window, size):
    """The greatest number of each of `size` windows at steps that are not whole numbers on average (Graham, 2014): of
    one of two lengths, in an order that a random number for each channel and axis decides. The first of equals has the
    derivative.

    Args:
        x: `(N, C, H, W)`.
        seed: An integer. The same seed has the same windows.
        samples: `(N, C, 2)`, from 0 and below 1, or None: numbers in place of those that `seed` draws, of columns and
            then of rows, as PyTorch has them. They have no derivative.
        window: Rows and columns: one number, or one for each axis.
        size: Height and width of the result: one number, or one for each axis.

    Returns:
        `(N, C, *size)`.

    Raises:
        ArgumentError: LD332 where there is no room for as many windows that each begin at another cell, or there are
            not as many samples, or others.
    """
    R, S, P, Q = windows_of_image(x, samples, window, size)
    N, C, H, W = x.shape
    y = np.empty((N, C, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            u, v = samples_of_image(seed, samples, n, c, C)
            for p in range(P):
                for q in range(Q):
                    first, start = start_of(p, u, H, R, P), start_of(q, v, W, S, Q)
                    best = -np.inf
                    for i in range(first, first + R):
                        for j in range(start, start + S):
                            if is_better(x[n, c, i, j], best):
                                best = x[n, c, i, j]
                    y[n, c, p, q] = best
    return y


@operator
def fractional_max_places2d(x, seed, samples=None, *, window, size):
    """Where the winners of `fractional_max_pool2d` are, as `max_places2d` has it. Arguments and errors as there."""
    R, S, P, Q = windows_of_image(x, samples, window, size)
    N, C, H, W = x.shape
    places = np.empty((N, C, P, Q), dtype=np.int64)
    for n in range(N):
        for c in range(C):
            u, v = samples_of_image(seed, samples, n, c, C)
            for p in range(P):
                for q in range(Q):
                    i, j = start_of(p, u, H, R, P), start_of(q, v, W, S, Q)
                    places[n, c, p, q] = place_of_greatest(x[:, :, None], n, c, 0, 1, i, i + R, j, j + S)
    return places


@operator
def fractional_max_pool3d(x, seed, samples=None, *, window, size):
    """`fractional_max_pool2d` of volumes: `(N, C, D, H, W)` to `(N, C, *size)`. `samples` is `(N, C, 3)`, in the order
    of the axes, as PyTorch has it. Errors as there."""
    T, R, S, O, P, Q = windows_of_volume(x, samples, window, size)
    N, C, D, H, W = x.shape
    y = np.empty((N, C, O, P, Q), dtype=x.dtype)
    for n in range(N):
        for c in range(C):
            t, u, v = samples_of_volume(seed, samples, n, c, C)
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        near, first, start = start_of(o, t, D, T, O), start_of(p, u, H, R, P), start_of(q, v, W, S, Q)
                        best = -np.inf
                        for h in range(near, near + T):
                            for i in range(first, first + R):
                                for j in range(start, start + S):
                                    if is_better(x[n, c, h, i, j], best):
                                        best = x[n, c, h, i, j]
                        y[n, c, o, p, q] = best
    return y


@operator
def fractional_max_places3d(x, seed, samples=None, *, window, size):
    """Where the winners of `fractional_max_pool3d` are, as `max_places3d` has it. Arguments and errors as there."""
    T, R, S, O, P, Q = windows_of_volume(x, samples, window, size)
    N, C, D, H, W = x.shape
    places = np.empty((N, C, O, P, Q), dtype=np.int64)
    for n in range(N):
        for c in range(C):
            t, u, v = samples_of_volume(seed, samples, n, c, C)
            for o in range(O):
                for p in range(P):
                    for q in range(Q):
                        h, i, j = start_of(o, t, D, T, O), start_of(p, u, H, R, P), start_of(q, v, W, S, Q)
                        places[n, c, o, p, q] = place_of_greatest(x, n, c, h, h + T, i, i + R, j, j + S)
    return places
