"""Exponentials by their sum, along any axis, with infinities.

A row in which some numbers are +inf is shared among these. In a row of nothing but -inf nothing has a share: its
`softmax` is zero, its `log_softmax` and `logsumexp` are -inf, and there is no NaN in derivatives.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.rows import back_from_rows, rows_along
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


def greatest_in(rows, i):
    """The greatest number of a row, as a constant: what it is does not change any result."""
    greatest = -np.inf
    for j in range(rows.shape[1]):
        greatest = max(greatest, stop_gradient(rows[i, j]))
    return greatest


def log_of_sum(rows, i):
    """`logsumexp` of a row."""
    greatest = greatest_in(rows, i)
    if greatest == np.inf:
        total, count = 0.0, 0
        for j in range(rows.shape[1]):
            if rows[i, j] == np.inf:
                total += rows[i, j]
                count += 1
        return total / count
    if greatest == -np.inf:
        return -np.inf
    total = 0.0
    for j in range(rows.shape[1]):
        total += np.exp(rows[i, j] - greatest)
    return greatest + np.log(total)


@operator
def softmax(x, *, axis=-1):
    """`exp(x) / sum(exp(x))` along an axis; the greatest number is subtracted first.

    Args:
        x: An array with at least one axis.
        axis: The axis of the sums.

    Returns:
        An array like `x`.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    y = np.empty_like(rows)
    e = np.empty_like(rows)  # the derivative reads these, and no `x`
    for i in range(rows.shape[0]):
        greatest = greatest_in(rows, i)
        if greatest == np.inf:
            count = 0
            for j in range(rows.shape[1]):
                count += rows[i, j] == np.inf
            for j in range(rows.shape[1]):
                y[i, j] = 1.0 / count if rows[i, j] == np.inf else 0.0
        elif greatest == -np.inf:
            for j in range(rows.shape[1]):
                y[i, j] = 0.0
        else:
            total = 0.0
            for j in range(rows.shape[1]):
                e[i, j] = np.exp(rows[i, j] - greatest)
                total += e[i, j]
            part = 1.0 / total
            for j in range(rows.shape[1]):
                y[i, j] = e[i, j] * part
    return back_from_rows(y, x, axis)


@operator
def softmin(x, *, axis=-1):
    """`softmax` of `-x`: the least number has the largest share."""
    return softmax(-x, axis=axis)


@operator
def log_softmax(x, *, axis=-1):
    """`x - log(sum(exp(x)))` along an axis, without the roundings of `log(softmax(x))`.

    Args:
        x: An array with at least one axis.
        axis: The axis of the sums.

    Returns:
        An array like `x`.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    y = np.empty_like(rows)
    for i in range(rows.shape[0]):
        greatest = greatest_in(rows, i)
        if greatest == np.inf:
            count = 0
            for j in range(rows.shape[1]):
                count += rows[i, j] == np.inf
            for j in range(rows.shape[1]):
                y[i, j] = -np.log(1.0 * count) if rows[i, j] == np.inf else -np.inf
        elif greatest == -np.inf:
            for j in range(rows.shape[1]):
                y[i, j] = -np.inf
        else:
            total = 0.0
            for j in range(rows.shape[1]):
                total += np.exp(rows[i, j] - greatest)
            for j in range(rows.shape[1]):
                y[i, j] = rows[i, j] - greatest - np.log(total)
    return back_from_rows(y, x, axis)


@operator
def logsumexp(x, *, axis=-1, keepdims=False):
    """`log(sum(exp(x)))` along an axis. Where that is +inf the derivative is shared among the numbers that are.

    Args:
        x: An array with at least one axis.
        axis: The axis of the sums.
        keepdims: Whether that axis stays, with extent 1.

    Returns:
        An array like `x` without that axis.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    y = np.empty_like(rows[:, :1])
    for i in range(rows.shape[0]):
        y[i, 0] = log_of_sum(rows, i)
    if keepdims:
        kept = np.moveaxis(x, axis, -1)[..., :1]
        return np.moveaxis(y.reshape(kept.shape), -1, axis)
    if x.ndim == 1:
        return y[0, 0]
    left = np.moveaxis(x, axis, -1)[..., 0]
    return y.reshape(left.shape)


@operator
def sparsemax(x, *, axis=-1):
    """The point of the probability simplex that is nearest to each row (Martins and Astudillo, ICML 2016, algorithm 1).

    Args:
        x: An array with at least one axis, finite.
        axis: The axis of the rows.

    Returns:
        An array like `x`: `max(x - t, 0)` with the `t` for which rows sum to 1. At the edge of the support it has the
        derivative of the numbers outside.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    y = np.empty_like(rows)
    for i in range(rows.shape[0]):
        ascending = np.sort(rows[i])
        greatest = stop_gradient(ascending[-1])
        before, least = 0.0, np.inf
        for j in range(rows.shape[1]):
            number = stop_gradient(ascending[-1 - j]) - greatest
            before += number
            if 1.0 + (j + 1) * number > before:
                least = number
        total, count = -1.0, 0
        for j in range(rows.shape[1]):
            if rows[i, j] - greatest >= least:
                total += rows[i, j] - greatest
                count += 1
        for j in range(rows.shape[1]):
            y[i, j] = rows[i, j] - greatest - total / count if rows[i, j] - greatest >= least else 0.0
    return back_from_rows(y, x, axis)
