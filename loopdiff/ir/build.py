"""Small constructors for derived IR: arithmetic with constants folded, so that generated text stays readable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loopdiff.ir.nodes import Apply, ArrayDecl, Cast, Const, Dim, Expr, Load, Loop, Param, Stmt, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL, INT, ScalarType


def integer(value: int) -> Const:
    return Const(value, INT)


def is_constant(expr: Expr, value: float) -> bool:
    return isinstance(expr, Const) and not isinstance(expr.value, bool) and expr.value == value


def add(a: Expr, b: Expr) -> Expr:
    if is_constant(a, 0):
        return b
    if is_constant(b, 0):
        return a
    if isinstance(a, Const) and isinstance(b, Const) and a.dtype == INT:
        return integer(int(a.value) + int(b.value))
    return Apply(Op.ADD, (a, b))


def sub(a: Expr, b: Expr) -> Expr:
    if is_constant(b, 0):
        return a
    if isinstance(a, Const) and isinstance(b, Const) and a.dtype == INT:
        return integer(int(a.value) - int(b.value))
    return Apply(Op.SUB, (a, b))


def natural(extent: Expr) -> Expr:
    """`extent`, or zero where it is negative."""
    if isinstance(extent, Const):
        return integer(max(0, int(extent.value)))
    return extent if is_natural(extent) else Apply(Op.MAX, (integer(0), extent))


def is_natural(extent: Expr) -> bool:
    """Whether `extent` can be seen not to be negative."""
    match extent:
        case Dim():
            return True
        case Const(value=value):
            return value >= 0
        case Apply(op=Op.MAX, args=args):
            return any(map(is_natural, args))
        case Apply(op=Op.ADD | Op.MUL | Op.MIN, args=args):
            return all(map(is_natural, args))
        case _:
            return False


def at_least_one(expr: Expr) -> Expr:
    """`expr`, or one where it is less."""
    return Apply(Op.MAX, (integer(1), expr))


def mul(a: Expr, b: Expr) -> Expr:
    if is_constant(a, 1):
        return b
    if is_constant(b, 1):
        return a
    if is_constant(a, -1):
        return neg(b)
    if is_constant(b, -1):
        return neg(a)
    return Apply(Op.MUL, (a, b))


def neg(a: Expr) -> Expr:
    if isinstance(a, Const):
        return Const(-a.value, a.dtype)
    if isinstance(a, Apply) and a.op == Op.NEG:
        return a.args[0]
    return Apply(Op.NEG, (a,))


def rounded_alone(expr: Apply) -> Apply:
    """The operation `expr` of floating numbers in the form that no compiler merges with another; most have no other."""
    match expr.op, expr.args:
        case Op.ADD, args:
            return Apply(Op.STRICT_ADD, args, loc=expr.loc)
        case Op.SUB, args:
            return Apply(Op.STRICT_SUB, args, loc=expr.loc)
        case Op.MUL, args:
            return Apply(Op.STRICT_MUL, args, loc=expr.loc)
        case Op.DIV, args:
            return Apply(Op.STRICT_DIV, args, loc=expr.loc)
        case _:
            return expr


def floordiv(a: Expr, b: Expr) -> Expr:
    return a if is_constant(b, 1) else Apply(Op.FLOORDIV, (a, b))


def divide(a: Expr, b: Expr) -> Expr:
    return Apply(Op.DIV, (a, b))


def compare(op: Op, a: Expr, b: Expr) -> Expr:
    return Apply(op, (a, b))


def all_of(conds: Iterable[Expr]) -> Expr:
    """Whether all of the conditions hold, each asked for once."""
    return joined(Op.AND, conds, True)


def conjuncts(cond: Expr) -> tuple[Expr, ...]:
    """The conditions that `cond` asks for one after the other."""
    return cond.args if isinstance(cond, Apply) and cond.op is Op.AND else (cond,)


def any_of(conds: Iterable[Expr]) -> Expr:
    """Whether one of the conditions holds."""
    return joined(Op.OR, conds, False)


def joined(op: Op, parts: Iterable[Expr], neutral: bool) -> Expr:
    flat = (q for p in parts for q in (p.args if isinstance(p, Apply) and p.op == op else (p,)))
    found = tuple(dict.fromkeys(p for p in flat if p != Const(neutral, BOOL)))
    if any(p == Const(not neutral, BOOL) for p in found):
        return Const(not neutral, BOOL)
    return Const(neutral, BOOL) if not found else found[0] if len(found) == 1 else Apply(op, found)


def parted(expr: Expr) -> tuple[Expr, int]:
    """The integer `expr` as something and a constant; any other as it is, and 0."""
    match expr:
        case Const(value=int(value)):
            return integer(0), value
        case Apply(op=Op.ADD, args=(rest, Const(value=int(value)))):
            base, offset = parted(rest)
            return base, offset + value
        case Apply(op=Op.SUB, args=(rest, Const(value=int(value)))):
            base, offset = parted(rest)
            return base, offset - value
        case _:
            return expr, 0


def shifted(expr: Expr, by: int) -> Expr:
    """The integer `expr` and the constant `by`, as one constant with those in it."""
    base, offset = parted(expr)
    return add(base, integer(offset + by)) if offset + by >= 0 else sub(base, integer(-offset - by))


def zero(dtype: ScalarType) -> Const:
    return Const(0.0, dtype)


def strong_mul(bar: Expr, slope: Expr) -> Expr:
    """`bar * slope`, and zero where `bar` is zero whatever `slope`: a derivative that is zero contributes nothing."""
    if is_constant(slope, 1):
        return bar
    is_plain = isinstance(bar, Const) and bar.value != 0
    return times_slope(bar, slope) if is_plain else Apply(Op.STRONG_MUL, (bar, slope))


def times_slope(bar: Expr, slope: Expr) -> Expr:
    """`bar * slope`, with a slope of the form 1 / x applied as one division."""
    match slope:
        case Apply(op=Op.DIV, args=(over, under)) if is_constant(over, 1):
            return Apply(Op.DIV, (bar, under))
        case _:
            return mul(bar, slope)


def cast(value: Expr, source: ScalarType, target: ScalarType) -> Expr:
    return value if source == target else Cast(target, value)


def is_atom(expr: Expr) -> bool:
    """Whether repeating `expr` costs nothing."""
    return isinstance(expr, Const | Var | Param) or (isinstance(expr, Load) and not expr.access.subscripts)


def extents_of(decl: ArrayDecl) -> tuple[Expr, ...]:
    """The shape of an array as expressions."""
    assert decl.type is not None
    if decl.extents is not None:
        return decl.extents
    own = tuple(Dim(decl.name, k) for k in range(decl.type.rank - decl.type.is_pair))
    return (*own, integer(2)) if decl.type.is_pair else own


def turned_round(loop: Loop) -> Loop:
    """The iterations of a loop that counts down by one, in the other order."""
    return replace(loop, lower=shifted(loop.upper, 1), upper=shifted(loop.lower, 1), step=integer(1))


def is_descending(stmt: Stmt) -> bool:
    return isinstance(stmt, Loop) and isinstance(stmt.step, Const) and stmt.step.value == -1
