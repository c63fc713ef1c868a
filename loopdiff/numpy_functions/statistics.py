"""Spread and means."""

from __future__ import annotations

import numpy as np


def ptp(a, axis=None):
    """The greatest element less the least one."""
    return a.max(axis=axis) - a.min(axis=axis)


def average(a, axis=None, weights=None):
    if weights is None:
        return a.mean(axis=axis)
    if axis is None:
        return (a * weights).sum() / weights.sum()
    if weights.ndim == a.ndim:
        return (a * weights).sum(axis=axis) / weights.sum(axis=axis)
    assert weights.ndim == 1, "`weights` of np.average are those of one axis, or of all elements"
    lines = np.swapaxes(a, axis, -1)
    return np.swapaxes(lines * weights, axis, -1).sum(axis=axis) / weights.sum()


def nansum(a, axis=None):
    return np.where(np.isnan(a), 0, a).sum(axis=axis)


def nanmean(a, axis=None):
    return np.where(np.isnan(a), 0.0, a).sum(axis=axis) / np.where(np.isnan(a), 0.0, np.ones_like(a)).sum(axis=axis)
