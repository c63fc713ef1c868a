"""Log probabilities of counts and choices, element by element: `poisson(k, rate)` is the LOG of the probability of `k`.

All take arrays, which are broadcast, or numbers, and give an array of the shape that NumPy gives them, or a number.
Counts may be integers or floats; where they are outside of the support, or no whole numbers, the result is -inf and the
derivative is zero. Where a parameter is outside of its domain the result is NaN.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.operator import operator
from loopdiff.kernels.probability.functions import (
    each,
    is_no_count,
    log_binomial_term,
    log_power,
    log_sum_exp,
    supported,
)


@operator
def poisson(k, rate):
    """The log probability of a count of Poisson's distribution: k log(rate) - rate - lgamma(k + 1).

    Args:
        k: 0, 1, 2, ...
        rate: The mean, zero or more.
    """

    def at(k, rate):
        outside = is_no_count(k)
        valid = rate >= 0.0
        count = np.where(outside | (k == 0.0), 1.0, k)
        some = log_power(count, np.where(valid, rate, 1.0)) - np.log(count)
        return supported(np.where(k == 0.0, -rate, some), outside, valid)

    return each(at, k, rate)


@operator
def binomial(k, n, p):
    """The log probability of `k` successes in `n` trials: log(binomial(n, k)) + k log(p) + (n - k) log(1 - p).

    For large numbers its terms, which nearly cancel, are put together as Loader (2000) does.

    Args:
        k: 0, 1, ..., n.
        n: 0, 1, 2, ...
        p: From zero to one.
    """

    def at(k, n, p):
        outside = is_no_count(k) | (k > n)
        valid = (n >= 0.0) & (np.floor(n) == n) & (p >= 0.0) & (p <= 1.0)
        hits, misses = np.where(outside, 0.0, k), np.where(outside, 0.0, n - k)
        return supported(log_binomial_term(hits, misses, np.where(valid, p, 0.5)), outside, valid)

    return each(at, k, n, p)


@operator
def negative_binomial(k, n, p):
    """The log probability of `k` failures before the `n`-th success.

    lgamma(k + n) - lgamma(n) - lgamma(k + 1) + n log(p) + k log(1 - p)

    Args:
        k: 0, 1, 2, ...
        n: Above zero, also no whole number.
        p: The probability of success, above zero and up to one.
    """

    def at(k, n, p):
        outside = is_no_count(k)
        valid = (n > 0.0) & (p > 0.0) & (p <= 1.0)
        misses, size = np.where(outside, 0.0, k), np.where(valid, n, 1.0)
        term = log_binomial_term(size, misses, np.where(valid, p, 0.5))
        return supported(term + np.log(size / (size + misses)), outside, valid)

    return each(at, k, n, p)


@operator
def bernoulli(k, logit):
    """The log probability of one of two outcomes: k logit - log(1 + exp(logit)), for any logit.

    Args:
        k: 1 for what has the probability 1 / (1 + exp(-logit)), or 0.
        logit: Any number; also infinite, where the outcome is certain.
    """

    def at(k, logit):
        outside = (k != 0.0) & (k != 1.0) & (k == k)
        towards = np.where(k == 1.0, logit, -logit)
        below = np.where(towards >= 0.0, -towards, towards)
        sure = np.where(towards >= 0.0, 0.0, towards) - np.log1p(np.exp(below))
        return supported(sure, outside, (k == k) & (logit == logit))

    return each(at, k, logit)


@operator
def categorical(k, logits, *, normalized=False):
    """The log probability of one of K outcomes: logits[k] - log(sum of exp(logits)).

    Args:
        k: Integers from 0 to K - 1, an array or a number.
        logits: `(..., K)`: as many rows as `k` has elements, or axes that are broadcast with those of `k`.
        normalized: Whether `logits` are log probabilities, from which nothing is subtracted.

    Returns:
        `(...)`, the shape of `k` and of the rows of `logits`; -inf where `k` is none of the outcomes.
    """
    is_chosen = np.expand_dims(k, -1) == np.arange(logits.shape[-1])
    chosen = np.where(is_chosen, logits, 0.0).sum(axis=-1)
    total = 0.0 if normalized else log_sum_exp(logits)
    return np.where(is_chosen.any(axis=-1), chosen - total, -np.inf)
