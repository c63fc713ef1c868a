"""Which products with partials are strong: zero where the adjoint or the tangent is, whatever the partial.

It is the partial that decides, not the operation. One that is finite for all operands, NaN among them, needs no care:
a constant, a sign. So does not one that is finite for all numbers and infinities, as the slope of tanh. All others do,
because they may be infinite or NaN: by their operands, or because they overflow.
Only the other factor of a product is taken as it is where it is there already: an element, a variable, or a sum of
such, or their multiples by a scalar. A contraction has no room for a test of each element, and such a number is
infinite only if what the program keeps is.

A partial may be a *weight*: the share that an operand has in a choice, as in max, or that a truth value gives a number
that it is multiplied with. Where a weight is zero, the operand has no influence near by either, so nothing comes of it
whatever the adjoint: not even of an infinite one.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant, is_zero, strong_mul
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, is_counted_truth, type_of
from loopdiff.ir.walk import operands

BOUNDED_SLOPES = (Op.TANH, Op.ATAN, Op.ASINH, Op.ERF, Op.ERFC)  # NaN only of NaN
AS_LARGE_AS_ARGUMENTS = (*SUMS, Op.NEG, Op.ABS, Op.MIN, Op.MAX)

Hold = Callable[[ir.Expr], ir.Expr]


@immutable
class Strength:
    """Decides for the expressions of one program, of which it knows the types."""

    types: TypeEnv

    def is_needed(self, expr: ir.Apply, position: int, partial: ir.Expr) -> bool:
        """Whether a product with `partial`, that of `expr` by its argument at `position`, must be strong."""
        if is_always_finite(partial) or expr.op in BOUNDED_SLOPES:
            return False
        return expr.op not in PRODUCTS or is_power(expr) or not self.is_there(expr.args[1 - position])

    def times(
        self, expr: ir.Apply, position: int, bar: ir.Expr, slope: ir.Expr, hold: Hold = lambda e: e
    ) -> ir.Expr | None:
        """`bar`, an adjoint or a tangent, times `slope`, the partial of `expr` by its argument at `position`, where
        that has a weight; None where it has none. `hold` names what is asked for more than once."""
        if self.is_weight(expr, position, slope):
            return strong_mul(slope, hold(bar))
        match slope:
            case ir.Apply(op=Op.STRONG_MUL, args=(weight, rest)) if self.is_power_of_integer(expr):
                return strong_mul(weight, strong_mul(hold(bar), hold(rest)))
            case ir.Select(then=then, orelse=orelse) if not (is_zero(then) or is_zero(orelse)):
                return None
            case ir.Select(cond=cond, then=then, orelse=orelse) if expr.op in PRODUCTS:
                # The program's own choice: it may keep a subscript inside of an array.
                held = hold(bar)
                then, orelse = (e if is_zero(e) else strong_mul(held, e) for e in (then, orelse))
                return ir.Select(cond, then, orelse)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                kind = type_of(expr, self.types)
                rest = orelse if is_zero(then) else then
                then, orelse = (ir.Const(0.0 if is_zero(e) else 1.0, kind) for e in (then, orelse))
                return strong_mul(ir.Select(cond, then, orelse), strong_mul(hold(bar), hold(rest)))
            case _:
                return None

    def is_weight(self, expr: ir.Apply, position: int, slope: ir.Expr) -> bool:
        """Whether all of `slope`, the partial of `expr` by its argument at `position`, is a weight."""
        if expr.op in PRODUCTS and is_counted_truth(expr.args[1 - position], self.types):
            return True
        return is_choice(slope) or (expr.op is Op.STRONG_MUL and position == 1)

    def is_power_of_integer(self, expr: ir.Apply) -> bool:
        """Whether `expr` is a power whose exponent, which the slope begins with, is an integer: zero or finite."""
        return expr.op is Op.POW and not type_of(expr.args[1], self.types).is_float

    def is_there(self, factor: ir.Expr) -> bool:
        """Whether `factor` is an element or a variable, or a sum of such, or a multiple by a scalar."""
        match factor:
            case ir.Load() | ir.Var():
                return True
            case ir.Cast(value=value):
                return self.is_there(value)
            case ir.Apply(op=op, args=args) if op in AS_LARGE_AS_ARGUMENTS:
                return all(map(self.is_there, args))
            case ir.Apply(op=op, args=(a, b)) if op in PRODUCTS:
                return (self.is_scalar(a) and self.is_there(b)) or (self.is_scalar(b) and self.is_there(a))
            case _:
                return self.is_scalar(factor)

    def is_scalar(self, factor: ir.Expr) -> bool:
        """Whether `factor` is a number that the program or the call gives, or an integer."""
        match factor:
            case ir.Const() | ir.Param():
                return True
            case ir.Cast(value=value):
                return self.is_scalar(value)
            case _:
                return not type_of(factor, self.types).is_float


def is_choice(slope: ir.Expr) -> bool:
    """Whether a slope is one of some constants."""
    return isinstance(slope, ir.Select) and is_always_finite(slope)


def is_power(product: ir.Apply) -> bool:
    """Whether both factors of `product` are made from one number, as in `v * v`, which is as strong as `v ** 2`."""
    one, other = map(made_from, product.args)
    return bool(one & other)


def made_from(expr: ir.Expr) -> frozenset[ir.Expr]:
    """The elements and variables that `expr` is computed from."""
    match expr:
        case ir.Load() | ir.Var() | ir.Param():
            return frozenset((expr,))
        case _:
            return frozenset().union(*map(made_from, operands(expr)))


def is_always_finite(partial: ir.Expr) -> bool:
    """Whether `partial` is finite whatever the operands are."""
    match partial:
        case ir.Const(value=value):
            return math.isfinite(float(value))
        case ir.Select(then=then, orelse=orelse):
            return is_always_finite(then) and is_always_finite(orelse)
        case ir.Apply(op=Op.DIV, args=(ir.Const(value=over), ir.Const(value=under))):
            return float(under) != 0.0 and math.isfinite(float(over) / float(under))
        case ir.Apply(op=Op.MUL, args=args):
            return all(isinstance(a, ir.Apply) and a.op is Op.COPYSIGN and is_constant(a.args[0], 1) for a in args)
        case _:
            return False
