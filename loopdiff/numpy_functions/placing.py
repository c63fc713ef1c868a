"""Elements taken and put at indices: along an axis, one after the other, again and again."""

from __future__ import annotations

from typing import Any

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


def putmask(a, mask, values):
    """Numbers where the mask is true: those that are in the same place, row by row, of `values` again and again."""
    assert 0 < a.ndim < 3, "np.putmask takes a vector or a matrix"
    assert mask.size == a.size, "putmask: mask and data must be the same size"
    flags, numbers = np.ravel(mask), np.ravel(atleast_1d(values))
    for i in range(flags.shape[0]):
        if flags[i] != 0:
            put_at(a, i, numbers[i % numbers.shape[0]])


def place_masked(arr, mask, vals):
    """Numbers one after the other where the mask is true, again and again from `vals`."""
    assert 0 < arr.ndim < 3, "np.place takes a vector or a matrix"
    assert mask.size == arr.size, "place: mask and data must be the same size"
    flags, numbers = np.ravel(mask), np.ravel(atleast_1d(vals))
    k = 0
    for i in range(flags.shape[0]):
        if flags[i] != 0:
            put_at(arr, i, numbers[k % numbers.shape[0]])
            k += 1


def put_at(a, i, value):
    """A number at a place of a vector or a matrix that is counted row by row."""
    if a.ndim == 1:
        a[i] = value
    else:
        a[i // a.shape[1], i % a.shape[1]] = value


def compress(condition, a, axis=None):
    """Elements, or parts along an axis, where a condition holds."""
    assert condition.ndim == 1, "condition must be a 1-d array"
    parts = np.ravel(a) if axis is None else np.moveaxis(a, axis, 0)
    assert condition.shape[0] == parts.shape[0], "np.compress takes a condition for each element here"
    found = parts[condition != 0]
    return found if axis is None else np.moveaxis(found, 0, axis)


def extract(condition, arr):
    """Elements where a condition holds, one after the other."""
    assert condition.size == arr.size, "np.extract takes a condition for each element here"
    return np.ravel(arr)[np.ravel(condition) != 0]


def choose(a, choices):
    """Elements of the choice whose number is said."""
    assert 1 < len(choices) < 5, "np.choose takes two to four choices here"
    assert ((a >= 0) & (a < len(choices))).all(), "invalid entry in choice array"
    if len(choices) == 2:
        return np.where(a == 0, choices[0], choices[1])
    elif len(choices) == 3:
        return np.where(a == 0, choices[0], np.where(a == 1, choices[1], choices[2]))
    else:
        rest = np.where(a == 2, choices[2], choices[3])
        return np.where(a == 0, choices[0], np.where(a == 1, choices[1], rest))


def unravel_index(indices, shape):
    """Places along each axis of places that are counted row by row."""
    return unravelled(indices, shape if isinstance(shape, tuple) else (shape,))


def unravelled(indices, shape: Any):
    assert len(shape) < 4, "np.unravel_index takes up to three axes here"
    if len(shape) == 1:
        return (within(indices, shape[0]),)
    elif len(shape) == 2:
        at = within(indices, shape[0] * shape[1])
        return at // shape[1], at % shape[1]
    else:
        rest = shape[1] * shape[2]
        at = within(indices, shape[0] * rest)
        return at // rest, at % rest // shape[2], at % shape[2]


def ravel_multi_index(multi_index, dims):
    """Places counted row by row of places along each axis."""
    assert len(multi_index) == len(dims), "parameter multi_index must be a sequence of length of dims"
    assert len(dims) < 4, "np.ravel_multi_index takes up to three axes here"
    if len(dims) == 1:
        return within(multi_index[0], dims[0])
    elif len(dims) == 2:
        return within(multi_index[0], dims[0]) * dims[1] + within(multi_index[1], dims[1])
    else:
        rows = within(multi_index[0], dims[0]) * dims[1] + within(multi_index[1], dims[1])
        return rows * dims[2] + within(multi_index[2], dims[2])


def within(indices, n):
    """The indices, which are some of `n`."""
    assert np.all((indices >= 0) & (indices < n)), "invalid entry in index array"
    return indices
