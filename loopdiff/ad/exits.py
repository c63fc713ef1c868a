"""Loops that end early, for the reverse sweep: how many iterations started, and how many got past each exit.

Only the last iteration of a loop can be left half-way, so two numbers say all there is to know about an exit. The
counts are cells of the primal, and values of them after the loop are Lets: the tape plan keeps them like any others.
"""

from __future__ import annotations

from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import all_statements, exits, map_body

ZERO, ONE = integer(0), integer(1)


@immutable
class Count:
    """A number of iterations: the cell that counts them, and the Let that holds it after the loop."""

    cell: str
    let: str


@immutable
class Passes:
    """How far the iterations of a loop got: all that did anything, and those that got past each Exit, in order.

    Of a loop that begins with an Exit, `all` are those that got past it.
    """

    all: Count
    past: tuple[Count, ...]


def mark_exits(ls: ir.LoopSet) -> tuple[ir.LoopSet, dict[str, Passes]]:
    """`ls` (normal) with its early exits counted, and the counts by loop index."""
    if not any(isinstance(s, ir.Exit) for s in all_statements(ls.body)):
        return ls, {}
    names = supply(ls)
    found: dict[str, Passes] = {}
    cells: dict[str, Span] = {}

    def rewrite(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or not exits(stmt):
            return (stmt,)
        found[stmt.index] = passes = name_counts(stmt, names)
        counts = dict.fromkeys((passes.all, *passes.past))
        cells.update((c.cell, stmt.loc) for c in counts)
        start = (ir.Assign(ir.Access(c.cell), ZERO) for c in counts)
        keep = (ir.Let(c.let, ir.Load(ir.Access(c.cell)), loc=stmt.loc) for c in counts)
        return (*start, replace(stmt, body=counted(stmt.body, passes)), *keep)

    body = map_body(ls.body, rewrite)
    added = tuple(ir.ArrayDecl(c, ArrayType("int64", 0), "local", (), loc=cells[c]) for c in sorted(cells))
    return replace(ls, body=body, arrays=(*ls.arrays, *added)), found


def name_counts(loop: ir.Loop, names: NameSupply) -> Passes:
    def count(what: str) -> Count:
        return Count(names.fresh(f"{loop.index}_{what}"), names.fresh(f"{loop.index}_{what}"))

    past = tuple(count("past") for _ in exits(loop))
    return Passes(past[0] if isinstance(loop.body[0], ir.Exit) else count("trips"), past)


def counted(body: tuple[ir.Stmt, ...], passes: Passes) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = [] if passes.all in passes.past else [add_one(passes.all)]
    past = iter(passes.past)
    for stmt in body:
        out += [stmt, add_one(next(past))] if isinstance(stmt, ir.Exit) else [stmt]
    return tuple(out)


def add_one(count: Count) -> ir.Stmt:
    return ir.Accumulate("add", ir.Access(count.cell), ONE)
