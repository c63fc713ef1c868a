"""Functions of `scipy.special` by formulas that hold where exponentials overflow."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.elementwise import logaddexp


def expit(x):
    """1 / (1 + exp(-x))."""
    small = np.exp(np.where(x >= 0.0, -x, x))
    return np.where(x >= 0.0, 1.0 / (1.0 + small), small / (1.0 + small))


def log_expit(x):
    small = np.log1p(np.exp(np.where(x >= 0.0, -x, x)))
    return np.where(x >= 0.0, -small, x - small)


def logit(p):
    """log(p / (1 - p))."""
    return np.log(p) - np.log1p(-p)


def softplus(x):
    return logaddexp(0.0, x)


def xlogy(x, y):
    """x log(y), which is zero, with its derivative, where `x` is and the logarithm has no value."""
    return np.where((x == 0.0) & ((y <= 0.0) | (y == np.inf)), 0.0, x * np.log(y))


def xlog1py(x, y):
    """x log(1 + y), which is zero, with its derivative, where `x` is and the logarithm has no value."""
    return np.where((x == 0.0) & ((y <= -1.0) | (y == np.inf)), 0.0, x * np.log1p(y))


def entr(x):
    """-x log(x)."""
    return np.where(np.isnan(x), x, np.where(x > 0.0, -x * np.log(x), np.where(x == 0.0, 0.0, -np.inf)))


def rel_entr(x, y):
    """x log(x / y)."""
    outside = np.where((x == 0.0) & (y >= 0.0), 0.0, np.inf)
    return np.where(np.isnan(x + y), np.nan, np.where((x > 0.0) & (y > 0.0), x * np.log(x / y), outside))


def kl_div(x, y):
    """x log(x / y) - x + y."""
    outside = np.where((x == 0.0) & (y >= 0.0), y, np.inf)
    return np.where(np.isnan(x + y), np.nan, np.where((x > 0.0) & (y > 0.0), x * np.log(x / y) - x + y, outside))


def softmax(x, axis=None):
    """Exponentials by their sum."""
    parts = np.exp(x - x.max(axis=axis, keepdims=True))
    return parts / parts.sum(axis=axis, keepdims=True)


def log_softmax(x, axis=None):
    rest = x - x.max(axis=axis, keepdims=True)
    return rest - np.log(np.exp(rest).sum(axis=axis, keepdims=True))


def logsumexp(a, axis=None, b=None, keepdims=False):
    """log(sum(b exp(a))), which need not fit into a number."""
    greatest = a.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(greatest), greatest, 0.0)
    parts = np.exp(a - shift) if b is None else b * np.exp(a - shift)
    found = np.log(parts.sum(axis=axis, keepdims=True)) + shift
    return found if keepdims else found.sum(axis=axis)


def binom(n, k):
    """How many choices there are of `k` among `n`, for an integer `k`: a polynomial in `n`, but for integers below
    zero."""
    found = 1.0
    for i in range(1, k + 1):
        found = found * (n - k + i) / i
    found = found if k >= 0 else 0.0
    return np.nan if n < 0 and n == np.floor(n) else found


def comb(N, k):
    """Likewise; none where `N` is less than `k`, or below zero."""
    return binom(N, k) if 0 <= k <= N else 0.0


def exprel(x):
    """(exp(x) - 1) / x; near zero its series, whose derivatives lose nothing."""
    near = np.where(np.abs(x) < 0.5, x, 0.0)
    series = 1.0 + 0.0 * near
    for k in range(16, 1, -1):
        series = 1.0 + series * near / k
    far = np.where(np.abs(x) < 0.5, 1.0, x)
    return np.where(np.abs(x) < 0.5, series, np.where(x == np.inf, x, np.expm1(far) / far))
