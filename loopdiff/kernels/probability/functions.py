"""Functions that log densities are made of, as accurate as numbers of 64 bits are, also where these are large."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from loopdiff.numpy_functions.special import xlog1py, xlogy

HALF_LOG_TAU = 0.9189385332046727  # log(2 pi) / 2
# Of Stirling's series: B(2 k) / (2 k (2 k - 1)), which alternate in sign.
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680)
LARGE = 30.0  # from where on Stirling's series, as far as it is written, is exact
ODD = (1 / 3, 1 / 5, 1 / 7, 1 / 9, 1 / 11, 1 / 13)  # of the series of the inverse of tanh
SMALL = 0.1  # up to where that is exact
BESSEL_FAR = 20.0  # from where on the asymptotic series of I0 is exact
BESSEL_TERMS = 34  # of the power series, up to there
ASYMPTOTIC_TERMS = 30
TAIL_TERMS = 16  # of the continued fraction, from TAIL_FAR on
TAIL_FAR = 6.0  # standard deviations
# Gauss and Legendre's rule of ten nodes for a piece of width one: distances from its middle, and weights of pairs.
NODES = (0.07443716949081561, 0.2166976970646236, 0.3397047841495122, 0.43253168334449227, 0.48695326425858587)
WEIGHTS = (0.29552422471475287, 0.26926671930999635, 0.21908636251598204, 0.1494513491505806, 0.06667134430868814)


def spread_out(argument, wide):
    """An array, broadcast to the shape of `wide`; a number stays one: what is made of it alone is found once."""
    if np.ndim(argument) == 0:
        return argument
    return np.broadcast_to(argument, wide.shape)


def element(argument, *place):
    """An element of an array; a number itself."""
    if np.ndim(argument) == 0:
        return argument
    return argument[place]


def each(f, *arguments):
    """`f` of numbers, of which arrays are made by broadcasting, in one loop over all elements."""
    found: Any = sum(arguments, 0.0)  # of the shape and type that the result has, which is stored in its place
    if np.ndim(found) == 1:
        parts = [spread_out(argument, found) for argument in arguments]
        for i in range(found.shape[0]):
            found[i] = f(*[element(part, i) for part in parts])
    elif np.ndim(found) == 2:
        parts = [spread_out(argument, found) for argument in arguments]
        for i in range(found.shape[0]):
            for j in range(found.shape[1]):
                found[i, j] = f(*[element(part, i, j) for part in parts])
    elif np.ndim(found) == 0:
        found = f(*arguments)
    else:
        parts = [in_one_row(spread_out(argument, found)) for argument in arguments]
        flat = found.reshape(-1)
        for i in range(flat.shape[0]):
            flat[i] = f(*[element(part, i) for part in parts])
        found = flat.reshape(found.shape)
    return found


def in_one_row(argument):
    return argument if np.ndim(argument) == 0 else argument.reshape(-1)


def log_gamma(x: Any) -> Any:
    """The logarithm of the gamma function, of numbers and of arrays."""
    if np.ndim(x) == 0:
        return math.lgamma(x)
    flat = x.reshape(-1)
    found = np.empty_like(flat)
    for i in range(flat.shape[0]):
        found[i] = math.lgamma(flat[i])
    return found.reshape(x.shape)


def log_one_plus_square(z):
    """log(1 + z * z), also where the square overflows."""
    is_far = np.abs(z) > 1e8
    return np.where(is_far, 2.0 * np.log(np.abs(np.where(is_far, z, 1.0))), np.log1p(np.where(is_far, 1.0, z) ** 2))


def supported(density, outside, valid):
    """`density`; outside of the support -inf, without a derivative; NaN where a parameter is outside of its domain."""
    return np.where(valid, np.where(outside, -np.inf, density), np.nan)


def is_no_count(k):
    """Whether a number is none of 0, 1, 2, ..., or NaN."""
    return (k < 0) | (np.floor(k) < k)


def polynomial(x, coefficients):
    """Horner's scheme, the constant first."""
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


def stirling_rest(z):
    """lgamma(z) - ((z - 1/2) log(z) - z + log(2 pi) / 2), for `z` from LARGE on."""
    return polynomial(1.0 / (z * z), STIRLING) / z


def stirling_remainder(z):
    """As `stirling_rest`, for all `z` above zero."""
    far, near = np.where(z > LARGE, z, LARGE), np.where(z > LARGE, 1.0, z)
    found = math.lgamma(near) - (near - 0.5) * np.log(near) + near - HALF_LOG_TAU
    return np.where(z > LARGE, stirling_rest(far), found)


def log_less(d):
    """log(1 + d) - d, to all its digits for a small `d`, too, by the series of log(1 + d) in d / (2 + d)."""
    near = np.where(np.abs(d) < SMALL, d, 0.0)
    v = near / (2.0 + near)
    far = np.where(np.abs(d) < SMALL, SMALL, d)
    series = 2.0 * v * v * v * polynomial(v * v, ODD) - near * v
    return np.where(np.abs(d) < SMALL, series, np.log1p(far) - far)


def log_power(a, y):
    """a log(y) - y - lgamma(a), for `a` above zero and `y` of zero or more.

    For large `a` the terms, which nearly cancel, are put together by hand: Loader, Fast and Accurate Computation of
    Binomial Probabilities, 2000.
    """
    far = np.where(a > LARGE, a, LARGE)
    large = far * log_less((y - far) / far) + 0.5 * np.log(far) - HALF_LOG_TAU - stirling_rest(far)
    near = np.where(a > LARGE, 1.0, a)
    return np.where(a > LARGE, large, near * np.log(y) - y - math.lgamma(near))


def log_binomial_term(hits, misses, p):
    """log of p**hits (1 - p)**misses gamma(hits + misses + 1) / (gamma(hits + 1) gamma(misses + 1)), as `log_power` is.

    For `hits` and `misses` of zero or more, also no whole numbers.
    """
    is_edge = (hits == 0.0) | (misses == 0.0)
    h, m = np.where(is_edge, 1.0, hits), np.where(is_edge, 1.0, misses)
    n = h + m
    excess = m * p - h * (1.0 - p)  # by how much more hits than `hits` are expected
    spread = h * log_less(excess / h) + m * log_less(-excess / m) + 0.5 * np.log(n / h / m) - HALF_LOG_TAU
    inside = spread + stirling_remainder(n) - stirling_remainder(h) - stirling_remainder(m)
    return np.where(is_edge, xlogy(hits, p) + xlog1py(misses, -p), inside)


def log_gamma_ratio(z, d):
    """lgamma(z + d) - lgamma(z), for `z` and `d` above zero.

    For large `z` by differences of the terms of Stirling's series, which are small where the terms are large.
    """
    far = np.where(z > LARGE, z, LARGE)
    step = (far - 0.5) * np.log1p(d / far) - d + d * np.log(far + d) + stirling_rest(far + d) - stirling_rest(far)
    near = np.where(z > LARGE, 1.0, z)
    return np.where(z > LARGE, step, math.lgamma(near + d) - math.lgamma(near))


def log_beta(a, b):
    """log(gamma(a) gamma(b) / gamma(a + b)), by the ratio of the two that are large if one is."""
    small, large = np.where(a < b, a, b), np.where(a < b, b, a)  # whose second derivatives hold for equals, too
    return math.lgamma(small) - log_gamma_ratio(large, small)


def log_bessel_i0(x):
    """log(I0(x)) - x for `x` of zero or more: the power series in x**2 / 4, and from BESSEL_FAR on the asymptotic one.

    DLMF 10.25.2 and 10.40.1: all terms are above zero.
    """
    near = np.where(x < BESSEL_FAR, x, 1.0)
    square = 0.25 * near * near
    series = 1.0
    for k in range(BESSEL_TERMS, 0, -1):
        series = 1.0 + series * square * (1.0 / (k * k))
    far = np.where(x < BESSEL_FAR, BESSEL_FAR, x)
    rest = 1.0
    for k in range(ASYMPTOTIC_TERMS, 0, -1):
        rest = 1.0 + rest / far * ((2.0 * k - 1.0) ** 2 / (8.0 * k))
    return np.where(x < BESSEL_FAR, np.log(series) - near, np.log(rest) - 0.5 * np.log(far) - HALF_LOG_TAU)


def log_mills(z):
    """log of the normal distribution's mass above `z`, and z**2 / 2 more, for `z` from TAIL_FAR on.

    Laplace's continued fraction, DLMF 7.9.1: 1 / (z + 1 / (z + 2 / (z + 3 / ...))) by sqrt(2 pi).
    """
    total = z
    for k in range(TAIL_TERMS, 0, -1):
        total = z + k / total
    return -np.log(total) - HALF_LOG_TAU


def log_normal_mass(low, high):
    """log of the mass of the standard normal distribution between two numbers, `low < high`, in either tail.

    A narrow piece is a sum over Gauss and Legendre's nodes; one with zero inside is a sum of two error functions, and
    one beside zero, mirrored to the right, the difference of two tails, far out by their ratios to the density there.
    """
    a, b = np.where(low + high < 0.0, -high, low), np.where(low + high < 0.0, -low, high)
    is_wide = (b - a) * (1.0 + np.abs(b)) >= 1.0
    left, width = np.where(is_wide, 0.0, a), np.where(is_wide, 1.0, b - a)
    middle = left + 0.5 * width
    narrow = 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        shift = node * width
        narrow = narrow + weight * np.exp(-0.5 * shift * shift) * np.cosh(middle * shift)
    is_far = is_wide & (a > TAIL_FAR)
    edge, end = np.where(is_far, a, TAIL_FAR), np.where(is_far, b, TAIL_FAR + 1.0)
    drop = np.exp(log_mills(end) - log_mills(edge) - 0.5 * (end - edge) * (end + edge))
    far = log_mills(edge) - 0.5 * edge * edge + np.log1p(-drop)
    is_near = is_wide & (a <= TAIL_FAR)
    p, q = np.where(is_near, a, 0.0) * 0.7071067811865476, np.where(is_near, b, 1.0) * 0.7071067811865476
    near = np.where(p > 0.0, math.erfc(p) - math.erfc(q), math.erf(q) - math.erf(p))
    about = np.log(narrow) + np.log(width) - 0.5 * middle * middle - HALF_LOG_TAU
    return np.where(is_wide, np.where(is_far, far, np.log(0.5 * near)), about)


def log_sum_exp(terms):
    """log(sum(exp(terms))) along the last axis; -inf, without a derivative, where all terms are."""
    greatest = terms.max(axis=-1, keepdims=True)
    shift = np.where(np.abs(greatest) < np.inf, greatest, 0.0)
    total = np.exp(terms - shift).sum(axis=-1)
    return np.where(total == 0.0, -np.inf, np.log(np.where(total == 0.0, 1.0, total))) + shift[..., 0]
