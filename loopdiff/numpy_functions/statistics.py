"""Spread and means."""

from __future__ import annotations

import numpy as np


def ptp(a, axis=None):
    """The greatest element less the least one."""
    return a.max(axis=axis) - a.min(axis=axis)


def average(a, axis=None, weights=None):
    """The mean, or that of elements with weights: one for each, or those of the axis."""
    if weights is None:
        return a.mean(axis=axis)
    if weights.ndim == a.ndim:
        assert weights.size == a.size, "Shape of weights must be that of the array"
        assert weights.shape[0] == a.shape[0], "Shape of weights must be that of the array"
        return (a * weights).sum(axis=axis) / weights.sum(axis=axis)
    assert axis is not None, "Axis must be specified when shapes of a and weights differ."
    assert weights.ndim == 1, "`weights` of np.average are those of one axis, or of all elements"
    lines = np.moveaxis(a, axis, -1)
    assert weights.shape[0] == lines.shape[-1], "Shape of weights must be consistent with shape of a along the axis"
    return (lines * weights).sum(axis=-1) / weights.sum()


def nansum(a, axis=None):
    return np.where(np.isnan(a), 0, a).sum(axis=axis)


def nanmean(a, axis=None):
    return np.where(np.isnan(a), 0.0, a).sum(axis=axis) / np.where(np.isnan(a), 0.0, np.ones_like(a)).sum(axis=axis)
