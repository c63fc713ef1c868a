"""Which products with partials are strong: zero where the adjoint or the tangent is, whatever the partial.

It is the partial that decides, not the operation. One that is finite for all operands, NaN among them, needs no care:
a constant, a sign. So does not one that is finite for all numbers and infinities, as the slope of tanh. All others do,
because they may be infinite or NaN: by their operands, or because they overflow.
Only the other factor of a product is taken as it is where it is there already: an element, a variable, or a sum of
such, or their multiples by a scalar. A contraction has no room for a test of each element, and such a number is
infinite only if what the program keeps is.
"""

from __future__ import annotations

import math

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import operands

BOUNDED_SLOPES = (Op.TANH, Op.ATAN, Op.ASINH, Op.ERF, Op.ERFC)  # NaN only of NaN
AS_LARGE_AS_ARGUMENTS = (*SUMS, Op.NEG, Op.ABS, Op.MIN, Op.MAX)


@immutable
class Strength:
    """Decides for the expressions of one program, of which it knows the types."""

    types: TypeEnv

    def is_needed(self, expr: ir.Apply, position: int, partial: ir.Expr) -> bool:
        """Whether a product with `partial`, that of `expr` by its argument at `position`, must be strong."""
        if is_always_finite(partial) or expr.op in BOUNDED_SLOPES:
            return False
        return expr.op not in PRODUCTS or is_power(expr) or not self.is_there(expr.args[1 - position])

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
