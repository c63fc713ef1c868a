"""How many numbers there are of each kind: histograms."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.searching import place, searchsorted


def digitize(x, bins, right=False):
    """Which of the bins between the ascending `bins` each number is in."""
    for k in range(1, bins.shape[0]):
        assert bins[k - 1] <= bins[k], "`bins` of np.digitize must ascend"
    return searchsorted(bins, x, "left") if right else searchsorted(bins, x, "right")


def bincount(x, weights=None, minlength=0):
    """How often each integer is there, or the sum of its `weights`, for those less than `minlength`."""
    assert x.ndim == 1, "np.bincount takes integers along one axis"
    assert minlength > 0 or x.shape[0] == 0, "`minlength` of np.bincount must be given, and exceed every element"
    for i in range(x.shape[0]):
        assert 0 <= x[i] < minlength, "`minlength` of np.bincount must exceed every element"
    if weights is None:
        sums = np.zeros(minlength, dtype=np.int64)
    else:
        assert weights.shape[0] == x.shape[0], "The weights and list don't have the same length."
        sums = np.zeros(minlength)
    for i in range(x.shape[0]):
        sums[x[i]] += 1 if weights is None else weights[i]
    return sums


def histogram(a, bins=10, range=None, density=None, weights=None):
    """How many numbers, or the sum of their `weights`, between one edge of `bins` and the next, the last one among
    them, or the share of these by the width of the bin (`density`); and the edges. Of a number of bins these go over
    the `range`, or from the least to the greatest number."""
    numbers = a.ravel()
    if np.ndim(bins) > 0:
        edges = np.copy(bins)
    elif range is None:
        edges = edges_of(numbers, bins)
    else:
        assert range[0] <= range[1], "max must be larger than min in range parameter."
        edges = edges_between(1.0 * range[0], 1.0 * range[1], bins)
    for k, edge in enumerate(edges[1:]):
        assert edges[k] <= edge, "`bins` must increase monotonically, when an array"
    if weights is not None:
        assert weights.ndim == a.ndim, "weights should have the same shape as a."
        assert weights.shape[0] == a.shape[0], "weights should have the same shape as a."
        assert weights.size == numbers.shape[0], "weights should have the same shape as a."
    sums = sums_in_bins(numbers, edges, np.ndim(bins) == 0, None if weights is None else weights.ravel())
    if density:
        return sums / (np.float64(1.0) * (edges[1:] - edges[:-1])) / sums.sum(), edges
    return sums, edges


def sums_in_bins(numbers, edges, are_even, weights):
    """For each bin how many of the numbers it holds, or the sum of their `weights`."""
    last = edges.shape[0] - 1
    if weights is None:
        sums = np.zeros(last, dtype=np.int64)
    else:
        sums = np.zeros(last, dtype=weights.dtype)
    for i in range(numbers.shape[0]):
        if edges[0] <= numbers[i] <= edges[last]:
            sums[bin_of(edges, numbers[i], are_even)] += 1 if weights is None else weights[i]
    return sums


def bin_of(edges, v, are_even):
    """The bin of `v`, which is in one; of even ones that which rounding says, or one beside it."""
    last = edges.shape[0] - 1
    if not are_even:
        return min(place(edges, v, "right"), last) - 1
    k = min(int((v - edges[0]) / (edges[last] - edges[0]) * last), last - 1)
    if v < edges[k]:
        k -= 1
    elif k < last - 1 and v >= edges[k + 1]:
        k += 1
    return k


def edges_of(numbers, bins):
    first, last = 0.0, 1.0
    if numbers.shape[0] > 0:
        first, last = 1.0 * numbers.min(), 1.0 * numbers.max()
    return edges_between(first, last, bins)


def edges_between(first, last, bins):
    assert bins > 0, "`bins` must be positive, when an integer"
    assert np.isfinite(last - first), "supplied or autodetected range is not finite"
    if first == last:
        first, last = first - 0.5, last + 0.5
    return np.linspace(first, last, bins + 1)


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of `np.histogram`."""
    if np.ndim(bins) > 0:
        return np.copy(bins)
    if range is None:
        return edges_of(np.ravel(a), bins)
    assert range[0] <= range[1], "max must be larger than min in range parameter."
    return edges_between(1.0 * range[0], 1.0 * range[1], bins)


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """How many points, or the sum of their `weights`, are in each bin, and the edges along both axes, of which
    `bins` says how many there are, or which."""
    assert x.ndim == 1, "np.histogram2d takes two vectors"
    assert y.ndim == 1, "np.histogram2d takes two vectors"
    assert x.shape[0] == y.shape[0], "x and y must have the same length."
    assert range is None, "np.histogram2d takes edges instead of a `range` here"
    assert np.ndim(bins) == 0 or np.size(bins) > 2, (
        "np.histogram2d takes one number of bins, or edges, for both axes here"
    )
    columns, rows = histogram_bin_edges(x, bins), histogram_bin_edges(y, bins)
    sums = np.zeros((columns.shape[0] - 1, rows.shape[0] - 1))
    for i, v in enumerate(x):
        if columns[0] <= v <= columns[-1] and rows[0] <= y[i] <= rows[-1]:
            sums[bin_of(columns, v, False), bin_of(rows, y[i], False)] += 1.0 if weights is None else weights[i]
    if density:
        areas = (columns[1:] - columns[:-1])[:, None] * (rows[1:] - rows[:-1])
        return sums / areas / sums.sum(), columns, rows
    return sums, columns, rows
