"""log, log2, log10 and log1p after FreeBSD's msun (e_log.c, e_log2.c, e_log10.c, s_log1p.c, k_log.h).

x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f), by a minimax
polynomial in s*s whose error is below 2**-58.
"""

from __future__ import annotations

from .exponential import LN2_HIGH, LN2_LOW
from .expr import Lanes, multiply_add, polynomial

SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
ONE_BITS = 0x3FF0000000000000
MANTISSA = 0x000FFFFFFFFFFFFF
SMALLEST_NORMAL = 2.0**-1022
INFINITY, NAN = float("inf"), float("nan")
ATANH = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
INVERSE_LN2_HIGH, INVERSE_LN2_LOW = 1.44269504072144627571e00, 1.67517131648865118353e-10
INVERSE_LN10_HIGH, INVERSE_LN10_LOW = 4.34294481878168880939e-01, 2.50829467116452752298e-11
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
HIGH_WORD = -(2**32)


def decomposed(x: Lanes) -> tuple[Lanes, Lanes]:
    """k (as a double) and m in [sqrt(1/2), sqrt(2)) with x = 2**k * m, for positive finite x, denormals
    included."""
    tiny = x < SMALLEST_NORMAL
    bits = tiny.choose(x * 2.0**54, x).bits + (ONE_BITS - SQRT_HALF_BITS)
    k = (bits >> 52) - 1023
    k = tiny.choose(k - 54, k)
    return k.as_double, ((bits & MANTISSA) + SQRT_HALF_BITS).from_bits


def log1p_terms(f: Lanes) -> tuple[Lanes, Lanes]:
    """f*f/2 and t with log(1 + f) = f - (f*f/2 - t)."""
    half_square = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    return half_square, s * multiply_add(polynomial(z, ATANH), z, half_square)


def with_specials(x: Lanes, result: Lanes, pole: float = 0.0) -> Lanes:
    """-inf at the pole, nan below it, inf and nan as they are."""
    result = (x < INFINITY).choose(result, x)
    result = x.equals(pole).choose(-INFINITY, result)
    return (x < pole).choose(NAN, result)


def log(x: Lanes) -> Lanes:
    k, m = decomposed(x)
    f = m - 1.0
    half_square, t = log1p_terms(f)
    result = multiply_add(k, LN2_HIGH, f - (half_square - multiply_add(k, LN2_LOW, t)))
    return with_specials(x, result)


def in_base(x: Lanes, inverse: tuple[float, float], log_2: tuple[float, float]) -> Lanes:
    """log(x) times the constant `inverse` (given as high + low), where `log_2` is that product for x = 2."""
    k, m = decomposed(x)
    f = m - 1.0
    half_square, t = log1p_terms(f)
    high = ((f - half_square).bits & HIGH_WORD).from_bits
    low = (f - high) - half_square + t
    main, whole = high * inverse[0], k * log_2[0]
    total = whole + main
    rest = k * log_2[1] + (low + high) * inverse[1] + low * inverse[0] + ((whole - total) + main)
    return with_specials(x, rest + total)


def log2(x: Lanes) -> Lanes:
    return in_base(x, (INVERSE_LN2_HIGH, INVERSE_LN2_LOW), (1.0, 0.0))


def log10(x: Lanes) -> Lanes:
    return in_base(x, (INVERSE_LN10_HIGH, INVERSE_LN10_LOW), (LOG10_2_HIGH, LOG10_2_LOW))


def log1p(x: Lanes) -> Lanes:
    total = 1.0 + x
    lost = (x > 1.0).choose(1.0 - (total - x), x - (total - 1.0)) / total
    k, m = decomposed(total)
    near = k.equals(0.0)
    f = near.choose(x, m - 1.0)
    lost = (near | (k > 53.0)).choose(0.0, lost)
    half_square, t = log1p_terms(f)
    result = multiply_add(k, LN2_HIGH, f - (half_square - (multiply_add(k, LN2_LOW, lost) + t)))
    result = (x.magnitude < 2.0**-54).choose(x, result)
    return with_specials(x, result, -1.0)
