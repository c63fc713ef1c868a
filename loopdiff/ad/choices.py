"""Who was the greater or the smaller of two values: one byte in place of both, where these are overwritten.

    y = max(u, v)        code: u alone, both, v alone, or none of them where one is not a number

A maximum or minimum sends its cotangent on by nothing but that. Where both would be recorded for it, the forward sweep
records the code, as it does for those that go on over a loop (`ad.regions`).
"""

from __future__ import annotations

from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At, AtUse
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import loads

FIRST, BOTH, SECOND, NEITHER = map(integer, range(4))


def chosen_slopes(needed: Needed, expr: ir.Apply, kind: ScalarType, at: At) -> tuple[ir.Expr, ...] | None:
    """The derivatives of `expr`, of this kind, by its operands, from what was recorded of who it was; None where
    operands need not be recorded for that, and for other operations."""
    if expr.op not in (Op.MIN, Op.MAX) or len(expr.args) != 2 or not at.path:
        return None
    code = code_of(expr)
    if needed.slot_of(code, at) is None and sum(is_missing(needed, part, at) for part in expr.args) < len(expr.args):
        return None
    held = needed.record(code, at, "int8")

    def slope(alone: ir.Expr) -> ir.Expr:
        tied = ir.Select(compare(Op.EQ, held, BOTH), ir.Const(0.5, kind), ir.Const(0.0, kind))
        return ir.Select(compare(Op.EQ, held, alone), ir.Const(1.0, kind), tied)

    return slope(FIRST), slope(SECOND)


def code_of(expr: ir.Apply) -> ir.Expr:
    """Who is the extremum that `expr` finds."""
    x, y = expr.args
    beats = Op.GT if expr.op is Op.MAX else Op.LT
    last = ir.Select(compare(beats, y, x), SECOND, NEITHER)
    return ir.Select(compare(beats, x, y), FIRST, ir.Select(compare(Op.EQ, x, y), BOTH, last), loc=expr.loc)


def is_missing(needed: Needed, part: ir.Expr, at: At) -> bool:
    """Whether an operand is made of what would have to be recorded, and is not."""
    found = [e for e in loads(part) if isinstance(needed.provider(e.access, at), AtUse)]
    return any(needed.slot_of(e, at) is None for e in found)
