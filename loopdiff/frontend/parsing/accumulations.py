"""Stores that accumulate: `x = x + e` is `x += e`, and `m = max(m, e)` a reduction, whatever the spelling."""

from __future__ import annotations

from loopdiff.errors import Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import reads


def store(access: ir.Access, value: ir.Expr, span: Span, is_elementwise: bool = False) -> ir.Assign | ir.Accumulate:
    """`x = x + e`, `x = x - e`, `x = max(x, e)` and `x = min(x, e)` accumulate; anything else is assigned.

    So is `x = x + e + f`, which rounds twice. `is_elementwise`: the store is one of a whole array, whose `np.maximum`
    of two arrays is no reduction.
    """
    match value:
        case ir.Apply(op=(Op.ADD | Op.SUB)) if (rest := added(value, access)) is not None:
            return ir.Accumulate("add", access, rest, loc=span)
        case ir.Apply(op=(Op.MAX | Op.MIN) as op, args=args) if args.count(ir.Load(access)) == 1 and not is_elementwise:
            rest = tuple(a for a in args if a != ir.Load(access))
            if not any(reads(a, access) for a in rest):
                joined = rest[0] if len(rest) == 1 else ir.Apply(op, rest, loc=value.loc)
                return ir.Accumulate("max" if op is Op.MAX else "min", access, joined, loc=span)
        case _:
            pass
    return ir.Assign(access, value, loc=span)


def stores(access: ir.Access, number: ir.Expr, span: Span) -> list[ir.Assign | ir.Accumulate]:
    """`store` of a number; to a cell, `x = x + e + f` adds twice."""
    match number:
        case ir.Apply(op=(Op.ADD | Op.SUB) as op, args=(ir.Apply() as left, right)) if is_cell_apart(access, right):
            first = stores(access, left, span)
            if all(isinstance(s, ir.Accumulate) and s.op == "add" for s in first):
                return [*first, ir.Accumulate("add", access, right if op is Op.ADD else negated_term(right), loc=span)]
        case _:
            pass
    return [store(access, number, span)]


def is_cell_apart(access: ir.Access, expr: ir.Expr) -> bool:
    """Whether `access` is a cell that `expr` does not read."""
    return not access.subscripts and not reads(expr, access)


def added(value: ir.Expr, access: ir.Access) -> ir.Expr | None:
    """What `value` adds to it: `e` in `x + e`, `e + x` and `x - e`; None for other forms."""
    match value:
        case ir.Apply(op=Op.ADD, args=(left, right)) if right == ir.Load(access) and not reads(left, access):
            return left
        case ir.Apply(op=(Op.ADD | Op.SUB) as op, args=(left, right)) if left == ir.Load(access) and not reads(
            right, access
        ):
            return right if op is Op.ADD else negated_term(right)
        case _:
            return None


def negated_term(value: ir.Expr) -> ir.Expr:
    match value:
        case ir.Const(value=number, dtype=None) if not isinstance(number, bool):
            return ir.Const(-number, loc=value.loc)
        case _:
            return ir.Apply(Op.NEG, (value,), loc=value.loc)
