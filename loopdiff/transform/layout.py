"""The order of the axes of tapes: their last axis is the one that the innermost loops run along.

Only the two sweeps see a tape, so its layout is theirs to choose (Kandemir et al., "Improving locality using loop and
data transformations in an integrated framework", MICRO 1998).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from loopdiff.ir.nodes import Access, Accumulate, ArrayDecl, Assign, Call, Dim, Expr, Load, LoopSet
from loopdiff.ir.walk import map_accesses, map_expr, map_stmt_exprs, read_arrays, statements, stmt_exprs, subexprs
from loopdiff.transform.strides import coefficient

Order = tuple[int, ...]
TRIPS = 32
ADVANTAGE = 2


def align_tapes(forward: LoopSet, reverse: LoopSet) -> tuple[LoopSet, LoopSet]:
    """Both sweeps with the axes of tapes reordered where their innermost loops run along another than the last."""
    passed = called_with(forward) | called_with(reverse)
    orders = {
        decl.name: order
        for decl in forward.arrays
        if decl.role == "tape" and decl.type is not None and decl.type.rank >= 2 and decl.name not in passed
        if (order := better_order(decl, forward, reverse)) is not None
    }
    return (reordered(forward, orders), reordered(reverse, orders)) if orders else (forward, reverse)


def called_with(ls: LoopSet) -> frozenset[str]:
    """Arrays that functions get parts of, as they lie in memory."""
    return read_arrays(tuple(s.stmt for s in statements(ls.body) if isinstance(s.stmt, Call)))


def better_order(decl: ArrayDecl, forward: LoopSet, reverse: LoopSet) -> Order | None:
    """The axes of a tape with that one last which most accesses move along; None if it is the last already."""
    votes: Counter[int] = Counter()
    for ls in (forward, reverse):
        for access, index, depth in accesses(ls, decl.name):
            moving = [axis for axis, s in enumerate(access.subscripts) if coefficient(s, index) != 0]
            if len(moving) == 1 and coefficient(access.subscripts[moving[0]], index) in (1, -1):
                votes[moving[0]] += TRIPS**depth
    if not votes:
        return None
    rank = len(decl.extents or ())
    (axis, count), *_ = votes.most_common(1)
    if axis == rank - 1 or count < ADVANTAGE * votes[rank - 1]:
        return None
    return (*(k for k in range(rank) if k != axis), axis)


def accesses(ls: LoopSet, array: str) -> Iterator[tuple[Access, str, int]]:
    """Accesses of `array` in loops, the index of the innermost one, and how many there are."""
    for site in statements(ls.body):
        if not site.loops:
            continue
        index, depth = site.loops[-1].index, len(site.loops)
        found = [e.access for x in stmt_exprs(site.stmt) for e in subexprs(x) if isinstance(e, Load)]
        if isinstance(site.stmt, Assign | Accumulate):
            found.append(site.stmt.target)
        yield from ((a, index, depth) for a in found if a.array == array)


def reordered(ls: LoopSet, orders: Mapping[str, Order]) -> LoopSet:
    def extent(e: Expr) -> Expr:
        if isinstance(e, Dim) and e.array in orders:
            return replace(e, axis=orders[e.array].index(e.axis))
        return e

    def access(a: Access) -> Access:
        if a.array not in orders:
            return a
        return replace(a, subscripts=tuple(a.subscripts[k] for k in orders[a.array]))

    def declaration(decl: ArrayDecl) -> ArrayDecl:
        if decl.name not in orders or decl.extents is None:
            return decl
        return replace(decl, extents=tuple(decl.extents[k] for k in orders[decl.name]))

    body = tuple(map_stmt_exprs(lambda e: map_expr(extent, e), map_accesses(access, s)) for s in ls.body)
    return replace(ls, body=body, arrays=tuple(map(declaration, ls.arrays)))
