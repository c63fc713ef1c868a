"""Spread, means, and what is not NaN."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.vectors import squares


def ptp(a, axis=None, *, keepdims=False):
    """The greatest element less the least one."""
    return a.max(axis=axis, keepdims=keepdims) - a.min(axis=axis, keepdims=keepdims)


def average(a, axis=None, weights=None, *, keepdims=False):
    """The mean, or that of elements with weights: one for each, or those of the axis."""
    if weights is None:
        return a.mean(axis=axis, keepdims=keepdims)
    if weights.ndim == a.ndim:
        assert weights.size == a.size, "Shape of weights must be that of the array"
        assert weights.shape[0] == a.shape[0], "Shape of weights must be that of the array"
        total = weights.sum(axis=axis, keepdims=keepdims)
        return (1.0 * a * weights).sum(axis=axis, keepdims=keepdims) / total
    assert axis is not None, "Axis must be specified when shapes of a and weights differ."
    assert weights.ndim == 1, "`weights` of np.average are those of one axis, or of all elements"
    lines = np.moveaxis(a, axis, -1)
    assert weights.shape[0] == lines.shape[-1], "Shape of weights must be consistent with shape of a along the axis"
    means = (1.0 * lines * weights).sum(axis=-1, keepdims=True) / weights.sum()
    return np.moveaxis(means, -1, axis) if keepdims else means[..., 0]


def nansum(a, axis=None, *, keepdims=False):
    return np.where(np.isnan(a), 0, a).sum(axis=axis, keepdims=keepdims)


def nanprod(a, axis=None, *, keepdims=False):
    return np.where(np.isnan(a), 1, a).prod(axis=axis, keepdims=keepdims)


def nanmean(a, axis=None, *, keepdims=False):
    count = np.where(np.isnan(a), 0.0, np.ones_like(a)).sum(axis=axis, keepdims=keepdims)
    return np.where(np.isnan(a), 0.0, a).sum(axis=axis, keepdims=keepdims) / count


def nanmax(a, axis=None, *, keepdims=False):
    """The greatest number; NaN where there is none."""
    greatest = np.where(np.isnan(a), -np.inf, a).max(axis=axis, keepdims=keepdims)
    return np.where(np.isnan(a).all(axis=axis, keepdims=keepdims), np.nan, greatest).astype(a.dtype)


def nanmin(a, axis=None, *, keepdims=False):
    """The least number; NaN where there is none."""
    least = np.where(np.isnan(a), np.inf, a).min(axis=axis, keepdims=keepdims)
    return np.where(np.isnan(a).all(axis=axis, keepdims=keepdims), np.nan, least).astype(a.dtype)


def nanargmax(a, axis=None):
    """Where the greatest number is."""
    assert np.isnan(a).all(axis=axis).sum() == 0, "All-NaN slice encountered"
    return np.argmax(np.where(np.isnan(a), -np.inf, a), axis=axis)


def nanargmin(a, axis=None):
    """Where the least number is."""
    assert np.isnan(a).all(axis=axis).sum() == 0, "All-NaN slice encountered"
    return np.argmin(np.where(np.isnan(a), np.inf, a), axis=axis)


def nancumsum(a, axis=None):
    return np.cumsum(np.where(np.isnan(a), 0, a), axis)


def nancumprod(a, axis=None):
    return np.cumprod(np.where(np.isnan(a), 1, a), axis)


def nanvar(a, axis=None, *, ddof=0, keepdims=False):
    """The variance of the numbers; NaN where there are no more than `ddof`."""
    there = np.where(np.isnan(a), 0.0, np.ones_like(a))
    mean = np.where(np.isnan(a), 0.0, a).sum(axis=axis, keepdims=True) / there.sum(axis=axis, keepdims=True)
    far = squares(np.where(np.isnan(a), 0.0, a - mean))
    count = there.sum(axis=axis, keepdims=keepdims) - ddof
    return np.where(count > 0.0, far.sum(axis=axis, keepdims=keepdims) / count, np.nan)


def nanstd(a, axis=None, *, ddof=0, keepdims=False):
    return np.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    """How variables, rows of `m` and `y` unless `rowvar` is false, vary together."""
    rows = variables(m, y, rowvar)
    if ddof is None:
        return products_of(rows, rows.shape[1] - (0 if bias else 1))
    return products_of(rows, rows.shape[1] - ddof)


def corrcoef(x, y=None, rowvar=True):
    """`cov`, of variables in units of how they vary."""
    c = products_of(variables(x, y, rowvar), 1)
    spread = np.sqrt(np.real(np.diagonal(c)))
    return np.clip(c / spread[:, None] / spread[None, :], -1, 1)


def variables(m, y, rowvar):
    if y is not None:
        assert m.ndim + y.ndim == 2, "np.cov takes two vectors, or one matrix"
        return np.float64(1.0) * np.vstack((m, y))
    assert m.ndim == 2, "np.cov takes two vectors, or one matrix"
    if rowvar:
        return np.float64(1.0) * m
    return np.float64(1.0) * m.T


def products_of(rows, count):
    assert rows.shape[0] != 1, "the covariance of one variable is a number"
    far = rows - rows.mean(axis=1, keepdims=True)
    return far @ np.conj(far).T / max(count, 0)
