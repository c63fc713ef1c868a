"""Loop distribution, which isolates contractions, and loop reversal, where the dependences allow them.

A descending loop (as reverse sweeps have) without carried dependence runs upwards. A nest is distributed when that
isolates a contraction: a perfect nest around one `+=` whose target does not depend on every loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from loopdiff.analysis.contractions import access_indices, contraction
from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import AnyOrder, Distribution, is_legal, within
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model, build_model, derived_once
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_descending, turned_round
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import INFO
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.walk import (
    Path,
    Site,
    all_statements,
    exits,
    lets_used,
    map_blocks_at,
    map_sites,
    statements,
    subexprs,
)
from loopdiff.mapping.lane_blocks import is_block_loop
from loopdiff.model.trip_counts import is_row_of_elements, lets_of
from loopdiff.passes.loops.sum_shapes import separate_shifts, tidy_sums
from loopdiff.passes.loops.triangles import turn_triangles

ONE = integer(1)


def restructure(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with loops turned upwards and contractions isolated; the same values up to reassociation of sums."""
    ls = ascend(ls)
    model = build_model(ls)
    names = supply(ls)
    body: list[ir.Stmt] = []
    for number, stmt in enumerate(ls.body):
        body += distribute(model, stmt, (number,), names)
    return turn_triangles(with_pieces_turned(ls, replace(ls, body=tuple(body))))


def with_pieces_turned(before: ir.LoopSet, ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, distributed, with loops turned upwards that are free to be so by themselves and were not as parts of those
    `before`, if any is a contraction: then it is one product together with the loops in it."""
    is_split = len(ls.body) > len(before.body)
    return ascend(ls) if is_split and any(is_descending(s) and contraction(s) for s in ls.body) else ls


def restructure_for_threads(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` restructured, nests inside of blocks of rows from their outermost loop on: its iterations are threads."""
    ls = ascend(ls)
    model, names = build_model(ls), supply(ls)

    def inside(body: tuple[ir.Stmt, ...], prefix: Path) -> tuple[ir.Stmt, ...]:
        found: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            if isinstance(stmt, ir.Loop) and is_block_loop(stmt):
                found.append(replace(stmt, body=inside(stmt.body, path)))
            else:
                found += distribute(model, stmt, path, names)
        return tuple(found)

    return turn_triangles(replace(ls, body=inside(ls.body, ())))


# -- reversal ------------------------------------------------------------------------------------------------
def ascend(ls: ir.LoopSet, is_strict: bool = False) -> ir.LoopSet:
    """Descending unit-step loops whose iterations are independent run upwards; sums apart, unless `is_strict`."""
    if not any(is_descending(s) for s in all_statements(ls.body)):
        return ls
    model = build_model(ls)

    def turned(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or not is_descending(stmt) or exits(stmt):
            return (stmt,)
        change = AnyOrder(path, owned_cells(model, path))
        return (turned_round(stmt) if is_legal(model, change, is_strict=is_strict) else stmt,)

    return replace(ls, body=map_sites(ls.body, turned))


def upright(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with sums tidied and loops turned upwards, as whatever looks for contractions wants it."""
    return derived_once(ls, "upright", lambda ls: ascend(tidied(ls)))


def tidied(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with sums tidied, for questions that have the same answer whichever way its loops run."""
    return derived_once(ls, "tidied", tidy_sums)


# -- distribution --------------------------------------------------------------------------------------------
def repeats_functions(pieces: list[ir.Loop]) -> bool:
    """Whether two pieces compute the same Let that takes more than arithmetic."""
    lets = Counter(s for p in pieces for s in all_statements((p,)) if isinstance(s, ir.Let))
    repeated = (let.value for let, count in lets.items() if count > 1)
    return any(isinstance(e, ir.Apply) and INFO[e.op].result == "float" for value in repeated for e in subexprs(value))


def is_isolated(piece: ir.Loop, lets: Mapping[str, ir.Expr]) -> bool:
    """Whether `piece` is a contraction with several results, but for rows that are too short to be gone through once
    more. A single result needs no tile, and what it is the sum of may be common to several."""
    found = contraction(piece)
    return found is not None and bool(found.kept) and not any(is_row_of_elements(p, lets) for p in found.loops)


def has_isolated(pieces: Iterable[ir.Loop], ls: ir.LoopSet) -> bool:
    lets = lets_of(ls)
    return any(is_isolated(p, lets) for p in pieces)


def distribute(model: Model, stmt: ir.Stmt, path: Path, names: NameSupply) -> list[ir.Stmt]:
    """`stmt`, or the loops it splits into if one of them is a contraction that was not isolated before."""
    if not isinstance(stmt, ir.Loop):
        return [with_blocks_distributed(model, stmt, path, names)]
    if contraction(stmt) is not None:
        return [stmt]
    groups = separate_shifts(stmt)
    if groups is not None and is_legal(model, AnyOrder(path)):
        first, *rest = (replace(stmt, body=g) for g in groups)
        return [first, *(s for g in rest for s in renamed_block((g,), names))]
    pieces = split(model, stmt, path) if may_be_contraction(stmt) else [stmt]
    if len(pieces) < 2 or not has_isolated(pieces, model.ls) or repeats_functions(pieces):
        return [with_blocks_distributed(model, stmt, path, names)]
    out: list[ir.Stmt] = []
    for position, piece in enumerate(pieces):
        out += [piece] if position == 0 else renamed_block((piece,), names)
    return out


def with_blocks_distributed(model: Model, stmt: ir.Stmt, path: Path, names: NameSupply) -> ir.Stmt:
    """`stmt` with the loops in it distributed in place."""

    def block(body: tuple[ir.Stmt, ...], prefix: Path, first: int) -> tuple[ir.Stmt, ...]:
        found = (distribute(model, s, (*prefix, k), names) for k, s in enumerate(body, start=first))
        return tuple(piece for pieces in found for piece in pieces)

    return map_blocks_at(block, stmt, path)


def may_be_contraction(loop: ir.Loop) -> bool:
    """Whether some piece of `loop` may be one: it has a sum into an array, over some of its two or more loops."""
    return any(is_summed(s) for s in statements((loop,)))


def is_summed(site: Site) -> bool:
    stmt, around = site.stmt, [p.index for p in site.loops]
    if not isinstance(stmt, ir.Accumulate) or stmt.op != "add" or site.is_conditional or len(around) < 2:
        return False
    return bool(stmt.target.subscripts) and not access_indices(stmt.target).issuperset(around)


@immutable
class Part:
    """The statement `number` of a loop, or a piece of it: its accesses, and the Lets of the loop that it `needs`."""

    number: int
    stmt: ir.Stmt
    events: tuple[Event, ...]
    needs: frozenset[str]


Group = tuple[Part, ...]


def split(model: Model, loop: ir.Loop, path: Path) -> list[ir.Loop]:
    """The finest legal distribution of the nest `loop`, as loops in order; just [loop] if nothing can be split."""
    if model.sites[path].stmt is not loop:
        return find_split(model, loop, path)
    return model.cached(("split", path), lambda: find_split(model, loop, path))


def find_split(model: Model, loop: ir.Loop, path: Path) -> list[ir.Loop]:
    if exits(loop):
        return [loop]
    parts = parts_of(model, loop, path)
    lets = tuple(p for p in parts if isinstance(p.stmt, ir.Let))
    groups = [(p,) for p in parts if not isinstance(p.stmt, ir.Let)]
    if not groups:
        return [loop]
    merged: list[Group] = [groups[0]]
    for group in groups[1:]:
        before = tuple(p for g in merged for p in g)
        if can_follow(model, path, before, group, lets):
            merged.append(group)
        else:
            merged = [before + group]
    if are_torn(merged):
        return [loop]
    return [replace(loop, body=with_lets(reunited(group, loop), lets)) for group in merged]


def parts_of(model: Model, loop: ir.Loop, path: Path) -> Group:
    """The statements of `loop`, those that are loops in the pieces that they can be split into."""
    uses = {s.name: lets_used((s,)) for s in loop.body if isinstance(s, ir.Let)}

    def part(number: int, stmt: ir.Stmt) -> Part:
        needs: frozenset[str] = frozenset()
        pending = lets_used((stmt,)) & uses.keys()
        while pending:
            needs |= pending
            pending = frozenset(n for name in pending for n in uses[name] & uses.keys()) - needs
        return Part(number, stmt, events_of(model, path, [(number, stmt)]), needs)

    pieces = (
        (number, piece)
        for number, child in enumerate(loop.body)
        for piece in (split(model, child, (*path, number)) if isinstance(child, ir.Loop) else [child])
    )
    return tuple(part(number, piece) for number, piece in pieces)


def are_torn(groups: list[Group]) -> bool:
    """Whether several pieces of one statement are in a group, which puts them together again, and others are not."""
    counts = [Counter(p.number for p in group) for group in groups]
    return any(most > 1 and sum(n in c for c in counts) > 1 for found in counts for n, most in found.items())


def reunited(group: Group, loop: ir.Loop) -> Group:
    """`group` with several pieces of one statement of `loop` put together again: apart they would repeat its Lets."""
    found: dict[int, Part] = {}
    for part in group:
        first = found.setdefault(part.number, part)
        if first is not part:
            whole = replace(part, stmt=loop.body[part.number], events=first.events + part.events)
            found[part.number] = replace(whole, needs=first.needs | part.needs)
    return tuple(found.values())


def can_follow(model: Model, path: Path, before: Group, group: Group, lets: Group) -> bool:
    """Whether all iterations of `group` may run after all of the parts `before`, each with the `lets` it uses."""

    def events(parts: Group) -> list[Event]:
        needed = {name for p in parts for name in p.needs}
        made = (p for p in lets if isinstance(p.stmt, ir.Let) and p.stmt.name in needed)
        return [e for p in (*made, *parts) for e in p.events]

    return is_legal(model, Distribution(events(before), events(group), depth_of(model, path) - 1))


def events_of(model: Model, path: Path, parts: Iterable[tuple[int, ir.Stmt]]) -> tuple[Event, ...]:
    """The model's accesses of statements in `parts`, which may be pieces of original loops and branches."""

    def find() -> Mapping[Hashable, list[tuple[int, Event]]]:
        found: dict[Hashable, list[tuple[int, Event]]] = {}
        for place, event in enumerate(within(model, path)):
            key = (event.path[len(path)], head_of(model.sites[event.path].stmt))
            found.setdefault(key, []).append((place, event))
        return found

    by_head = model.cached(("events by head", path), find)
    wanted = {(n, head_of(s)) for n, p in parts for s in all_statements((p,))}
    return tuple(e for _, e in sorted((pair for key in wanted for pair in by_head.get(key, ())), key=lambda p: p[0]))


def head_of(stmt: ir.Stmt) -> Hashable:
    """What a statement and its pieces have in common."""
    match stmt:
        case ir.Loop(index=index):
            return index
        case ir.If(cond=cond):
            return cond
        case _:
            return id(stmt)


def with_lets(group: Group, lets: Group) -> tuple[ir.Stmt, ...]:
    """The group's statements with the Lets they need, each before its uses."""
    needed = {name for p in group for name in p.needs}
    kept = [p for p in lets if isinstance(p.stmt, ir.Let) and p.stmt.name in needed]
    return tuple(p.stmt for p in sorted([*kept, *group], key=lambda p: p.number))
