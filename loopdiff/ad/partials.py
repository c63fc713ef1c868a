"""The derivative table: one symbolic partial per argument of every operation, for both modes and all targets.

A row is a `Rule`, a `ZeroDerivative` (locally constant: zero almost everywhere, with the reason for reports)
or `Refused` (no rule: differentiating it is an error). No row at all is an error too, never a silent zero.

Conventions at kinks and singular points:

* max / min split a tie evenly among all tied arguments; NaN arguments get nothing;
* abs has slope 0 at 0 and at NaN, hypot has gradient 0 at the origin (the smallest subgradient);
* sqrt, cbrt, log, asin, ... are infinite where the true slope is: the strong zero of the adjoint removes that
  where it does not matter. atan2 at the origin is NaN;
* x ** y: slope in x is 0 for y == 0; slope in y is 0 at x == 0 for y >= 0 and NaN for negative x (no
  derivative: the function is defined at integer y only). The logarithm of a base that is not positive is
  never used;
* copysign(x, y) has slope -1 or 1 in x, also at 0, and 0 in y;
* % and fmod have slope -quotient in the divisor, the quotient rounded as the operation rounds.

Partials reuse `result`, the operation's own value, where that is cheaper than computing afresh.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from loopdiff.errors import Diagnostic, DifferentiationError, Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, divide, is_constant, mul, neg, strong_mul
from loopdiff.ir.ops import BITWISE, COMPARISONS, FLOAT_TESTS, HALVES, PRODUCTS, ROUNDINGS, Op
from loopdiff.ir.types import INT, ScalarType


@immutable
class Terms:
    """Constructors of expressions of one floating type."""

    dtype: ScalarType

    def const(self, value: float) -> ir.Const:
        return ir.Const(float(value), self.dtype)

    @property
    def zero(self) -> ir.Const:
        return self.const(0.0)

    @property
    def one(self) -> ir.Const:
        return self.const(1.0)

    def plus_one(self, x: ir.Expr) -> ir.Expr:
        return ir.Apply(Op.ADD, (x, self.one))

    def minus_one(self, x: ir.Expr) -> ir.Expr:
        return ir.Apply(Op.SUB, (x, self.one))

    def one_minus(self, x: ir.Expr) -> ir.Expr:
        return ir.Apply(Op.SUB, (self.one, x))

    def inverse(self, x: ir.Expr) -> ir.Expr:
        return divide(self.one, x)

    def over(self, numerator: float, x: ir.Expr) -> ir.Expr:
        return divide(self.const(numerator), x)

    def times(self, factor: float, x: ir.Expr) -> ir.Expr:
        return mul(self.const(factor), x)


Partials = tuple[ir.Expr, ...]
Rule1 = Callable[[Terms, ir.Expr, ir.Expr], ir.Expr]
Rule2 = Callable[[Terms, ir.Expr, ir.Expr, ir.Expr], Partials]


@immutable
class Rule:
    """`derive(terms, args, result)` gives the partials."""

    derive: Callable[[Terms, Partials, ir.Expr], Partials]


@immutable
class ZeroDerivative:
    """Every partial is zero almost everywhere, and is taken to be zero at the steps."""

    reason: str


@immutable
class Refused:
    """Differentiating this operation is an error."""

    reason: str


def unary(rule: Rule1) -> Rule:
    return Rule(lambda t, args, r: (rule(t, args[0], r),))


def binary(rule: Rule2) -> Rule:
    return Rule(lambda t, args, r: rule(t, args[0], args[1], r))


def square_of(x: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.MUL, (x, x))


def call(op: Op, *args: ir.Expr) -> ir.Expr:
    return ir.Apply(op, args)


# -- rules that need more than a line ------------------------------------------------------------------------
def extremum_partials(op: Op, t: Terms, args: Partials) -> Partials:
    """1 for the only argument that is the extremum; tied arguments share it evenly.

    Arguments are compared with each other, never with the result: that may have been kept, and arguments computed
    again, by another implementation of a function, differ from it in the last bit.
    """
    if len(args) == 2:
        x, y = args
        tied = ir.Select(compare(Op.EQ, x, y), t.const(0.5), t.zero)
        beats = Op.GT if op is Op.MAX else Op.LT
        return ir.Select(compare(beats, x, y), t.one, tied), ir.Select(compare(beats, y, x), t.one, tied)
    is_tied = [compare(Op.EQ, a, ir.Apply(op, args)) for a in args]
    counts: list[ir.Expr] = [ir.Select(tied, t.one, t.zero) for tied in is_tied]
    total = counts[0]
    for count in counts[1:]:
        total = ir.Apply(Op.ADD, (total, count))
    return tuple(ir.Select(tied, t.inverse(total), t.zero) for tied in is_tied)


def sign(t: Terms, x: ir.Expr, result: ir.Expr) -> ir.Expr:
    """-1, 0 or 1, and of NaN 0."""
    return ir.Select(compare(Op.GT, x, t.zero), t.one, ir.Select(compare(Op.LT, x, t.zero), t.const(-1.0), t.zero))


def quotient_partial(result: ir.Expr, x: ir.Expr, y: ir.Expr) -> ir.Expr:
    """Minus the integer quotient of % and fmod; `result - x` is that multiple of y up to rounding."""
    return call(Op.ROUND, divide(ir.Apply(Op.SUB, (result, x)), y))


def power_partials(t: Terms, x: ir.Expr, y: ir.Expr, result: ir.Expr) -> Partials:
    return power_base_partial(t, x, y, result), power_exponent_partial(t, x, y, result)


def power_base_partial(t: Terms, x: ir.Expr, y: ir.Expr, result: ir.Expr) -> ir.Expr:
    """y * x ** (y - 1), and 0 where y is 0 whatever x."""
    if isinstance(y, ir.Const):
        return constant_power_partial(t, x, y, result)
    exponent = as_float(t, y)
    return strong_mul(exponent, call(Op.POW, x, t.minus_one(exponent)))


def constant_power_partial(t: Terms, x: ir.Expr, y: ir.Const, result: ir.Expr) -> ir.Expr:
    """The same for a literal exponent, without calling pow where a product or a root will do."""
    value = float(y.value)
    if value == 0.0:
        return t.zero
    if value == 1.0:
        return t.one
    if value == 2.0:
        return t.times(2.0, x)
    if value == 3.0:
        return t.times(3.0, square_of(x))
    if value == 0.5:
        return t.over(0.5, result)
    if value == 1.5:
        return t.times(1.5, call(Op.SQRT, x))
    if value == -1.0:
        return neg(square_of(result))
    lowered = ir.Const(int(y.value) - 1, INT) if y.dtype is INT else t.const(value - 1.0)
    return t.times(value, call(Op.POW, x, lowered))


def power_exponent_partial(t: Terms, x: ir.Expr, y: ir.Expr, result: ir.Expr) -> ir.Expr:
    """result * log(x); see the module's conventions for x <= 0."""
    if is_integer(y) or isinstance(y, ir.Const):
        return t.zero
    if isinstance(x, ir.Const) and x.value > 0:
        return t.times(math.log(x.value), result)
    at_most_zero = ir.Select(compare(Op.EQ, x, t.zero), t.zero, t.const(math.nan))
    return mul(result, ir.Select(compare(Op.GT, x, t.zero), call(Op.LOG, x), at_most_zero))


def is_integer(expr: ir.Expr) -> bool:
    """Whether `expr` is INT by its form alone."""
    return isinstance(expr, ir.Index | ir.Dim) or (isinstance(expr, ir.Const | ir.Cast) and expr.dtype is INT)


def as_float(t: Terms, expr: ir.Expr) -> ir.Expr:
    """`expr` in the type of `t`; `simplify` removes a conversion that changes nothing."""
    is_float = isinstance(expr, ir.Const | ir.Cast) and expr.dtype is t.dtype
    return expr if is_float else ir.Cast(t.dtype, expr)


def hypot_partials(t: Terms, x: ir.Expr, y: ir.Expr, result: ir.Expr) -> Partials:
    is_origin = compare(Op.EQ, result, t.zero)
    return tuple(ir.Select(is_origin, t.zero, divide(a, result)) for a in (x, y))


def atan2_partials(t: Terms, y: ir.Expr, x: ir.Expr, result: ir.Expr) -> Partials:
    """x / r**2 and -y / r**2, divided by r twice because r**2 over- or underflows long before r does."""
    radius = call(Op.HYPOT, y, x)
    return divide(divide(x, radius), radius), neg(divide(divide(y, radius), radius))


# -- the table -----------------------------------------------------------------------------------------------
LN2, LN10, TWO_OVER_SQRT_PI = math.log(2.0), math.log(10.0), 2.0 / math.sqrt(math.pi)


def gaussian(t: Terms, x: ir.Expr) -> ir.Expr:
    return call(Op.EXP, neg(square_of(x)))


def quotient_partials(t: Terms, x: ir.Expr, y: ir.Expr, r: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """(1 / y, -x / y**2): of an inverse by its square, as a division takes longer than all else."""
    return t.inverse(y), neg(square_of(r) if is_constant(x, 1) else divide(r, y))


def unit_circle(t: Terms, x: ir.Expr) -> ir.Expr:
    """sqrt(1 - x**2) without cancellation near 1."""
    return call(Op.SQRT, mul(t.one_minus(x), t.plus_one(x)))


ARITHMETIC: dict[Op, Rule] = {
    Op.ADD: binary(lambda t, x, y, r: (t.one, t.one)),
    Op.SUB: binary(lambda t, x, y, r: (t.one, t.const(-1.0))),
    Op.MUL: binary(lambda t, x, y, r: (y, x)),
    Op.DIV: binary(quotient_partials),
    Op.MOD: binary(lambda t, x, y, r: (t.one, quotient_partial(r, x, y))),
    Op.FMOD: binary(lambda t, x, y, r: (t.one, quotient_partial(r, x, y))),
    Op.POW: binary(power_partials),
    Op.NEG: unary(lambda t, x, r: t.const(-1.0)),
    Op.MIN: Rule(lambda t, args, r: extremum_partials(Op.MIN, t, args)),
    Op.MAX: Rule(lambda t, args, r: extremum_partials(Op.MAX, t, args)),
    Op.ABS: unary(sign),
    Op.ATAN2: binary(atan2_partials),
    Op.HYPOT: binary(hypot_partials),
    Op.COPYSIGN: binary(
        lambda t, x, y, r: (mul(call(Op.COPYSIGN, t.one, x), call(Op.COPYSIGN, t.one, y)), t.zero),
    ),
    Op.STRONG_MUL: binary(lambda t, x, y, r: (y, x)),
    Op.STRICT_ADD: binary(lambda t, x, y, r: (t.one, t.one)),
    Op.STRICT_SUB: binary(lambda t, x, y, r: (t.one, t.const(-1.0))),
    Op.STRICT_MUL: binary(lambda t, x, y, r: (y, x)),
    Op.STRICT_DIV: binary(quotient_partials),
    **{op: unary(lambda t, x, r: t.one) for op in HALVES.values()},
}
EXPONENTIAL: dict[Op, Rule] = {
    Op.SQRT: unary(lambda t, x, r: t.over(0.5, r)),
    Op.CBRT: unary(lambda t, x, r: t.over(1.0 / 3.0, square_of(r))),
    Op.EXP: unary(lambda t, x, r: r),
    Op.EXP2: unary(lambda t, x, r: t.times(LN2, r)),
    Op.EXPM1: unary(lambda t, x, r: t.plus_one(r)),
    Op.LOG: unary(lambda t, x, r: t.inverse(x)),
    Op.LOG2: unary(lambda t, x, r: t.over(1.0 / LN2, x)),
    Op.LOG10: unary(lambda t, x, r: t.over(1.0 / LN10, x)),
    Op.LOG1P: unary(lambda t, x, r: t.inverse(t.plus_one(x))),
}
TRIGONOMETRIC: dict[Op, Rule] = {
    Op.SIN: unary(lambda t, x, r: call(Op.COS, x)),
    Op.COS: unary(lambda t, x, r: neg(call(Op.SIN, x))),
    Op.TAN: unary(lambda t, x, r: t.plus_one(square_of(r))),
    Op.ASIN: unary(lambda t, x, r: t.inverse(unit_circle(t, x))),
    Op.ACOS: unary(lambda t, x, r: t.over(-1.0, unit_circle(t, x))),
    Op.ATAN: unary(lambda t, x, r: t.inverse(t.plus_one(square_of(x)))),
    Op.SINH: unary(lambda t, x, r: call(Op.COSH, x)),
    Op.COSH: unary(lambda t, x, r: call(Op.SINH, x)),
    Op.TANH: unary(lambda t, x, r: mul(t.one_minus(r), t.plus_one(r))),
    Op.ASINH: unary(lambda t, x, r: t.inverse(call(Op.HYPOT, x, t.one))),
    Op.ACOSH: unary(
        lambda t, x, r: t.inverse(mul(call(Op.SQRT, t.minus_one(x)), call(Op.SQRT, t.plus_one(x)))),
    ),
    Op.ATANH: unary(lambda t, x, r: t.inverse(mul(t.one_minus(x), t.plus_one(x)))),
}
SPECIAL: dict[Op, Rule] = {
    Op.ERF: unary(lambda t, x, r: t.times(TWO_OVER_SQRT_PI, gaussian(t, x))),
    Op.ERFC: unary(lambda t, x, r: t.times(-TWO_OVER_SQRT_PI, gaussian(t, x))),
    Op.GAMMA: unary(lambda t, x, r: mul(r, call(Op.DIGAMMA, x))),
    Op.LGAMMA: unary(lambda t, x, r: call(Op.DIGAMMA, x)),
    Op.DIGAMMA: unary(lambda t, x, r: call(Op.TRIGAMMA, x)),
}
STEP = "it is a step function: its slope is zero wherever it has one"
TRUTH = "its result is a truth value"
BITS = "it works on integers"
DECLARED = "the program declares it constant"
TABLE: dict[Op, Rule | ZeroDerivative | Refused] = {
    **ARITHMETIC,
    **EXPONENTIAL,
    **TRIGONOMETRIC,
    **SPECIAL,
    **{op: ZeroDerivative(STEP) for op in (*ROUNDINGS, Op.SIGN, Op.FLOORDIV)},
    **{op: ZeroDerivative(TRUTH) for op in (*COMPARISONS, *FLOAT_TESTS, Op.AND, Op.OR, Op.NOT)},
    **{op: ZeroDerivative(BITS) for op in (*BITWISE, Op.INVERT)},
    Op.STOP: ZeroDerivative(DECLARED),
    Op.SLOPED: Rule(lambda t, args, r: (t.one, args[2], t.zero)),
    Op.TRIGAMMA: Refused("polygamma functions beyond trigamma are not available"),
}


def with_squares(apply: ir.Apply) -> ir.Apply:
    """`apply`; if it multiplies something by itself, as a power: one partial in place of two that are equal."""
    is_square = apply.op in PRODUCTS and apply.args[0] == apply.args[1]
    return replace(apply, op=Op.POW, args=(apply.args[0], ir.Const(2, INT))) if is_square else apply


def partials(apply: ir.Apply, dtype: ScalarType, result: ir.Expr) -> Partials:
    """The partial of `apply` with respect to each of its arguments; `dtype` is its (floating) result type.

    `result` is an expression for the value of `apply`. The arguments occur in the partials as they stand, so
    they should be cheap to repeat. The partials of an operation without derivative, and of an integer
    exponent, are the constant zero. Raises DifferentiationError (LD410) if the operation has no rule.
    """
    terms = Terms(dtype)
    match TABLE.get(apply.op):
        case Rule(derive=derive):
            return derive(terms, apply.args, result)
        case ZeroDerivative():
            return (terms.zero,) * len(apply.args)
        case Refused(reason=reason):
            raise no_rule(apply.op, reason, apply.loc)
        case None:
            raise no_rule(apply.op, "the derivative table has no row for it", apply.loc)


def no_rule(op: Op, reason: str, span: Span) -> DifferentiationError:
    message = f"`{op.value}` cannot be differentiated: {reason}"
    return DifferentiationError(Diagnostic("LD410", message, span, "leave its argument out of `wrt`"))


def zero_reason(op: Op) -> str | None:
    """Why `op` carries no derivative, for reports; None if it carries one."""
    row = TABLE.get(op)
    return row.reason if isinstance(row, ZeroDerivative) else None
