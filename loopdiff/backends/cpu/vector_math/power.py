"""pow: 2 atanh for log(x) and the product with y as unevaluated sums of two doubles (Dekker 1971), then exp.

The special cases are those of C99 (annex F.9.4.4), which NumPy and Python follow.
"""

from __future__ import annotations

from .exponential import LN2_HIGH, LN2_LOW, reduced, small_expm1
from .expr import Lanes, clamp, fused, polynomial, two_product, two_sum
from .logarithm import SQRT_HALF_BITS
from .registers import INFINITY, NAN, scaled, split_bits

THIRD_2 = (2.0 / 3.0, float.fromhex("0x1.5555555555555p-55"))
SERIES = tuple(2.0 / (2 * k + 5) for k in range(12))


def log_parts(x: Lanes) -> tuple[Lanes, Lanes]:
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


def pow_(x: Lanes, y: Lanes) -> Lanes:
    a = x.magnitude
    high, low = log_parts(a)
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
