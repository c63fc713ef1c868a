"""sin, cos, tan, atan and atan2.

Reduction by pi/2 in three 53-bit parts, carried as an unevaluated sum, is exact enough for |x| <= 2**30;
lanes beyond that take the scalar library in a branch. The kernels are FreeBSD's k_sin.c and k_cos.c; atan
is Cephes'."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types

from ..simd.build import call, mangled
from .expr import Lanes, fused, multiply_add, polynomial, two_product, two_sum
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
ATAN_P = (
    -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1,
    -1.615753718733365076637e1, -8.750608600031904122785e-1,
)  # fmt: skip
ATAN_Q = (
    1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2,
    1.650270098316988542046e2, 2.485846490142306297962e1, 1.0,
)  # fmt: skip
INFINITY, NAN = float("inf"), float("nan")
PI_OVER_2_LOW = 6.123233995736765886130e-17


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
    builder = x.builder
    large = (x.magnitude > LARGEST).value
    if isinstance(large.type, ir.VectorType):
        has_large = call(builder, f"llvm.vector.reduce.or.{mangled(large.type)}", ir.IntType(1), [large])
    else:
        has_large = large
    before = builder.block
    with builder.if_then(has_large, likely=False):
        slow = per_lane(builder, types.float64, name, x.value)
        mixed = builder.select(large, slow, result.value)
        inside = builder.block
    merged = builder.phi(result.value.type)
    merged.add_incoming(result.value, before)
    merged.add_incoming(mixed, inside)
    return x.new(merged)


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
    quadrant, r, c = reduced(x)
    s, co = sine(r, c), cosine(r, c)
    even = (quadrant & 1).equals(0)
    result = even.choose(s, -co) / even.choose(co, s)
    return with_large(x, (x.magnitude < 2.0**-28).choose(x, result), "tan")


def atan(x: Lanes) -> Lanes:
    """Cephes atan.c: reduction to |t| <= 0.66 by -1/x and (x - 1) / (x + 1), then a rational function."""
    a = x.magnitude
    steep, middle = a > 2.41421356237309504880, a > 0.66
    zero = x.new(x.of(0.0))
    top = steep.choose(-1.0, middle.choose(a - 1.0, a))
    bottom = steep.choose(a, middle.choose(a + 1.0, zero + 1.0))
    t = top / bottom
    z = t * t
    value = multiply_add(t, z * polynomial(z, ATAN_P) / polynomial(z, ATAN_Q), t)
    low = steep.choose(PI_OVER_2_LOW, middle.choose(0.5 * PI_OVER_2_LOW, zero))
    base = steep.choose(1.5707963267948966, middle.choose(0.7853981633974483, zero))
    return (base + (value + low)).with_sign_of(x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """atan of the smaller magnitude over the larger as in `atan`, its reduction and its division being one."""
    a, b = x.magnitude, y.magnitude
    is_huge, is_tiny = (a > 2.0**1000) | (b > 2.0**1000), (a < 2.0**-900) & (b < 2.0**-900)
    scale = is_huge.choose(2.0**-100, is_tiny.choose(2.0**200, a.new(a.of(1.0))))
    is_infinite = a.equals(INFINITY) & b.equals(INFINITY)
    a, b = is_infinite.choose(1.0, a * scale), is_infinite.choose(1.0, b * scale)
    steep, middle = b > 2.41421356237309504880 * a, b > 0.66 * a
    zero = a.new(a.of(0.0))
    top = steep.choose(-a, middle.choose(b - a, b))
    bottom = steep.choose(b, middle.choose(b + a, b.equals(0.0).choose(1.0, a)))
    t = b.equals(INFINITY).choose(zero, top / bottom)
    z = t * t
    value = multiply_add(t, z * polynomial(z, ATAN_P) / polynomial(z, ATAN_Q), t)
    back = x.bits < 0
    low = steep.choose(PI_OVER_2_LOW, middle.choose(0.5 * PI_OVER_2_LOW, zero))
    base = steep.choose(1.5707963267948966, middle.choose(0.7853981633974483, zero))
    turned = steep.choose(1.5707963267948966, middle.choose(2.356194490192345, zero + 3.141592653589793))
    turned_low = steep.choose(PI_OVER_2_LOW, middle.choose(1.5 * PI_OVER_2_LOW, zero + 2.0 * PI_OVER_2_LOW))
    result = back.choose(turned - (value - turned_low), base + (value + low))
    result = (x.equals(x) & y.equals(y)).choose(result, NAN)
    return result.with_sign_of(y)
