"""Log densities of vectors and matrices: `multivariate_normal(x, mean, cholesky)` is the LOG of the density at `x`.

Covariances and correlations are given by their Cholesky factors, of which the lower triangle is read: it alone has a
derivative. The result is -inf outside of the support, where the derivative is zero, and NaN where a parameter is
outside of its domain.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.operator import operator
from loopdiff.kernels.probability.functions import HALF_LOG_TAU, log_gamma, log_sum_exp, supported
from loopdiff.numpy_functions.special import xlogy

LOG_2 = 0.6931471805599453
HALF_LOG_PI = 0.5723649429247001


def forward_substituted(cholesky, right):
    """What a lower triangle times gives `right`, a vector or columns of a matrix."""
    found = np.zeros_like(right)
    for i in range(right.shape[0]):
        found[i] = (right[i] - cholesky[i, :i] @ found[:i]) / cholesky[i, i]
    return found


def half_log_determinant(cholesky):
    """Half of the log determinant of the matrix whose Cholesky factor is given; NaN where it is no such factor."""
    diagonal = np.diagonal(cholesky)
    return np.log(np.where(diagonal > 0.0, diagonal, np.nan)).sum()


def log_multivariate_gamma(a, size):
    """log of pi**(size (size - 1) / 4) times the product of gamma(a - i / 2) over i from 0 to size - 1."""
    total = 0.5 * HALF_LOG_PI * size * (size - 1.0)
    for i in range(size):
        total += log_gamma(a - 0.5 * i)
    return total


@operator
def multivariate_normal(x, mean, cholesky):
    """The log density of the normal distribution of vectors whose covariance is C = L L^T.

    -|L^-1 (x - mean)|**2 / 2 - sum of log(L[i, i]) - D log(2 pi) / 2

    Args:
        x: `(D,)`, or `(N, D)` for N vectors.
        mean: `(D,)`, or `(N, D)`.
        cholesky: `(D, D)`, L with a diagonal above zero, as `np.linalg.cholesky(C)` gives it.

    Returns:
        A number, or `(N,)`.

    Raises:
        ArgumentError: LD332 where `cholesky` is not of the size of the vectors.
    """
    D = x.shape[-1]
    if cholesky.shape[0] != D or cholesky.shape[1] != D:
        raise ValueError("`cholesky` is (D, D) for vectors of D numbers")
    z = forward_substituted(cholesky, (x - mean).T)
    return -0.5 * (z * z).sum(axis=0) - half_log_determinant(cholesky) - HALF_LOG_TAU * D


@operator
def dirichlet(x, concentration):
    """The log density of Dirichlet's distribution, of the first K - 1 of K shares.

    lgamma(sum of a) - sum of lgamma(a[k]) + sum of (a[k] - 1) log(x[k]) with a = `concentration`

    Args:
        x: `(K,)` or `(N, K)`: zero or more, with the sum one, which is not checked.
        concentration: `(K,)` or `(N, K)`, above zero.

    Returns:
        A number, or `(N,)`.

    Raises:
        ArgumentError: LD320 or LD332 where numbers of shares differ.
    """
    if x.shape[-1] != concentration.shape[-1]:
        raise ValueError("`x` and `concentration` have one number for each share")
    outside = x < 0.0
    shares = np.where(outside, 1.0, x)
    valid = (concentration > 0.0).all(axis=-1)
    a = np.where(concentration > 0.0, concentration, 1.0)
    constant = log_gamma(a.sum(axis=-1)) - log_gamma(a).sum(axis=-1)
    return supported(xlogy(a - 1.0, shares).sum(axis=-1) + constant, outside.any(axis=-1), valid)


@operator
def wishart(cholesky, df, scale_cholesky):
    """The log density of Wishart's distribution at X = L L^T, in X, for the scale V = C C^T.

    (df - D - 1) / 2 log|X| - df / 2 log|V| - |C^-1 L|**2 / 2 - df D / 2 log(2) - lgamma_D(df / 2)
    where lgamma_D(a) is the log of pi**(D (D - 1) / 4) gamma(a) gamma(a - 1 / 2) ... gamma(a - (D - 1) / 2)

    Args:
        cholesky: `(D, D)`, L, with a diagonal above zero.
        df: Degrees of freedom, above D - 1.
        scale_cholesky: `(D, D)`, C; the mean of X is df V.

    Raises:
        ArgumentError: LD320 or LD332 where the matrices are not of one size.
    """
    D = cholesky.shape[0]
    if cholesky.shape[1] != D or scale_cholesky.shape[0] != D or scale_cholesky.shape[1] != D:
        raise ValueError("`cholesky` and `scale_cholesky` are both (D, D)")
    z = forward_substituted(scale_cholesky, np.tril(cholesky))
    a = 0.5 * (df if df > D - 1.0 else np.nan)
    diagonal = np.diagonal(cholesky)
    point = (df - D - 1.0) * np.log(np.where(diagonal <= 0.0, 1.0, diagonal)).sum() - 0.5 * (z * z).sum()
    constant = df * half_log_determinant(scale_cholesky) + a * D * LOG_2 + log_multivariate_gamma(a, D)
    return supported(point - constant, (diagonal <= 0.0).any(), constant == constant)


@operator
def lkj_cholesky(cholesky, concentration):
    """The log density of the Cholesky factor L of a correlation matrix R, whose density is |R|**(concentration - 1).

    sum over k from 2 to D of (D - k + 2 concentration - 2) log(L[k, k]), counted from 1, less the constant of section
    3 of Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009): the density is that of the entries
    of L below its diagonal, which determine the others.

    Args:
        cholesky: `(D, D)`, L, whose rows have the norm one, which is not checked, and a diagonal above zero.
        concentration: Above zero; one for all correlation matrices alike.
    """
    D = cholesky.shape[0]
    valid = concentration > 0.0
    eta = concentration if valid else 1.0
    top = eta + 0.5 * (D - 1.0)
    constant = log_multivariate_gamma(top - 0.5, D - 1) - (D - 1.0) * (log_gamma(top) - HALF_LOG_PI)
    diagonal = np.diagonal(cholesky)
    heights = np.log(np.where(diagonal <= 0.0, 1.0, diagonal))
    point = ((D - 3.0 + 2.0 * eta - np.arange(1, D)) * heights[1:]).sum()
    return supported(point - constant, (diagonal <= 0.0).any(), valid)


@operator
def mixture(log_weights, log_densities, *, normalized=True):
    """The log density of a mixture: log(sum over k of exp(log_weights[..., k] + log_densities[..., k])).

    Args:
        log_weights: `(..., K)`; -inf for a component that is left out.
        log_densities: `(..., K)`, those of the components at the same place, from the operators beside this one.
        normalized: Whether the weights have the sum one; if not, their sum is divided by.

    Returns:
        `(...)`, of the axes of both, broadcast.
    """
    found = log_sum_exp(log_weights + log_densities)
    return found if normalized else found - log_sum_exp(log_weights)
