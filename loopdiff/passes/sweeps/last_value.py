"""Last-value reductions: a tape of flags of which the last one matters becomes the index of that iteration.

    for k in ...:                              last = NONE
        tape[i, k] = is_new_best               for k in ...:
        if is_new_best: best = s                   if is_new_best: last = k
                                                   if is_new_best: best = s
                                    becomes    tape[i] = last

    for k in reversed(...):                    k = tape[i]
        s_adj = 0.0                            if k != NONE:
        if tape[i, k]:                             s_adj = 0.0
            s_adj, best_adj = best_adj, 0.0        s_adj, best_adj = best_adj, 0.0
        for a in ...: x_adj[k, a] += s_adj * d     for a in ...: x_adj[k, a] += s_adj * d

Of all that was written to `best` only what was written last is seen later. A minimum, found by comparing, then has the
adjoint that one would write by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, integer, zeroed
from loopdiff.ir.names import supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    exits,
    loops_in,
    map_body,
    map_stmt_exprs,
    subexprs,
    substitute,
    written_access,
)
from loopdiff.passes.sweeps.zero_adjoints import additions
from loopdiff.passes.sweeps.zero_implication import vanishes

NONE = integer(-(1 << 63))


@immutable
class Kept:
    """A tape of flags, the loops that fill and read it, and where the one index goes that is kept instead."""

    flags: ir.ArrayDecl
    writer: ir.Loop
    reader: ir.Loop
    stored: ir.Access
    read: ir.Access

    def declared(self, ls: ir.LoopSet) -> tuple[ir.ArrayDecl, ...]:
        """The arrays of a sweep with indices in place of flags."""
        extents = (self.flags.extents or ())[:-1] or (integer(1),)
        indices = replace(self.flags, type=ArrayType("int64", len(extents)), extents=extents)
        return tuple(indices if a.name == indices.name else a for a in ls.arrays)


def keep_last(forward: ir.LoopSet, reverse: ir.LoopSet) -> tuple[ir.LoopSet, ir.LoopSet]:
    """Both sweeps with indices on the tape in place of flags that one iteration at most makes use of."""
    tapes = {a.name: a for a in forward.arrays if a.role == "tape" and a.type is not None and a.type.dtype == "bool"}
    for reader in list(loops_in(reverse.body)) if tapes else ():
        kept = kept_for(reader, forward, reverse, tapes)
        if kept is not None:
            return keep_last(in_writer(forward, kept), in_reader(reverse, kept))
    return forward, reverse


def kept_for(reader: ir.Loop, forward: ir.LoopSet, reverse: ir.LoopSet, tapes: dict[str, ir.ArrayDecl]) -> Kept | None:
    """What the loop `reader` of the reverse sweep needs to know of its flags; None if it needs more than an index."""
    choice = sole_choice(reader, reverse)
    flag = None if choice is None else choice.cond
    if not isinstance(flag, ir.Load) or flag.access.array not in tapes:
        return None
    name = flag.access.array
    writers = [
        (loop, stmt)
        for loop in loops_in(forward.body)
        for stmt in loop.body
        if isinstance(stmt, ir.Assign) and stmt.target.array == name
    ]
    if len(writers) != 1 or [touches(ls, name) for ls in (forward, reverse)] != [1, 1]:
        return None
    ((writer, stmt),) = writers
    stored, read = row_of(stmt.target, writer), row_of(flag.access, reader)
    is_same = substitute(flag.access.subscripts[-1], {ir.Index(reader.index): ir.Index(writer.index)})
    if stored is None or read is None or is_same != stmt.target.subscripts[-1] or exits(writer):
        return None
    return Kept(tapes[name], writer, reader, stored, read) if are_opposite(writer.step, reader.step) else None


# -- one iteration that adds anything -------------------------------------------------------------------------
def sole_choice(loop: ir.Loop, ls: ir.LoopSet) -> ir.If | None:
    """The choice by which an iteration of `loop` moves an adjoint on, if others do nothing, as on the left above.

    What was overwritten has no adjoint before that: only the last iteration that chooses so adds anything.
    """
    cells, writes = frozenset(cell_types(ls)), Counter(target.array for target in writes_in(loop.body))
    for number, choice in enumerate(loop.body):
        if not isinstance(choice, ir.If) or choice.orelse:
            continue
        before, after = loop.body[:number], loop.body[number + 1 :]
        own = [s for s in (*before, *choice.then) if not isinstance(s, ir.Let)]
        for into, out_of in moves(choice.then, cells):
            is_only_moving = all(isinstance(s, ir.Assign) and s.target in (into, out_of) for s in own)
            is_new = into in map(zeroed, before) and (writes[into.array], writes[out_of.array]) == (2, 1)
            is_idle = bool(after) and all(idles_at(s, into.array) for s in after)
            if is_only_moving and is_new and is_idle and uses(into, ls.body) == uses(into, loop.body):
                return choice
    return None


def writes_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Access]:
    return (target for s in all_statements(body) if (target := written_access(s)) is not None)


def moves(body: tuple[ir.Stmt, ...], cells: frozenset[str]) -> Iterator[tuple[ir.Access, ir.Access]]:
    """Cells that a block gives the value of another cell, which it sets to zero, and these."""
    held: dict[str, ir.Access] = {}
    cleared: set[ir.Access | None] = set()
    for stmt in body:
        match stmt:
            case ir.Let(name=name, value=ir.Load(access=ir.Access(subscripts=()) as cell)) if cell.array in cells:
                held[name] = cell
            case ir.Assign(target=cell, value=ir.Var(name=name)) if cell.array in cells and held.get(name) in cleared:
                yield cell, held[name]
            case _:
                cleared |= {zeroed(stmt)} - {None}


def uses(cell: ir.Access, body: tuple[ir.Stmt, ...]) -> int:
    """How many statements have to do with `cell`."""
    return sum(cell in accesses(s) for s in all_statements(body))


def idles_at(loop: ir.Stmt, cell: str) -> bool:
    """Whether `loop` is one, and adds nothing where `cell` is zero."""
    if not isinstance(loop, ir.Loop):
        return False
    zeros = {cell}
    for stmt in all_statements(loop.body):
        if isinstance(stmt, ir.Let) and vanishes(stmt.value, zeros):
            zeros.add(stmt.name)
    added = additions(loop)
    return bool(added) and all(a.target.array != cell and vanishes(a.value, zeros) for a in added)


# -- an index in place of flags -------------------------------------------------------------------------------
def touches(ls: ir.LoopSet, array: str) -> int:
    return sum(a.array == array for s in all_statements(ls.body) for a in accesses(s))


def row_of(access: ir.Access, loop: ir.Loop) -> ir.Access | None:
    """The `access` without its last subscript, which alone has to do with the index of `loop` and is made of sizes and
    of indices that tell rows apart; None if that is not so."""
    *row, last = access.subscripts
    index, found = ir.Index(loop.index), set(subexprs(last))
    others = {e for e in found if isinstance(e, ir.Index)} - {index}
    is_plain = index in found and not any(isinstance(e, ir.Var | ir.Load) for e in found)
    in_row = {part for e in row for part in subexprs(e)}
    if not is_plain or index in in_row or not others <= in_row:
        return None
    return replace(access, subscripts=tuple(row) or (integer(0),))


def are_opposite(step: ir.Expr, other: ir.Expr) -> bool:
    """Whether one loop goes up and the other one down."""
    return isinstance(step, ir.Const) and isinstance(other, ir.Const) and step.value * other.value < 0


def in_writer(ls: ir.LoopSet, kept: Kept) -> ir.LoopSet:
    """The forward sweep with the index of the last iteration whose flag is set, or `NONE`, on the tape."""
    cell = ir.Access(supply(ls).fresh(f"last_{kept.writer.index}"))

    def without_flags(stmt: ir.Stmt) -> ir.Stmt:
        if not isinstance(stmt, ir.Assign) or stmt.target.array != kept.flags.name:
            return stmt
        return ir.If(stmt.value, (ir.Assign(cell, ir.Index(kept.writer.index), loc=stmt.loc),), loc=stmt.loc)

    def keeping(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or stmt.index != kept.writer.index:
            return (stmt,)
        loop = replace(stmt, body=tuple(map(without_flags, stmt.body)))
        return (
            ir.Assign(cell, NONE, loc=stmt.loc),
            loop,
            ir.Assign(kept.stored, ir.Load(cell, loc=stmt.loc), loc=stmt.loc),
        )

    local = ir.ArrayDecl(cell.array, ArrayType("int64", 0), "local", (), loc=kept.writer.loc)
    return replace(ls, body=map_body(ls.body, keeping), arrays=(*kept.declared(ls), local))


def in_reader(ls: ir.LoopSet, kept: Kept) -> ir.LoopSet:
    """The reverse sweep with the one iteration that does anything, if there is one."""
    index = ir.Var(supply(ls).fresh(kept.reader.index))
    at: dict[ir.Expr, ir.Expr] = {ir.Index(kept.reader.index): index}

    def once(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or stmt.index != kept.reader.index:
            return (stmt,)
        body = tuple(s for part in stmt.body for s in unconditional(part))
        found = tuple(map_stmt_exprs(lambda e: substitute(e, at), s) for s in body)
        let = ir.Let(index.name, ir.Load(kept.read, loc=stmt.loc), loc=stmt.loc)
        return (let, ir.If(compare(Op.NE, index, NONE), found, loc=stmt.loc))

    def unconditional(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.If(cond=ir.Load(access=access), then=then) if access.array == kept.flags.name:
                return then
            case ir.Exit():
                return ()
            case _:
                return (stmt,)

    return replace(ls, body=map_body(ls.body, once), arrays=kept.declared(ls))
