"""Integer arithmetic on surface expressions with sums folded, so that `x[1:]` at `i - 1` reads `x[i]`."""

from __future__ import annotations

from collections.abc import Callable

from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded, from_linear, linear
from loopdiff.ir.minima import difference, is_sum_nonnegative, negated_sum
from loopdiff.ir.ops import Op

Test = Callable[[ir.Expr], bool]
ZERO, ONE = ir.Const(0), ir.Const(1)


def plus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return folded(ir.Apply(Op.ADD, (a, b), loc=a.loc))


def minus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return folded(ir.Apply(Op.SUB, (a, b), loc=a.loc))


def times(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return folded(ir.Apply(Op.MUL, (a, b), loc=a.loc))


def divided(a: ir.Expr, count: int) -> ir.Expr:
    """`a // count`, rounded down."""
    match folded(a):
        case ir.Const(value=int(value)):
            return ir.Const(value // count, loc=a.loc)
        case total:
            return total if count == 1 else ir.Apply(Op.FLOORDIV, (total, ir.Const(count, loc=a.loc)), loc=a.loc)


def minimum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    match sign(a, b):
        case None:
            return ir.Apply(Op.MIN, (a, b), loc=a.loc)
        case found:
            return a if found <= 0 else b


def maximum(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    match sign(a, b):
        case None:
            return ir.Apply(Op.MAX, (a, b), loc=a.loc)
        case found:
            return a if found >= 0 else b


def distance(a: ir.Expr, b: ir.Expr) -> int | None:
    """`a - b` if that is a constant."""
    if a == b:
        return 0
    terms, constant = difference(a, b)
    return None if terms else constant


def sign(a: ir.Expr, b: ir.Expr) -> int | None:
    """`a - b` if that is a constant; 1 if `a` is at least `b`, -1 if it is at most `b`; None if neither is seen."""
    gap = difference(a, b)
    terms, constant = gap
    if not terms:
        return constant
    return 1 if is_sum_nonnegative(*gap) else -1 if is_sum_nonnegative(*negated_sum(gap)) else None


def at_least_zero(a: ir.Expr, is_certain: Test | None = None) -> ir.Expr:
    """`max(a, 0)`. `is_certain` tells what is not negative where it stands, if more is known there than anywhere."""
    return a if (is_certain or is_nonnegative)(a) else maximum(a, ir.Const(0, loc=a.loc))


def is_nonnegative(expr: ir.Expr) -> bool:
    """Whether `expr` is certainly not negative."""
    match expr:
        case ir.Const(value=value):
            return value >= 0
        case ir.Dim() | ir.SizeOf():
            return True
        case ir.Apply(op=Op.MAX, args=args):
            return any(map(is_nonnegative, args))
        case ir.Apply(op=Op.MIN | Op.MUL | Op.ADD, args=args):
            return all(map(is_nonnegative, args))
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(a, ir.Const(value=divisor))):
            return divisor > 0 and (expr.op is Op.MOD or is_nonnegative(a))
        case ir.Select(then=then, orelse=orelse):
            return is_nonnegative(then) and is_nonnegative(orelse)
        case _:
            return False


def upper_limit(expr: ir.Expr) -> int | None:
    """A number that `expr` never exceeds, if one is seen."""
    match expr:
        case ir.Const(value=int(value)):
            return int(value)
        case ir.Apply(op=Op.MIN, args=args):
            found = [n for a in args if (n := upper_limit(a)) is not None]
            return min(found, default=None)
        case ir.Apply(op=Op.MAX, args=args):
            limits = [upper_limit(a) for a in args]
            return None if None in limits else max(n for n in limits if n is not None)
        case _:
            return shifted_limit(expr)


def shifted_limit(expr: ir.Expr) -> int | None:
    """The limit of `min(i + 1, N) - i`."""
    return min((n for s in sums_of_minimum(expr) if (n := constant_value(s)) is not None), default=None)


def sums_of_minimum(expr: ir.Expr) -> list[ir.Expr]:
    """The sums of which `expr`, itself a sum, is the smallest: `i + 1 - i` and `N - i` for `min(i + 1, N) - i`. None if
    it adds no minimum.
    """
    terms, constant = linear(expr)
    for term, count in terms.items():
        if count == 1 and isinstance(term, ir.Apply) and term.op is Op.MIN:
            rest = from_linear({t: n for t, n in terms.items() if t != term}, constant, expr.loc)
            return [plus(a, rest) for a in term.args]
    return []


def constant_value(expr: ir.Expr) -> int | None:
    terms, constant = linear(expr)
    return None if terms else constant


def count_of(extent: ir.Expr) -> ir.Expr:
    """`extent` as the end of a range from zero, where negative ends are as good as zero."""
    match extent:
        case ir.Apply(op=Op.MAX, args=(a, ir.Const(value=0))):
            return a
        case _:
            return extent
