"""Loop distribution, which isolates contractions, and loop reversal, where the dependences allow them.

A descending loop (as reverse sweeps have) without carried dependence runs upwards. A nest is distributed when that
isolates a contraction: a perfect nest around one `+=` whose target does not depend on every loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace

from loopdiff.analysis.contractions import contraction
from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import AnyOrder, Distribution, is_legal, within
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_descending, turned_round
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import INFO
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.walk import Path, exits, lets_in, lets_used, map_sites, statements, subexprs
from loopdiff.model.trip_counts import is_row_of_elements, lets_of
from loopdiff.passes.loops.sum_shapes import separate_shifts
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
    return turn_triangles(replace(ls, body=tuple(body)))


# -- reversal ------------------------------------------------------------------------------------------------
def ascend(ls: ir.LoopSet, is_strict: bool = False) -> ir.LoopSet:
    """Descending unit-step loops whose iterations are independent run upwards; sums apart, unless `is_strict`."""
    if not any(is_descending(s.stmt) for s in statements(ls.body)):
        return ls
    model = build_model(ls)

    def turned(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or not is_descending(stmt) or exits(stmt):
            return (stmt,)
        change = AnyOrder(path, owned_cells(model, path))
        return (turned_round(stmt) if is_legal(model, change, is_strict=is_strict) else stmt,)

    return replace(ls, body=map_sites(ls.body, turned))


# -- distribution --------------------------------------------------------------------------------------------
def repeats_functions(pieces: list[ir.Loop]) -> bool:
    """Whether two pieces compute the same Let that takes more than arithmetic."""
    lets = Counter(s.stmt for p in pieces for s in statements((p,)) if isinstance(s.stmt, ir.Let))
    repeated = (let.value for let, count in lets.items() if count > 1)
    return any(isinstance(e, ir.Apply) and INFO[e.op].result == "float" for value in repeated for e in subexprs(value))


def is_isolated(piece: ir.Loop, lets: Mapping[str, ir.Expr]) -> bool:
    """Whether `piece` is a contraction, but for rows that are too short to be gone through once more."""
    found = contraction(piece)
    return found is not None and not any(is_row_of_elements(p, lets) for p in found.loops)


def distribute(model: Model, stmt: ir.Stmt, path: Path, names: NameSupply) -> list[ir.Stmt]:
    """`stmt`, or the loops it splits into if one of them is a contraction that was not isolated before."""
    if not isinstance(stmt, ir.Loop) or contraction(stmt) is not None:
        return [stmt]
    groups = separate_shifts(stmt)
    if groups is not None and is_legal(model, AnyOrder(path)):
        first, *rest = (replace(stmt, body=g) for g in groups)
        return [first, *(s for g in rest for s in renamed_block((g,), names))]
    pieces = split(model, stmt, path)
    lets = lets_of(model.ls)
    is_better = any(is_isolated(p, lets) for p in pieces) and not repeats_functions(pieces)
    if len(pieces) < 2 or not is_better:
        inner = (distributed(model, child, (*path, k), names) for k, child in enumerate(stmt.body))
        return [replace(stmt, body=tuple(inner))]
    out: list[ir.Stmt] = []
    for position, piece in enumerate(pieces):
        out += [piece] if position == 0 else renamed_block((piece,), names)
    return out


def distributed(model: Model, stmt: ir.Stmt, path: Path, names: NameSupply) -> ir.Stmt:
    """A nested statement with what is inside it distributed in place."""
    match stmt:
        case ir.Loop(body=body):
            inner: list[ir.Stmt] = []
            for k, child in enumerate(body):
                inner += distribute(model, child, (*path, k), names)
            return replace(stmt, body=tuple(inner))
        case _:
            return stmt


def split(model: Model, loop: ir.Loop, path: Path) -> list[ir.Loop]:
    """The finest legal distribution of the nest `loop`, as loops in order; just [loop] if nothing can be split."""
    if exits(loop):
        return [loop]
    parts: list[tuple[int, ir.Stmt]] = []
    for number, child in enumerate(loop.body):
        pieces: list[ir.Stmt] = list(split(model, child, (*path, number))) if isinstance(child, ir.Loop) else [child]
        parts += [(number, p) for p in pieces]
    lets: list[tuple[int, ir.Stmt]] = [(n, s) for n, s in parts if isinstance(s, ir.Let)]
    groups: list[list[tuple[int, ir.Stmt]]] = [[p] for p in parts if not isinstance(p[1], ir.Let)]
    if not groups:
        return [loop]
    merged: list[list[tuple[int, ir.Stmt]]] = [groups[0]]
    for group in groups[1:]:
        before = [p for g in merged for p in g]
        if can_follow(model, path, before, group, lets):
            merged.append(group)
        else:
            merged = [[p for g in merged for p in g] + group]
    if are_torn(merged):
        return [loop]
    return [replace(loop, body=with_lets(reunited(group, loop), lets)) for group in merged]


def are_torn(groups: list[list[tuple[int, ir.Stmt]]]) -> bool:
    """Whether several pieces of one statement are in a group, which puts them together again, and others are not."""
    counts = [Counter(n for n, _ in group) for group in groups]
    return any(most > 1 and sum(n in c for c in counts) > 1 for found in counts for n, most in found.items())


def reunited(group: list[tuple[int, ir.Stmt]], loop: ir.Loop) -> list[tuple[int, ir.Stmt]]:
    """`group` with several pieces of one statement of `loop` put together again: apart they would repeat its Lets."""
    counts = Counter(n for n, _ in group)
    return list({n: (n, loop.body[n]) if counts[n] > 1 else (n, s) for n, s in group}.values())


def can_follow(
    model: Model, path: Path, before: list[tuple[int, ir.Stmt]], group: list[tuple[int, ir.Stmt]],
    lets: list[tuple[int, ir.Stmt]],
) -> bool:  # fmt: skip
    """Whether all iterations of `group` may run after all of the parts `before`, each with the `lets` it uses."""

    def events(parts: list[tuple[int, ir.Stmt]]) -> list[Event]:
        used = lets_in(with_lets(parts, lets))
        return events_of(model, path, [*(p for p in lets if lets_in((p[1],)) & used), *parts])

    return is_legal(model, Distribution(events(before), events(group), depth_of(model, path) - 1))


def events_of(model: Model, path: Path, parts: list[tuple[int, ir.Stmt]]) -> list[Event]:
    """The model's accesses of statements in `parts`, which may be pieces of original loops and branches."""
    sites = [(n, s.stmt) for n, p in parts for s in statements((p,))]
    wanted = {(n, head_of(s)) for n, s in sites}

    def is_wanted(event: Event) -> bool:
        return (event.path[len(path)], head_of(model.sites[event.path].stmt)) in wanted

    return [e for e in within(model, path) if is_wanted(e)]


def head_of(stmt: ir.Stmt) -> Hashable:
    """What a statement and its pieces have in common."""
    match stmt:
        case ir.Loop(index=index):
            return index
        case ir.If(cond=cond):
            return cond
        case _:
            return id(stmt)


def with_lets(group: list[tuple[int, ir.Stmt]], lets: list[tuple[int, ir.Stmt]]) -> tuple[ir.Stmt, ...]:
    """The group's statements with the Lets they need, each before its uses."""
    needed: set[str] = set()
    pending = [s for _, s in group]
    while pending:
        used = lets_used(tuple(pending))
        pending = [s for _, s in lets if isinstance(s, ir.Let) and s.name in used - needed]
        needed |= {s.name for s in pending if isinstance(s, ir.Let)}
    kept = [(n, s) for n, s in lets if isinstance(s, ir.Let) and s.name in needed]
    return tuple(s for _, s in sorted([*kept, *group], key=lambda p: p[0]))
