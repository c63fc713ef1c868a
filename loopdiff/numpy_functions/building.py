"""Arrays made of numbers, and elements in other places: counters, triangles, diagonals, repeats, turns."""

from __future__ import annotations

import numpy as np


def tri(N, M=None, k=0, dtype=float):
    """Ones on and below the `k`-th diagonal."""
    out = np.zeros((N, N if M is None else M), dtype=dtype)
    for i in range(out.shape[0]):
        for j in range(min(max(i + k + 1, 0), out.shape[1])):
            out[i, j] = 1
    return out


def diag(v, k=0):
    """The `k`-th diagonal of a matrix, or a matrix with `v` there."""
    if v.ndim == 2:
        return np.diagonal(v, k)
    n = v.shape[0]
    out = np.zeros((n + abs(k), n + abs(k)), dtype=v.dtype)
    for i in range(n):
        out[i + max(-k, 0), i + max(k, 0)] = v[i]
    return out


def diagflat(v, k=0):
    """A matrix with all elements of `v` on the `k`-th diagonal."""
    return diag(np.ravel(v), k)


def flipud(m):
    return m[::-1]


def fliplr(m):
    return m[:, ::-1]


def rot90(m, k=1):
    """The first two axes turned by `k` quarters, counter-clockwise."""
    assert m.ndim >= 2, "np.rot90 takes two axes"
    if k % 4 == 0:
        return m
    if k % 4 == 1:
        return np.swapaxes(m, 0, 1)[::-1]
    if k % 4 == 2:
        return m[::-1, ::-1]
    return np.swapaxes(m[::-1], 0, 1)


def roll(a, shift, axis=None):
    """Elements moved by `shift` places along an axis, or one after the other; those beyond its end come in again."""
    if axis is None:
        return rolled(a.ravel(), shift).reshape(a.shape)
    if isinstance(axis, tuple):
        out = rolled_along(a, shift[0] if isinstance(shift, tuple) else shift, axis[0])
        for k in range(1, len(axis)):
            out = rolled_along(out, shift[k] if isinstance(shift, tuple) else shift, axis[k])
        return out
    return rolled_along(a, shift, axis)


def rolled_along(a, shift, axis):
    return np.swapaxes(rolled(np.swapaxes(a, 0, axis), shift), 0, axis)


def rolled(a, shift):
    out = np.empty_like(a)
    n = a.shape[0]
    for i in range(n):
        out[i] = a[(i - shift) % n]
    return out


def repeat(a, repeats, axis=None):
    """Each element, or each part along an axis, `repeats` times."""
    if axis is None:
        return repeated(a.ravel(), repeats)
    return np.swapaxes(repeated(np.swapaxes(a, 0, axis), repeats), 0, axis)


def repeated(a, repeats):
    n = a.shape[0]
    if a.ndim == 1:
        line = np.empty((n, repeats), dtype=a.dtype)
        line[:] = a[:, None]
        return line.reshape(n * repeats)
    if a.ndim == 2:
        rows = np.empty((n, repeats, a.shape[1]), dtype=a.dtype)
        rows[:] = a[:, None]
        return rows.reshape(n * repeats, a.shape[1])
    if a.ndim == 3:
        planes = np.empty((n, repeats, a.shape[1], a.shape[2]), dtype=a.dtype)
        planes[:] = a[:, None]
        return planes.reshape(n * repeats, a.shape[1], a.shape[2])
    assert a.ndim == 4, "np.repeat of more than four axes"
    blocks = np.empty((n, repeats, a.shape[1], a.shape[2], a.shape[3]), dtype=a.dtype)
    blocks[:] = a[:, None]
    return blocks.reshape(n * repeats, a.shape[1], a.shape[2], a.shape[3])


def tile(A, reps):
    """An array `reps` times along its last axis, one after the other; of a tuple, so often along each of its last."""
    if not isinstance(reps, tuple):
        return tiled(A, (reps,))
    assert len(reps) <= 3, "np.tile along more than three axes"
    if A.ndim == len(reps) - 1:
        return tiled(np.expand_dims(A, 0), reps)
    if A.ndim == len(reps) - 2:
        return tiled(np.expand_dims(A, (0, 1)), reps)
    return tiled(A, reps)


def tiled(A, reps):
    if A.ndim == 0:
        return np.full(reps, A)
    if A.ndim == 1:
        n = A.shape[0]
        line = np.empty((reps[-1], n), dtype=A.dtype)
        line[:] = A
        return line.reshape(reps[-1] * n)
    rows = reps[-2] if len(reps) > 1 else 1
    blocks = reps[-3] if len(reps) > 2 else 1
    m, n = A.shape[-2], A.shape[-1]
    if A.ndim == 2:
        out = np.empty((rows, m, reps[-1], n), dtype=A.dtype)
        out[:] = A[:, None, :]
        return out.reshape(rows * m, reps[-1] * n)
    assert A.ndim == 3, "np.tile of more than three axes"
    all_of = np.empty((blocks, A.shape[0], rows, m, reps[-1], n), dtype=A.dtype)
    all_of[:] = A[:, None, :, None, :]
    return all_of.reshape(blocks * A.shape[0], rows * m, reps[-1] * n)


def atleast_1d(ary):
    if np.ndim(ary) == 0:
        return np.array([ary])
    return ary


def atleast_2d(ary):
    if np.ndim(ary) == 0:
        return np.array([[ary]])
    if np.ndim(ary) == 1:
        return np.expand_dims(ary, 0)
    return ary


def atleast_3d(ary):
    if np.ndim(ary) == 0:
        return np.array([[[ary]]])
    if np.ndim(ary) == 1:
        return np.expand_dims(ary, (0, 2))
    if np.ndim(ary) == 2:
        return np.expand_dims(ary, 2)
    return ary


def meshgrid(x1, x2, x3=None, /, *, indexing="xy"):
    """Coordinates of the points of a grid, for each axis an array of the grid's shape."""
    assert indexing == "xy" or indexing == "ij", "`indexing` of np.meshgrid is 'xy' or 'ij'"
    if x3 is None:
        assert np.ndim(x1) + np.ndim(x2) == 2, "np.meshgrid takes coordinates along one axis each"
        shape = (x1.shape[0], x2.shape[0])
        first, second = np.empty(shape, dtype=x1.dtype), np.empty(shape, dtype=x2.dtype)
        first[:], second[:] = x1[:, None], x2
        if indexing == "xy":
            return first.T, second.T
        return first, second
    assert np.ndim(x1) + np.ndim(x2) + np.ndim(x3) == 3, "np.meshgrid takes coordinates along one axis each"
    whole = (x1.shape[0], x2.shape[0], x3.shape[0])
    left, middle, right = np.empty(whole, dtype=x1.dtype), np.empty(whole, dtype=x2.dtype), np.empty(whole, x3.dtype)
    left[:], middle[:], right[:] = x1[:, None, None], x2[:, None], x3
    if indexing == "xy":
        return np.swapaxes(left, 0, 1), np.swapaxes(middle, 0, 1), np.swapaxes(right, 0, 1)
    return left, middle, right


def mgrid(x1, x2=None, x3=None):
    """Coordinates along axes, those of a grid's points in one array where there are several."""
    if x2 is None:
        return x1
    if x3 is None:
        kind = np.concatenate((x1[:0], x2[:0]))
        pair = np.empty((2, x1.shape[0], x2.shape[0]), dtype=kind.dtype)
        pair[0], pair[1] = x1[:, None], x2
        return pair
    common = np.concatenate((x1[:0], x2[:0], x3[:0]))
    out = np.empty((3, x1.shape[0], x2.shape[0], x3.shape[0]), dtype=common.dtype)
    out[0], out[1], out[2] = x1[:, None, None], x2[:, None], x3
    return out


def ogrid(x1, x2=None, x3=None):
    """Coordinates along axes, of one element along the others."""
    if x2 is None:
        return x1
    if x3 is None:
        kind = np.concatenate((x1[:0], x2[:0]))
        return np.asarray(x1, dtype=kind.dtype)[:, None], np.asarray(x2, dtype=kind.dtype)[None, :]
    common = np.concatenate((x1[:0], x2[:0], x3[:0]))
    first, second = np.asarray(x1, dtype=common.dtype), np.asarray(x2, dtype=common.dtype)
    return first[:, None, None], second[None, :, None], np.asarray(x3, dtype=common.dtype)[None, None, :]


def indices(dimensions, dtype=int, *, sparse=False):
    """The subscripts of the elements of an array, along each axis."""
    assert sparse == False, "np.indices makes whole arrays here: `np.ogrid` has sparse ones"  # noqa: E712
    assert 1 <= len(dimensions) <= 3, "np.indices of more than three axes"
    n = dimensions[0]
    if len(dimensions) == 1:
        line = np.empty((1, n), dtype=dtype)
        line[0] = np.arange(n)
        return line
    m = dimensions[1]
    if len(dimensions) == 2:
        pair = np.empty((2, n, m), dtype=dtype)
        pair[0], pair[1] = np.arange(n)[:, None], np.arange(m)
        return pair
    out = np.empty((3, n, m, dimensions[2]), dtype=dtype)
    out[0], out[1], out[2] = np.arange(n)[:, None, None], np.arange(m)[:, None], np.arange(dimensions[2])
    return out


def append(arr, values, axis=None):
    """`values` behind `arr`, along an axis, or one after the other."""
    if axis is None:
        return np.concatenate((np.ravel(atleast_1d(arr)), np.ravel(atleast_1d(values))))
    return np.concatenate((arr, values), axis=axis)


def select(condlist, choicelist, default=0):
    """Elements of the choice whose condition is the first that holds."""
    assert len(condlist) == len(choicelist), "list of cases must be same length as list of conditions"
    if len(condlist) == 1:
        return np.where(condlist[0], choicelist[0], default)
    if len(condlist) == 2:
        return np.where(condlist[0], choicelist[0], np.where(condlist[1], choicelist[1], default))
    assert len(condlist) == 3, "np.select takes one, two or three conditions"
    rest = np.where(condlist[1], choicelist[1], np.where(condlist[2], choicelist[2], default))
    return np.where(condlist[0], choicelist[0], rest)


def fill_diagonal(a, val):
    """Numbers on the diagonal, again and again from `val`."""
    assert a.ndim == 2, "np.fill_diagonal takes a matrix"
    values = np.ravel(atleast_1d(val))
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = values[i % values.shape[0]]


def reverse_in_place(v):
    """The elements of a list the other way round."""
    n = len(v)
    for i in range(n // 2):
        v[i], v[n - 1 - i] = v[n - 1 - i], v[i]


def take(a, indices, axis=None):
    """Elements, or parts along an axis, at `indices`."""
    if axis is None:
        return a.ravel()[indices]
    parts = np.moveaxis(a, axis, 0)[indices]
    if np.ndim(indices) == 0:
        return parts if np.ndim(a) == 1 else parts.copy()
    assert np.ndim(indices) == 1, "np.take takes a number or a vector of indices along an axis"
    return np.moveaxis(parts, 0, axis)


def pad(array, pad_width, mode="constant", *, constant_values=0):
    """An array with more elements around it."""
    assert np.ndim(constant_values) == 0, "np.pad takes one number for all places here"
    is_known = mode == "constant" or mode == "edge" or mode == "wrap" or mode == "reflect" or mode == "symmetric"
    assert is_known, "`mode` of np.pad is 'constant', 'edge', 'wrap', 'reflect' or 'symmetric' here"
    assert 0 < array.ndim < 5, "np.pad takes one to four axes"
    first = padded_along(array, pad_width, 0, mode, constant_values)
    if array.ndim == 1:
        return first
    second = padded_along(first, pad_width, 1, mode, constant_values)
    if array.ndim == 2:
        return second
    third = padded_along(second, pad_width, 2, mode, constant_values)
    if array.ndim == 3:
        return third
    return padded_along(third, pad_width, 3, mode, constant_values)


def padded_along(a, pad_width, axis, mode, value):
    before, after = width(pad_width, axis, a.ndim)
    if axis == 0:
        return padded(a, before, after, mode, value)
    return np.swapaxes(padded(np.swapaxes(a, 0, axis), before, after, mode, value), 0, axis)


def width(pad_width, axis, count):
    """How many elements come before and after those along an axis."""
    if not isinstance(pad_width, tuple):
        return pad_width, pad_width
    first = pad_width[0]
    if len(pad_width) == 1:
        return width_of(first)
    if isinstance(first, tuple):
        assert len(pad_width) == count, "`pad_width` of np.pad has a pair for each axis"
        return width_of(pad_width[axis]) if axis < len(pad_width) else (0, 0)  # of axes that there are not
    assert len(pad_width) == 2, "`pad_width` of np.pad has a pair for each axis"
    return first, pad_width[1]


def width_of(part):
    if isinstance(part, tuple):
        return part[0], part[1]
    return part, part


def padded(a, before, after, mode, value):
    n = a.shape[0]
    out = np.empty((before + n + after,) + a.shape[1:], dtype=a.dtype)  # noqa: RUF005 - stars are taken apart
    out[before : before + n] = a
    if mode == "constant":
        out[:before] = value
        out[before + n :] = value
    else:
        assert n > 0, "can't extend empty axis using modes other than 'constant' or 'empty'"
        for i in range(before):
            out[i] = a[source(i - before, n, mode)]
        for i in range(after):
            out[before + n + i] = a[source(n + i, n, mode)]
    return out


def source(i, n, mode):
    """Which of `n` elements stands in the place `i`, beside them."""
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if mode == "symmetric":
        return min(i % (2 * n), 2 * n - 1 - i % (2 * n))
    period = max(2 * n - 2, 1)
    return min(i % period, period - i % period) if n > 1 else 0


def deg2rad(x):
    return x * (np.pi / 180.0)


def rad2deg(x):
    return x * (180.0 / np.pi)


def delete(arr, obj, axis=None):
    """An array without the element, or the part along an axis, at one place."""
    assert np.ndim(obj) == 0, "np.delete takes one place"
    lines = np.ravel(arr) if axis is None else np.swapaxes(arr, 0, axis)
    n = lines.shape[0]
    at = place_in(obj, n)
    out = emptied(lines, max(n - 1, 0))
    out[:at] = lines[:at]
    out[at:] = lines[at + 1 :]
    return out if axis is None else np.swapaxes(out, 0, axis)


def insert(arr, obj, values, axis=None):
    """An array with a number, or a part along an axis, before one place."""
    assert np.ndim(obj) == 0, "np.insert takes one place"
    lines = np.ravel(arr) if axis is None else np.swapaxes(arr, 0, axis)
    assert np.ndim(values) < lines.ndim, "np.insert puts in a number, or a part along an axis"
    n = lines.shape[0]
    at = place_in(obj, n + 1) if obj >= 0 else place_in(obj, n)
    out = emptied(lines, n + 1)
    out[:at] = lines[:at]
    out[at] = values
    out[at + 1 :] = lines[at:]
    return out if axis is None else np.swapaxes(out, 0, axis)


def place_in(obj, n):
    """`obj` counted from the start of `n` elements."""
    assert -n <= obj < n, "the place of np.delete or np.insert is out of bounds"
    return obj + n if obj < 0 else obj


def emptied(lines, n):
    """Memory for `n` elements, or parts, like those of `lines`."""
    if lines.ndim == 1:
        return np.empty(n, dtype=lines.dtype)
    assert lines.ndim == 2, "np.delete and np.insert take a vector or a matrix"
    return np.empty((n, lines.shape[1]), dtype=lines.dtype)


def triu_indices(n, k=0, m=None):
    """Rows and columns of what is on and above the `k`-th diagonal."""
    width = n if m is None else m
    count = above_diagonal(k + n, width) - above_diagonal(k, width)
    rows, columns = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    at = 0
    for i in range(n):
        for j in range(max(i + k, 0), width):
            rows[at], columns[at] = i, j
            at += 1
    return rows, columns


def tril_indices(n, k=0, m=None):
    """Rows and columns of what is on and below the `k`-th diagonal."""
    width = n if m is None else m
    count = n * width - above_diagonal(k + 1 + n, width) + above_diagonal(k + 1, width)
    rows, columns = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    at = 0
    for i in range(n):
        for j in range(min(i + k + 1, width)):
            rows[at], columns[at] = i, j
            at += 1
    return rows, columns


def above_diagonal(x, width):
    """The sum of `width` - j for j from 0 up to `x`, but none beyond `width`; less `width` for each below zero."""
    y = min(max(x, 0), width)
    return width * min(x, 0) + width * y - y * (y - 1) // 2


def triu_indices_from(arr, k=0):
    assert arr.ndim == 2, "input array must be 2-d"
    return triu_indices(arr.shape[0], k, arr.shape[1])


def tril_indices_from(arr, k=0):
    assert arr.ndim == 2, "input array must be 2-d"
    return tril_indices(arr.shape[0], k, arr.shape[1])


def diag_indices_from(arr):
    assert arr.ndim == 2, "np.diag_indices_from takes a matrix here"
    assert arr.shape[0] == arr.shape[1], "All dimensions of input must be of equal length"
    return diag_indices(arr.shape[0])


def diag_indices(n, ndim=2):
    assert ndim == 2, "np.diag_indices is of matrices here"
    return np.arange(n), np.arange(n)
