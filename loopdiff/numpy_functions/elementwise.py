"""Functions of numbers, element by element, in those that Numba has."""

from __future__ import annotations

import math

import numpy as np

from loopdiff.numpy_functions.branching import holds_complex, holds_integers, is_of_numpys_own, is_of_pythons_own
from loopdiff.rules.marks import stop_gradient


def around(a, decimals=0):
    """`a` rounded to so many decimals, as NumPy does it: by products and quotients that are rounded themselves."""
    if holds_integers(a):
        assert decimals >= 0, "np.round takes floating numbers here where `decimals` is negative"
        return +a
    if decimals < 0:
        return np.rint(a / 10.0**-decimals) * 10.0**-decimals
    return np.rint(a * 10.0**decimals) / 10.0**decimals


def to_digits(number, ndigits):
    """`round(number, ndigits)`: NumPy's numbers are rounded as by `np.round`, Python's to the nearest decimal."""
    if holds_integers(number):
        assert ndigits >= 0, "round takes floating numbers here where `ndigits` is negative"
        return +number
    if is_of_numpys_own(number):
        return around(number, ndigits)
    found = to_nearest_decimal(number, ndigits)
    if not is_of_pythons_own(number):
        is_same = not abs(found - around(number, ndigits)) * 10.0**ndigits > 0.5
        assert is_same, "here Python and NumPy round differently, and whose number this is depends on the way here"
    return found


def to_nearest_decimal(number, ndigits):
    """The decimal of so many digits that is nearest to `number`, of two the even one: its product with a power of ten,
    `scaled`, and what that product lacks say which."""
    assert 0 <= ndigits <= 22, "round takes 0 to 22 digits here"
    power = 10.0**ndigits
    scaled = abs(number) * power
    if not scaled < 2.0**53:
        return stop_gradient(number)
    assert scaled < 2.0**52, "round takes numbers with fewer digits here"
    lack = product_error(abs(number), power, scaled)
    whole = math.floor(scaled)
    above = (scaled - whole) - 0.5 + lack
    if above > 0.0 or (above == 0.0 and whole % 2 == 1):
        whole += 1
    return math.copysign(1.0, number) * (whole / power)


def product_error(x1, x2, product):
    """What `product`, rounded, lacks of x1 * x2 (Dekker): both are sums of halves, whose products are exact."""
    first, second = 134217729.0 * x1, 134217729.0 * x2
    high1, high2 = first - (first - x1), second - (second - x2)
    low1, low2 = x1 - high1, x2 - high2
    return ((high1 * high2 - product) + high1 * low2 + low1 * high2) + low1 * low2


def divided(x1, x2):
    """Quotients and remainders."""
    return x1 // x2, x1 % x2


def logaddexp(x1, x2):
    """log(exp(x1) + exp(x2)), which need not fit into a number; of two equal numbers by its series, which has the
    derivatives that it has there, up to the fifth."""
    far = np.where(x1 == x2, 0.0, np.abs(x1 - x2))
    near = np.where((x1 == x2) & np.isfinite(x1), x1 - x2, 0.0)
    equal = (x1 + x2) / 2.0 + np.log(2.0) + near * near * (1.0 - near * near / 24.0) / 8.0
    return np.where(x1 == x2, equal, np.maximum(x1, x2) + np.log1p(np.exp(-far)))


def logaddexp2(x1, x2):
    """log2(2**x1 + 2**x2)."""
    return logaddexp(x1 * np.log(2.0), x2 * np.log(2.0)) / np.log(2.0)


def sinc(x):
    """sin(pi x) / (pi x), and 1 at zero, where it is its series, for derivatives up to the fifth."""
    angle = np.pi * np.where(x == 0.0, 1e-20, x)
    square = (np.pi * x) ** 2
    return np.where(x == 0.0, 1.0 - square / 6.0 * (1.0 - square / 20.0), np.sin(angle) / angle)


def heaviside(x1, x2):
    """The step from 0 to 1, `x2` at zero."""
    return np.where(np.isnan(x1), x1, np.where(x1 < 0.0, 0.0, np.where(x1 > 0.0, 1.0, x2)))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """`x` with `nan` for what is not a number, and the largest numbers, or others, for infinities."""
    assert copy == True, "np.nan_to_num makes a copy here, but as a statement of its own"  # noqa: E712
    if holds_integers(x):
        return +x
    if holds_complex(x):
        real = nan_to_num(+x.real, True, nan, posinf, neginf)
        return real + 1j * nan_to_num(+x.imag, True, nan, posinf, neginf)
    finite = np.where(np.isfinite(x), x, 0.0)
    largest = np.where(np.isfinite(0.0 * finite + 1e300), 1.7976931348623157e308, 3.4028234663852886e38)
    above = largest if posinf is None else posinf
    below = -largest if neginf is None else neginf
    return np.where(np.isnan(x), nan, np.where(x == np.inf, above, np.where(x == -np.inf, below, x)))


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether two numbers are equal, or differ by no more than is said."""
    is_close = (a == b) | (np.isfinite(b) & (np.abs(a - b) <= atol + rtol * np.abs(b)))
    if equal_nan:
        return is_close | (np.isnan(a) & np.isnan(b))
    return is_close


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return np.all(isclose(a, b, rtol, atol, equal_nan))


def positive(x):
    return +x


def logical_xor(x1, x2):
    return (x1 != 0) != (x2 != 0)


def signbit(x):
    """Whether numbers are negative, or zeros with that sign."""
    return np.copysign(1.0, x) < 0.0


def isposinf(x):
    return x == np.inf


def isneginf(x):
    return x == -np.inf


def modf(x):
    """What is behind the point, and what is before it."""
    whole = np.trunc(1.0 * x)
    return np.where(np.isinf(x), 0.0, x - whole), whole


def iscomplexobj(x):
    return holds_complex(x)


def isrealobj(x):
    return not holds_complex(x)


def iscomplex(x):
    """Where the imaginary part is not zero."""
    return np.imag(x) != 0


def isreal(x):
    return np.imag(x) == 0


def array_equiv(a1, a2):
    """Whether elements are equal where one array is repeated to the shape of the other."""
    return (a1 == a2).all()
