"""exp, exp2, expm1 and tanh: reduction by multiples of ln 2 in two parts (Cody and Waite, "Software Manual
for the Elementary Functions", 1980), then the Taylor polynomial on |r| <= ln(2)/2, whose remainder is below
2**-57."""

from __future__ import annotations

from math import factorial, log

from .expr import Lanes, fused, multiply_add, split_polynomial, two_sum

LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # trailing zeros: products with an exponent are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
TAYLOR = tuple(1.0 / factorial(k) for k in range(2, 14))


def clamp(x: Lanes, low: float, high: float) -> Lanes:
    """`x` limited to [low, high]; nan stays nan."""
    x = (x < low).choose(low, x)
    return (x > high).choose(high, x)


def power_of_two(n: Lanes) -> Lanes:
    """2**n for integer lanes in the normal exponent range."""
    return ((n + 1023) << 52).from_bits


def reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """Whole n (as a double) and r with x = n ln 2 + r."""
    n = (x * LOG2_E).nearest
    return n, multiply_add(n, -LN2_LOW, multiply_add(n, -LN2_HIGH, x))


def small_expm1(r: Lanes) -> Lanes:
    """exp(r) - 1 for |r| <= ln(2)/2."""
    return multiply_add(r * r, split_polynomial(r, TAYLOR), r)


def scaled(value: Lanes, n: Lanes) -> Lanes:
    """value * 2**n in two exact-or-final steps, so that denormal and overflowing results come out right."""
    n = n.as_integer
    half = n >> 1
    return value * power_of_two(half) * power_of_two(n - half)


def exp(x: Lanes) -> Lanes:
    n, r = reduced(clamp(x, -746.0, 710.0))
    return scaled(small_expm1(r) + 1.0, n)


def exp2(x: Lanes) -> Lanes:
    x = clamp(x, -1076.0, 1025.0)
    n = x.nearest
    return scaled(small_expm1((x - n) * log(2.0)) + 1.0, n)


def expm1(x: Lanes) -> Lanes:
    n, r = reduced(clamp(x, -40.0, 710.0))
    # Half of 2**n, because 2**1024 itself overflows.
    half = power_of_two(n.as_integer - 1)
    result = 2.0 * multiply_add(half, small_expm1(r), half - 0.5)
    return (x.magnitude < 2.0**-54).choose(x, result)


def tanh(x: Lanes) -> Lanes:
    """-E / (E + 2) with E = expm1(-2|x|) as an unevaluated sum of two doubles, and one division."""
    doubled = clamp(-2.0 * x.magnitude, -40.0, 0.0)
    n, r = reduced(doubled)
    lost = multiply_add(n, -LN2_LOW, fused(n, -LN2_HIGH, doubled) - r)
    power = power_of_two(n.as_integer)
    less_one, rounded = two_sum(power, power.new(power.of(-1.0)))
    total, error = two_sum(less_one, power * r)
    tail = multiply_add(r * r, split_polynomial(r, TAYLOR), lost)
    high, low = two_sum(total, multiply_add(power, tail, error + rounded))
    bottom, bottom_low = two_sum(high, high.new(high.of(2.0)))
    bottom_low = bottom_low + low
    inverse = 1.0 / bottom
    quotient = high * inverse
    residual = fused(-quotient, bottom, high) + (low - quotient * bottom_low)
    result = multiply_add(residual, inverse, quotient).magnitude.with_sign_of(x)
    return (x.magnitude < 2.0**-28).choose(x, result)
