"""Where conditions hold, and sets: sorted numbers without repetitions. How many there are follows from the elements."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.sorting import argsort


def flatnonzero(a):
    """The places of elements that are not zero, as if they were all in one row."""
    flat = np.ravel(a)
    return np.arange(flat.shape[0])[flat != 0]


def nonzero(a):
    """The places of elements that are not zero, along each axis."""
    assert 0 < np.ndim(a) < 3, "np.nonzero takes a vector or a matrix here"
    places = flatnonzero(a)
    if np.ndim(a) == 1:
        return (places,)
    return places // a.shape[1], places % a.shape[1]


def argwhere(a):
    """The places of elements that are not zero, one in each row."""
    assert 0 < np.ndim(a) < 3, "np.argwhere takes a vector or a matrix here"
    places = flatnonzero(a)
    if np.ndim(a) == 1:
        return places.reshape(places.shape[0], 1)
    return np.stack((places // a.shape[1], places % a.shape[1]), axis=1)


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """The different elements in ascending order; then where each is first, which each element is, and how many of
    each there are, as far as that is asked for."""
    flat = np.ravel(ar)
    n = flat.shape[0]
    order = argsort(flat)
    is_first = are_first(flat, order)
    starts = np.arange(n)[is_first]
    found = flat[order[starts]]
    if not (return_index or return_inverse or return_counts):
        return found
    if not (return_inverse or return_counts):
        return found, order[starts]
    number = np.empty(n, dtype=np.int64)
    k = -1
    for i in range(n):
        if is_first[i]:
            k += 1
        number[order[i]] = k
    inverse = number.reshape(ar.shape)
    if not return_counts:
        return (found, order[starts], inverse) if return_index else (found, inverse)
    counts = np.zeros(starts.shape[0], dtype=np.int64)
    for i in range(n):
        counts[number[i]] += 1
    if return_inverse:
        return (found, order[starts], inverse, counts) if return_index else (found, inverse, counts)
    return (found, order[starts], counts) if return_index else (found, counts)


def are_first(flat, order):
    """Which of the numbers, in ascending order, differ from the one before them."""
    n = flat.shape[0]
    out = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        v = flat[order[i]]
        before = flat[order[max(i - 1, 0)]]
        out[i] = i == 0 or (before != v and before == before)  # NaN is like NaN here
    return out


def distinct(ar):
    """The different elements in ascending order."""
    flat = np.ravel(ar)
    order = argsort(flat)
    return flat[order[are_first(flat, order)]]


def isin(element, test_elements, assume_unique=False, invert=False):
    """Which elements are among the others."""
    flat, others = np.ravel(element), np.ravel(test_elements)
    out = np.zeros(flat.shape[0], dtype=np.bool_)
    for i in range(flat.shape[0]):
        for j in range(others.shape[0]):
            if flat[i] == others[j]:
                out[i] = True
        if invert:
            out[i] = not out[i]
    return out.reshape(element.shape)


def setdiff1d(ar1, ar2, assume_unique=False):
    """What is in the first alone: in ascending order, or as it is where it `assume_unique`."""
    if assume_unique:
        flat = np.ravel(ar1)
        return flat[isin(flat, ar2, invert=True)]
    found = distinct(ar1)
    return found[isin(found, ar2, invert=True)]


def intersect1d(ar1, ar2):
    """What is in both, in ascending order."""
    found = distinct(ar1)
    return found[isin(found, ar2)]


def union1d(ar1, ar2):
    """What is in one or both, in ascending order."""
    return distinct(np.concatenate((np.ravel(ar1), np.ravel(ar2))))


def setxor1d(ar1, ar2):
    """What is in one alone, in ascending order."""
    first, second = np.ravel(ar1), np.ravel(ar2)
    found = distinct(np.concatenate((first, second)))
    return found[~(isin(found, first) & isin(found, second))]
