"""What is made of neighbours along an axis: differences, running sums and products, convolutions, integrals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loopdiff.numpy_functions.branching import holds_integers
from loopdiff.numpy_functions.building import atleast_1d


def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Each element less the one before it; `n` times."""
    d = np.swapaxes(with_ends(a, axis, prepend, append), 0, axis)
    if n == 0:
        return np.swapaxes(d, 0, axis)
    if n == 1:
        return np.swapaxes(d[1:] - d[:-1], 0, axis)
    if n == 2:
        return np.swapaxes(d[2:] - 2 * d[1:-1] + d[:-2], 0, axis)
    assert n == 3, "`n` of np.diff is at most 3"
    return np.swapaxes(d[3:] - 3 * d[2:-1] + 3 * d[1:-2] - d[:-3], 0, axis)


def unwrap(p, discont=None, axis=-1, period=2 * math.pi):
    """Angles that follow one another by less than half a `period`: steps of `discont` and more are steps of as many
    periods less. Those are constants: what comes before such a step has no derivative in what comes after."""
    assert not (holds_integers(p) and holds_integers(period)), "np.unwrap of integers takes a `period` that is a float"
    angles = np.swapaxes(p, 0, axis)
    steps, half = angles[1:] - angles[:-1], period / 2
    short = np.mod(steps + half, period) - half
    short = np.where((short == -half) & (steps > 0), half, short)
    least = half if discont is None else discont
    turns = np.where(np.abs(steps) < least, 0.0, short - steps)
    return np.swapaxes(np.concatenate((angles[:1], angles[1:] + np.cumsum(turns, 0))), 0, axis)


def with_ends(a, axis, prepend, append):
    if prepend is None and append is None:
        return a
    if append is None:
        return np.concatenate((end_of(a, axis, prepend), a), axis=axis)
    if prepend is None:
        return np.concatenate((a, end_of(a, axis, append)), axis=axis)
    return np.concatenate((end_of(a, axis, prepend), a, end_of(a, axis, append)), axis=axis)


def end_of(a, axis, value) -> Any:
    """`value` as a part of an array along an axis, of one element where it is a number."""
    if np.ndim(value) > 0:
        return value
    one = np.array([value])
    if a.ndim == 1:
        return one
    lines = np.swapaxes(a, 0, axis)
    if a.ndim == 3:
        return np.swapaxes(np.broadcast_to(one, (1, lines.shape[1], lines.shape[2])), 0, axis)
    assert a.ndim == 2, "np.diff with a number beside more than three axes"
    return np.swapaxes(np.broadcast_to(one, (1, lines.shape[1])), 0, axis)


def ediff1d(ary, to_end=None, to_begin=None):
    """Each element less the one before it, between others."""
    flat = ary.ravel()
    if to_begin is None and to_end is None:
        return flat[1:] - flat[:-1]
    first = flat[:0] if to_begin is None else np.ravel(atleast_1d(to_begin))
    last = flat[:0] if to_end is None else np.ravel(atleast_1d(to_end))
    return np.concatenate((first, flat[1:] - flat[:-1], last))


def accumulated_max(array, axis=0):
    """The greatest of all elements along an axis up to each one."""
    return accumulated(np.maximum, array, axis)


def accumulated_min(array, axis=0):
    """The least of all elements along an axis up to each one."""
    return accumulated(np.minimum, array, axis)


def accumulated(f, array, axis):
    out = array.copy()
    lines = np.swapaxes(out, 0, axis)
    for i in range(1, lines.shape[0]):
        lines[i] = f(lines[i], lines[i - 1])
    return out


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
    assert a.ndim + v.ndim == 2, "np.convolve takes two vectors"
    assert min(a.shape[0], v.shape[0]) > 0, "np.convolve of an array without elements"
    fewest = max(min(a.shape[0], v.shape[0]), 1)  # that it is above zero is seen, so no slice counts from the end
    is_known = mode == "full" or mode == "valid" or mode == "same"
    assert is_known, "Use one of 'valid', 'same', or 'full' for convolve/correlate mode"
    n, m = a.shape[0], v.shape[0]
    whole = np.concatenate((a, v))[1:]  # of the type of both
    whole[:] = 0
    for i in range(n):
        for j in range(m):
            whole[i + j] += a[i] * v[j]
    if mode == "full":
        return whole
    if mode == "valid":
        return whole[fewest - 1 : max(n, m)]
    first = (fewest - 1) // 2
    part = np.concatenate((a, v))[: max(n, m)]
    part[:] = whole[first : first + max(n, m)]
    return part


def correlate(a, v, mode="valid"):
    """Products of one vector with another that is moved along it."""
    if mode != "same":
        return convolve(a, np.conj(v[::-1]), mode)
    n, m = a.shape[0], v.shape[0]  # NumPy moves the shorter one along the other, and turns round what it finds
    first = (m - 1) // 2 if n >= m else n // 2
    return convolve(a, np.conj(v[::-1]), "full")[first : first + max(n, m)]


def gradient(f, spacing=1.0, other=None, *, axis=None):
    """Central differences, one-sided at both ends: along an axis, or an array for each axis. `spacing` is the distance
    of values or where they are; of a matrix, `other` is that of the second axis."""
    if isinstance(axis, tuple):
        assert len(axis) == 2, "`axis` of np.gradient names one axis, or two"
        if other is None:
            assert np.ndim(spacing) == 0, "np.gradient along two axes takes the places of values for each"
            return slopes(f, spacing, axis[0]), slopes(f, spacing, axis[1])
        return slopes(f, spacing, axis[0]), slopes(f, other, axis[1])
    if axis is not None:
        assert other is None, "np.gradient along one axis takes one distance"
        return slopes(f, spacing, axis)
    if f.ndim == 1:
        assert other is None, "np.gradient of a vector takes one distance"
        return slopes(f, spacing, 0)
    assert f.ndim == 2, "np.gradient of more than two axes takes an `axis`"
    if other is None:
        assert np.ndim(spacing) == 0, "np.gradient of a matrix takes the places of values for each axis"
        return slopes(f, spacing, 0), slopes(f, spacing, 1)
    return slopes(f, spacing, 0), slopes(f, other, 1)


def slopes(f, spacing, axis):
    lines = np.swapaxes(f, axis, -1)
    assert lines.shape[-1] > 1, "np.gradient of fewer than two values"
    out = lines / 2.0
    if np.ndim(spacing) == 0:
        out[..., 1:-1] = (lines[..., 2:] - lines[..., :-2]) / (2.0 * spacing)
        out[..., 0] = (lines[..., 1] - lines[..., 0]) / spacing
        out[..., -1] = (lines[..., -1] - lines[..., -2]) / spacing
    else:
        assert spacing.ndim == 1, "the places of values in np.gradient are along one axis"
        assert spacing.shape[0] == lines.shape[-1], "np.gradient takes a place for each value"
        steps = spacing[1:] - spacing[:-1]
        each = (lines[..., 1:] - lines[..., :-1]) / steps
        share = steps[1:] / (steps[1:] + steps[:-1])
        out[..., 1:-1] = share * each[..., :-1] + (1.0 - share) * each[..., 1:]
        out[..., 0] = each[..., 0]
        out[..., -1] = each[..., -1]
    return np.swapaxes(out, axis, -1)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule."""
    lines = np.moveaxis(y, axis, -1)
    if x is None:
        return (dx * (lines[..., 1:] + lines[..., :-1]) / 2.0).sum(axis=-1)
    assert x.ndim == 1, "`x` of np.trapezoid has one axis"
    return ((x[1:] - x[:-1]) * (lines[..., 1:] + lines[..., :-1]) / 2.0).sum(axis=-1)
