"""Log densities of numbers, element by element: `normal(x, mean, scale)` is the LOG of the normal density at `x`.

All take arrays, which are broadcast, or numbers, and give an array of the shape that NumPy gives them, or a number; of
the type of what they are given. Outside of the support they are -inf, and the derivative is zero. Where a parameter is
outside of its domain they are NaN, and where `x` is. Integers have no derivative.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.operator import operator
from loopdiff.kernels.probability.functions import (
    HALF_LOG_TAU,
    each,
    log_bessel_i0,
    log_beta,
    log_gamma_ratio,
    log_normal_mass,
    log_one_plus_square,
    log_power,
    supported,
)
from loopdiff.numpy_functions.special import xlog1py, xlogy

LOG_2 = 0.6931471805599453
LOG_PI = 1.1447298858494002


@operator
def normal(x, mean, scale):
    """The log density of the normal distribution: -z**2 / 2 - log(scale) - log(2 pi) / 2 with z = (x - mean) / scale.

    Args:
        x: Any number.
        mean: Any number.
        scale: The standard deviation, above zero.
    """

    def at(x, mean, scale):
        z = (x - mean) / scale
        return np.where(scale > 0.0, -0.5 * z * z - np.log(scale) - HALF_LOG_TAU, np.nan)

    return each(at, x, mean, scale)


@operator
def lognormal(x, mean, scale):
    """The log density of exp(y) for a normal y: normal(log(x), mean, scale) - log(x).

    Args:
        x: Above zero.
        mean: The mean of log(x).
        scale: The standard deviation of log(x), above zero.
    """

    def at(x, mean, scale):
        outside = x <= 0.0
        y = np.log(np.where(outside, 1.0, x))
        z = (y - mean) / scale
        density = -0.5 * z * z - y - np.log(scale) - HALF_LOG_TAU
        return supported(density, outside, (scale > 0.0) & (mean == mean))

    return each(at, x, mean, scale)


@operator
def student_t(x, df, mean=0.0, scale=1.0):
    """The log density of Student's t distribution.

    lgamma((df + 1) / 2) - lgamma(df / 2) - log(pi df) / 2 - log(scale) - (df + 1) / 2 log(1 + z**2 / df)
    with z = (x - mean) / scale; the difference of the first two is found as it is, also for large `df`.

    Args:
        x: Any number.
        df: Degrees of freedom, above zero, also no whole number.
        mean: The place of the middle.
        scale: Above zero.
    """

    def at(x, df, mean, scale):
        z = (x - mean) / scale
        valid = (df > 0.0) & (scale > 0.0)
        constant = log_gamma_ratio(0.5 * np.where(df > 0.0, df, 1.0), 0.5) - 0.5 * np.log(df) - 0.5 * LOG_PI
        return np.where(
            valid, constant - np.log(scale) - 0.5 * (df + 1.0) * log_one_plus_square(z / np.sqrt(df)), np.nan
        )

    return each(at, x, df, mean, scale)


@operator
def laplace(x, mean, scale):
    """The log density of Laplace's distribution: -abs(x - mean) / scale - log(2 scale).

    Args:
        x: Any number. At `mean` the derivative is zero, the middle of those on both sides.
        mean: Any number.
        scale: Above zero.
    """

    def at(x, mean, scale):
        return np.where(scale > 0.0, -np.abs(x - mean) / scale - np.log(scale) - LOG_2, np.nan)

    return each(at, x, mean, scale)


@operator
def cauchy(x, mean, scale):
    """The log density of Cauchy's distribution: -log(pi scale (1 + z**2)) with z = (x - mean) / scale.

    Args:
        x: Any number.
        mean: The place of the middle; there is no mean.
        scale: Half of the width at half of the height, above zero.
    """

    def at(x, mean, scale):
        z = (x - mean) / scale
        return np.where(scale > 0.0, -LOG_PI - np.log(scale) - log_one_plus_square(z), np.nan)

    return each(at, x, mean, scale)


@operator
def logistic(x, mean, scale):
    """The log density of the logistic distribution: -z - 2 log(1 + exp(-z)) - log(scale) with z = (x - mean) / scale.

    Args:
        x: Any number.
        mean: Any number.
        scale: Above zero; the standard deviation is pi / sqrt(3) times as large.
    """

    def at(x, mean, scale):
        z = (x - mean) / scale
        below = np.where(z >= 0.0, -z, z)
        return np.where(scale > 0.0, below - 2.0 * np.log1p(np.exp(below)) - np.log(scale), np.nan)

    return each(at, x, mean, scale)


@operator
def gamma(x, shape, rate):
    """The log density of the gamma distribution: shape log(rate) + (shape - 1) log(x) - rate x - lgamma(shape).

    Args:
        x: Zero or more. At zero the density is zero, `rate` or infinite, for a `shape` above, at or below one.
        shape: Above zero.
        rate: Above zero, one by what `scipy.stats.gamma` has as its `scale`.
    """

    def at(x, shape, rate):
        outside = (x < 0.0) | (x == np.inf)
        inner = np.where(outside, 1.0, x)
        valid = (shape > 0.0) & (rate > 0.0)
        a, b = np.where(valid, shape, 1.0), np.where(valid, rate, 1.0)
        some = np.where(inner == 0.0, 1.0, inner)
        at_zero = xlogy(a - 1.0, inner) + np.log(b) - b * inner
        return supported(np.where(inner == 0.0, at_zero, log_power(a, b * some) - np.log(some)), outside, valid)

    return each(at, x, shape, rate)


@operator
def inverse_gamma(x, shape, scale):
    """The log density of 1 / y for y of a gamma distribution with `scale` as its rate.

    shape log(scale) - (shape + 1) log(x) - scale / x - lgamma(shape)

    Args:
        x: Above zero.
        shape: Above zero.
        scale: Above zero.
    """

    def at(x, shape, scale):
        outside = x <= 0.0
        inner = np.where(outside, 1.0, x)
        valid = (shape > 0.0) & (scale > 0.0)
        a, b = np.where(valid, shape, 1.0), np.where(valid, scale, 1.0)
        return supported(log_power(a, b / inner) - np.log(inner), outside, valid)

    return each(at, x, shape, scale)


@operator
def beta(x, a, b):
    """The log density of the beta distribution: (a - 1) log(x) + (b - 1) log(1 - x) - log(B(a, b)).

    Args:
        x: From zero to one. At both ends the density may be zero or infinite.
        a: Above zero.
        b: Above zero.
    """

    def at(x, a, b):
        outside = (x < 0.0) | (x > 1.0)
        inner = np.where(outside, 0.5, x)
        valid = (a > 0.0) & (b > 0.0)
        constant = log_beta(np.where(valid, a, 1.0), np.where(valid, b, 1.0))
        return supported(xlogy(a - 1.0, inner) + xlog1py(b - 1.0, -inner) - constant, outside, valid)

    return each(at, x, a, b)


@operator
def exponential(x, rate):
    """The log density of the exponential distribution: log(rate) - rate x.

    Args:
        x: Zero or more.
        rate: Above zero, one by the mean.
    """

    def at(x, rate):
        outside = x < 0.0
        return supported(np.log(rate) - rate * np.where(outside, 0.0, x), outside, rate > 0.0)

    return each(at, x, rate)


@operator
def half_normal(x, scale):
    """The log density of abs(y) for a normal y with mean zero: log(2 / pi) / 2 - log(scale) - (x / scale)**2 / 2.

    Args:
        x: Zero or more.
        scale: The standard deviation of y, above zero.
    """

    def at(x, scale):
        outside = x < 0.0
        z = np.where(outside, 0.0, x) / scale
        return supported(LOG_2 - HALF_LOG_TAU - np.log(scale) - 0.5 * z * z, outside, scale > 0.0)

    return each(at, x, scale)


@operator
def half_cauchy(x, scale):
    """The log density of abs(y) for y of Cauchy's distribution around zero: log(2 / pi) - log(scale (1 + z**2)).

    Args:
        x: Zero or more; z = x / scale.
        scale: Above zero.
    """

    def at(x, scale):
        outside = x < 0.0
        z = np.where(outside, 0.0, x) / scale
        return supported(LOG_2 - LOG_PI - np.log(scale) - log_one_plus_square(z), outside, scale > 0.0)

    return each(at, x, scale)


@operator
def weibull(x, shape, scale):
    """The log density of Weibull's distribution: log(shape / scale) + (shape - 1) log(z) - z**shape with z = x / scale.

    Args:
        x: Zero or more. At zero the density is zero, `1 / scale` or infinite, for a `shape` above, at or below one.
        shape: Above zero.
        scale: Above zero.
    """

    def at(x, shape, scale):
        outside = (x < 0.0) | (x == np.inf)
        valid = (shape > 0.0) & (scale > 0.0)
        z = np.where(outside, 1.0, x) / np.where(valid, scale, 1.0)
        power = z ** np.where(valid, shape, 1.0)
        return supported(np.log(shape / scale) + xlogy(shape - 1.0, z) - power, outside, valid)

    return each(at, x, shape, scale)


@operator
def von_mises(x, mean, concentration):
    """The log density of von Mises' distribution of angles: concentration cos(x - mean) - log(2 pi I0(concentration)).

    The logarithm of the Bessel function is found less its argument, and the cosine less one, so that both stay small.

    Args:
        x: Any number, of radians: the density is one by its period.
        mean: Any number.
        concentration: Zero or more.
    """

    def at(x, mean, concentration):
        valid = concentration >= 0.0
        half = np.sin(0.5 * (x - mean))
        constant = log_bessel_i0(np.where(valid, concentration, 0.0)) + 2.0 * HALF_LOG_TAU
        return np.where(valid, -2.0 * concentration * half * half - constant, np.nan)

    return each(at, x, mean, concentration)


@operator
def uniform(x, lower, upper):
    """The log density of the uniform distribution: -log(upper - lower).

    Args:
        x: From `lower` to `upper`, both inside.
        lower: Any number.
        upper: Above `lower`.
    """

    def at(x, lower, upper):
        valid = lower < upper
        width = np.where(valid, upper - lower, 1.0)
        return supported(-np.log(width) + 0.0 * x, (x < lower) | (x > upper), valid)

    return each(at, x, lower, upper)


@operator
def truncated_normal(x, mean, scale, lower, upper):
    """The log density of a normal distribution of which the piece from `lower` to `upper` is left.

    normal(x, mean, scale) - log(F((upper - mean) / scale) - F((lower - mean) / scale)), F the standard normal
    distribution function. The mass that is left is found to all digits also far out in a tail, and where it is narrow.

    Args:
        x: From `lower` to `upper`, both inside.
        mean: The mean of what was not truncated.
        scale: Its standard deviation, above zero.
        lower: May be -inf.
        upper: Above `lower`; may be inf.
    """

    def at(x, mean, scale, lower, upper):
        valid = (scale > 0.0) & (lower < upper) & (mean == mean)
        spread = np.where(valid, scale, 1.0)
        z = (x - mean) / spread
        low, high = np.where(valid, (lower - mean) / spread, 0.0), np.where(valid, (upper - mean) / spread, 1.0)
        density = -0.5 * z * z - np.log(spread) - HALF_LOG_TAU - log_normal_mass(low, high)
        return supported(density, (x < lower) | (x > upper), valid)

    return each(at, x, mean, scale, lower, upper)
