"""Small constructors for derived IR: arithmetic with constants folded, so that generated text stays readable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeGuard

from loopdiff.errors import NOWHERE, Span
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL, INT, ScalarType


def integer(value: int) -> ir.Const:
    return ir.Const(value, INT)


def is_constant(expr: ir.Expr, value: float) -> bool:
    return isinstance(expr, ir.Const) and not isinstance(expr.value, bool) and expr.value == value


def add(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if is_constant(a, 0):
        return b
    if is_constant(b, 0):
        return a
    if isinstance(a, ir.Const) and isinstance(b, ir.Const) and a.dtype == INT:
        return integer(int(a.value) + int(b.value))
    return ir.Apply(Op.ADD, (a, b))


def sub(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if is_constant(b, 0):
        return a
    if isinstance(a, ir.Const) and isinstance(b, ir.Const) and a.dtype == INT:
        return integer(int(a.value) - int(b.value))
    return ir.Apply(Op.SUB, (a, b))


def natural(extent: ir.Expr) -> ir.Expr:
    """`extent`, or zero where it is negative."""
    if isinstance(extent, ir.Const):
        return integer(max(0, int(extent.value)))
    return extent if is_natural(extent) else ir.Apply(Op.MAX, (integer(0), extent))


def is_natural(extent: ir.Expr) -> bool:
    """Whether `extent` can be seen not to be negative."""
    match extent:
        case ir.Dim():
            return True
        case ir.Const(value=value):
            return value >= 0
        case ir.Apply(op=Op.MAX, args=args):
            return any(map(is_natural, args))
        case ir.Apply(op=Op.ADD | Op.MUL | Op.MIN, args=args):
            return all(map(is_natural, args))
        case _:
            return False


def at_least_one(expr: ir.Expr) -> ir.Expr:
    """`expr`, or one where it is less."""
    return ir.Apply(Op.MAX, (integer(1), expr))


def mul(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    if is_constant(a, 1):
        return b
    if is_constant(b, 1):
        return a
    if is_constant(a, -1):
        return neg(b)
    if is_constant(b, -1):
        return neg(a)
    return ir.Apply(Op.MUL, (a, b))


def neg(a: ir.Expr) -> ir.Expr:
    if isinstance(a, ir.Const):
        return ir.Const(-a.value, a.dtype)
    if isinstance(a, ir.Apply) and a.op == Op.NEG:
        return a.args[0]
    return ir.Apply(Op.NEG, (a,))


def rounded_alone(expr: ir.Apply) -> ir.Apply:
    """The operation `expr` of floating numbers in the form that no compiler merges with another; most have no other."""
    match expr.op, expr.args:
        case Op.ADD, args:
            return ir.Apply(Op.STRICT_ADD, args, loc=expr.loc)
        case Op.SUB, args:
            return ir.Apply(Op.STRICT_SUB, args, loc=expr.loc)
        case Op.MUL, args:
            return ir.Apply(Op.STRICT_MUL, args, loc=expr.loc)
        case Op.DIV, args:
            return ir.Apply(Op.STRICT_DIV, args, loc=expr.loc)
        case _:
            return expr


def floordiv(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return a if is_constant(b, 1) else ir.Apply(Op.FLOORDIV, (a, b))


def divide(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.DIV, (a, b))


def compare(op: Op, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    return ir.Apply(op, (a, b))


def has_iterations(loop: ir.Loop) -> ir.Expr:
    """Whether a loop whose step is constant runs at all."""
    assert isinstance(loop.step, ir.Const)
    return compare(Op.LT if loop.step.value > 0 else Op.GT, loop.lower, loop.upper)


def all_of(conds: Iterable[ir.Expr]) -> ir.Expr:
    """Whether all of the conditions hold, each asked for once."""
    return joined(Op.AND, conds, True)


def conjuncts(cond: ir.Expr) -> tuple[ir.Expr, ...]:
    """The conditions that `cond` asks for one after the other."""
    return cond.args if isinstance(cond, ir.Apply) and cond.op is Op.AND else (cond,)


def any_of(conds: Iterable[ir.Expr]) -> ir.Expr:
    """Whether one of the conditions holds."""
    return joined(Op.OR, conds, False)


def joined(op: Op, parts: Iterable[ir.Expr], neutral: bool) -> ir.Expr:
    flat = (q for p in parts for q in (p.args if isinstance(p, ir.Apply) and p.op == op else (p,)))
    found = tuple(dict.fromkeys(p for p in flat if p != ir.Const(neutral, BOOL)))
    if any(p == ir.Const(not neutral, BOOL) for p in found):
        return ir.Const(not neutral, BOOL)
    return ir.Const(neutral, BOOL) if not found else found[0] if len(found) == 1 else ir.Apply(op, found)


def parted(expr: ir.Expr) -> tuple[ir.Expr, int]:
    """The integer `expr` as something and a constant; any other as it is, and 0."""
    match expr:
        case ir.Const(value=int(value)):
            return integer(0), value
        case ir.Apply(op=Op.ADD, args=(rest, ir.Const(value=int(value)))):
            base, offset = parted(rest)
            return base, offset + value
        case ir.Apply(op=Op.SUB, args=(rest, ir.Const(value=int(value)))):
            base, offset = parted(rest)
            return base, offset - value
        case _:
            return expr, 0


def shifted(expr: ir.Expr, by: int) -> ir.Expr:
    """The integer `expr` and the constant `by`, as one constant with those in it."""
    base, offset = parted(expr)
    return add(base, integer(offset + by)) if offset + by >= 0 else sub(base, integer(-offset - by))


def zero(dtype: ScalarType) -> ir.Const:
    return ir.Const(0.0, dtype)


def strong_mul(bar: ir.Expr, slope: ir.Expr) -> ir.Expr:
    """`bar * slope`, and zero where `bar` is zero whatever `slope`: a derivative that is zero contributes nothing."""
    if is_constant(slope, 1):
        return bar
    is_plain = isinstance(bar, ir.Const) and bar.value != 0
    return times_slope(bar, slope) if is_plain else ir.Apply(Op.STRONG_MUL, (bar, slope))


def times_slope(bar: ir.Expr, slope: ir.Expr) -> ir.Expr:
    """`bar * slope`, with a slope of the form 1 / x applied as one division."""
    match slope:
        case ir.Apply(op=Op.DIV, args=(over, under)) if is_constant(over, 1):
            return ir.Apply(Op.DIV, (bar, under))
        case _:
            return mul(bar, slope)


def cast(value: ir.Expr, source: ScalarType, target: ScalarType) -> ir.Expr:
    return value if source == target else ir.Cast(target, value)


def is_atom(expr: ir.Expr) -> bool:
    """Whether repeating `expr` costs nothing."""
    return isinstance(expr, ir.Const | ir.Var | ir.Param) or (isinstance(expr, ir.Load) and not expr.access.subscripts)


def extents_of(decl: ir.ArrayDecl) -> tuple[ir.Expr, ...]:
    """The shape of an array as expressions."""
    assert decl.type is not None
    if decl.extents is not None:
        return decl.extents
    own = tuple(ir.Dim(decl.name, k) for k in range(decl.type.rank - decl.type.is_pair))
    return (*own, integer(2)) if decl.type.is_pair else own


def nested(loops: Sequence[ir.Loop], body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The `loops`, each inside the one before it, around another `body`."""
    for loop in reversed(loops):
        body = (replace(loop, body=body),)
    return body


def upto(index: str, extent: ir.Expr, body: tuple[ir.Stmt, ...] = (), loc: Span = NOWHERE) -> ir.Loop:
    """The loop from 0 up to `extent`."""
    return ir.Loop(index, ir.Const(0, INT, loc=loc), extent, ir.Const(1, INT, loc=loc), body, loc=loc)


def over_elements(
    extents: Sequence[ir.Expr], names: NameSupply, stem: str = "d", loc: Span = NOWHERE
) -> tuple[list[ir.Loop], tuple[ir.Expr, ...]]:
    """Loops over all elements of an array of the `extents`, for `nested`, and the subscripts of an element in them."""
    loops = [upto(names.fresh(stem), extent, loc=loc) for extent in extents]
    return loops, tuple(ir.Index(p.index, loc=loc) for p in loops)


def is_zero(expr: ir.Expr | None) -> bool:
    return isinstance(expr, ir.Const) and expr.value == 0


def may_divide_by_zero(expr: ir.Expr) -> TypeGuard[ir.Apply]:
    """Whether `expr` is `//` or `%` by what may be zero."""
    match expr:
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, divisor)):
            return not (isinstance(divisor, ir.Const) and divisor.value)
        case _:
            return False


def zeroed(stmt: ir.Stmt) -> ir.Access | None:
    """What `stmt` sets to zero, if it does: an element, a cell, or, by its name alone, all of an array."""
    match stmt:
        case ir.Allocate(array=array, fill=fill) if is_zero(fill):
            return ir.Access(array, loc=stmt.loc)
        case ir.Assign(target=target, value=value) if is_zero(value):
            return target
        case _:
            return None


def is_clear(stmt: ir.Stmt) -> bool:
    """Whether `stmt` sets an element to zero."""
    found = zeroed(stmt)
    return found is not None and bool(found.subscripts)


def has_same_range(first: ir.Loop, second: ir.Loop) -> bool:
    """Whether both loops go through the same numbers in the same order."""
    return (first.lower, first.upper, first.step) == (second.lower, second.upper, second.step)


def turned_round(loop: ir.Loop) -> ir.Loop:
    """The iterations of a loop that counts down by one, in the other order."""
    return replace(loop, lower=shifted(loop.upper, 1), upper=shifted(loop.lower, 1), step=integer(1))


def is_unit_step(loop: ir.Loop) -> bool:
    """Whether `loop` goes by one, up or down."""
    return isinstance(loop.step, ir.Const) and abs(loop.step.value) == 1


def is_from_zero(loop: ir.Loop) -> bool:
    """Whether `loop` counts up by one from zero."""
    return is_zero(loop.lower) and is_constant(loop.step, 1)


def is_descending(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Loop) and isinstance(stmt.step, ir.Const) and stmt.step.value == -1
