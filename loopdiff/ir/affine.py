"""Integer expressions as sums of multiples."""

from __future__ import annotations

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op

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
