"""Insertion of checks against negative extents of arrays, and against ranges whose bounds overflow."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.overflow import SUMS, without_overflow
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer, is_natural
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import Path, all_statements, subexprs

ALWAYS = ir.Const(True, BOOL)


def range_conditions(ls: ir.LoopSet) -> tuple[ir.Require, ...]:
    """One Require (LD325) for each range or array whose bounds are sums or products of numbers that the call gives."""
    out: dict[ir.Expr, ir.Require] = {}
    for stmt in all_statements(ls.body):
        parts = [e for bound in sizes(ls, stmt) for e in subexprs(bound) if combines(e)]
        cond = all_of(c for e in parts if (c := without_overflow(e)) is not None)
        what = "range" if isinstance(stmt, ir.Loop) else "array"
        message = f"numbers are too large for the {what} at {stmt.loc.in_words}: it needs {print_expr(cond)}"
        if cond != ALWAYS:
            out.setdefault(cond, ir.Require(cond, "LD325", message, loc=stmt.loc))
    return tuple(out.values())


def sizes(ls: ir.LoopSet, stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """What decides how far `stmt` goes, or how large an array it makes."""
    match stmt:
        case ir.Loop(lower=lower, upper=upper, step=step):
            return lower, upper, step
        case ir.Allocate(array=array):
            return ls.array(array).extents or ()
        case _:
            return ()


def combines(expr: ir.Expr) -> bool:
    """Whether `expr` adds or multiplies several numbers that a call gives, of which one is no extent."""
    is_sum = isinstance(expr, ir.Apply) and expr.op in SUMS
    inner = list(subexprs(expr))
    names = {e for e in inner if isinstance(e, ir.Param | ir.Dim)}
    is_given = all(
        isinstance(e, ir.Param | ir.Dim | ir.Const) or (isinstance(e, ir.Apply) and e.op in SUMS) for e in inner
    )
    return is_sum and is_given and len(names) > 1 and any(isinstance(e, ir.Param) for e in names)


def extent_conditions(ls: ir.LoopSet, path: Path, stmt: ir.Stmt) -> Iterator[ir.Require]:
    """What must hold before `stmt`, if it makes an array (LD324)."""
    if not isinstance(stmt, ir.Allocate):
        return
    for axis, extent in enumerate(ls.array(stmt.array).extents or ()):
        if not is_natural(extent):
            message = f"no array has a negative extent: axis {axis} has {print_expr(extent)}"
            yield ir.Require(compare(Op.GE, extent, integer(0)), "LD324", message, loc=stmt.loc)
