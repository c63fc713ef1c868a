"""From numbers without bounds to what parameters of distributions may be, with the log of the Jacobian determinant.

Each gives `(constrained, log_jacobian)`. The second is one number, the sum over everything that `x` holds: with it, the
log density of what is constrained becomes the log density of `x`. The maps are Stan's (Stan Reference Manual, chapter
"Constraint Transforms").
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit, log_expit

LOG_2 = 0.6931471805599453


@operator
def positive(x):
    """exp(x), element by element: above zero. The log Jacobian is the sum of `x`.

    Args:
        x: An array, or a number.
    """
    return np.exp(x), np.sum(x)


@operator
def interval(x, lower, upper):
    """lower + (upper - lower) / (1 + exp(-x)), element by element: between `lower` and `upper`.

    The log Jacobian is the sum of log(upper - lower) - x - 2 log(1 + exp(-x)).

    Args:
        x: An array, or a number.
        lower: A number, or an array that is broadcast to `x`.
        upper: Likewise, above `lower`; the log Jacobian is NaN where it is below.
    """
    width = upper - lower
    return lower + width * expit(x), np.sum(np.log(width) + log_expit(x) + log_expit(-x))


@operator
def ordered_vector(x):
    """Numbers that ascend: y[0] = x[0], y[k] = y[k - 1] + exp(x[k]). The log Jacobian is the sum of x[1:].

    Args:
        x: `(K,)`.

    Returns:
        `(K,)` and a number.
    """
    require_floats(x)
    y = np.empty_like(x)
    y[0] = x[0]
    for k in range(1, x.shape[0]):
        y[k] = y[k - 1] + np.exp(x[k])
    return y, np.sum(x[1:])


@operator
def simplex(x):
    """K shares above zero whose sum is one, by breaking K - 1 pieces off a stick: zeros give equal shares.

    y[k] = (1 - y[0] - ... - y[k - 1]) / (1 + exp(-u[k])) with u[k] = x[k] - log(K - 1 - k); the last is what is left.
    The log Jacobian is that of the first K - 1. The stick is kept by its logarithm, so shares lose no digits.

    Args:
        x: `(K - 1,)`.

    Returns:
        `(K,)` and a number.
    """
    require_floats(x)
    M = x.shape[0]
    y = np.empty(M + 1, dtype=x.dtype)
    log_left = 0.0
    log_jacobian = 0.0
    for k in range(M):
        u = x[k] - np.log(M - k)
        log_share, log_rest = log_expit(u), log_expit(-u)
        y[k] = np.exp(log_left + log_share)
        log_jacobian += log_left + log_share + log_rest
        log_left += log_rest
    y[M] = np.exp(log_left)
    return y, log_jacobian


@operator
def correlation_cholesky(x, *, size):
    """The Cholesky factor L of a correlation matrix: lower triangular, with rows of norm one and a diagonal above zero.

    L[i, j] = tanh(x[p]) sqrt(1 - L[i, 0]**2 - ... - L[i, j - 1]**2) for j < i, with `p` counting the entries below the
    diagonal row by row. The log Jacobian is that of these. What is left of a row is kept by its logarithm.

    Args:
        x: `(size (size - 1) / 2,)`.
        size: Rows of L.

    Returns:
        `(size, size)` and a number.

    Raises:
        ArgumentError: LD310 where `x` is shorter, LD332 where it is longer than that.
    """
    if 2 * x.shape[0] != size * (size - 1):
        raise ValueError("`x` has one number for each entry below the diagonal: size (size - 1) / 2")
    require_floats(x)
    L = np.zeros((size, size), dtype=x.dtype)
    log_jacobian = 0.0
    for i in range(size):
        log_left = 0.0
        for j in range(i):
            u = x[i * (i - 1) // 2 + j]
            L[i, j] = np.tanh(u) * np.exp(0.5 * log_left)
            log_rest = 2.0 * LOG_2 + log_expit(2.0 * u) + log_expit(-2.0 * u)
            log_jacobian += log_rest + 0.5 * log_left
            log_left += log_rest
        L[i, i] = np.exp(0.5 * log_left)
    return L, log_jacobian


@operator
def unit_vector(x):
    """x / |x|, a vector of norm one, and -|x|**2 / 2.

    The map has no Jacobian determinant, since it forgets the norm. The second number instead gives the norm a proper
    distribution of its own, independent of the direction: where the log density of y = x / |x| is f(y), that of `x` is
    f(x / |x|) - |x|**2 / 2, and without an `f` all directions are alike.

    Args:
        x: `(N,)`, not zero, where the result is NaN.

    Returns:
        `(N,)` and a number.
    """
    square = np.sum(x * x)
    return x / np.sqrt(square), -0.5 * square
