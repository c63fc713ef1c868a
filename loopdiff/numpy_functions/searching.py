"""Where numbers stand among sorted ones, and what lies between."""

from __future__ import annotations

import numpy as np


def searchsorted(a, v, side="left"):
    """How many elements of the ascending `a` are less than `v`, or not greater (`side="right"`)."""
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        if (a[middle] < v) if side == "left" else (a[middle] <= v):
            low = middle + 1
        else:
            high = middle
    return low


def interp(x, xp, fp):
    """The line through the points (`xp`, `fp`), of ascending `xp`, at `x`; beyond them the first and the last value."""
    n = xp.shape[0]
    k = min(max(searchsorted(xp, x, "right") - 1, 0), n - 2)
    slope = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])
    if x < xp[0]:
        return np.float64(fp[0])
    if x >= xp[n - 1]:
        return np.float64(fp[n - 1])
    return np.float64(slope * (x - xp[k]) + fp[k])
