"""Numbers in ascending order, as many axes as there are; NaN is the greatest, as in NumPy."""

from __future__ import annotations

import numpy as np


def argsort(a, axis=-1, kind=None):
    """Where the numbers along an axis come from in their order; equal ones stay in theirs."""
    assert kind is None or kind == "stable" or kind == "mergesort", "np.argsort is stable here"
    if axis is None:
        return order(a.ravel())
    if a.ndim == 1:
        return order(a)
    assert a.ndim == 2, "np.argsort takes a vector or a matrix"
    out = np.empty(a.shape, dtype=np.int64)
    lines, places = np.swapaxes(a, axis, -1), np.swapaxes(out, axis, -1)
    for i in range(lines.shape[0]):
        places[i] = order(lines[i])
    return out


def sort(a, axis=-1, kind=None):
    """The numbers along an axis in their order."""
    if axis is None:
        return in_order(a.ravel())
    if a.ndim == 1:
        return in_order(a)
    assert a.ndim == 2, "np.sort takes a vector or a matrix"
    out = np.empty_like(a)
    lines, sorted_lines = np.swapaxes(a, axis, -1), np.swapaxes(out, axis, -1)
    for i in range(lines.shape[0]):
        sorted_lines[i] = in_order(lines[i])
    return out


def in_order(a):
    return a[order(a)]


def order(a):
    """Merge sort, from runs of one number up."""
    n = a.shape[0]
    now, merged = np.arange(n), np.arange(n)
    width = 1
    while width < n:
        for pair in range((n + 2 * width - 1) // (2 * width)):
            start = 2 * width * pair
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                is_first = j >= end
                if i < middle and j < end:
                    x, y = a[now[i]], a[now[j]]
                    is_first = not comes_before(y, x)
                if is_first:
                    merged[k] = now[i]
                    i += 1
                else:
                    merged[k] = now[j]
                    j += 1
        now[:] = merged
        width *= 2
    return now


def comes_before(x, y):
    return x < y or (x == x and y != y)


def median(a, axis=None):
    """The number in the middle, or the mean of two: of all, or along an axis."""
    if axis is None:
        return middle_of(a.ravel())
    if a.ndim == 1:
        assert axis == 0 or axis == -1, "a vector has no such axis"
        return middle_of(a)
    assert a.ndim == 2, "np.median takes a vector or a matrix"
    lines = np.swapaxes(a, axis, -1)
    out = lines[:, 0] / 2.0
    for i in range(lines.shape[0]):
        out[i] = middle_of(lines[i])
    return out


def middle_of(a):
    n = a.shape[0]
    assert n > 0, "np.median of an array without elements"
    values = 1.0 * in_order(a)
    if values[n - 1] != values[n - 1]:
        return values[n - 1]
    if n % 2 == 1:
        return values[n // 2]
    return (values[n // 2 - 1] + values[n // 2]) / 2.0
