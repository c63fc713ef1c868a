"""The program's own errors about shapes and arguments, `if n < 0: raise ValueError(...)`, and those of the shapes that
it gives arrays, ahead of all checks.

They say more than a check of a subscript that would fail for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, subexprs

STATED, OF_SHAPES = "LD332", "LD322"
PLAIN = (
    Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE, Op.AND, Op.OR, Op.NOT, Op.MIN, Op.MAX,
)  # fmt: skip


def stated_first(ls: ir.LoopSet, body: tuple[ir.Stmt, ...]) -> tuple[tuple[ir.Stmt, ...], tuple[ir.Stmt, ...]]:
    """The errors of `body` that the call alone decides, in their order, and what is left of it. None is taken past
    another error of the program."""
    first: list[ir.Stmt] = []
    rest: list[ir.Stmt] = []
    for stmt in body:
        if is_stated(ls, stmt) and not may_state(rest):
            first.append(stmt)
        else:
            rest.append(stmt)
    return tuple(first), tuple(rest)


def is_stated(ls: ir.LoopSet, stmt: ir.Stmt) -> bool:
    match stmt:
        case ir.Require(cond=cond, code=code):
            return code in (STATED, OF_SHAPES) and is_of_call(ls, cond)
        case ir.If(cond=cond, then=then, orelse=()):
            return is_of_call(ls, cond) and bool(then) and all(is_stated(ls, s) for s in then)
        case _:
            return False


def may_state(body: Iterable[ir.Stmt]) -> bool:
    return any(isinstance(s, ir.Require) and s.code == STATED for s in all_statements(tuple(body)))


def is_of_call(ls: ir.LoopSet, cond: ir.Expr) -> bool:
    """Whether `cond` is made of scalar arguments and extents of arguments, and of what cannot fail."""
    return all(is_of_argument(ls, e) for e in subexprs(cond))


def is_of_argument(ls: ir.LoopSet, expr: ir.Expr) -> bool:
    match expr:
        case ir.Const() | ir.Param():
            return True
        case ir.Dim(array=array):
            return ls.array(array).role == "argument"
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, ir.Const(value=divisor))):
            return bool(divisor)
        case ir.Apply(op=op):
            return op in PLAIN
        case _:
            return False
