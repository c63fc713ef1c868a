"""Integer expressions as sums of multiples."""

from __future__ import annotations

from loopdiff.ir.nodes import Apply, Const, Expr
from loopdiff.ir.ops import Op

Sum = dict[Expr, int]


def linear(expr: Expr) -> tuple[Sum, int]:
    """`expr` as a sum of multiples of what is not a sum, and a constant."""
    match expr:
        case Const(value=int(value)):
            return {}, int(value)
        case Apply(op=Op.ADD | Op.SUB as op, args=(a, b)):
            (left, c), (right, d) = linear(a), linear(b)
            sign = 1 if op is Op.ADD else -1
            return added(left, right, sign), c + sign * d
        case Apply(op=Op.NEG, args=(a,)):
            terms, c = linear(a)
            return added({}, terms, -1), -c
        case Apply(op=Op.MUL, args=(a, b)):
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
