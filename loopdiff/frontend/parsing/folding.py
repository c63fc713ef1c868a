"""Operators on constants, decided when parsed, exactly as Python would."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from loopdiff.errors import Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import map_expr

FOLD: dict[Op, Callable[[Any, Any], Any]] = {
    Op.ADD: operator.add, Op.SUB: operator.sub, Op.MUL: operator.mul, Op.DIV: operator.truediv,
    Op.FLOORDIV: operator.floordiv, Op.MOD: operator.mod, Op.POW: operator.pow, Op.BITAND: operator.and_,
    Op.BITOR: operator.or_, Op.BITXOR: operator.xor, Op.SHL: operator.lshift, Op.SHR: operator.rshift,
    Op.LT: operator.lt, Op.LE: operator.le, Op.GT: operator.gt, Op.GE: operator.ge, Op.EQ: operator.eq,
    Op.NE: operator.ne,
}  # fmt: skip
LARGEST_SHIFT = 64


def binary(op: Op, left: ir.Expr, right: ir.Expr, span: Span) -> ir.Expr:
    """`left op right`, computed now if both are weak constants (exactly as Python would)."""
    if isinstance(left, ir.Const) and isinstance(right, ir.Const) and left.dtype is None and right.dtype is None:
        too_large = op in (Op.SHL, Op.POW) and abs(right.value) > LARGEST_SHIFT
        try:
            value = None if too_large else FOLD[op](left.value, right.value)
        except (ArithmeticError, TypeError, ValueError):
            value = None
        if isinstance(value, complex):  # a root of a negative number
            return ir.Pair(ir.Const(value.real, loc=span), ir.Const(value.imag, loc=span), loc=span)
        if isinstance(value, float) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
            return ir.Const(value, loc=span)
    return ir.Apply(op, (left, right), loc=span)


def decided(expr: ir.Expr) -> ir.Expr:
    """The truth value `expr` where constants decide it, else `expr` itself."""
    found = map_expr(decided_part, expr)
    return ir.Const(bool(found.value), loc=expr.loc) if isinstance(found, ir.Const) else expr


def decided_part(expr: ir.Expr) -> ir.Expr:
    match expr:
        case ir.Apply(op=op, args=(left, right)) if op in FOLD:
            return binary(op, left, right, expr.loc)
        case ir.Apply(op=Op.AND | Op.OR as op, args=args) if all(isinstance(a, ir.Const) for a in args):
            holds = [bool(a.value) for a in args if isinstance(a, ir.Const)]
            return ir.Const(all(holds) if op is Op.AND else any(holds), loc=expr.loc)
        case ir.Apply(op=Op.NOT, args=(ir.Const(value=value),)):
            return ir.Const(not value, loc=expr.loc)
        case _:
            return expr
