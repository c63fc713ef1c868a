"""Arrays made of numbers, and elements in other places: counters, triangles, diagonals, repeats, turns."""

from __future__ import annotations

import numpy as np


def arange(start, stop=None, step=1):
    """The integers from `start` (or 0) up to `stop`."""
    if stop is None:
        return arange_from(0, start, 1)
    return arange_from(start, stop, step)


def arange_from(start, stop, step):
    n = max((stop - start - (1 if step > 0 else -1)) // step + 1, 0)
    out = np.empty(n, dtype=np.int64)
    for i in range(n):
        out[i] = start + i * step
    return out


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
        out = a + 0
        for k in range(len(axis)):
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
        out = np.empty((n, repeats), dtype=a.dtype)
        out[:] = a[:, None]
        return out.reshape(n * repeats)
    assert a.ndim == 2, "np.repeat of more than two axes"
    each = np.empty((n, repeats, a.shape[1]), dtype=a.dtype)
    each[:] = a[:, None, :]
    return each.reshape(n * repeats, a.shape[1])


def tile(A, reps):
    """A vector or a matrix `reps` times, one after the other; of a pair, so often downwards and to the right."""
    if isinstance(reps, tuple):
        rows, columns = reps
        return tiled(A[None] if A.ndim == 1 else A, rows, columns)
    if A.ndim == 1:
        return tiled(A[None], 1, reps)[0]
    return tiled(A, 1, reps)


def tiled(A, rows, columns):
    assert A.ndim == 2, "np.tile takes a vector or a matrix"
    out = np.empty((rows, A.shape[0], columns, A.shape[1]), dtype=A.dtype)
    out[:] = A[:, None, :]
    return out.reshape(rows * A.shape[0], columns * A.shape[1])


def deg2rad(x):
    return x * (np.pi / 180.0)


def rad2deg(x):
    return x * (180.0 / np.pi)
