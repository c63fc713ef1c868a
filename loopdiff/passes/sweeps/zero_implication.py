"""Zero implication: whether an expression is zero wherever a given value is."""

from __future__ import annotations

from collections.abc import Collection

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import PRODUCTS, QUOTIENTS, SUMS, Op


def vanishes(expr: ir.Expr, zeros: Collection[str]) -> bool:
    """Whether `expr` is zero where the cells and Lets `zeros` are, or would be but for what is multiplied with them not
    being finite."""
    match expr:
        case ir.Const(value=value):
            return value == 0
        case ir.Load(access=ir.Access(array=name, subscripts=())) | ir.Var(name=name):
            return name in zeros
        case ir.Cast(value=value):
            return vanishes(value, zeros)
        case ir.Apply(op=op, args=args) if op in PRODUCTS or op is Op.STRONG_MUL:
            return any(vanishes(a, zeros) for a in args)
        case ir.Apply(op=op, args=(value, _)) if op in QUOTIENTS:
            return vanishes(value, zeros)
        case ir.Apply(op=op, args=args) if op in SUMS or op is Op.NEG:
            return all(vanishes(a, zeros) for a in args)
        case ir.Select(cond=ir.Apply(op=Op.NE, args=(value, ir.Const(value=0.0))), orelse=orelse) if vanishes(
            value, zeros
        ):
            return vanishes(orelse, zeros)
        case ir.Select(then=then, orelse=orelse):
            return vanishes(then, zeros) and vanishes(orelse, zeros)
        case _:
            return False
