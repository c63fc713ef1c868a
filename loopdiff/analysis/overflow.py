"""When conditions on extents and integer arguments mean what they say: integers have 64 bits, and wrap."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.ir.build import all_of, compare, integer
from loopdiff.ir.nodes import Apply, Const, Dim, Expr, Param
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import operands, subexprs

WIDTH = 62  # bits that values may have
ALLOWED = (40, 30, 20)  # ... and numbers that are given, as many as the condition has room for
EXTENT = 48  # ... and extents of arrays that have elements
SUMS = (Op.ADD, Op.SUB, Op.NEG, Op.MUL)


def without_overflow(cond: Expr) -> Expr | None:
    """What numbers in `cond` have to satisfy so that no sum or product in it overflows: they are less than a power of
    two. None if there is no such power."""
    sums = [e for e in subexprs(cond) if isinstance(e, Apply) and e.op in SUMS]
    has_products = any(e.op == Op.MUL and not any(isinstance(a, Const) for a in e.args) for e in sums)
    given = Param | Dim if has_products else Param
    names = tuple(dict.fromkeys(n for e in sums for n in subexprs(e) if isinstance(n, given)))
    if not names:
        return Const(True, BOOL)
    for bits in ALLOWED:
        if all(width(e, bits, bits if has_products else EXTENT) <= WIDTH for e in sums):
            return all_of(limit for name in names for limit in limits(name, 1 << bits))
    return None


def limits(name: Expr, most: int) -> Iterator[Expr]:
    yield compare(Op.LE, name, integer(most))
    if isinstance(name, Param):
        yield compare(Op.GE, name, integer(-most))


def width(expr: Expr, param: int, extent: int) -> int:
    """How many bits a value has at most, if scalars and extents have so many."""
    inner = [width(e, param, extent) for e in operands(expr)]
    match expr:
        case Const(value=value):
            return int(value).bit_length()
        case Param():
            return param
        case Dim():
            return extent
        case Apply(op=Op.ADD | Op.SUB):
            return max(inner) + 1
        case Apply(op=Op.MUL):
            return sum(inner)
        case _:
            return max(inner, default=WIDTH + 1)
