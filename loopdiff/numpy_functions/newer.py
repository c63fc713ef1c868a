"""Functions by the names that NumPy 2 and its `linalg` have for them, of what there was before."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopdiff.numpy_functions.running import cumprod, cumsum


def vecdot(x1, x2, axis=-1):
    """Products of vectors along an axis, the first ones conjugated."""
    assert x1.shape[axis] == x2.shape[axis], "np.vecdot takes vectors of one length"
    return (np.conj(x1) * x2).sum(axis=axis)


def matvec(x1, x2):
    """Matrices times vectors."""
    assert x1.ndim > 1, "np.matvec takes matrices first"
    assert x1.shape[-1] == x2.shape[-1], "np.matvec takes vectors as long as the rows of matrices"
    if x1.ndim == 2 and x2.ndim == 1:
        return x1 @ x2
    return (x1 * np.expand_dims(x2, -2)).sum(axis=-1)


def vecmat(x1, x2):
    """Conjugated vectors times matrices."""
    assert x2.ndim > 1, "np.vecmat takes matrices second"
    assert x1.shape[-1] == x2.shape[-2], "np.vecmat takes vectors as long as the columns of matrices"
    if x1.ndim == 1 and x2.ndim == 2:
        return np.conj(x1) @ x2
    return (np.expand_dims(np.conj(x1), -1) * x2).sum(axis=-2)


def multi_dot(arrays):
    """Matrices multiplied from the left to the right; the first and the last may be vectors."""
    assert len(arrays) > 1, "np.linalg.multi_dot takes two arrays or more"
    out = arrays[0]
    for k in range(1, len(arrays)):
        assert k == len(arrays) - 1 or arrays[k].ndim == 2, "np.linalg.multi_dot takes matrices between its ends"
        out = out @ arrays[k]
    return out


def cumulative_sum(x, axis=None, include_initial=False):
    assert axis is not None or x.ndim == 1, "np.cumulative_sum of several axes takes `axis`"
    out = cumsum(x, axis)
    if not include_initial:
        return out
    assert x.ndim == 1, "np.cumulative_sum of several axes takes no `include_initial` here"
    return np.concatenate((np.zeros(1, out.dtype), out))


def cumulative_prod(x, axis=None, include_initial=False):
    assert axis is not None or x.ndim == 1, "np.cumulative_prod of several axes takes `axis`"
    out = cumprod(x, axis)
    if not include_initial:
        return out
    assert x.ndim == 1, "np.cumulative_prod of several axes takes no `include_initial` here"
    return np.concatenate((np.ones(1, out.dtype), out))


def matrix_transpose(x):
    assert x.ndim > 1, "np.matrix_transpose takes arrays of two axes or more"
    return np.swapaxes(x, -1, -2)


def outer(x1, x2):
    assert x1.ndim == 1, "np.linalg.outer takes two vectors"
    assert x2.ndim == 1, "np.linalg.outer takes two vectors"
    return np.outer(x1, x2)


def trace(x, offset=0):
    assert x.ndim == 2, "np.linalg.trace takes a matrix here"
    return np.trace(x, offset)


def diagonal(x, offset=0):
    assert x.ndim == 2, "np.linalg.diagonal takes a matrix here"
    return np.diagonal(x, offset)


def vector_norm(x, axis=None, keepdims=False, ord=2):
    """Of all elements where no axis is named."""
    if axis is None:
        assert not keepdims, "np.linalg.vector_norm of all elements keeps no axes here"
        return np.linalg.norm(x.ravel(), ord)
    assert not isinstance(axis, tuple), "np.linalg.vector_norm takes one axis here"
    return np.linalg.norm(x, ord, axis, keepdims)


def matrix_norm(x, keepdims=False, ord: Any = "fro"):
    assert x.ndim == 2, "np.linalg.matrix_norm takes a matrix here"
    return np.linalg.norm(x, ord, None, keepdims)


def logspace(start, stop, num=50, endpoint=True, base=10.0):
    """Powers of `base` with exponents at equal distances."""
    return base ** (np.linspace(start, stop, num) if endpoint else np.linspace(start, stop, num, endpoint=False))


def geomspace(start, stop, num=50, endpoint=True):
    """Numbers each of which is the one before it times the same; ends that are among them are what was given."""
    assert start * stop > 0.0, "np.geomspace takes two numbers of one sign, which are not zero"
    first = np.log10(abs(start))
    out = np.where(start > 0.0, 1.0, -1.0) * logspace(first, np.log10(abs(stop)), num, endpoint)
    if num > 0:
        out[0] = start
    if endpoint and num > 1:
        out[num - 1] = stop
    return out


def linspace_with_step(start, stop, num=50, endpoint=True):
    """Numbers as far from each other, and how far that is."""
    assert num > 1, "`retstep` of np.linspace is asked for with two numbers or more"
    step = (stop - start) / (num - 1 if endpoint else num)
    return (np.linspace(start, stop, num) if endpoint else np.linspace(start, stop, num, endpoint=False)), step


def polyder(p, m=1):
    """Coefficients of the derivative of a polynomial, the highest power first; `m` times."""
    assert p.ndim == 1, "np.polyder takes coefficients along one axis"
    assert m == 0 or m == 1, "np.polyder takes one derivative at a time here"
    if m == 0:
        return p
    return p[:-1] * np.arange(p.shape[0] - 1, 0, -1)


def polyint(p):
    """Coefficients of the integral of a polynomial that is zero at zero."""
    assert p.ndim == 1, "np.polyint takes coefficients along one axis"
    return np.append(p / np.arange(p.shape[0], 0, -1), 0.0)


def array_equal(a1, a2):
    """Whether arrays have one shape and equal elements."""
    if a1.ndim != a2.ndim:
        return False
    assert a1.ndim < 4, "np.array_equal takes arrays of up to three axes here"
    if a1.shape[0] != a2.shape[0]:
        return False
    if a1.ndim > 1 and a1.shape[1] != a2.shape[1]:
        return False
    if a1.ndim > 2 and a1.shape[2] != a2.shape[2]:
        return False
    return (a1 == a2).all()
