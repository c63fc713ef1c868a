"""What computes nothing that is used goes, but for divisions of integers by zero, for which Python raises."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.liveness import divisions, drop_dead_cell_stores
from loopdiff.canonical.single_assignment import drop_unused_cells
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import any_of, compare, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, cell_types, type_env, type_of
from loopdiff.ir.walk import all_statements, map_body


def drop_unused(ls: ir.LoopSet) -> ir.LoopSet:
    """Normal `ls` without what computes nothing that is used."""
    found = without_unused(ls)
    kept = {s.name for s in all_statements(found.body) if isinstance(s, ir.Let)}
    checked = with_checks(ls, kept)
    return found if checked is ls else without_unused(checked)


def without_unused(ls: ir.LoopSet) -> ir.LoopSet:
    cells = frozenset(cell_types(ls))
    return drop_unused_cells(drop_dead_cell_stores(ls, cells), cells)


def with_checks(ls: ir.LoopSet, kept: set[str]) -> ir.LoopSet:
    """`ls` with a check ahead of each Let, other than those that are `kept`, of what it divides by."""
    types = type_env(ls)

    def rewrite(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        return (*divisor_checks(stmt, types), stmt) if isinstance(stmt, ir.Let) and stmt.name not in kept else (stmt,)

    body = map_body(ls.body, rewrite)
    return ls if body == ls.body else replace(ls, body=body)


def divisor_checks(stmt: ir.Let, types: TypeEnv) -> Iterator[ir.Require]:
    for quotient, guards in divisions(stmt.value):
        if type_of(quotient, types) != INT:
            continue
        divisor = quotient.args[1]
        excuses = [ir.Apply(Op.NOT, (cond,)) if holds else cond for cond, holds in guards]
        cond = any_of([*excuses, compare(Op.NE, divisor, integer(0))])
        message = f"an integer is divided by `{print_expr(divisor)}` at {ir.PLACE}, which is zero"
        yield ir.Require(cond, "LD333", message, loc=stmt.loc)
