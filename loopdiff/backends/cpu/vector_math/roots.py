"""cbrt and hypot.

cbrt: an estimate of the reciprocal root from the bits of x, whose exponent is divided by 3 (error 3.5 %), then two
steps without divisions: of a minimax polynomial in 1 - x z**3 (error 2**-23), and of the series from a residual that
fused multiply-adds have exactly. hypot: the square root of a sum of squares that can neither overflow nor underflow.
"""

from __future__ import annotations

from .expr import DOUBLE, Lanes, fused, multiply_add, polynomial
from .registers import INFINITY

BIASED_WORD = 1430186338.0  # an estimate's high word is this less a third of x's
ROOT_STEP = (0.3333287281184395, 0.22222140414941, 0.1745389170930855, 0.14493849467058453)  # on |1 - x z**3| <= 0.103
TWO_POWER_52_BITS = 0x4330000000000000
HUGE, TINY = 2.0**500, 2.0**-500


def cbrt(x: Lanes) -> Lanes:
    magnitude = x.magnitude
    is_tiny = magnitude < DOUBLE.smallest_normal
    a = is_tiny.choose(magnitude * 2.0**54, magnitude)
    word = (a.bits.logical_shift(32) | TWO_POWER_52_BITS).from_bits  # the high word, plus 2**52
    z = (fused(word, -1.0 / 3.0, BIASED_WORD + 2.0**52 / 3.0 + DOUBLE.magic).bits << 32).from_bits
    error = fused(-(a * z), z * z, 1.0)
    z = multiply_add(z * error, polynomial(error, ROOT_STEP), z)
    root = a * (z * z)
    error = fused(-root, z, 1.0)
    root = multiply_add(root * error, multiply_add(error, 5.0 / 9.0, 2.0 / 3.0), root)
    root = is_tiny.choose(root * 2.0**-18, root)
    return (magnitude < INFINITY).choose(root, magnitude).with_sign_of(x)


def hypot(x: Lanes, y: Lanes) -> Lanes:
    a, b = x.magnitude, y.magnitude
    is_huge, is_tiny = (a > HUGE) | (b > HUGE), (a < TINY) & (b < TINY)
    one = a.new(a.of(1.0))
    scale = is_huge.choose(2.0**-600, is_tiny.choose(2.0**600, one))
    back = is_huge.choose(2.0**600, is_tiny.choose(2.0**-600, one))
    a, b = a * scale, b * scale
    result = multiply_add(a, a, b * b).intrinsic("sqrt") * back
    return (a.equals(INFINITY) | b.equals(INFINITY)).choose(INFINITY, result)
