"""pow: 2**(y log2(x)) with log2(x) from a table and a polynomial, as an unevaluated sum of two floats. The precise
pow, of doubles, also takes what the other leaves: 2 atanh for log(x) and the product with y as sums of two doubles
(Dekker 1971), then exp.

The special cases are those of C99 (annex F.9.4.4), which NumPy and Python follow.
"""

from __future__ import annotations

from struct import pack, unpack

from loopdiff.immutable import immutable

from .exponential import LN2_HIGH, LN2_LOW, reduced, small_expm1
from .expr import (
    DOUBLE,
    SINGLE,
    Lanes,
    clamp,
    function_of,
    fused,
    multiply_add,
    polynomial,
    split_polynomial,
    two_product,
    two_sum,
)
from .logarithm import SQRT_HALF_BITS
from .registers import INFINITY, NAN, look_up, mantissa_exponent, scaled, split_bits

THIRD_2 = (2.0 / 3.0, float.fromhex("0x1.5555555555555p-55"))
SERIES = tuple(2.0 / (2 * k + 5) for k in range(12))


@immutable
class Table:
    """By the first four bits of m's fraction, so 1 to 3/2 and then 3/4 to 1, where 1 is added: -log2(c) in two parts,
    the first of which plus any exponent is exact. 1 / ln(2) in two parts. log2(1 + r) = r / ln(2) - r**2 / (2 ln(2))
    + r**3 P(r) on [-0.038, 0.0625], and 2**f = 1 + f Q(f) for |f| <= 1/32, minimax. Powers between 2**-most and
    2**most are normal. `roots` are 2**(j/16), their bits less those that j adds when it moves to the exponent."""

    high: tuple[float, ...]
    low: tuple[float, ...]
    inverse_ln2: tuple[float, float]
    log2: tuple[float, ...]
    exp2: tuple[float, ...]
    most: float
    roots: tuple[float, ...]


# c near 1/m, with so few bits that c m - 1 is exact.
INVERSES = (
    1.0, 0.90625, 0.875, 0.8125, 0.78125, 0.75, 0.71875, 0.6875, 1.3125, 1.25, 1.1875, 1.1875, 1.125, 1.0625,
    1.0625, 1.0,
)  # fmt: skip
# Errors of 2**-66 and 2**-57.
DOUBLES = Table(
    (
        0.0, 0.14201900487250896, 0.1926450779424158, 0.29956028185893047, 0.356143810225376,
        0.41503749927892386, 0.47643804394306244, 0.5405683813626183, 0.6076825772213397, 0.6780719051125743,
        0.7520724865564716, 0.7520724865564716, 0.8300749985576203, 0.9125371587497284, 0.9125371587497284, 1.0,
    ),
    (
        0.0, -8.107893466726174e-14, -1.9917399279874596e-14, -2.262651135603261e-14, -1.0069648492950886e-13,
        -8.00418555854124e-14, -7.531150579247643e-14, 8.443284155858175e-14, -9.995925486528699e-14,
        6.33385952568616e-14, -5.712484083531846e-14, -5.712484083531846e-14, 6.728996427240727e-14,
        -6.781363655020842e-14, -6.781363655020842e-14, 0.0,
    ),
    (1.4426950408889634, 2.0355273740931033e-17),
    (
        0.48089834696298756, -0.3606737602222379, 0.2885390081791803, -0.24044917350361195, 0.2060992889551635,
        -0.18033682744821652, 0.1603012369158381, -0.14431778190714792, 0.1309086636816171,
        -0.10542968817160965,
    ),
    (
        0.6931471805599468, 0.2402265069591011, 0.055504108652048224, 0.009618129105711406,
        0.0013333819296462639, 0.0001540381486332813,
    ),
    1020.0,
    tuple(unpack("d", pack("q", unpack("q", pack("d", 2.0 ** (j / 16.0)))[0] - (j << 48)))[0] for j in range(16)),
)  # fmt: skip
# Errors of 2**-33 and 2**-29.
SINGLES = Table(
    (
        0.0, 0.14201355, 0.19264221, 0.29956055, 0.35614014, 0.41503906, 0.47644043, 0.5405731, 0.60768127,
        0.67807007, 0.7520751999999999, 0.7520751999999999, 0.83007812, 0.91253662, 0.91253662, 1.0,
    ),
    (
        0.0, 5.455068e-06, 2.8660284e-06, -2.650161e-07, 3.6735066e-06, -1.5632212e-06, -2.3857444e-06,
        -4.7387543e-06, 1.3028072e-06, 1.8367533e-06, -2.708756e-06, -2.708756e-06, -3.1264424e-06,
        5.376559e-07, 5.376559e-07, 0.0,
    ),
    (1.442695, 1.925963e-08),
    (
        0.4808983, -0.36069137, 0.28879192, -0.22767395,
    ),
    (
        0.6931472, 0.2402343, 0.055505954,
    ),
    125.0,
    tuple(unpack("f", pack("i", unpack("i", pack("f", 2.0 ** (j / 16.0)))[0] - (j << 19)))[0] for j in range(16)),
)  # fmt: skip


def precise_log(x: Lanes) -> tuple[Lanes, Lanes]:
    """log(x) for positive finite x as a sum of two doubles, to about 2**-66 relative."""
    k, m = split_bits(x, SQRT_HALF_BITS)
    f = m - 1.0
    g = m + 1.0
    g_low = m - (g - 1.0)
    s = f / g
    s_low = fused(-s, g, f) - s * g_low
    s_low = s_low / g
    z, z_low = two_product(s, s)
    z_low = z_low + 2.0 * s * s_low
    cube, cube_low = two_product(s, z)
    cube_low = cube_low + s * z_low + s_low * z
    third, third_low = two_product(cube, THIRD_2[0])
    third_low = third_low + cube * THIRD_2[1] + cube_low * THIRD_2[0]
    tail = cube * z * polynomial(z, SERIES)
    high, low = two_sum(2.0 * s, third)
    low = low + (2.0 * s_low + third_low + tail)
    total, error = two_sum(k * LN2_HIGH, high)
    error = error + (k * LN2_LOW + low)
    result = total + error
    return result, (total - result) + error


def precise_pow(x: Lanes, y: Lanes) -> Lanes:
    a = x.magnitude
    high, low = precise_log(a)
    product, product_low = two_product(high, y)
    product_low = product_low + low * y
    outside = product.magnitude > 800.0
    product_low = outside.choose(0.0, product_low)
    n, r = reduced(clamp(product, -746.0, 710.0))
    result = scaled(small_expm1(r + product_low) + 1.0, n)
    return with_specials(x, y, a, result)


def with_specials(x: Lanes, y: Lanes, a: Lanes, result: Lanes) -> Lanes:
    """Zeros, infinities, nans and negative bases."""
    zero = x.new(x.of(0.0))
    infinity = zero + INFINITY
    grows = y > 0.0
    result = a.equals(0.0).choose(grows.choose(zero, infinity), result)
    result = a.equals(INFINITY).choose(grows.choose(infinity, zero), result)
    up = (a > 1.0) & grows | (a < 1.0) & (y < 0.0)
    result = y.magnitude.equals(INFINITY).choose(up.choose(infinity, zero), result)
    whole = y.nearest.equals(y)
    half = 0.5 * y
    odd = whole & ~half.nearest.equals(half)
    negative = x.bits < 0
    result = (negative & odd).choose(-result, result)
    result = ((x < 0.0) & (a < INFINITY) & ~whole).choose(NAN, result)
    result = (x.equals(x) & y.equals(y)).choose(result, NAN)
    minus_one = x.equals(-1.0) & y.magnitude.equals(INFINITY)
    return (x.equals(1.0) | y.equals(0.0) | minus_one).choose(1.0, result)


def log2_parts(x: Lanes, table: Table) -> tuple[Lanes, Lanes]:
    """log2(x) of positive finite x as a sum of two floats, to about ten bits more than one has; else not finite."""
    m, k = mantissa_exponent(x)
    place = m.bits >> (x.format.fraction - 4)
    r = fused(m, look_up(place, INVERSES), -1.0)
    one, one_low = table.inverse_ln2
    # one - r one/2, by which r is multiplied, and what the rounding loses.
    slope = fused(r, -0.5 * one, one)
    slope_low = multiply_add(slope, one_low / one, fused(r, -0.5 * one, one - slope))
    base = k + look_up(place, table.high)
    total = fused(r, slope, base)
    low = multiply_add(r, slope_low, fused(r, slope, base - total) + look_up(place, table.low))
    return total, multiply_add(r * (r * r), split_polynomial(r, table.log2), low)


def quick_pow(x: Lanes, y: Lanes) -> tuple[Lanes, Lanes]:
    """x**y = 2**(y log2(x)), and where that does not hold: signs, powers that may not be normal, and no numbers."""
    table = DOUBLES if x.format is DOUBLE else SINGLES
    high, low = log2_parts(x, table)
    rest = low * y
    exponent = multiply_add(high, y, rest)
    sixteenths = x.format.magic / 16.0
    shifted = exponent + sixteenths
    f = fused(high, y, sixteenths - shifted) + rest
    scale = (look_up(shifted.bits, table.roots).bits + (shifted.bits << (x.format.fraction - 4))).from_bits
    return multiply_add(scale * f, split_polynomial(f, table.exp2), scale), ~(exponent.magnitude < table.most)


def pow_(x: Lanes, y: Lanes) -> Lanes:
    result, is_special = quick_pow(x, y)
    return is_special.where_any(lambda: function_of(special_pow, x, y), result)


def special_pow(x: Lanes, y: Lanes) -> Lanes:
    """The power of |x|, with its sign or none."""
    result, is_extreme = quick_pow(x.magnitude, y)
    result = is_extreme.where_any(lambda: careful_pow(x.magnitude, y), result)
    whole = y.nearest.equals(y)
    half = 0.5 * y
    odd = whole & ~half.nearest.equals(half)
    undefined = (x < 0.0) & (x > -INFINITY) & ~whole
    return undefined.choose(NAN, ((x.bits < 0) & odd).choose(-result, result))


def careful_pow(a: Lanes, y: Lanes) -> Lanes:
    if a.format is DOUBLE:
        return function_of(precise_pow, a, y)
    return function_of(precise_pow, a.cast(DOUBLE), y.cast(DOUBLE)).cast(SINGLE)
