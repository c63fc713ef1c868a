"""Complex functions as formulas over real and imaginary parts.

The parts are differentiated as real expressions, so each formula must have the derivative of its function wherever that
has one, the axes included: no `abs(y)` whose slope at 0 is wrong, but `copysign(1, y) * y`. Inverse functions state
theirs, which is a quotient, where formulas that are right beside their cuts are long. A part that is literally
zero, as that of a real number, takes no part in sums and products (C99, annex G): where others are infinite or NaN the
result may be finite where NumPy's is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, is_constant
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType

Hold = Callable[[ir.Expr, str], ir.Expr]
LARGEST_EXPANDED_POWER = 64


@immutable
class Parts:
    """A complex value by its real and imaginary part, both of the real type `type`."""

    re: ir.Expr
    im: ir.Expr
    type: ScalarType

    def const(self, value: float) -> ir.Const:
        return ir.Const(float(value), self.type)

    def with_parts(self, re: ir.Expr, im: ir.Expr) -> Parts:
        return Parts(re, im, self.type)

    @property
    def is_real(self) -> bool:
        return is_zero(self.im)

    def held(self, hold: Hold, stem: str) -> Parts:
        """The same value, its parts cheap to repeat."""
        return Parts(hold(self.re, f"{stem}_re"), hold(self.im, f"{stem}_im"), self.type)


Function = Callable[[Hold, Parts], Parts]
WithSlope = Callable[[Hold, Parts], tuple[Parts, Parts]]


# -- real arithmetic around literal zeros --------------------------------------------------------------------
def is_zero(x: ir.Expr) -> bool:
    return is_constant(x, 0)


def zero_like(x: ir.Expr, other: ir.Expr) -> ir.Expr:
    return x if is_zero(x) else other


def call(op: Op, *args: ir.Expr) -> ir.Expr:
    return ir.Apply(op, args)


def plus(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return y if is_zero(x) else x if is_zero(y) else call(Op.ADD, x, y)


def minus(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return x if is_zero(y) else negated_complex(y) if is_zero(x) else call(Op.SUB, x, y)


def negated_complex(x: ir.Expr) -> ir.Expr:
    match x:
        case ir.Const(value=value, dtype=dtype):
            return x if value == 0 else ir.Const(-value, dtype)
        case ir.Apply(op=Op.NEG, args=(y,)):
            return y
        case _:
            return call(Op.NEG, x)


def times(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    if is_zero(x) or is_zero(y):
        return zero_like(x, y)
    for one, other in ((x, y), (y, x)):
        if is_constant(one, 1):
            return other
        if is_constant(one, -1):
            return negated_complex(other)
    return call(Op.MUL, x, y)


def over(x: ir.Expr, y: ir.Expr) -> ir.Expr:
    return x if is_zero(x) or is_constant(y, 1) else call(Op.DIV, x, y)


def modulus(z: Parts) -> ir.Expr:
    if z.is_real or is_zero(z.re):
        return call(Op.ABS, z.re if z.is_real else z.im)
    return call(Op.HYPOT, z.re, z.im)


def angle(z: Parts) -> ir.Expr:
    return call(Op.ATAN2, z.im, z.re)


def steady_angle(z: Parts, length: ir.Expr) -> ir.Expr:
    """The angle, and without slope at 0, where it has none."""
    return ir.Select(compare(Op.EQ, length, z.const(0.0)), z.const(0.0), angle(z))


# -- arithmetic ----------------------------------------------------------------------------------------------
def add(hold: Hold, a: Parts, b: Parts) -> Parts:
    return a.with_parts(plus(a.re, b.re), plus(a.im, b.im))


def subtract(hold: Hold, a: Parts, b: Parts) -> Parts:
    return a.with_parts(minus(a.re, b.re), minus(a.im, b.im))


def negate(hold: Hold, z: Parts) -> Parts:
    return z.with_parts(negated_complex(z.re), negated_complex(z.im))


def stop(hold: Hold, z: Parts) -> Parts:
    return z.with_parts(call(Op.STOP, z.re), call(Op.STOP, z.im))


def multiply(hold: Hold, a: Parts, b: Parts) -> Parts:
    if not (is_zero(b.re) or b.is_real):
        a = a.held(hold, "factor")
    if not (is_zero(a.re) or a.is_real):
        b = b.held(hold, "factor")
    re = minus(times(a.re, b.re), times(a.im, b.im))
    return a.with_parts(re, plus(times(a.re, b.im), times(a.im, b.re)))


def divide(hold: Hold, a: Parts, b: Parts) -> Parts:
    """By the larger part of the divisor first, so that nothing overflows early (Smith 1962), as NumPy does."""
    if b.is_real:
        divisor = hold(b.re, "divisor")
        return a.with_parts(over(a.re, divisor), over(a.im, divisor))
    if is_zero(b.re):
        divisor = hold(b.im, "divisor")
        return a.with_parts(over(a.im, divisor), negated_complex(over(a.re, divisor)))
    a, b = a.held(hold, "dividend"), b.held(hold, "divisor")
    is_wide = hold(compare(Op.GE, call(Op.ABS, b.re), call(Op.ABS, b.im)), "is_wide")
    large = hold(ir.Select(is_wide, b.re, b.im), "large")
    small = hold(ir.Select(is_wide, b.im, b.re), "small")
    is_void = compare(Op.EQ, large, b.const(0.0))
    ratio = hold(ir.Select(is_void, b.const(0.0), over(small, large)), "ratio")
    scale = hold(plus(large, times(small, ratio)), "scale")
    re = ir.Select(is_wide, plus(a.re, times(a.im, ratio)), plus(times(a.re, ratio), a.im))
    im = ir.Select(is_wide, minus(a.im, times(a.re, ratio)), minus(times(a.im, ratio), a.re))
    return a.with_parts(over(re, scale), over(im, scale))


# -- elementary functions ------------------------------------------------------------------------------------
def square_root(hold: Hold, z: Parts) -> Parts:
    """The principal root, in the right half plane; on the cut along the negative axis, the side of the zero's sign."""
    z = z.held(hold, "radicand")
    half, is_right = z.const(0.5), hold(compare(Op.GE, z.re, z.const(0.0)), "is_right")
    length = ir.Select(is_right, z.re, negated_complex(z.re))
    root = hold(call(Op.SQRT, plus(times(half, length), times(half, modulus(z)))), "root")
    is_void = compare(Op.EQ, root, z.const(0.0))
    rest = z.im if z.is_real else hold(ir.Select(is_void, z.im, over(times(half, z.im), root)), "rest")
    side = call(Op.COPYSIGN, z.const(1.0), z.im)
    return z.with_parts(ir.Select(is_right, root, times(side, rest)), ir.Select(is_right, rest, times(side, root)))


def exponential(hold: Hold, z: Parts) -> Parts:
    if z.is_real:
        return z.with_parts(call(Op.EXP, z.re), z.im)
    im = hold(z.im, "phase")
    size = z.const(1.0) if is_zero(z.re) else hold(call(Op.EXP, z.re), "size")
    return z.with_parts(times(size, call(Op.COS, im)), times(size, call(Op.SIN, im)))


def scaled(factor: float, z: Parts) -> Parts:
    return z.with_parts(times(z.const(factor), z.re), times(z.const(factor), z.im))


def exponential_of_two(hold: Hold, z: Parts) -> Parts:
    return exponential(hold, scaled(math.log(2.0), z))


def exponential_minus_one(hold: Hold, z: Parts) -> Parts:
    """exp(x) cos(y) - 1 without cancellation: expm1(x) cos(y) - 2 sin(y / 2) ** 2."""
    if z.is_real:
        return z.with_parts(call(Op.EXPM1, z.re), z.im)
    z = z.held(hold, "exponent")
    sine = hold(call(Op.SIN, times(z.const(0.5), z.im)), "sine")
    re = minus(times(call(Op.EXPM1, z.re), call(Op.COS, z.im)), times(z.const(2.0), times(sine, sine)))
    return z.with_parts(re, times(call(Op.EXP, z.re), call(Op.SIN, z.im)))


def logarithm(hold: Hold, z: Parts) -> Parts:
    z = z.held(hold, "argument")
    return z.with_parts(call(Op.LOG, modulus(z)), angle(z))


def logarithm_to_two(hold: Hold, z: Parts) -> Parts:
    return scaled(1.0 / math.log(2.0), logarithm(hold, z))


def logarithm_to_ten(hold: Hold, z: Parts) -> Parts:
    return scaled(1.0 / math.log(10.0), logarithm(hold, z))


def logarithm_of_one_plus(hold: Hold, z: Parts) -> Parts:
    return logarithm(hold, z.with_parts(plus(z.const(1.0), z.re), z.im))


def hyperbolic_sine(hold: Hold, z: Parts) -> Parts:
    if z.is_real:
        return z.with_parts(call(Op.SINH, z.re), z.im)
    if is_zero(z.re):
        return z.with_parts(z.re, call(Op.SIN, z.im))
    x, y = hold(z.re, "argument_re"), hold(z.im, "argument_im")
    return z.with_parts(times(call(Op.SINH, x), call(Op.COS, y)), times(call(Op.COSH, x), call(Op.SIN, y)))


def hyperbolic_cosine(hold: Hold, z: Parts) -> Parts:
    if z.is_real:
        return z.with_parts(call(Op.COSH, z.re), z.im)
    if is_zero(z.re):
        return z.with_parts(call(Op.COS, z.im), z.re)
    x, y = hold(z.re, "argument_re"), hold(z.im, "argument_im")
    return z.with_parts(times(call(Op.COSH, x), call(Op.COS, y)), times(call(Op.SINH, x), call(Op.SIN, y)))


def hyperbolic_tangent(hold: Hold, z: Parts) -> Parts:
    """With e = exp(-2 |x|): (1 - e)(1 + e) and 4 e sin(y) cos(y), over (1 - e) ** 2 + 4 e cos(y) ** 2: no overflow."""
    if z.is_real:
        return z.with_parts(call(Op.TANH, z.re), z.im)
    if is_zero(z.re):
        return z.with_parts(z.re, call(Op.TAN, z.im))
    x, y = hold(z.re, "argument_re"), hold(z.im, "argument_im")
    side = hold(ir.Select(compare(Op.GE, x, z.const(0.0)), z.const(1.0), z.const(-1.0)), "side")
    exponent = hold(times(z.const(-2.0), times(side, x)), "exponent")
    decay, rest = hold(call(Op.EXP, exponent), "decay"), hold(negated_complex(call(Op.EXPM1, exponent)), "rest")
    cosine = hold(call(Op.COS, y), "cosine")
    waves = hold(times(z.const(4.0), times(decay, cosine)), "waves")
    scale = hold(plus(times(rest, rest), times(waves, cosine)), "scale")
    re = over(times(side, times(rest, plus(z.const(1.0), decay))), scale)
    return z.with_parts(re, over(times(waves, call(Op.SIN, y)), scale))


def rotated(function: Function) -> Function:
    """-i f(i z): the circular function of a hyperbolic one."""

    def turned(hold: Hold, z: Parts) -> Parts:
        found = function(hold, z.with_parts(negated_complex(z.im), z.re))
        return z.with_parts(found.im, negated_complex(found.re))

    return turned


def cosine(hold: Hold, z: Parts) -> Parts:
    return hyperbolic_cosine(hold, z.with_parts(negated_complex(z.im), z.re))


NEAR_A_POLE = 1e-16  # of the square of the distance, by four at most


# -- inverse functions ---------------------------------------------------------------------------------------
# By square roots whose products do not cancel, on the side of the cuts that the signs of zeros say (Kahan, Branch cuts
# for complex elementary functions, 1987). Each gives its value and its derivative.
def beside_the_cut(z: Parts) -> Parts:
    """`z`, whose imaginary part may be negated where it is literally zero, which is one above the cuts."""
    return z.with_parts(z.re, call(Op.COPYSIGN, z.const(0.0), z.const(1.0))) if z.is_real else z


def roots_around(hold: Hold, z: Parts) -> tuple[Parts, Parts]:
    """The roots of 1 - z and 1 + z."""
    z = beside_the_cut(z).held(hold, "argument")
    below = z.with_parts(minus(z.const(1.0), z.re), call(Op.NEG, z.im))
    above = z.with_parts(plus(z.const(1.0), z.re), z.im)
    return square_root(hold, below).held(hold, "below"), square_root(hold, above).held(hold, "above")


def inverse_product(hold: Hold, a: Parts, b: Parts, sign: float = 1.0) -> Parts:
    return divide(hold, a.with_parts(a.const(sign), a.const(0.0)), multiply(hold, a, b))


def inverse_sine(hold: Hold, z: Parts) -> tuple[Parts, Parts]:
    z = z.held(hold, "argument")
    below, above = roots_around(hold, z)
    product = minus(times(below.re, above.re), times(below.im, above.im))
    grown = minus(times(below.re, above.im), times(below.im, above.re))
    value = z.with_parts(call(Op.ATAN2, z.re, product), call(Op.ASINH, grown))
    return value, inverse_product(hold, below, above)


def inverse_cosine(hold: Hold, z: Parts) -> tuple[Parts, Parts]:
    z = z.held(hold, "argument")
    below, above = roots_around(hold, z)
    grown = minus(times(above.re, below.im), times(above.im, below.re))
    value = z.with_parts(times(z.const(2.0), call(Op.ATAN2, below.re, above.re)), call(Op.ASINH, grown))
    return value, inverse_product(hold, below, above, -1.0)


def inverse_hyperbolic_cosine(hold: Hold, z: Parts) -> tuple[Parts, Parts]:
    """By the roots of z - 1 and z + 1."""
    z = beside_the_cut(z).held(hold, "argument")
    low = square_root(hold, z.with_parts(minus(z.re, z.const(1.0)), z.im)).held(hold, "low")
    high = square_root(hold, z.with_parts(plus(z.re, z.const(1.0)), z.im)).held(hold, "high")
    grown = plus(times(low.re, high.re), times(low.im, high.im))
    value = z.with_parts(call(Op.ASINH, grown), times(z.const(2.0), call(Op.ATAN2, low.im, high.re)))
    return value, inverse_product(hold, low, high)


def inverse_hyperbolic_tangent(hold: Hold, z: Parts) -> tuple[Parts, Parts]:
    """log1p(4 |x| / ((1 - |x|) ** 2 + y ** 2)) / 4 with the sign of x, and half the angle of (1 - z)(1 + conj(z)).

    Both stay when what they are made of is divided by a number, which keeps squares in range. Beside the poles, where
    squares have no digits left, logarithms of |1 + z| and |1 - z| do not cancel.
    """
    z = beside_the_cut(z).held(hold, "argument")
    one, two, half = z.const(1.0), z.const(2.0), z.const(0.5)
    side = hold(call(Op.COPYSIGN, one, z.re), "side")
    size = hold(times(side, z.re), "size")
    scale = hold(call(Op.STOP, plus(plus(one, size), call(Op.ABS, z.im))), "scale")
    below, above = hold(minus(one, size), "below"), hold(plus(one, size), "above")
    low, high, up = hold(over(below, scale), "low"), hold(over(above, scale), "high"), hold(over(z.im, scale), "up")
    square = hold(plus(times(low, low), times(up, up)), "square")
    is_near = hold(compare(Op.LT, square, z.const(NEAR_A_POLE)), "is_near")
    far, near = ir.Select(is_near, one, square), [ir.Select(is_near, p, one) for p in (below, above, z.im)]
    ratio = over(over(times(z.const(4.0), over(size, scale)), scale), far)
    lengths = [call(Op.LOG, call(Op.HYPOT, hold(part, "part"), near[2])) for part in near[:2]]
    grown = ir.Select(is_near, minus(lengths[1], lengths[0]), times(half, call(Op.LOG1P, ratio)))
    turned = call(Op.ATAN2, over(times(two, up), scale), minus(times(low, high), times(up, up)))
    value = z.with_parts(times(times(half, side), grown), times(half, turned))
    left = z.with_parts(minus(one, z.re), call(Op.NEG, z.im)).held(hold, "factor")
    right = z.with_parts(plus(one, z.re), z.im).held(hold, "factor")
    return value, divide(hold, divide(hold, z.with_parts(one, z.const(0.0)), left), right)  # their product overflows


def with_slope(hold: Hold, value: Parts, z: Parts, slope: Parts) -> Parts:
    """`value`, of a function of `z` with the complex derivative `slope` (by the equations of Cauchy and Riemann)."""
    slope = slope.held(hold, "slope")

    def sloped(part: ir.Expr, by_re: ir.Expr, by_im: ir.Expr) -> ir.Expr:
        found = call(Op.STOP, part)
        for x, p in ((z.re, by_re), (z.im, by_im)):
            found = found if is_zero(x) else call(Op.SLOPED, found, x, p)
        return found

    re = sloped(value.re, slope.re, negated_complex(slope.im))
    return z.with_parts(re, sloped(value.im, slope.im, slope.re))


def with_limits(function: WithSlope, limit: Callable[[Parts], Parts]) -> Function:
    """`function`, and `limit` of numbers of which a part is infinite; that has the derivative zero (ISO C, annex G)."""

    def everywhere(hold: Hold, z: Parts) -> Parts:
        given = z.held(hold, "argument")
        z = beside_the_cut(given).held(hold, "argument")
        ends = [compare(Op.EQ, call(Op.ABS, part), z.const(math.inf)) for part in (z.re, z.im)]
        is_far = hold(ir.Apply(Op.OR, tuple(ends)), "is_far")

        def chosen(far: Parts, near: Parts) -> Parts:
            return z.with_parts(ir.Select(is_far, far.re, near.re), ir.Select(is_far, far.im, near.im))

        value, slope = function(hold, chosen(z.with_parts(z.const(2.0), z.const(1.0)), z))
        nothing = z.with_parts(z.const(0.0), z.const(0.0))
        return with_slope(hold, chosen(limit(z), value), given, chosen(nothing, slope))

    return everywhere


def limit_of_inverse_sine(z: Parts) -> Parts:
    return z.with_parts(call(Op.ATAN2, z.re, call(Op.ABS, z.im)), call(Op.COPYSIGN, z.const(math.inf), z.im))


def limit_of_inverse_cosine(z: Parts) -> Parts:
    grown = call(Op.NEG, call(Op.COPYSIGN, z.const(math.inf), z.im))
    return z.with_parts(call(Op.ATAN2, call(Op.ABS, z.im), z.re), grown)


def limit_of_inverse_hyperbolic_cosine(z: Parts) -> Parts:
    return z.with_parts(z.const(math.inf), call(Op.ATAN2, z.im, z.re))


def limit_of_inverse_hyperbolic_tangent(z: Parts) -> Parts:
    quarter = call(Op.COPYSIGN, z.const(math.pi / 2.0), z.im)
    return z.with_parts(call(Op.COPYSIGN, z.const(0.0), z.re), ir.Select(compare(Op.EQ, z.im, z.im), quarter, z.im))


ASIN = with_limits(inverse_sine, limit_of_inverse_sine)
ATANH = with_limits(inverse_hyperbolic_tangent, limit_of_inverse_hyperbolic_tangent)
FUNCTIONS: dict[Op, Callable[..., Parts]] = {
    Op.ADD: add, Op.SUB: subtract, Op.MUL: multiply, Op.DIV: divide, Op.NEG: negate, Op.SQRT: square_root,
    Op.EXP: exponential, Op.EXP2: exponential_of_two, Op.EXPM1: exponential_minus_one, Op.LOG: logarithm,
    Op.LOG2: logarithm_to_two, Op.LOG10: logarithm_to_ten, Op.LOG1P: logarithm_of_one_plus,
    Op.SIN: rotated(hyperbolic_sine), Op.COS: cosine, Op.TAN: rotated(hyperbolic_tangent),
    Op.SINH: hyperbolic_sine, Op.COSH: hyperbolic_cosine, Op.TANH: hyperbolic_tangent, Op.STOP: stop,
    Op.ASIN: ASIN, Op.ACOS: with_limits(inverse_cosine, limit_of_inverse_cosine), Op.ATAN: rotated(ATANH),
    Op.ASINH: rotated(ASIN), Op.ATANH: ATANH,
    Op.ACOSH: with_limits(inverse_hyperbolic_cosine, limit_of_inverse_hyperbolic_cosine),
}  # fmt: skip


# -- powers --------------------------------------------------------------------------------------------------
def power(hold: Hold, z: Parts, exponent: ir.Expr | Parts) -> Parts:
    """`z ** exponent`, an integer or complex: small literals by products, real ones by modulus and angle."""
    match exponent:
        case Parts(re=re, is_real=True):
            return real_power(hold, z, re, is_integer=False)
        case Parts():
            return complex_power(hold, z, exponent)
        case ir.Const(value=int(count)) if abs(count) <= LARGEST_EXPANDED_POWER:
            return expanded_power(hold, z, count)
        case _:
            return real_power(hold, z, exponent, is_integer=True)


def expanded_power(hold: Hold, z: Parts, count: int) -> Parts:
    if count < 0:
        return divide(hold, z.with_parts(z.const(1.0), z.const(0.0)), expanded_power(hold, z, -count))
    result, square = z.with_parts(z.const(1.0), z.const(0.0)), z
    while count:
        square = square.held(hold, "power")
        result = multiply(hold, result, square) if count % 2 else result
        count //= 2
        square = multiply(hold, square, square) if count else square
    return result


def real_power(hold: Hold, z: Parts, exponent: ir.Expr, *, is_integer: bool) -> Parts:
    """As `z * z ** (exponent - 1)` for exponents from 1 on: at 0, where the angle has no slope, this keeps it right."""
    z, exponent = z.held(hold, "base"), hold(exponent, "exponent")
    one = ir.Const(1, INT) if is_integer else z.const(1.0)
    is_whole = hold(compare(Op.GE, exponent, one), "is_whole")
    lowered = hold(ir.Select(is_whole, call(Op.SUB, exponent, one), exponent), "lowered")
    length = hold(modulus(z), "length")
    factor = ir.Cast(z.type, lowered) if is_integer else lowered
    turned = hold(times(factor, steady_angle(z, length)), "phase")
    size = hold(call(Op.POW, length, lowered), "size")
    rest = z.with_parts(times(size, call(Op.COS, turned)), times(size, call(Op.SIN, turned))).held(hold, "power")
    full = multiply(hold, z, rest)
    return z.with_parts(ir.Select(is_whole, full.re, rest.re), ir.Select(is_whole, full.im, rest.im))


def complex_power(hold: Hold, z: Parts, exponent: Parts) -> Parts:
    """|z| ** p exp(-q arg z), turned by p arg z + q log |z|, for the exponent p + q i; 0 at z = 0."""
    z, exponent = z.held(hold, "base"), exponent.held(hold, "exponent")
    length = hold(modulus(z), "length")
    turned = hold(steady_angle(z, length), "angle")
    is_void = compare(Op.EQ, length, z.const(0.0))
    log_length = ir.Select(is_void, z.const(0.0), call(Op.LOG, length))
    grown = z.const(1.0) if is_zero(exponent.re) else call(Op.POW, length, exponent.re)
    size = hold(times(grown, call(Op.EXP, negated_complex(times(exponent.im, turned)))), "size")
    phase = hold(plus(times(exponent.re, turned), times(exponent.im, log_length)), "phase")
    return z.with_parts(times(size, call(Op.COS, phase)), times(size, call(Op.SIN, phase)))
