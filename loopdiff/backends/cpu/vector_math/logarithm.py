"""log and log1p from a table of 16 logarithms; log2 and log10 after FreeBSD's msun (e_log2.c, e_log10.c, k_log.h).

The latter: x = 2**k * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 atanh(s), s = f / (2 + f), by a
minimax polynomial in s*s whose error is below 2**-58.
"""

from __future__ import annotations

from loopdiff.immutable import immutable

from . import exponential
from .expr import DOUBLE, Lanes, at_most, fused, multiply_add, polynomial, split_polynomial
from .registers import INFINITY, log_specials, look_up, mantissa_exponent, scaled, split_bits

SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
ATANH = (
    6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
    1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
)  # fmt: skip
INVERSE_LN2_HIGH, INVERSE_LN2_LOW = 1.44269504072144627571e00, 1.67517131648865118353e-10
INVERSE_LN10_HIGH, INVERSE_LN10_LOW = 4.34294481878168880939e-01, 2.50829467116452752298e-11
LOG10_2_HIGH, LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
HIGH_WORD = -(2**32)


@immutable
class Table:
    """By the first four bits of m's fraction, so 1 to 3/2 and then 3/4 to 1: `inverses` c near 1/m, and `minus_logs`
    -log(c). log(1 + r) = r + r*r P(r) on [-1/32, 1/16], minimax. ln(2) in two parts, products of the first exact."""

    inverses: tuple[float, ...]
    minus_logs: tuple[float, ...]
    series: tuple[float, ...]
    ln2: tuple[float, float]


# c is chosen so that -log(c) is within 2**-60 of a multiple of 2**-42; P's error is 2**-56 r.
DOUBLES = Table(
    (
        1.0, 0.9156571428815232, 0.8657297297527399, 0.8217435897559467, 0.7812682926993012, 0.7453023255890636,
        0.7118222222231685, 0.6815319149057633, 1.3067755102081815, 1.2561568627688848, 1.2087547169916082,
        1.164800000035683, 1.1233684211106065, 1.0863728813678992, 1.0502295082262922, 1.0,
    ),
    (
        0.0, 0.08811328253932516, 0.14418250948483546, 0.19632686719114645, 0.24683666355053901,
        0.2939653367598112, 0.3399270866361803, 0.38341219855942654, -0.2675626602938337, -0.22805695098736578,
        -0.18959067014930042, -0.15254939849091897, -0.11633169061838089, -0.08284451558870387,
        -0.049008719547600776, 0.0,
    ),
    (
        -0.5000000000000002, 0.3333333333334755, -0.24999999999860933, 0.19999999927800244, -0.1666666616013381,
        0.1428581984286671, -0.1250186964832622, 0.11071430649494522, -0.08745031744908315,
    ),
    exponential.DOUBLES.ln2,
)  # fmt: skip
# -log(c) is all but a single; P's error is 2**-28 r.
SINGLES = Table(
    (
        1.0, 0.91390467, 0.86442655, 0.8219804, 0.7790887, 0.74348474, 0.709819, 0.68079823, 1.3068959,
        1.2536659, 1.2065855, 1.1622361, 1.1224352, 1.0858513, 1.0471848, 1.0,
    ),
    (
        0.0, 0.090029016, 0.14568894, 0.19603871, 0.2496304, 0.29640704, 0.34274524, 0.3844893, -0.26765475,
        -0.226072, -0.18779449, -0.15034582, -0.11550062, -0.0823643, -0.046105444, 0.0,
    ),
    (
        -0.5, 0.33334446, -0.2500667, 0.18855233,
    ),
    exponential.SINGLES.ln2,
)  # fmt: skip


def log1p_terms(f: Lanes) -> tuple[Lanes, Lanes]:
    """f*f/2 and t with log(1 + f) = f - (f*f/2 - t)."""
    half_square = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    return half_square, s * multiply_add(polynomial(z, ATANH), z, half_square)


def log_parts(m: Lanes, k: Lanes, lost: Lanes | None = None) -> tuple[Lanes, Lanes, Lanes]:
    """Three summands, from large to small, of the log of 2**k (m + lost), with m and k of `mantissa_exponent`: with c
    from the table, log(m) = -log(c) + log(1 + r), r = c m - 1."""
    is_halved = m < 1.0
    k = is_halved.choose(k + 1.0, k)
    table = DOUBLES if m.format is DOUBLE else SINGLES
    place = m.bits >> (m.format.fraction - 4)
    c = look_up(place, table.inverses)
    r = fused(m, c, -1.0)
    r = r if lost is None else multiply_add(is_halved.choose(0.5 * lost, lost), c, r)
    base = multiply_add(k, table.ln2[0], look_up(place, table.minus_logs))
    return base, r, multiply_add(r * r, split_polynomial(r, table.series), k * table.ln2[1])


def quick_sum(base: Lanes, r: Lanes, tail: Lanes) -> Lanes:
    """To about 1 unit in the last place."""
    return base + (r + tail)


def careful_sum(base: Lanes, r: Lanes, tail: Lanes) -> Lanes:
    """To less than 1 unit in the last place."""
    total = base + r
    error = r - (total - base)
    return total + (error.equals(error).choose(error, 0.0) + tail)  # the error of an infinite total is nan


def log(x: Lanes) -> Lanes:
    return quick_sum(*log_parts(*mantissa_exponent(x)))


def precise_log(x: Lanes) -> Lanes:
    return careful_sum(*log_parts(*mantissa_exponent(x)))


def log1p_parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Those of `log_parts`, from the rounded 1 + x and what the rounding lost."""
    large = x > 1.0
    total = 1.0 + x
    lost = large.choose(1.0, x) - (total - large.choose(x, 1.0))
    lost = (total < INFINITY).choose(lost, 0.0)
    m, k = mantissa_exponent(total)
    return log_parts(m, k, scaled(lost, at_most(-k, 64.0)))


def log1p(x: Lanes) -> Lanes:
    return quick_sum(*log1p_parts(x)).with_sign_of(x)


def precise_log1p(x: Lanes) -> Lanes:
    return careful_sum(*log1p_parts(x)).with_sign_of(x)


def in_base(x: Lanes, inverse: tuple[float, float], log_2: tuple[float, float]) -> Lanes:
    """log(x) times the constant `inverse` (given as high + low), where `log_2` is that product for x = 2."""
    k, m = split_bits(x, SQRT_HALF_BITS)
    f = m - 1.0
    half_square, t = log1p_terms(f)
    high = ((f - half_square).bits & HIGH_WORD).from_bits
    low = (f - high) - half_square + t
    main, whole = high * inverse[0], k * log_2[0]
    total = whole + main
    rest = k * log_2[1] + (low + high) * inverse[1] + low * inverse[0] + ((whole - total) + main)
    return log_specials(x, rest + total)


def log2(x: Lanes) -> Lanes:
    return in_base(x, (INVERSE_LN2_HIGH, INVERSE_LN2_LOW), (1.0, 0.0))


def log10(x: Lanes) -> Lanes:
    return in_base(x, (INVERSE_LN10_HIGH, INVERSE_LN10_LOW), (LOG10_2_HIGH, LOG10_2_LOW))
