"""Fusion of the forward with the reverse sweep, iteration by iteration, so that tapes lose an axis or go.

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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from loopdiff.analysis.cell_flow import exposed_cells
from loopdiff.analysis.contractions import contraction
from loopdiff.analysis.legality import Fusion, is_legal, within
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.analysis.privatization import find_privates
from loopdiff.analysis.recurrences import hands_on
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import has_same_range, is_descending, turned_round
from loopdiff.ir.renaming import body_at
from loopdiff.ir.types import BOOL, INT, ScalarType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    defined,
    exits,
    lets_in,
    loads_in,
    loads_of,
    loops_of,
    map_accesses,
    map_stmt_exprs,
    mentioned,
    nodes_in,
    read_arrays,
    returned_arrays,
    subexprs,
    substitute,
    written_arrays,
)
from loopdiff.passes.loops.distribution import ascend
from loopdiff.passes.loops.sum_shapes import tidy_sums

Body = tuple[ir.Stmt, ...]


def in_one_pass(ls: ir.LoopSet, recorded: frozenset[str]) -> ir.LoopSet | None:
    """The gradient `ls` with loops of both sweeps run together. Sums may come out in another order.

    None unless some of the `recorded` arrays get smaller that hold numbers (flags are few bytes, and loops that look at
    flags alone are better apart), or elements that both sweeps look at are read once.
    """
    numbers = (a.name for a in ls.arrays if a.type is not None and a.type.element is not BOOL)
    own = carriers(ls)
    recorded = own.intersection(recorded, numbers)
    effects = Remembered()
    if not recorded and not walks(ls.body, effects):
        return None
    ls = upwards(ascend(tidy_sums(ls)), own)
    return less_kept(ls, recorded, effects) or read_once(ls, effects)


def less_kept(ls: ir.LoopSet, recorded: frozenset[str], effects: Remembered) -> ir.LoopSet | None:
    """`ls` with two loops run together, and some `recorded` array as large as one iteration; the loops inside of them
    likewise."""
    for first, second in candidates(ls, recorded):
        ordered = side_by_side(ls, first, second, effects)
        joined = None if ordered is None else run_together(ordered[0], ordered[1])
        smaller = None if joined is None else contracted(joined[0], joined[1])
        if smaller is None:
            continue
        found, place = smaller
        changed = frozenset(a.name for a in found.arrays if a != ls.array(a.name))
        if changed & recorded:
            return deeper(found, place, changed, effects)
    return None


def deeper(ls: ir.LoopSet, place: int, own: frozenset[str], effects: Remembered) -> ir.LoopSet:
    """`ls` with loops inside of the loop at `place` run together, too, where they make rows in the caches out of arrays
    `own`, which each iteration fills anew."""
    loop = ls.body[place]
    assert isinstance(loop, ir.Loop)
    if shares_matrices(loop, own) or any(hands_on(p, ls) for p in loops_of(loop)):
        return ls
    given, types = given_to(loop), type_env(ls)
    kinds = {e: type_of(e, types) if isinstance(e, ir.Var) else INT for e in given}
    elsewhere = touched(s for k, s in enumerate(ls.body) if k != place)
    seen = elsewhere | asked_for(ls)
    seen |= {a.name for a in ls.arrays if a.type is not None and a.type.rank > 0} - own
    others = tuple(a.name for a in ls.arrays if a.name in seen and a.name not in ls.params)
    inside = replace(
        ls,
        params=(*ls.params, *others, *(p.name for p in given.values())),
        scalars=(*ls.scalars, *(ir.ScalarDecl(p.name, kinds[e]) for e, p in given.items())),
        body=tuple(map_stmt_exprs(lambda e: substitute(e, given), s) for s in loop.body),
        results=(),
    )
    found = less_kept(upwards(inside, used_once(loop) & carriers(ls) - elsewhere), own, effects)
    if found is None:
        return ls
    back: dict[ir.Expr, ir.Expr] = {p: e for e, p in given.items()}
    body = tuple(map_stmt_exprs(lambda e: substitute(e, back), s) for s in found.body)
    new = (*ls.body[:place], replace(loop, body=body), *ls.body[place + 1 :])
    numbers = {a.name for a in found.arrays if a.type is not None and a.type.rank == 0}
    left = tuple(s for s in new if not (isinstance(s, ir.Allocate) and s.array in numbers))
    return replace(ls, arrays=found.arrays, body=left)


def shares_matrices(loop: ir.Loop, own: frozenset[str]) -> bool:
    """Whether iterations read the same arrays of two axes or more, beside their `own`: those of products, which many
    iterations at once make matrices of."""
    read = set(loads_in(loop.body))
    matrices = (e.access for e in read if len(e.access.subscripts) > 1 and e.access.array not in own)
    return any(ir.Index(loop.index) not in subexprs_of(access.subscripts) for access in matrices)


def subexprs_of(subscripts: tuple[ir.Expr, ...]) -> set[ir.Expr]:
    return {e for s in subscripts for e in subexprs(s)}


def given_to(loop: ir.Loop) -> dict[ir.Expr, ir.Param]:
    """What the body of `loop` knows of what is around it, as if these were arguments: its index, and Lets."""
    inside = lets_in(loop.body)
    used = {e for e in nodes_in(loop.body) if isinstance(e, ir.Var)}
    lets = sorted(e.name for e in used if e.name not in inside)
    return {ir.Index(loop.index): ir.Param(loop.index), **{ir.Var(n): ir.Param(n) for n in lets}}


def used_once(loop: ir.Loop) -> frozenset[str]:
    """Arrays that one statement of the body of `loop` has to itself in there."""
    users = Counter(name for s in loop.body for name in touched((s,)))
    return frozenset(name for name, count in users.items() if count == 1)


def touched(body: Iterable[ir.Stmt]) -> set[str]:
    """Arrays that statements have to do with, but for making room for them."""
    return {a.array for s in all_statements(tuple(body)) if not isinstance(s, ir.Allocate) for a in accesses(s)}


def upwards(ls: ir.LoopSet, dead: frozenset[str]) -> ir.LoopSet:
    """`ls` with outermost loops upwards whose iterations share nothing but sums and what each fills anew."""
    model = build_model(ls)

    def turned(stmt: ir.Stmt, place: int) -> ir.Stmt:
        if not (isinstance(stmt, ir.Loop) and is_descending(stmt)) or exits(stmt):
            return stmt
        if find_privates(model, dead, stmt, (place,)) is None:
            return stmt
        return turned_round(stmt)

    return replace(ls, body=tuple(turned(s, k) for k, s in enumerate(ls.body)))


def carriers(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays that are the function's own and that nobody sees."""
    return frozenset(a.name for a in ls.arrays if is_carrier(ls, a))


def is_carrier(ls: ir.LoopSet, decl: ir.ArrayDecl) -> bool:
    """Whether the array is the function's own and nobody sees it."""
    is_own = decl.role != "argument" and decl.name not in ls.params
    return is_own and decl.name not in returned_arrays(ls) and decl.type is not None and decl.type.rank > 0


def candidates(ls: ir.LoopSet, recorded: frozenset[str]) -> list[tuple[int, int]]:
    """Places of two loops over the same range of which the second reads what the first leaves in `recorded` arrays:
    those furthest apart first, as a reverse sweep ends where the forward sweep began."""
    loops = {k: s for k, s in enumerate(ls.body) if isinstance(s, ir.Loop)} if recorded else {}
    left = {k: written_arrays((s,)) & recorded for k, s in loops.items()}
    read = {k: read_arrays((s,)) & recorded for k, s in loops.items()}
    plain = {k for k, s in loops.items() if is_plain_loop(s)}
    return [
        (k, n)
        for k, a in loops.items()
        if left[k] and k in plain and not is_ragged(a)
        for n in reversed(loops)
        if k < n and n in plain and not left[k].isdisjoint(read[n]) and has_same_range(a, loops[n])
    ]


def is_plain_loop(stmt: ir.Stmt) -> bool:
    """Whether it is a loop that is not left, and makes no arrays."""
    inside = all_statements((stmt,))
    return isinstance(stmt, ir.Loop) and not any(isinstance(s, ir.Exit | ir.Allocate) for s in inside)


# -- neighbours ----------------------------------------------------------------------------------------------
@immutable
class Effects:
    """Arrays, cells and Lets that some statements give values to, and all that they have to do with; `is_silent`: they
    do nothing else. `elements`: those that one of `walks` reads, by the places of its loops."""

    given: frozenset[str]
    known: frozenset[str]
    is_silent: bool = True
    elements: frozenset[ir.Access] | None = None

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.given | other.given, self.known | other.known)

    def are_apart(self, other: Effects) -> bool:
        """Whether both may change places, as far as values are concerned."""
        return self.given.isdisjoint(other.known) and other.given.isdisjoint(self.known)


class Remembered:
    """The Effects of statements, each found once."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[ir.Stmt, Effects]] = {}

    def of(self, stmt: ir.Stmt) -> Effects:
        if id(stmt) not in self.found:
            is_silent = not any(isinstance(s, ir.Exit | ir.Require | ir.Call) for s in all_statements((stmt,)))
            effects = Effects(defined((stmt,)), mentioned((stmt,)), is_silent, walked_elements(stmt))
            self.found[id(stmt)] = stmt, effects
        return self.found[id(stmt)][1]


def side_by_side(ls: ir.LoopSet, first: int, second: int, effects: Remembered) -> tuple[ir.LoopSet, int] | None:
    """`ls` with the loops at `first` and `second` next to each other, and the place of the first; None if a statement
    between them can go neither before nor after both."""
    a, *between, b = ls.body[first : second + 1]
    sides = go_before(effects.of(a), [effects.of(s) for s in between], effects.of(b))
    if sides is None:
        return None
    earlier, later = ([s for s, side in zip(between, sides, strict=True) if side is wanted] for wanted in (True, False))
    body = (*ls.body[:first], *earlier, a, b, *later, *ls.body[second + 1 :])
    return replace(ls, body=body), first + len(earlier)


def go_before(first: Effects, between: Sequence[Effects], second: Effects) -> list[bool] | None:
    """Whether each of those `between` goes before the first, else after the second; None if one can do neither."""
    sides: list[bool] = []
    for own in between:
        is_before = own.are_apart(first)
        if not own.is_silent or not (is_before or own.are_apart(second)):
            return None
        first = first if is_before else first | own
        sides.append(is_before)
    return sides


# -- one loop for both ---------------------------------------------------------------------------------------
def run_together(ls: ir.LoopSet, place: int) -> tuple[ir.LoopSet, int] | None:
    """`ls` with the loop at `place` and the next one as one loop, and its place; None if a dependence forbids it."""
    model = build_model(ls)
    if not is_legal(model, Fusion(within(model, (place,)), within(model, (place + 1,)))):
        return None
    a, b = ls.body[place], ls.body[place + 1]
    assert isinstance(a, ir.Loop)
    assert isinstance(b, ir.Loop)
    loop = replace(a, body=(*a.body, *body_at(b, ir.Index(a.index))))
    return replace(ls, body=(*ls.body[:place], loop, *ls.body[place + 2 :])), place


# -- arrays of one iteration ---------------------------------------------------------------------------------
def contracted(ls: ir.LoopSet, place: int) -> tuple[ir.LoopSet, int] | None:
    """`ls` without the first axis of arrays that only the loop at `place` uses, its index being their first subscript
    everywhere, and the place of the loop then; None if there is none."""
    loop = ls.body[place]
    assert isinstance(loop, ir.Loop)
    outside = [s for k, t in enumerate(ls.body) if k != place for s in all_statements((t,))]
    elsewhere = {a.array for s in outside for a in accesses(s)} | asked_for(ls)
    filled = {s.array for s in outside if isinstance(s, ir.Allocate) and s.fill is not None}
    inside: dict[str, bool] = {}
    for stmt in all_statements((loop,)):
        for access in accesses(stmt):
            is_own = access.subscripts[:1] == (ir.Index(loop.index),)
            inside[access.array] = inside.get(access.array, True) and is_own
    smaller = {
        a.name
        for a in ls.arrays
        if is_carrier(ls, a) and inside.get(a.name, False) and a.name not in elsewhere | filled and may_shrink(a)
    }
    if not smaller:
        return None

    def shorter(access: ir.Access) -> ir.Access:
        return replace(access, subscripts=access.subscripts[1:]) if access.array in smaller else access

    cells = {a.name: a.type.element for a in ls.arrays if a.name in smaller and a.type is not None and a.type.rank == 1}
    before, after = (
        tuple(map_accesses(shorter, s) for s in part if not (isinstance(s, ir.Allocate) and s.array in cells))
        for part in (ls.body[:place], ls.body[place + 1 :])
    )
    body = (*before, with_starts(map_accesses(shorter, loop), cells), *after)
    arrays = tuple(without_axis(a) if a.name in smaller else a for a in ls.arrays)
    return replace(ls, body=body, arrays=arrays), len(before)


def may_shrink(decl: ir.ArrayDecl) -> bool:
    """Whether a part of the array along its first axis holds what the array does: a variable would not wrap."""
    return decl.type is not None and (decl.type.rank > 1 or decl.type.keeps_values)


def with_starts(loop: ir.Stmt, cells: Mapping[str, ScalarType]) -> ir.Loop:
    """The loop with a first value for those `cells` that its iterations, which share nothing by them, may not set."""
    assert isinstance(loop, ir.Loop)
    exposed = sorted(exposed_cells(loop.body, frozenset(cells), frozenset(cells)))
    starts = (ir.Assign(ir.Access(name), ir.Const(0.0 if cells[name].is_float else 0, cells[name])) for name in exposed)
    return replace(loop, body=(*starts, *loop.body))


def asked_for(ls: ir.LoopSet) -> set[str]:
    """Arrays whose extents, or whose elements after the body, are asked for."""
    ends = [e for r in ls.results if isinstance(r, ir.ScalarResult) for e in subexprs(r.value)]
    asked = {e.array for e in (*ends, *nodes_in(ls.body)) if isinstance(e, ir.Dim)}
    return asked | {e.access.array for e in ends if isinstance(e, ir.Load)}


def without_axis(decl: ir.ArrayDecl) -> ir.ArrayDecl:
    assert decl.type is not None
    kind = replace(decl.type, rank=decl.type.rank - 1)
    return replace(decl, type=kind, extents=(decl.extents or ())[1:])


# -- elements that are read once ------------------------------------------------------------------------------
@immutable
class Around:
    """The statements of a body `before` its one loop, and `after` it."""

    before: Body
    loop: ir.Loop
    after: Body


def read_once(ls: ir.LoopSet, effects: Remembered) -> ir.LoopSet | None:
    """`ls` with nests that read the same elements, and have nothing else to do with each other, as one."""
    found = None
    while (joined := with_two_walked(found or ls, effects)) is not None:
        found = joined
    return found


def with_two_walked(ls: ir.LoopSet, effects: Remembered) -> ir.LoopSet | None:
    """`ls` with the first two such nests as one."""
    nests = walks(ls.body, effects)
    for first, second in combinations(nests, 2):
        one, other = effects.of(nests[first]), effects.of(nests[second])
        if not one.are_apart(other) or (one.elements or frozenset()).isdisjoint(other.elements or ()):
            continue
        joined = walked_together(nests[first], nests[second])
        ordered = None if joined is None else side_by_side(ls, first, second, effects)
        if joined is not None and ordered is not None:
            found, place = ordered
            return replace(found, body=(*found.body[:place], joined, *found.body[place + 2 :]))
    return None


def walks(body: Body, effects: Remembered) -> dict[int, ir.Loop]:
    """The nests of one loop inside another in `body` that are no register tiles, and add to or store something, by
    place."""
    return {k: s for k, s in enumerate(body) if isinstance(s, ir.Loop) and effects.of(s).elements is not None}


def walked_elements(stmt: ir.Stmt) -> frozenset[ir.Access] | None:
    """What a walk reads, with its indices numbered from outside in; None if `stmt` is none."""
    if not isinstance(stmt, ir.Loop) or not is_walk(innermost(stmt)):
        return None
    if contraction(stmt) is not None and not any(map(is_ragged, stmt.body)):
        return None
    inner: Around | None = Around((), stmt, ())
    numbered: dict[ir.Expr, ir.Expr] = {}
    body = stmt.body
    while inner is not None:
        numbered[ir.Index(inner.loop.index)] = ir.Index(f"#{len(numbered)}")
        body = inner.loop.body
        inner = around(body)
    read = (access for s in body for access in elements_in(s))
    return frozenset(replace(a, subscripts=tuple(substitute(e, numbered) for e in a.subscripts)) for a in read)


def is_ragged(stmt: ir.Stmt) -> bool:
    """Whether it is a loop over a row with a length of its own."""
    return isinstance(stmt, ir.Loop) and any(
        isinstance(e, ir.Load) for b in (stmt.lower, stmt.upper) for e in subexprs(b)
    )


def is_walk(body: Body) -> bool:
    return is_straight(body) and any(elements_in(s) for s in body)


def is_straight(body: Body) -> bool:
    return all(isinstance(s, ir.Let | ir.Assign | ir.Accumulate) for s in body)


def innermost(loop: ir.Loop) -> Body:
    """What is inside a nest of one loop inside another."""
    found = around(loop.body)
    return loop.body if found is None else innermost(found.loop)


def around(body: Body) -> Around | None:
    """A loop and what is around it: nothing but where rows have a length of their own. Other rows are better off by
    themselves, where vectors and tiles are made of them; these cost a guess of the processor each, where they end."""
    places = [k for k, s in enumerate(body) if isinstance(s, ir.Loop)]
    if len(places) != 1:
        return None
    loop = body[places[0]]
    assert isinstance(loop, ir.Loop)
    found = Around(body[: places[0]], loop, body[places[0] + 1 :])
    return found if len(body) == 1 or (is_ragged(loop) and is_straight((*found.before, *found.after))) else None


def elements_in(stmt: ir.Stmt) -> frozenset[ir.Access]:
    """The elements of arrays that a statement reads."""
    return frozenset(e.access for e in loads_of(stmt) if e.access.subscripts)


def walked_together(a: ir.Loop, b: ir.Loop) -> ir.Loop | None:
    """Two nests that have nothing to do with each other as one, if both go over the same range and read some element in
    common."""
    if not has_same_range(a, b):
        return None
    inner = body_at(b, ir.Index(a.index))
    match around(a.body), around(inner):
        case Around() as x, Around() as y:
            joined = walked_together(x.loop, y.loop)
            body = () if joined is None else (*x.before, *y.before, joined, *x.after, *y.after)
            return replace(a, body=body) if body else None
        case None, None:
            both = [{e for s in body for e in elements_in(s)} for body in (a.body, inner)]
            return replace(a, body=(*a.body, *inner)) if both[0] & both[1] else None
        case _:
            return None
