"""Integer expressions as sums of multiples."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.errors import Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import subexprs

Sum = dict[ir.Expr, int]


def linear(expr: ir.Expr) -> tuple[Sum, int]:
    """`expr` as a sum of multiples of what is not a sum, and a constant."""
    match expr:
        case ir.Const(value=int(value)):
            return {}, int(value)
        case ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
            (left, c), (right, d) = linear(a), linear(b)
            sign = 1 if op is Op.ADD else -1
            return added(left, right, sign), c + sign * d
        case ir.Apply(op=Op.NEG, args=(a,)):
            terms, c = linear(a)
            return added({}, terms, -1), -c
        case ir.Apply(op=Op.MUL, args=(a, b)):
            (left, c), (right, d) = linear(a), linear(b)
            if not left:
                return added({}, right, c), c * d
            if not right:
                return added({}, left, d), c * d
            return {expr: 1}, 0
        case _:
            return {expr: 1}, 0


def added(left: Sum, right: Sum, factor: int) -> Sum:
    result = dict(left)
    for term, count in right.items():
        result[term] = result.get(term, 0) + factor * count
    return {t: n for t, n in result.items() if n}


def factors_of(term: ir.Expr) -> Iterator[ir.Expr]:
    """What is multiplied in `term`, in any order and grouping: both wrap to the same number."""
    match term:
        case ir.Apply(op=Op.MUL, args=(a, b)):
            yield from factors_of(a)
            yield from factors_of(b)
        case _:
            yield term


def from_linear(terms: Sum, constant: int, loc: Span, dtype: ScalarType | None = None) -> ir.Expr:
    """The sum as an expression: what is added, what is subtracted, the constant; literals are of type `dtype`."""
    result: ir.Expr | None = None
    for term, count in sorted(terms.items(), key=lambda item: item[1] < 0):
        part = term if abs(count) == 1 else ir.Apply(Op.MUL, (ir.Const(abs(count), dtype, loc=loc), term), loc=loc)
        if result is None and count < 0:
            result, constant = (ir.Const(constant, dtype, loc=loc), 0) if constant > 0 else (None, constant)
        if result is None:
            result = part if count > 0 else ir.Apply(Op.NEG, (part,), loc=loc)
        else:
            result = ir.Apply(Op.ADD if count > 0 else Op.SUB, (result, part), loc=loc)
    if result is None:
        return ir.Const(constant, dtype, loc=loc)
    if constant:
        op = Op.ADD if constant > 0 else Op.SUB
        return ir.Apply(op, (result, ir.Const(abs(constant), dtype, loc=loc)), loc=loc)
    return result


def folded(expr: ir.Expr, dtype: ScalarType | None = None) -> ir.Expr:
    """`expr` with its sums folded, their literals of type `dtype`."""
    return from_linear(*linear(expr), expr.loc, dtype)


def is_index_arithmetic(expr: ir.Expr) -> bool:
    """Whether `expr` combines indices, extents and small constants by +, - and * only: it cannot overflow."""
    return all(
        isinstance(e, ir.Index | ir.Dim | ir.SizeOf)
        or (isinstance(e, ir.Apply) and e.op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG))
        or (isinstance(e, ir.Const) and abs(e.value) < 1 << 16)
        for e in subexprs(expr)
    )
