"""Hoisting of recordings out of loops that do not change what they record.

    for t:                                       for t:
        for i: x[i] += v[i]                          for i: x[i] += v[i]
        for i:                         records       for j: T[t, j] = x[j]
            for j:                                   for i:
                f[i] += g(x[j] - x[i])                   for j: f[i] += g(x[j] - x[i])

Where an array stays as it is during a whole loop, what is read there is recorded ahead of it, once for the loops that
tell elements apart: a row instead of a matrix for each step.
"""

from __future__ import annotations

from loopdiff.ad.facts import Facts, is_open
from loopdiff.ad.tape.same_reads import PLAIN, has_plain_subscripts
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_constant, sub
from loopdiff.ir.walk import Path, indices_in, subexprs, substitute

Loops = tuple[tuple[Path, ir.Loop], ...]


@immutable
class Ahead:
    """Recorded ahead of the loop at `path`, over the loops `over`, if each of the loops `idle` has an iteration.

    `loops` are those that tell what is recorded apart: all around `path`, and `over`.
    """

    path: Path
    loops: Loops
    over: tuple[ir.Loop, ...]
    idle: tuple[ir.Loop, ...]


def recorded_ahead(facts: Facts, path: Path, access: ir.Access) -> Ahead | None:
    """How to record ahead of a loop what the statement at `path` reads; None where that saves nothing."""
    around = facts.loops_around(path)
    if not has_plain_subscripts(access):
        return None
    for depth, (start, _) in enumerate(around):
        if access.array not in facts.written(start):
            inside = around[depth:]
            is_known = all(facts.trip_hull(p) is not None for p, _ in inside)
            return from_loop(facts, path, access, (around[:depth], inside)) if is_known else None
    return None


def from_loop(facts: Facts, path: Path, access: ir.Access, split: tuple[Loops, Loops]) -> Ahead | None:
    outside, inside = split
    start = inside[0][0]
    if any(not isinstance(facts.sites[path[:k]].stmt, ir.Loop) for k in range(len(start), len(path))):
        return None
    used = indices_in(*access.subscripts)
    idle = tuple(p for _, p in inside if p.index not in used)
    names = {p.index for p in idle}
    if not idle or any(is_open(p) or not is_steady(p, names) for p in idle):
        return None
    over: list[tuple[Path, ir.Loop]] = []
    for place, loop in inside:
        if loop.index in used:
            widest = at_widest(loop, idle)
            if widest is None or is_open(loop):
                return None
            over.append((place, widest))
    return Ahead(start, (*outside, *over), tuple(p for _, p in over), idle)


def is_steady(loop: ir.Loop, names: set[str]) -> bool:
    """Whether `loop` counts by one, between bounds that none of the indices `names` changes."""
    return is_constant(loop.step, 1) and not names & indices_in(loop.lower, loop.upper)


def at_widest(loop: ir.Loop, idle: tuple[ir.Loop, ...]) -> ir.Loop | None:
    """`loop` with all iterations that it has for any values of the indices of `idle`, if it has them for one value."""
    names = {p.index for p in idle}
    if not all(isinstance(e, PLAIN) for b in (loop.lower, loop.upper, loop.step) for e in subexprs(b)):
        return None
    moved = names & indices_in(loop.lower, loop.upper, loop.step)
    if not moved:
        return loop
    if len(moved) > 1 or not is_constant(loop.step, 1):
        return None
    (index,) = moved
    source = next(p for p in idle if p.index == index)
    first, last = source.lower, sub(source.upper, integer(1))
    match coefficient(loop.lower, index), coefficient(loop.upper, index):
        case (1, 0) | (0, -1):
            extreme = first
        case (-1, 0) | (0, 1):
            extreme = last
        case _:
            return None
    there: dict[ir.Expr, ir.Expr] = {ir.Index(index): extreme}
    return replace(loop, lower=substitute(loop.lower, there), upper=substitute(loop.upper, there))
