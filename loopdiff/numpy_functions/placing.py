"""Elements taken and put at indices: along an axis, one after the other, again and again."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_integers
from loopdiff.numpy_functions.building import atleast_1d


def apply_at(f, a, indices, b):
    """`a[i] = f(a[i], v)` for one index after the other, and each number or row in `b`, or the only one."""
    assert np.ndim(indices) == 1, "`at` of this function takes indices along one axis, or a tuple of such"
    n = indices.shape[0]
    if a.ndim == 1:
        assert np.ndim(b) < 2, "`at` of this function takes a value for each index"
        values = np.ravel(atleast_1d(b))
        assert values.shape[0] == n or np.ndim(b) == 0, "`at` of this function takes a value for each index"
        for i in range(n):
            a[indices[i]] = f(a[indices[i]], values[i if np.ndim(b) > 0 else 0])
    elif np.ndim(b) == a.ndim:
        assert b.shape[0] == n, "`at` of this function takes a row for each index"
        for i in range(n):
            a[indices[i]] = f(a[indices[i]], b[i])
    else:
        for i in range(n):
            a[indices[i]] = f(a[indices[i]], b)


def apply_at_places(f, a, rows, columns, b):
    """The same of elements of a matrix, each in a row and a column."""
    assert a.ndim == 2 and np.ndim(rows) == 1 and np.ndim(columns) == 1, "`at` takes rows and columns of a matrix"  # noqa: PT018
    n, values = rows.shape[0], np.ravel(atleast_1d(b))
    assert columns.shape[0] == n, "`at` of this function takes as many columns as rows"
    assert values.shape[0] == n or np.ndim(b) == 0, "`at` of this function takes a value for each index"
    for i in range(n):
        a[rows[i], columns[i]] = f(a[rows[i], columns[i]], values[i if np.ndim(b) > 0 else 0])


def put(a, ind, v):
    """Numbers at places that are counted row by row, again and again from `v`."""
    places, values = np.ravel(atleast_1d(ind)), np.ravel(atleast_1d(v))
    assert 0 < a.ndim < 4, "np.put takes an array of up to three axes"
    for i in range(places.shape[0] if values.shape[0] > 0 else 0):
        k = places[i]
        if a.ndim == 1:
            a[k] = values[i % values.shape[0]]
        elif a.ndim == 2:
            a[k // a.shape[1], k % a.shape[1]] = values[i % values.shape[0]]
        else:
            rest = a.shape[1] * a.shape[2]
            a[k // rest, k % rest // a.shape[2], k % a.shape[2]] = values[i % values.shape[0]]


def take_along_axis(arr, indices, axis=-1):
    """The element of each line along `axis` that an index says."""
    if axis is None:
        return np.ravel(arr)[indices]
    assert arr.ndim == indices.ndim, "`indices` and `arr` must have the same number of dimensions"
    assert arr.ndim < 4, "np.take_along_axis takes an array of up to three axes"
    assert -arr.ndim <= axis < arr.ndim, "np.take_along_axis goes along an axis of its array"
    if arr.ndim == 1:
        return arr[indices]
    last, own = np.moveaxis(arr, axis, -1), np.moveaxis(indices, axis, -1)
    assert own.shape[0] == last.shape[0], "np.take_along_axis takes indices for each line"
    if arr.ndim == 2:
        lines = np.empty((own.shape[0], own.shape[1]), dtype=arr.dtype)
        for i in range(own.shape[0]):
            for j in range(own.shape[1]):
                lines[i, j] = last[i, own[i, j]]
        return np.moveaxis(lines, -1, axis)
    assert own.shape[1] == last.shape[1], "np.take_along_axis takes indices for each line"
    out = np.empty((own.shape[0], own.shape[1], own.shape[2]), dtype=arr.dtype)
    for i in range(own.shape[0]):
        for j in range(own.shape[1]):
            for k in range(own.shape[2]):
                out[i, j, k] = last[i, j, own[i, j, k]]
    return np.moveaxis(out, -1, axis)


def put_along_axis(arr, indices, values, axis):
    """Numbers in each line along `axis`, where an index says."""
    assert arr.ndim == indices.ndim, "`indices` and `arr` must have the same number of dimensions"
    assert 0 < arr.ndim < 4, "np.put_along_axis takes an array of up to three axes"
    assert -arr.ndim <= axis < arr.ndim, "np.put_along_axis goes along an axis of its array"
    last, own = np.moveaxis(arr, axis, -1), np.moveaxis(indices, axis, -1)
    given = np.moveaxis(np.broadcast_to(values, indices.shape), axis, -1)
    if arr.ndim == 1:
        for i in range(own.shape[0]):
            last[own[i]] = given[i]
        return
    assert own.shape[0] == last.shape[0], "np.put_along_axis takes indices for each line"
    if arr.ndim == 2:
        for i in range(own.shape[0]):
            for j in range(own.shape[1]):
                last[i, own[i, j]] = given[i, j]
        return
    assert own.shape[1] == last.shape[1], "np.put_along_axis takes indices for each line"
    for i in range(own.shape[0]):
        for j in range(own.shape[1]):
            for k in range(own.shape[2]):
                last[i, j, own[i, j, k]] = given[i, j, k]


def reduceat(f, a, indices, axis=0):
    """`f` of what lies between one index and the next, along the first axis; the element there if that is nothing."""
    assert axis == 0, "`reduceat` goes along the first axis"
    assert np.ndim(indices) == 1, "`reduceat` takes a vector of indices"
    n = indices.shape[0]
    out = np.empty((n, *a.shape[1:]), dtype=a.dtype)
    for i in range(n):
        out[i] = a[indices[i]]
        for k in range(indices[i] + 1, indices[i + 1] if i + 1 < n else a.shape[0]):
            out[i] = f(out[i], a[k])
    return out


def summed_at(f, a, indices, axis=0):
    """The same of sums and products, which are 64 bits wide of integers and booleans."""
    if holds_integers(a):
        return reduceat(f, a.astype(np.int64), indices, axis)
    return reduceat(f, a, indices, axis)


def apply_along_axis(func1d, axis, arr):
    """What a function of vectors makes of each line along `axis`."""
    assert 0 < arr.ndim < 3, "np.apply_along_axis takes a vector or a matrix"
    assert -arr.ndim <= axis < arr.ndim, "np.apply_along_axis goes along an axis of its array"
    if arr.ndim == 1:
        return func1d(arr)
    made = np.array([func1d(line) for line in (arr if axis == 1 or axis == -1 else arr.T)])
    return made if np.ndim(made) == 1 or axis == 1 or axis == -1 else np.moveaxis(made, 0, -1)


# By the method of a ufunc, for those that it is written out of.
AT = (apply_at, apply_at_places)
REDUCED_AT = {np.add: summed_at, np.multiply: summed_at, np.maximum: reduceat, np.minimum: reduceat}
