"""What passes share that read elements of an array in the place where they are made: which arrays may go, and how."""

from __future__ import annotations

from collections.abc import Callable

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import (
    all_statements,
    loads,
    nodes_in,
    read_arrays,
    result_arrays,
    substitute,
    without,
    written_access,
)

Names = frozenset[str]


def unseen_arrays(ls: ir.LoopSet) -> Names:
    """Arrays with elements that nobody else sees."""
    calls = (s for s in all_statements(ls.body) if isinstance(s, ir.Call))
    passed = {e.access.array for s in calls for a in s.args if a is not None for e in loads(a)}
    local = (a.name for a in ls.arrays if a.role == "local" and a.extents)
    return frozenset(local) - result_arrays(ls) - passed


def without_arrays(ls: ir.LoopSet, arrays: Names, rewritten: Callable[[Names], ir.LoopSet]) -> ir.LoopSet:
    """What `ls` is, `rewritten` for as many of `arrays` as nothing reads then, without these."""
    while arrays:
        found = rewritten(arrays)
        body = without_stores(found.body, arrays)
        kept = read_arrays(body) | {e.array for e in nodes_in(body) if isinstance(e, ir.Dim)}
        if not arrays & kept:
            return replace(found, arrays=tuple(a for a in ls.arrays if a.name not in arrays), body=body)
        arrays -= kept
    return ls


def without_stores(body: tuple[ir.Stmt, ...], arrays: Names) -> tuple[ir.Stmt, ...]:
    def is_store(stmt: ir.Stmt) -> bool:
        target = written_access(stmt)
        is_made = isinstance(stmt, ir.Allocate) and stmt.array in arrays
        return is_made or (target is not None and target.array in arrays)

    return without(body, is_store)


def nest_with_lets(stmt: ir.Stmt) -> tuple[list[ir.Loop], dict[ir.Expr, ir.Expr], ir.Stmt] | None:
    """The loops of the nest that `stmt` is, from outside in, what Lets beside these stand for, and the statement inside
    of all; None if there are more."""
    loops: list[ir.Loop] = []
    lets: dict[ir.Expr, ir.Expr] = {}
    while isinstance(stmt, ir.Loop):
        loops.append(stmt)
        for let in (s for s in stmt.body if isinstance(s, ir.Let)):
            lets[ir.Var(let.name)] = substitute(let.value, lets)
        rest = [s for s in stmt.body if not isinstance(s, ir.Let)]
        if len(rest) != 1:
            return None
        (stmt,) = rest
    return loops, lets, stmt
