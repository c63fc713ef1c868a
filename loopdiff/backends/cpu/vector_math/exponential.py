"""exp, exp2, expm1 and tanh: reduction by multiples of ln 2 in two parts (Cody and Waite, "Software Manual
for the Elementary Functions", 1980), then the Taylor polynomial on |r| <= ln(2)/2, whose remainder is below
2**-57."""

from __future__ import annotations

from math import factorial, log

from .expr import (
    Lanes,
    at_most,
    clamp,
    fused,
    multiply_add,
    polynomial,
    power_of_two,
    rounded,
    split_polynomial,
    two_sum,
)
from .registers import scaled

LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # trailing zeros: products with an exponent are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
TAYLOR = tuple(1.0 / factorial(k) for k in range(2, 14))
# tanh(u) = u + u**3 P(u**2) for |u| <= ln(2)/4, minimax with an error of 2**-57.
TANH = (
    -0.3333333333333249, 0.13333333332785186, -0.05396825278420884, 0.021869370861320563, -0.008857313220293784,
    0.003444888052980933,
)  # fmt: skip


def reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """Whole n (as a double) and r with x = n ln 2 + r."""
    n, _ = rounded(x, LOG2_E)
    return n, multiply_add(n, -LN2_LOW, multiply_add(n, -LN2_HIGH, x))


def small_expm1(r: Lanes) -> Lanes:
    """exp(r) - 1 for |r| <= ln(2)/2."""
    return multiply_add(r * r, split_polynomial(r, TAYLOR), r)


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
    """(t (2**n + 1) + 2**n - 1) / (t (2**n - 1) + 2**n + 1) with |x| = n ln(2)/2 + u and t = tanh(u)."""
    a = at_most(x.magnitude, 22.0)
    n, shifted = rounded(a, 2.0 * LOG2_E)
    u = multiply_add(n, -0.5 * LN2_LOW, multiply_add(n, -0.5 * LN2_HIGH, a))
    z = u * u
    t = multiply_add(u * z, polynomial(z, TANH), u)
    power = power_of_two(shifted.bits)
    less, more = power - 1.0, power + 1.0
    return (multiply_add(t, more, less) / multiply_add(t, less, more)).with_sign_of(x)


def precise_tanh(x: Lanes) -> Lanes:
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
