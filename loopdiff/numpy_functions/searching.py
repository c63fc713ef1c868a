"""Where numbers stand among sorted ones, and what lies between."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_integers


def searchsorted(a, v, side="left"):
    """How many elements of the ascending `a` are less than `v`, or not greater (`side="right"`); NaN is greatest."""
    assert side == "left" or side == "right", "`side` of np.searchsorted is 'left' or 'right'"
    if np.ndim(v) == 0:
        return place(a, v, side)
    each = 1 * v
    assert each.ndim == 1, "np.searchsorted takes a number, or numbers along one axis"
    out = np.empty(each.shape[0], dtype=np.int64)
    for i in range(each.shape[0]):
        out[i] = place(a, each[i], side)
    return out


def place(a, number, side):
    v = number if holds_integers(number) else np.float64(number)  # Python's are not rounded to the type of `a`
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        if (a[middle] < v or (v != v and a[middle] == a[middle])) if side == "left" else (a[middle] <= v or v != v):
            low = middle + 1
        else:
            high = middle
    return low


def interp(x, xp, fp, left=None, right=None):
    """The line through the points (`xp`, `fp`), of ascending `xp`, at `x`; beyond them `left` and `right`, or the first
    and the last value."""
    if np.ndim(x) == 0:
        return interpolated(x, xp, fp, left, right)
    out = np.empty(x.size)
    flat = x.ravel()
    for i in range(flat.shape[0]):
        out[i] = interpolated(flat[i], xp, fp, left, right)
    return out.reshape(x.shape)


def interpolated(x, xp, fp, left, right):
    assert xp.ndim + fp.ndim == 2, "np.interp takes points along one axis"
    assert xp.shape[0] == fp.shape[0], "fp and xp are not of the same length."
    n, at = xp.shape[0], np.float64(x)
    if at < xp[0]:
        return np.float64(fp[0]) if left is None else np.float64(left)
    if at > xp[n - 1]:
        return np.float64(fp[n - 1]) if right is None else np.float64(right)
    if at == xp[n - 1] or n == 1:
        return np.float64(fp[n - 1])
    k = min(max(place(xp, at, "right") - 1, 0), max(n - 2, 0))
    after = min(k + 1, n - 1)
    start, height = np.float64(xp[k]), np.float64(fp[k])
    slope = (np.float64(fp[after]) - height) / (np.float64(xp[after]) - start)
    return slope * (at - start) + height
