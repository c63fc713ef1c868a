"""Both sweeps in one pass: where the reverse sweep may follow each iteration of the forward sweep, nothing is kept.

    for r: ...; tape[r] = s                      for r:
    for r descending: ... tape[r] ...   becomes      ...; tape = s
                                                     ... tape ...

The gradient of a loss that is a sum over rows needs no other row: what is recorded for a row is used at once, from a
buffer of the size of one (contraction of arrays: Sarkar and Gao, "Optimization of array accesses by collective loop
transformations", ICS 1991), and the rows' inputs are still in cache.

Where nothing is kept, nests of both sweeps that go over the same elements are worth one function as well: those are
read once, and one division, or exponential, hides behind another.
"""

from __future__ import annotations

from dataclasses import replace

from loopdiff.analysis.legality import commute, overtakes, within
from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    ArrayDecl,
    Assign,
    Call,
    Dim,
    Exit,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    ScalarResult,
    Stmt,
)
from loopdiff.ir.walk import (
    accesses,
    exits,
    map_accesses,
    read_arrays,
    returned_arrays,
    statements,
    stmt_exprs,
    subexprs,
    written_arrays,
)
from loopdiff.transform.contractions import contraction
from loopdiff.transform.privates import find_privates, mentioned
from loopdiff.transform.rename import renamed
from loopdiff.transform.restructure import ascend, is_descending, turned_round
from loopdiff.transform.sums import tidy_sums

Body = tuple[Stmt, ...]


def in_one_pass(ls: LoopSet, recorded: frozenset[str]) -> LoopSet | None:
    """The gradient `ls` with loops of both sweeps run together. Sums may come out in another order.

    None unless some of the `recorded` arrays get smaller that hold floats (flags are few bytes, and loops that look at
    flags alone are better apart), or elements that both sweeps look at are read once.
    """
    floats = (a.name for a in ls.arrays if a.type is not None and a.type.element.is_float)
    own = frozenset(a.name for a in ls.arrays if is_carrier(ls, a))
    recorded = own.intersection(recorded, floats)
    if not recorded and not walks(ls.body):
        return None
    ls = upwards(ascend(tidy_sums(ls)), own)
    return less_kept(ls, recorded) or read_once(ls)


def less_kept(ls: LoopSet, recorded: frozenset[str]) -> LoopSet | None:
    """`ls` with two loops run together, and some `recorded` array as large as one iteration."""
    for first, second in candidates(ls, recorded):
        ordered = side_by_side(ls, first, second)
        joined = None if ordered is None else run_together(ordered[0], ordered[1])
        smaller = None if joined is None else contracted(joined[0], joined[1])
        if smaller is not None and any(smaller.array(n) != ls.array(n) for n in recorded):
            return smaller
    return None


def upwards(ls: LoopSet, dead: frozenset[str]) -> LoopSet:
    """`ls` with outermost loops upwards whose iterations share nothing but sums and what each fills anew."""
    model = build_model(ls)

    def turned(stmt: Stmt, place: int) -> Stmt:
        if not (isinstance(stmt, Loop) and is_descending(stmt)) or exits(stmt):
            return stmt
        if find_privates(model, dead, stmt, (place,)) is None:
            return stmt
        return turned_round(stmt)

    return replace(ls, body=tuple(turned(s, k) for k, s in enumerate(ls.body)))


def is_carrier(ls: LoopSet, decl: ArrayDecl) -> bool:
    """Whether the array is the function's own and nobody sees it."""
    is_own = decl.role != "argument" and decl.name not in ls.params
    return is_own and decl.name not in returned_arrays(ls) and decl.type is not None and decl.type.rank > 0


def candidates(ls: LoopSet, recorded: frozenset[str]) -> list[tuple[int, int]]:
    """Places of two loops over the same range of which the second reads what the first leaves in `recorded` arrays:
    those furthest apart first, as a reverse sweep ends where the forward sweep began."""
    loops = [(k, s) for k, s in enumerate(ls.body) if isinstance(s, Loop)]
    return [
        (k, n)
        for k, a in loops
        for n, b in reversed(loops)
        if k < n
        and (a.lower, a.upper, a.step) == (b.lower, b.upper, b.step)
        and written_arrays((a,)) & read_arrays((b,)) & recorded
        and not any(isinstance(s.stmt, Exit | Allocate) for s in statements((a, b)))
        and not any(isinstance(e, Load) for bound in (a.lower, a.upper) for e in subexprs(bound))
    ]


# -- neighbours ----------------------------------------------------------------------------------------------
def side_by_side(ls: LoopSet, first: int, second: int) -> tuple[LoopSet, int] | None:
    """`ls` with the loops at `first` and `second` next to each other, and the place of the first; None if a statement
    between them can go neither before nor after both."""
    earlier: list[Stmt] = []
    later: list[Stmt] = []
    a, b = ls.body[first], ls.body[second]
    for stmt in ls.body[first + 1 : second]:
        if are_apart((a, *later), stmt):
            earlier.append(stmt)
        elif are_apart((b,), stmt):
            later.append(stmt)
        else:
            return None
    body = (*ls.body[:first], *earlier, a, b, *later, *ls.body[second + 1 :])
    return replace(ls, body=body), first + len(earlier)


def are_apart(block: Body, stmt: Stmt) -> bool:
    """Whether `stmt` may change places with all of `block`."""
    return not (
        defined(block) & mentioned((stmt,))
        or defined((stmt,)) & mentioned(block)
        or any(isinstance(s.stmt, Exit | Require | Call) for s in statements((stmt,)))
    )


def defined(block: Body) -> frozenset[str]:
    """Arrays, cells and Lets that get a value in `block`."""
    return written_arrays(block) | {s.stmt.name for s in statements(block) if isinstance(s.stmt, Let)}


# -- one loop for both ---------------------------------------------------------------------------------------
def run_together(ls: LoopSet, place: int) -> tuple[LoopSet, int] | None:
    """`ls` with the loop at `place` and the next one as one loop, and its place; None if a dependence forbids it."""
    model = build_model(ls)
    if not may_join(model, place):
        return None
    a, b = ls.body[place], ls.body[place + 1]
    assert isinstance(a, Loop)
    assert isinstance(b, Loop)
    second = tuple(renamed(s, {Index(b.index): Index(a.index)}) for s in b.body)
    loop = replace(a, body=(*a.body, *second))
    return replace(ls, body=(*ls.body[:place], loop, *ls.body[place + 2 :])), place


def may_join(model: Model, place: int) -> bool:
    """Whether each iteration of the second loop may run as soon as that of the first has."""
    return not any(
        overtakes(model, first, second, 0)
        for first in within(model, (place,))
        for second in within(model, (place + 1,))
        if first.access.array == second.access.array
        and (first.is_write or second.is_write)
        and not commute(first, second)
    )


# -- arrays of one iteration ---------------------------------------------------------------------------------
def contracted(ls: LoopSet, place: int) -> LoopSet | None:
    """`ls` without the first axis of arrays that only the loop at `place` uses, its index being their first subscript
    everywhere; None if there is none."""
    loop = ls.body[place]
    assert isinstance(loop, Loop)
    outside = [s.stmt for k, t in enumerate(ls.body) if k != place for s in statements((t,))]
    elsewhere = {a.array for s in outside for a in accesses(s)} | asked_for(ls)
    filled = {s.array for s in outside if isinstance(s, Allocate) and s.fill is not None}
    inside: dict[str, bool] = {}
    for site in statements((loop,)):
        for access in accesses(site.stmt):
            is_own = access.subscripts[:1] == (Index(loop.index),)
            inside[access.array] = inside.get(access.array, True) and is_own
    smaller = {
        a.name
        for a in ls.arrays
        if is_carrier(ls, a) and inside.get(a.name, False) and a.name not in elsewhere | filled
    }
    if not smaller:
        return None

    def shorter(access: Access) -> Access:
        return replace(access, subscripts=access.subscripts[1:]) if access.array in smaller else access

    cells = {a.name for a in ls.arrays if a.name in smaller and a.type is not None and a.type.rank == 1}
    body = tuple(map_accesses(shorter, s) for s in ls.body if not (isinstance(s, Allocate) and s.array in cells))
    return replace(ls, body=body, arrays=tuple(without_axis(a) if a.name in smaller else a for a in ls.arrays))


def asked_for(ls: LoopSet) -> set[str]:
    """Arrays whose extents, or whose elements after the body, are asked for."""
    ends = [e for r in ls.results if isinstance(r, ScalarResult) for e in subexprs(r.value)]
    nodes = [e for s in statements(ls.body) for x in stmt_exprs(s.stmt) for e in subexprs(x)]
    asked = {e.array for e in (*ends, *nodes) if isinstance(e, Dim)}
    return asked | {e.access.array for e in ends if isinstance(e, Load)}


def without_axis(decl: ArrayDecl) -> ArrayDecl:
    assert decl.type is not None
    kind = replace(decl.type, rank=decl.type.rank - 1)
    return replace(decl, type=kind, extents=(decl.extents or ())[1:])


# -- elements that are read once ------------------------------------------------------------------------------
def read_once(ls: LoopSet) -> LoopSet | None:
    """`ls` with nests that read the same elements, and have nothing else to do with each other, as one."""
    nests = walks(ls.body)
    for first, a in nests.items():
        for second, b in nests.items():
            if first < second and (joined := walked_together(a, b)) is not None:
                ordered = side_by_side(ls, first, second)
                if ordered is not None:
                    found, place = ordered
                    body = (*found.body[:place], joined, *found.body[place + 2 :])
                    return read_once(replace(found, body=body)) or replace(found, body=body)
    return None


def walks(body: Body) -> dict[int, Loop]:
    """The perfect nests in `body` that are no contractions, and add to or store something, by place."""
    return {
        k: s for k, s in enumerate(body) if isinstance(s, Loop) and is_walk(innermost(s)) and contraction(s) is None
    }


def is_walk(body: Body) -> bool:
    return all(isinstance(s, Let | Assign | Accumulate) for s in body) and any(elements_in(s) for s in body)


def innermost(loop: Loop) -> Body:
    """What is inside a perfect nest."""
    match loop.body:
        case [Loop() as inner]:
            return innermost(inner)
        case body:
            return body


def elements_in(stmt: Stmt) -> frozenset[Access]:
    """The elements of arrays that a statement reads."""
    nodes = (e for x in stmt_exprs(stmt) for e in subexprs(x))
    return frozenset(e.access for e in nodes if isinstance(e, Load) and e.access.subscripts)


def walked_together(a: Loop, b: Loop) -> Loop | None:
    """Two perfect nests as one, if both go over the same range, read some element in common, and neither has a use for
    what the other does."""
    inner = renamed(b, {Index(b.index): Index(a.index)})
    assert isinstance(inner, Loop)
    if (a.lower, a.upper, a.step) != (b.lower, b.upper, b.step):
        return None
    match a.body, inner.body:
        case [Loop() as x], [Loop() as y]:
            joined = walked_together(x, y)
            return None if joined is None else replace(a, body=(joined,))
        case ([Loop()], _) | (_, [Loop()]):
            return None
        case first, second:
            both = [{e for s in body for e in elements_in(s)} for body in (first, second)]
            is_apart = not (defined(first) & mentioned(second) or defined(second) & mentioned(first))
            return replace(a, body=(*first, *second)) if both[0] & both[1] and is_apart else None
