"""Norms, products of vectors, and polynomials."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import is_discrete


def norm(x, ord=None, axis=None, keepdims=False):
    """The root of the sum of squares; of vectors also the sum of magnitudes (1), the greatest and the least
    one (inf, -inf) and how many are not zero (0); of matrices the greatest and the least of such sums of columns
    (1, -1) and of rows (inf, -inf), and of singular values (2, -2), or their sum ("nuc")."""
    if ord is None:
        return root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        assert x.ndim == 2, "np.linalg.norm takes 'fro' and 'nuc' of matrices"
        if ord == "nuc":
            return as_matrix(np.linalg.svd(x, compute_uv=False).sum(), keepdims)
        assert ord == "fro", "Invalid norm order for matrices."
        assert axis is None or isinstance(axis, tuple), "Invalid norm order 'fro' for vectors"
        return root_of_squares(x, axis, keepdims)
    if isinstance(axis, tuple) or (axis is None and x.ndim > 1):
        assert axis is None or len(axis) == 2, "np.linalg.norm of more than two axes has no `ord`"
        assert x.ndim == 2, "np.linalg.norm of matrices in an array is Frobenius'"
        if ord == 2 or ord == -2:
            return as_matrix(np.linalg.svd(x, compute_uv=False)[0 if ord == 2 else -1], keepdims)
        is_turned = False if axis is None else axis[0] % 2 == 1
        return norm_of_matrix(np.abs(x.T) if is_turned else np.abs(x), ord, keepdims)
    if ord == 2 and is_discrete(ord):
        return root_of_squares(x, axis, keepdims)
    if ord == 1 and is_discrete(ord):
        return (1.0 * np.abs(x)).sum(axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return (1.0 * np.abs(x)).max(axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return (1.0 * np.abs(x)).min(axis=axis, keepdims=keepdims)
    if ord == 0:
        return np.where(x != 0, 1.0, 0 * np.abs(x)).sum(axis=axis, keepdims=keepdims)
    return (((1.0 * np.abs(x)) ** ord).sum(axis=axis, keepdims=keepdims)) ** (1.0 / ord)


def norm_of_matrix(sizes, ord, keepdims):
    """The greatest or the least of the sums of columns, or of rows."""
    is_sum = ord == 1 or ord == -1 or ord == np.inf or ord == -np.inf
    assert is_sum, "Invalid norm order for matrices."
    if ord == 1:
        return (1.0 * sizes).sum(axis=0, keepdims=True).max(keepdims=keepdims)
    if ord == -1:
        return (1.0 * sizes).sum(axis=0, keepdims=True).min(keepdims=keepdims)
    if ord == np.inf:
        return (1.0 * sizes).sum(axis=1, keepdims=True).max(keepdims=keepdims)
    return (1.0 * sizes).sum(axis=1, keepdims=True).min(keepdims=keepdims)


def as_matrix(x, keepdims):
    return np.array([[x]]) if keepdims else x


def root_of_squares(x, axis, keepdims):
    return np.sqrt(squares(x).sum(axis=axis, keepdims=keepdims))


def squares(x):
    """Squares of magnitudes, in floats; of `np.abs`, which has a kink at zero, they would have no second derivative
    there."""
    return np.real(1.0 * x * np.conj(x))


def vdot(a, b):
    return np.dot(np.conj(a).ravel(), b.ravel())


def cross(a, b):
    """The vector that is at right angles to two vectors of three numbers."""
    assert a.shape[-1] == 3, "np.cross takes vectors of three numbers"
    assert b.shape[-1] == 3, "np.cross takes vectors of three numbers"
    out = a + b
    left, right, lines = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0), np.moveaxis(out, -1, 0)
    lines[0] = left[1] * right[2] - left[2] * right[1]
    lines[1] = left[2] * right[0] - left[0] * right[2]
    lines[2] = left[0] * right[1] - left[1] * right[0]
    return out


def kron(a, b):
    """Every element of `a` times all of `b`, side by side."""
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim == 1 and b.ndim == 1:
        return (a[:, None] * b[None, :]).ravel()
    assert a.ndim == 2, "np.kron takes two vectors or two matrices"
    assert b.ndim == 2, "np.kron takes two vectors or two matrices"
    each = a[:, None, :, None] * b[None, :, None, :]
    return each.reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def polyval(p, x):
    """The polynomial with the coefficients `p`, of the highest power first, by Horner's rule."""
    y = 0 * x
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


def vander(x, N=None, increasing=False):
    """A row of powers for each element."""
    n = x.shape[0] if N is None else N
    one = 1 * x[:0]  # of integers that hold the powers of narrower ones
    out = np.ones((x.shape[0], n), dtype=one.dtype)
    for k in range(1, n):
        if increasing:
            out[:, k] = out[:, k - 1] * x
        else:
            out[:, n - 1 - k] = out[:, n - k] * x
    return out
