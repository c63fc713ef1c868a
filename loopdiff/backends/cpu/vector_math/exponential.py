"""exp, exp2, expm1 and tanh: reduction by multiples of ln 2 in two parts (Cody and Waite, "Software Manual
for the Elementary Functions", 1980), then on |r| <= ln(2)/2 for doubles the Taylor polynomial, whose remainder is below
2**-57, and for singles a minimax one."""

from __future__ import annotations

from math import factorial, log

from loopdiff.immutable import immutable

from .expr import DOUBLE, Lanes, at_most, clamp, fused, multiply_add, power_of_two, rounded, split_polynomial, two_sum
from .registers import scaled

LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # trailing zeros: products with an exponent are exact
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
TAYLOR = tuple(1.0 / factorial(k) for k in range(2, 14))


@immutable
class Constants:
    """ln(2) in two parts; exp(r) = 1 + r + r*r P(r) for |r| <= ln(2)/2; tanh(u) = u + u**3 P(u**2) for |u| <= ln(2)/4;
    the powers of 2 that stay beyond all results; expm1 is x below `tiny`, and -1 below -`all_lost`."""

    ln2: tuple[float, float]
    exp: tuple[float, ...]
    tanh: tuple[float, ...]
    least: float
    most: float
    tiny: float
    all_lost: float


# The error of `tanh`, minimax, is 2**-57.
DOUBLES = Constants(
    (LN2_HIGH, LN2_LOW),
    TAYLOR,
    (
        -0.3333333333333249, 0.13333333332785186, -0.05396825278420884, 0.021869370861320563,
        -0.008857313220293784, 0.003444888052980933,
    ),
    -1076.0, 1025.0, 2.0**-54, 40.0,
)  # fmt: skip
# Minimax: errors of 2**-26 and 2**-32.
SINGLES = Constants(
    (float.fromhex("0x1.62e3p-1"), float.fromhex("0x1.2fefa4p-17")),
    (0.49999997, 0.16666543, 0.0416672, 0.00836658, 0.0013882514),
    (-0.33333322, 0.1333118, -0.052725557),
    -151.0, 129.0, 2.0**-25, 20.0,
)  # fmt: skip


def constants(x: Lanes) -> Constants:
    return DOUBLES if x.format is DOUBLE else SINGLES


def reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """Whole n (as a float) and r with x = n ln 2 + r."""
    high, low = constants(x).ln2
    n, _ = rounded(x, LOG2_E)
    return n, multiply_add(n, -low, multiply_add(n, -high, x))


def small_expm1(r: Lanes) -> Lanes:
    """exp(r) - 1 for |r| <= ln(2)/2."""
    return multiply_add(r * r, split_polynomial(r, constants(r).exp), r)


def exp(x: Lanes) -> Lanes:
    ends = constants(x)
    n, r = reduced(clamp(x, log(2.0) * ends.least, log(2.0) * ends.most))
    return scaled(small_expm1(r) + 1.0, n)


def exp2(x: Lanes) -> Lanes:
    x = clamp(x, constants(x).least, constants(x).most)
    n, _ = rounded(x, 1.0)
    return scaled(small_expm1((x - n) * log(2.0)) + 1.0, n)


def expm1(x: Lanes) -> Lanes:
    ends = constants(x)
    n, r = reduced(clamp(x, -ends.all_lost, log(2.0) * (ends.most - 0.6)))
    # Half of 2**n, because the power next to the largest number overflows.
    half = power_of_two(n.as_integer - 1)
    result = 2.0 * multiply_add(half, small_expm1(r), half - 0.5)
    return (x.magnitude < ends.tiny).choose(x, result)


def tanh(x: Lanes) -> Lanes:
    """(t (2**n + 1) + 2**n - 1) / (t (2**n - 1) + 2**n + 1) with |x| = n ln(2)/2 + u and t = tanh(u)."""
    (high, low), series = constants(x).ln2, constants(x).tanh
    a = at_most(x.magnitude, 22.0)
    n, shifted = rounded(a, 2.0 * LOG2_E)
    u = multiply_add(n, -0.5 * low, multiply_add(n, -0.5 * high, a))
    z = u * u
    t = multiply_add(u * z, split_polynomial(z, series), u)
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
