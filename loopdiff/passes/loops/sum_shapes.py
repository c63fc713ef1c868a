"""Normalization of sums: scalar sums made in the element that gets them, clears sunk to the first update, shifts split.

* `s = c; for k: s += e; A[f] = s` becomes `A[f] = c; for k: A[f] += e`, which can be distributed into a contraction.
* `X[f] = 0` moves down past statements that do not touch `X`: reverse sweeps clear an adjoint right after reading it.
* An innermost loop whose updates of one row differ by a shift is split, so that a vector never reloads what the
  previous statement has just stored across its boundary.
"""

from __future__ import annotations

from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_clear
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import (
    are_independent,
    loads,
    loads_in,
    loads_of,
    map_blocks,
    may_stop,
    statements,
    touched_arrays,
)


def tidy_sums(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with scalar sums accumulated where they are stored, and clears as late as possible."""
    cells = frozenset(cell_types(ls))
    body = tidy_block(ls.body, ls, cells)
    return ls if body == ls.body else replace(ls, body=body)


def tidy_block(body: tuple[ir.Stmt, ...], ls: ir.LoopSet, cells: frozenset[str]) -> tuple[ir.Stmt, ...]:
    inner = [map_blocks(lambda b: tidy_block(b, ls, cells), s) for s in body]
    return tuple(sink_clears(sum_in_place(inner, ls, cells)))


# -- scalar sums ---------------------------------------------------------------------------------------------
def sum_in_place(body: list[ir.Stmt], ls: ir.LoopSet, cells: frozenset[str]) -> list[ir.Stmt]:
    """Triples start, sum, store of a block rewritten to sum where the result is stored."""
    out = list(body)
    for k in range(len(out) - 2):
        match out[k], out[k + 1], out[k + 2]:
            case (
                ir.Assign(target=ir.Access(array=cell, subscripts=()), value=ir.Const() as start),
                ir.Loop() as loop,
                ir.Assign(target=target, value=ir.Load(access=ir.Access(array=stored, subscripts=()))),
            ) if cell == stored and cell in cells and is_plain_sum(loop, cell, target, ls):
                if uses(ls, cell) > 1:
                    continue
                out[k] = ir.Assign(target, start, loc=out[k].loc)
                out[k + 1] = retarget(loop, cell, target)
                del out[k + 2]
                return sum_in_place(out, ls, cells)
            case _:
                pass
    return out


def uses(ls: ir.LoopSet, cell: str) -> int:
    """How many expressions of the function and its results load the cell."""
    inside = sum(1 for e in loads_in(ls.body) if e.access.array == cell)
    values = [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
    return inside + sum(1 for v in values for e in loads(v) if e.access.array == cell)


def is_plain_sum(loop: ir.Loop, cell: str, target: ir.Access, ls: ir.LoopSet) -> bool:
    """Whether the loop does nothing but add to the cell, without touching what the sum is stored in."""
    sites = list(statements((loop,)))
    kinds = (ir.Loop, ir.Let, ir.Accumulate)
    if not target.subscripts or not all(isinstance(s.stmt, kinds) for s in sites):
        return False
    sums = [s.stmt for s in sites if isinstance(s.stmt, ir.Accumulate)]
    touched = touched_arrays((loop,))
    same_type = element(ls, cell) == element(ls, target.array)
    only = all(a.op == "add" and a.target.array == cell for a in sums)
    reads_cell = any(e.access.array == cell for s in sites for e in loads_of(s.stmt))
    return bool(sums) and only and same_type and target.array not in touched and not reads_cell


def element(ls: ir.LoopSet, array: str) -> object:
    kind = ls.array(array).type
    return None if kind is None else kind.dtype


def retarget(stmt: ir.Stmt, cell: str, target: ir.Access) -> ir.Stmt:
    match stmt:
        case ir.Loop(body=body):
            return replace(stmt, body=tuple(retarget(s, cell, target) for s in body))
        case ir.Accumulate(target=ir.Access(array=array)) if array == cell:
            return replace(stmt, target=target)
        case _:
            return stmt


# -- clears --------------------------------------------------------------------------------------------------
def sink_clears(body: list[ir.Stmt]) -> list[ir.Stmt]:
    """Zeroing of an array element moved behind the statements that do not concern the array."""
    out = list(body)
    for k in range(len(out) - 2, -1, -1):
        stmt = out[k]
        if not is_clear(stmt):
            continue
        stop = k + 1
        while stop < len(out) and may_pass(stmt, out[stop]):
            stop += 1
        out[k:stop] = [*out[k + 1 : stop], stmt]
    return out


def may_pass(clear: ir.Stmt, other: ir.Stmt) -> bool:
    """Whether the clear may happen after `other` instead of before it."""
    return not may_stop((other,)) and are_independent((clear,), (other,))


# -- shifted updates -----------------------------------------------------------------------------------------
def separate_shifts(loop: ir.Loop) -> list[tuple[ir.Stmt, ...]] | None:
    """Groups of an innermost loop's statements in which no two updates overlap by a shift; None if it has none.

    All updates must commute with everything between them: nothing else touches the arrays they go to.
    """
    lets = [s for s in loop.body if isinstance(s, ir.Let)]
    rest = [s for s in loop.body if not isinstance(s, ir.Let)]
    updates = [s for s in rest if isinstance(s, ir.Accumulate)]
    others = [s for s in rest if not isinstance(s, ir.Accumulate)]
    targets = {u.target.array for u in updates}
    if not all(is_clear(s) for s in others) or len(updates) < 2 or any(u.op != "add" for u in updates):
        return None
    read = {e.access.array for s in loop.body for e in loads_of(s)}
    cleared = {s.target.array for s in others if isinstance(s, ir.Assign)}
    is_in_order = all(isinstance(s, ir.Accumulate) for s in rest[: len(updates)])
    if targets & (read | cleared) or not is_in_order:
        return None
    groups: list[list[ir.Accumulate]] = []
    for update in updates:
        home = next((g for g in groups if not any(overlap(u.target, update.target, loop.index) for u in g)), None)
        if home is None:
            groups.append([update])
        else:
            home.append(update)
    if len(groups) == 1:
        return None
    parts: list[tuple[ir.Stmt, ...]] = [(*lets, *g) for g in groups[:-1]]
    return [*parts, (*lets, *groups[-1], *others)]


def overlap(a: ir.Access, b: ir.Access, index: str) -> bool:
    """Whether two updates run along the same row at different offsets, in the same direction."""
    if a.array != b.array or a == b:
        return False
    moving = [axis for axis, s in enumerate(a.subscripts) if coefficient(s, index) not in (0, None)]
    if len(moving) != 1:
        return False
    (along,) = moving
    fixed = [k for k in range(len(a.subscripts)) if k != along]
    is_along = coefficient(a.subscripts[along], index) == coefficient(b.subscripts[along], index)
    return is_along and all(a.subscripts[k] == b.subscripts[k] for k in fixed)
