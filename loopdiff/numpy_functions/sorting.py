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


def median(a, axis=None, *, keepdims=False):
    """The number in the middle, or the mean of two: of all, or along an axis."""
    return of_lines(middle_of, a, 0.5, axis, keepdims)


def percentile(a, q, axis=None, *, method="linear", keepdims=False):
    return quantile(a, q / 100.0, axis, method=method, keepdims=keepdims)


def quantile(a, q, axis=None, *, method="linear", keepdims=False):
    """What the share `q` of all, or of each line along an axis, lies below, between the two numbers around it; of
    several shares along a first axis."""
    assert method == "linear", "np.quantile is linear here"
    if np.ndim(q) == 0:
        return of_lines(share_of, a, q, axis, keepdims)
    assert q.ndim == 1, "np.quantile takes a share, or shares along one axis"
    first = of_lines(share_of, a, q[0], axis, keepdims)
    if np.ndim(first) == 0:
        out = np.empty(q.shape[0])
    elif np.ndim(first) == 1:
        out = np.empty((q.shape[0], first.shape[0]))
    else:
        assert np.ndim(first) == 2, "np.quantile of several shares takes a vector or a matrix"
        out = np.empty((q.shape[0], first.shape[0], first.shape[1]))
    for k in range(q.shape[0]):
        out[k] = of_lines(share_of, a, q[k], axis, keepdims)
    return out


def of_lines(f, a, q, axis, keepdims):
    """`f` of all numbers and `q`, or of each line along an axis."""
    if axis is None:
        if keepdims:
            return f(a.ravel(), q) + 0.0 * a.sum(keepdims=True)
        return f(a.ravel(), q)
    assert not isinstance(axis, tuple), "medians and quantiles are those of all elements, or along one axis"
    lines = np.moveaxis(a, axis, -1)
    out = lines[..., :1] / 2.0
    if a.ndim == 1:
        out[0] = f(lines, q)
    elif a.ndim == 2:
        for i in range(lines.shape[0]):
            out[i, 0] = f(lines[i], q)
    else:
        assert a.ndim == 3, "medians and quantiles along an axis take at most three axes"
        for i in range(lines.shape[0]):
            for j in range(lines.shape[1]):
                out[i, j, 0] = f(lines[i, j], q)
    if keepdims:
        return np.moveaxis(out, -1, axis)
    return out[..., 0]


def middle_of(a, q):
    n = a.shape[0]
    assert n > 0, "np.median of an array without elements"
    values = 1.0 * in_order(a)
    if values[n - 1] != values[n - 1]:
        return values[n - 1]
    return middle(values, n)


def middle(values, n):
    """The middle of the first `n` values."""
    if n % 2 == 1:
        return values[n // 2]
    return (values[n // 2 - 1] + values[n // 2]) / 2.0


def share_of(a, q):
    assert 0.0 <= q <= 1.0, "Quantiles must be in the range [0, 1]"
    n = a.shape[0]
    assert n > 0, "np.quantile of an array without elements"
    values = 1.0 * in_order(a)
    if values[n - 1] != values[n - 1]:
        return values[n - 1]
    return between(values, q, n)


def between(values, q, n):
    """What lies at the share `q` of the way through the first `n` values."""
    place = q * (n - 1)
    k = int(place)
    part = place - k
    low, high = values[k], values[min(k + 1, n - 1)]
    if part < 0.5:
        return low + (high - low) * part
    return high - (high - low) * (1.0 - part)


def nanmedian(a, axis=None, *, keepdims=False):
    return of_lines(middle_of_numbers, a, 0.5, axis, keepdims)


def nanquantile(a, q, axis=None, *, method="linear", keepdims=False):
    """Quantiles of what is no NaN; NaN where there is nothing else."""
    assert method == "linear", "np.nanquantile is linear here"
    assert np.ndim(q) == 0, "np.nanquantile takes one share here"
    return of_lines(share_of_numbers, a, q, axis, keepdims)


def nanpercentile(a, q, axis=None, *, method="linear", keepdims=False):
    return nanquantile(a, q / 100.0, axis, method=method, keepdims=keepdims)


def middle_of_numbers(a, q):
    """The middle of those before NaNs."""
    values = 1.0 * in_order(a)
    n = count_numbers(values)
    if n == 0:
        return np.nan * values.sum()
    return middle(values, n)


def share_of_numbers(a, q):
    """The quantile of those before NaNs."""
    assert 0.0 <= q <= 1.0, "Quantiles must be in the range [0, 1]"
    values = 1.0 * in_order(a)
    n = count_numbers(values)
    if n == 0:
        return np.nan * values.sum()
    return between(values, q, n)


def count_numbers(values):
    """How many come before NaNs."""
    n = 0
    for v in values:
        if v == v:
            n += 1
    return n


def partition(a, kth, axis=-1):
    """All numbers in their order, so that the one at `kth`, wherever that is, has none before it that is greater."""
    return sort(a, axis)


def argpartition(a, kth, axis=-1):
    return argsort(a, axis)


def lexsort(keys):
    """Where elements come from when they are sorted by the last key, equal ones by the one before it."""
    if not isinstance(keys, tuple):
        return order_by_rows(keys)
    order = argsort(keys[0])
    for k in range(1, len(keys)):
        order = order[argsort(keys[k][order])]
    return order


def order_by_rows(keys):
    assert keys.ndim == 2, "np.lexsort takes a tuple of vectors, or a matrix"
    order = np.arange(keys.shape[1])
    for k in range(keys.shape[0]):
        order[:] = order[argsort(keys[k][order])]
    return order
