"""Overflow of 64-bit integers in conditions on extents and integer arguments."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import operands, subexprs

TOO_LARGE = 1 << 63
ALLOWED = (1 << 40, 1 << 31, 1 << 30, 1 << 20)  # numbers that are given, as large as the condition has room for
EXTENT = 1 << 48  # of arrays that have elements
SUMS = (Op.ADD, Op.SUB, Op.NEG, Op.MUL)


def without_overflow(cond: ir.Expr) -> ir.Expr | None:
    """What numbers in `cond` have to satisfy so that no sum or product in it overflows: they are less than a power of
    two. None if there is no such power."""
    sums = [e for e in subexprs(cond) if isinstance(e, ir.Apply) and e.op in SUMS]
    has_products = any(e.op == Op.MUL and not any(isinstance(a, ir.Const) for a in e.args) for e in sums)
    given = ir.Param | ir.Dim if has_products else ir.Param
    names = tuple(dict.fromkeys(n for e in sums for n in subexprs(e) if isinstance(n, given)))
    if not names:
        return ir.Const(True, BOOL)
    for most in ALLOWED:
        if all(magnitude(e, most, most if has_products else EXTENT) < TOO_LARGE for e in sums):
            return all_of(limit for name in names for limit in limits(name, most))
    return None


def limits(name: ir.Expr, most: int) -> Iterator[ir.Expr]:
    yield compare(Op.LE, name, integer(most))
    if isinstance(name, ir.Param):
        yield compare(Op.GE, name, integer(-most))


def magnitude(expr: ir.Expr, param: int, extent: int) -> int:
    """How far from zero a value is at most, if scalars and extents are no farther than these."""
    inner = [magnitude(e, param, extent) for e in operands(expr)]
    match expr:
        case ir.Const(value=value):
            return abs(int(value))
        case ir.Param():
            return param
        case ir.Dim():
            return extent
        case ir.Apply(op=Op.ADD | Op.SUB):
            return sum(inner)
        case ir.Apply(op=Op.MUL):
            return prod(inner)
        case _:
            return max(inner, default=TOO_LARGE)
