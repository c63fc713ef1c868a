"""What is made of neighbours along an axis: differences, running sums and products, convolutions, integrals."""

from __future__ import annotations

import numpy as np


def diff(a, n=1, axis=-1):
    """Each element less the one before it; `n` times."""
    d = np.swapaxes(a, 0, axis)
    if n == 1:
        return np.swapaxes(d[1:] - d[:-1], 0, axis)
    if n == 2:
        return np.swapaxes(d[2:] - 2 * d[1:-1] + d[:-2], 0, axis)
    assert n == 3, "`n` of np.diff is 1, 2 or 3"
    return np.swapaxes(d[3:] - 3 * d[2:-1] + 3 * d[1:-2] - d[:-3], 0, axis)


def ediff1d(ary):
    flat = ary.ravel()
    return flat[1:] - flat[:-1]


def cumsum(a, axis=None):
    """The sum of all elements up to each one, in their order where there is no axis."""
    if axis is None:
        return up_to_each(a.ravel(), 0, False)
    return up_to_each(a, axis, False)


def cumprod(a, axis=None):
    """The product of all elements up to each one, in their order where there is no axis."""
    if axis is None:
        return up_to_each(a.ravel(), 0, True)
    return up_to_each(a, axis, True)


def up_to_each(a, axis, is_product):
    out = a + 0
    lines = np.swapaxes(out, 0, axis)
    for i in range(1, lines.shape[0]):
        if is_product:
            lines[i] *= lines[i - 1]
        else:
            lines[i] += lines[i - 1]
    return out


def convolve(a, v, mode="full"):
    assert min(a.shape[0], v.shape[0]) > 0, "np.convolve of an array without elements"
    n, m = a.shape[0], v.shape[0]
    whole = np.concatenate((a, v))[1:]  # of the type of both
    whole[:] = 0
    for i in range(n):
        for j in range(m):
            whole[i + j] += a[i] * v[j]
    if mode == "full":
        return whole
    if mode == "valid":
        return whole[min(n, m) - 1 : max(n, m)]
    first = (min(n, m) - 1) // 2
    return whole[first : first + max(n, m)]


def gradient(f, dx=1.0):
    """Central differences, one-sided at both ends, of values that are `dx` apart along the only axis."""
    assert f.shape[0] > 1, "np.gradient of fewer than two values"
    out = f / 2.0
    out[1:-1] = (f[2:] - f[:-2]) / (2.0 * dx)
    out[0] = (f[1] - f[0]) / dx
    out[-1] = (f[-1] - f[-2]) / dx
    return out


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    lines = np.swapaxes(y, 0, axis)
    if x is None:
        return (dx * (lines[1:] + lines[:-1]) / 2.0).sum(axis=0)
    assert x.ndim == 1, "`x` of np.trapezoid has one axis"
    if y.ndim == 1:
        return ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0).sum()
    return np.swapaxes(lines[1:] + lines[:-1], 0, -1) @ (x[1:] - x[:-1]) / 2.0
