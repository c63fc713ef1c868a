"""Bessel functions and the normal distribution: by series, which have few terms, integrals of waves, and expansions far
from zero."""

from __future__ import annotations

import math

import numpy as np

from loopdiff.numpy_functions.branching import holds_complex
from loopdiff.rules.marks import stop_gradient

TERMS = 64  # of the series, enough up to 25; the expansions have fewer before they grow


def i0(x):
    """The modified Bessel function of order zero."""
    return of_each_number(modified_zero, x)


def i1(x):
    return of_each_number(modified_one, x)


def j0(x):
    """The Bessel function of order zero."""
    return of_each_number(wave_zero, x)


def j1(x):
    return of_each_number(wave_one, x)


def of_each_number(f, x):
    assert not holds_complex(x), "this function of scipy.special takes real numbers here"
    if np.ndim(x) == 0:
        return f(1.0 * x)
    flat = np.ravel(1.0 * x)
    out = np.empty_like(flat)
    for i in range(flat.shape[0]):
        out[i] = f(flat[i])
    return out.reshape(x.shape)


def modified_zero(x):
    return modified(x, 0.0, 1.0)


def modified_one(x):
    return modified(x, 1.0, 0.5 * x)


def modified(x, order, first):
    """The sum of powers of x^2 / 4 over factorials, which all have one sign, from its `first` term; far from zero an
    exponential by an expansion in 1 / x (Abramowitz and Stegun, 9.6.10 and 9.7.1)."""
    if abs(x) < 25.0 or x != x:
        term = first
        total = first
        for k in range(1, TERMS):
            term *= 0.25 * x * x / (k * (k + order))
            total += term
        return total
    size = abs(x)
    part = 1.0
    whole = 1.0
    for k in range(1, 26):
        part *= ((2.0 * k - 1.0) ** 2 - 4.0 * order) / (8.0 * k * size)
        whole += part
    value = np.exp(0.5 * size) / np.sqrt(2.0 * np.pi * size) * whole * np.exp(0.5 * size)
    return -value if order == 1.0 and x < 0.0 else value


def wave_zero(x):
    if abs(x) < 25.0:
        total = 0.5 + 0.5 * np.cos(x)
        for k in range(1, 24):
            total += np.cos(x * np.sin(np.pi / 48.0 * k))
        return total / 24.0
    return far_wave(abs(x), 0.0)


def wave_one(x):
    if abs(x) < 25.0:
        total = 0.5 * np.sin(x)
        for k in range(1, 24):
            angle = np.pi / 48.0 * k
            total += np.sin(x * np.sin(angle)) * np.sin(angle)
        return total / 24.0
    return far_wave(abs(x), 1.0) * np.sign(x)


def far_wave(x, order):
    """Hankel's expansion (Abramowitz and Stegun, 9.2.5)."""
    part, real, imaginary = 1.0, 1.0, 0.0
    for k in range(1, 13):
        part *= (4.0 * order - (4.0 * k - 3.0) ** 2) / (8.0 * (2.0 * k - 1.0) * x)
        imaginary += part
        part *= -(4.0 * order - (4.0 * k - 1.0) ** 2) / (16.0 * k * x)
        real += part
    angle = x - (0.5 * order + 0.25) * np.pi
    return np.sqrt(2.0 / (np.pi * x)) * (real * np.cos(angle) - imaginary * np.sin(angle))


def kaiser(M, beta):
    """A window that falls off as the Bessel function does."""
    place = np.arange(1 - M, M, 2) / max(M - 1, 1)
    return i0(np.float64(beta) * np.sqrt(1.0 - place * place)) / i0(np.float64(beta))


# -- the normal distribution -----------------------------------------------------------------------------------
def ndtr(x):
    """The share of a normal distribution that is less."""
    return of_each_number(normal_share, x)


def log_ndtr(x):
    return of_each_number(log_of_normal_share, x)


def erfinv(y):
    return of_each_number(inverse_error, y)


def normal_share(x):
    return 0.5 * math.erfc(-math.sqrt(0.5) * x)


def log_of_normal_share(x):
    if x > 1.0:
        return math.log1p(-0.5 * math.erfc(math.sqrt(0.5) * x))
    if x > -14.0 or x != x:
        return math.log(normal_share(x))
    part, total = 1.0, 1.0
    for k in range(1, 16):
        part *= (1.0 - 2.0 * k) / (x * x)
        total += part
    return math.log(total / -x) - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi)


def inverse_error(y):
    """The number whose error function is `y`: Newton's steps, far out those of the logarithm, from what Giles gives
    ("Approximating the erfinv function", GPU Computing Gems 2, 2011)."""
    if abs(y) <= 0.5:
        near = stop_gradient(math.copysign(near_inverse(abs(y)), y))
        for _ in range(4):
            near -= (math.erf(near) - y) / (2.0 / math.sqrt(math.pi) * math.exp(-near * near))
        return near
    size = abs(y)
    if size >= 1.0 or y != y:
        return math.copysign(np.inf, y) if size == 1.0 else np.nan
    z = stop_gradient(near_inverse(size))
    for _ in range(4):
        slope = 2.0 / math.sqrt(math.pi) * math.exp(-z * z)
        z += math.log(math.erfc(z) / (1.0 - size)) * math.erfc(z) / slope
    return math.copysign(1.0, y) * z


def near_inverse(y):
    w = -math.log((1.0 - y) * (1.0 + y))
    if w < 5.0:
        v = w - 2.5
        p = 2.81022636e-08 * v + 3.43273939e-07
        p = ((p * v - 3.5233877e-06) * v - 4.39150654e-06) * v + 0.00021858087
        return y * ((((p * v - 0.00125372503) * v - 0.00417768164) * v + 0.246640727) * v + 1.50140941)
    v = math.sqrt(w) - 3.0
    p = -0.000200214257 * v + 0.000100950558
    p = ((p * v + 0.00134934322) * v - 0.00367342844) * v + 0.00573950773
    return y * ((((p * v - 0.0076224613) * v + 0.00943887047) * v + 1.00167406) * v + 2.83297682)
