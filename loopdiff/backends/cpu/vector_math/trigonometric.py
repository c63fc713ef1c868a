"""sin, cos, tan, atan and atan2.

Reduction by pi/2 in three 53-bit parts, for sine and cosine carried as an unevaluated sum, is exact enough for
|x| <= 2**30; lanes beyond that take the scalar library in a branch. The kernels of sine and cosine are FreeBSD's
k_sin.c and k_cos.c. atan takes the nearest of 14 known arcs off."""

from __future__ import annotations

from collections.abc import Sequence

from numba.core import types

from loopdiff.immutable import immutable

from .expr import DOUBLE, Lanes, at_most, clamp, fused, multiply_add, polynomial, rounded, two_product, two_sum
from .registers import INFINITY, NAN, look_up
from .scalar import per_lane

TWO_OVER_PI = 6.36619772367581382433e-01
HALF_PI = (
    float.fromhex("0x1.921fb54442d18p+0"),
    float.fromhex("0x1.1a62633145c07p-54"),
    float.fromhex("-0x1.f1976b7ed8fbcp-110"),
)
LARGEST = 2.0**30
SINE = (
    8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
SINE_CUBE = -1.66666666666666324348e-01
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
# tan(r) = r A(r**2) / B(r**2) for |r| <= pi/4, from Cephes' tan.c; the constant terms are 1.
TANGENT_TOP = (-0.1309060802329912, 0.003107054291293773, -1.0907871882470753e-05, -1.8563353971011345e-08)
TANGENT_BOTTOM = (-0.46423941356632453, 0.024520192146735387, -0.00025397074687295184, -1.8563353971011345e-08)


@immutable
class Arcs:
    """atan(x) = atan(c) + atan((x - c) / (1 + c x)). `tops` are the c by the lowest exponent bits of x and the first
    bit of its fraction: half octaves from 1/8 to 8, 0 below, and beyond inf, that is 1 over 0. `quotients` are the c
    for fractions up to 1 that are known to 6 %. All are chosen so that atan(c) is all but exact. `series` is P in
    atan(t) = t + t**3 P(t**2) for |t| <= 0.133, minimax. `least` and `most` bound numbers whose products are safe,
    and `up` and `down` scale others."""

    tops: tuple[float, ...]
    atans: tuple[float, ...]
    quotients: tuple[float, ...]
    quotient_atans: tuple[float, ...]
    series: tuple[float, ...]
    least: float
    most: float
    up: float
    down: float


BOTTOMS = (1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
# The series has an error of 2**-57.
DOUBLES = Arcs(
    (
        2.416091052184298, 3.4329519062864104, 4.804156259140902, 6.863992374388092, 1.0, 1.0, 1.0, 0.0,
        0.1561726932923588, 0.21850191695558432, 0.3116626390849449, 0.43606342756970257, 0.6180315597248836,
        0.8670880753722072, 1.2210154624737575, 1.7227021081626908,
    ),
    (
        1.1783720147161796, 1.2873452431228485, 1.3655736835622896, 1.426126326810049, 1.5707963267948966, 1.0,
        1.0, 0.0, 0.15492127671716407, 0.21512093344426375, 0.302121824004391, 0.41120402693782593,
        0.5535726012361258, 0.7143313006058659, 0.8845826308529998, 1.0448508810667498,
    ),
    (
        0.158205581088003, 0.2206243282545547, 0.31459434697788163, 0.43945975995938485, 0.621776149797888,
        0.842087791876078, 0.971256648151978, 0.0,
    ),
    (
        0.15690514561979416, 0.21714573267301712, 0.30479174625174754, 0.41405417048457044, 0.5562776813407952,
        0.6998826473739774, 0.7708179639744233, 0.0,
    ),
    (
        -0.3333333333333176, 0.19999999998265403, -0.14285713647505377, 0.11111003050970616,
        -0.09081639500133873, 0.07299033209346685,
    ),
    2.0**-500, 2.0**500, 2.0**500, 2.0**-100,
)  # fmt: skip
# The series has an error of 2**-33.
SINGLES = Arcs(
    (
        2.4130948, 3.430753, 4.804853, 6.8559732, 1.0, 1.0, 1.0, 0.0, 0.15603605, 0.21875247, 0.31169137,
        0.43610874, 0.617477, 0.8676485, 1.2193244, 1.7239053,
    ),
    (
        1.1779333, 1.2871732, 1.3656026, 1.4259595, 1.5707964, 0.0, 0.0, 0.0, 0.15478788, 0.21536006, 0.302148,
        0.4112421, 0.5531712, 0.7146511, 0.88390315, 1.045154,
    ),
    (
        0.15815446, 0.22063409, 0.3147099, 0.438821, 0.6223118, 0.8428536, 0.97032666, 0.0,
    ),
    (
        0.15685527, 0.21715504, 0.3048969, 0.41351867, 0.5566639, 0.70033056, 0.7703392, 0.0,
    ),
    (
        -0.33333322, 0.19996268, -0.13917348,
    ),
    2.0**-60, 2.0**60, 2.0**60, 2.0**-20,
)  # fmt: skip


def arcs_of(x: Lanes) -> Arcs:
    return DOUBLES if x.format is DOUBLE else SINGLES


def reduced(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Quadrant number and (r, c) with x = quadrant * pi/2 + r + c, |r| <= pi/4."""
    n = (x * TWO_OVER_PI).nearest
    first = fused(n, -HALF_PI[0], x)
    product, error = two_product(n, HALF_PI[1])
    r, c = two_sum(first, -product)
    c = c - error - n * HALF_PI[2]
    total = r + c
    return n.as_integer, total, (r - total) + c


def sine(r: Lanes, c: Lanes) -> Lanes:
    z = r * r
    cube = z * r
    rest = polynomial(z, SINE)
    return r - ((z * (0.5 * c - cube * rest) - c) - cube * SINE_CUBE)


def cosine(r: Lanes, c: Lanes) -> Lanes:
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    return w + (((1.0 - w) - half) + (z * z * polynomial(z, COSINE) - r * c))


def with_large(x: Lanes, result: Lanes, name: str) -> Lanes:
    """`result`, and where |x| is too large for the reduction the scalar library's `name`."""
    is_large = x.magnitude > LARGEST
    return is_large.where_any(lambda: x.new(per_lane(x.builder, types.float64, name, x.value)), result)


def quarter_turned(x: Lanes, turns: int) -> Lanes:
    """sin(x + turns * pi/2)."""
    quadrant, r, c = reduced(x)
    quadrant = quadrant + turns
    value = (quadrant & 1).equals(0).choose(sine(r, c), cosine(r, c))
    return (quadrant & 2).equals(0).choose(value, -value)


def sin(x: Lanes) -> Lanes:
    result = (x.magnitude < 2.0**-27).choose(x, quarter_turned(x, 0))
    return with_large(x, result, "sin")


def cos(x: Lanes) -> Lanes:
    return with_large(x, quarter_turned(x, 1), "cos")


def tan(x: Lanes) -> Lanes:
    n, shifted = rounded(x, TWO_OVER_PI)
    r = x
    for part in HALF_PI:
        r = fused(n, -part, r)
    z = r * r
    top = multiply_add(r * z, polynomial(z, TANGENT_TOP), r)
    bottom = multiply_add(z, polynomial(z, TANGENT_BOTTOM), 1.0)
    odd = (shifted.bits & 1).equals(1)
    result = odd.choose(bottom, top) / odd.choose(-top, bottom)
    return with_large(x, x.equals(0.0).choose(x, result), "tan")


def small_atan(t: Lanes, series: Sequence[float]) -> Lanes:
    """atan(t) for |t| <= 0.133."""
    z = t * t
    return multiply_add(t * z, polynomial(z, series), t)


def atan(x: Lanes) -> Lanes:
    arcs, magnitude = arcs_of(x), x.magnitude
    place = clamp(magnitude, 0.1, 8.0).bits >> (x.format.fraction - 1)
    top, bottom = look_up(place, arcs.tops), look_up(place, BOTTOMS)
    a = at_most(magnitude, 2.0**60)
    t = fused(a, bottom, -top) / fused(a, top, bottom)
    return (look_up(place, arcs.atans) + small_atan(t, arcs.series)).with_sign_of(x)


def quotient_atan(top: Lanes, bottom: Lanes, near: Lanes) -> Lanes:
    """atan(top / bottom), at most pi/4, where `near` is that quotient within 6 %, or anything but a number above 1/8
    where it is less."""
    arcs = arcs_of(near)
    place = (near > 0.1).choose(near, 0.1).bits >> (near.format.fraction - 1)
    c = look_up(place, arcs.quotients)
    t = fused(-bottom, c, top) / fused(top, c, bottom)
    return look_up(place, arcs.quotient_atans) + small_atan(t, arcs.series)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """atan of the smaller magnitude over the larger, turned and reflected; their quotient first from a difference of
    bits, which is all but one of logarithms. Lanes where that or the products may overflow are scaled in a branch."""
    arcs = arcs_of(x)
    a, b = x.magnitude, y.magnitude
    is_steep = b > a
    least, most = is_steep.choose(a, b), is_steep.choose(b, a)

    def turned(angle: Lanes) -> Lanes:
        angle = is_steep.choose(HALF_PI[0] - angle, angle)
        return (x.bits < 0).choose(2.0 * HALF_PI[0] - angle, angle).with_sign_of(y)

    def scaled() -> Lanes:
        scale = (most > 1.0).choose(arcs.down, most.new(most.of(arcs.up)))
        top, bottom = least * scale, most * scale
        top = (most < INFINITY).choose(top, least.equals(INFINITY).choose(1.0, most.new(most.of(0.0))))
        bottom = ((most < INFINITY) & (most > 0.0)).choose(bottom, 1.0)
        result = turned(quotient_atan(top, bottom, top / bottom))
        return (x.equals(x) & y.equals(y)).choose(result, NAN)

    near = (least.bits - most.bits + x.format.one_bits).from_bits
    is_extreme = ~((most < arcs.most) & (most > arcs.least))
    return is_extreme.where_any(scaled, turned(quotient_atan(least, most, near)))
