"""Chunks of nested loops: where a loop that is shared is short, its chunks are cut along the next loop inside as well.

    for b in range(B):                     for chunk in range(chunks):
        for i in range(N):       becomes       for b in the chunk's piece of range(B):
            y[b, i] = f(x[b, i])                   for i in the chunk's piece of range(N):
                                                       y[b, i] = f(x[b, i])

Which of them are cut is known when they run: the outermost one as long as it has enough iterations, then the next.
Nothing but the inner loop is in the outer one, and iterations of both are independent: those of the outer one whatever
inner iteration they are in, and those of the inner one within each outer iteration, so any two pieces are. What chunks
have for themselves is what iterations of the outer or of the inner loop would; each of the latter fills it anew.

Where there is more in the outer loop, or inner iterations add to the same elements, loops inside are shared instead if
the outer one has a single iteration.
"""

from __future__ import annotations

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, all_statements, lets_in, statements, subexprs
from loopdiff.mapping.loops import Mapping, NestedCut, Parallel, ScalarLoop, TiledNest

DEEPEST = 3  # loops that are cut


def only_loop(loop: ir.Loop) -> int | None:
    """The number of the only statement in `loop` but Lets, if that is a loop."""
    found = [n for n, s in enumerate(loop.body) if not isinstance(s, ir.Let)]
    return found[0] if len(found) == 1 and isinstance(loop.body[found[0]], ir.Loop) else None


def may_be_cut(sharing: Parallel) -> bool:
    """Whether chunks neither sum apart, nor wait for each other, nor begin early: then they are as many as there are
    iterations, and small ones cost no more than large ones."""
    return not (sharing.sums or sharing.near or sharing.late or sharing.early)


def cut_along(nest: ir.Loop, outer: Parallel, inner: Parallel, granule: int) -> Parallel | None:
    """`outer`, a sharing of `nest`, with chunks that are multiples of `granule`, cut as `inner` says, a sharing of the
    only loop inside; None if they cannot be, or if that would take arrays of their own that chunks do without."""
    own = {*outer.arrays, *outer.zero}
    if not (may_be_cut(outer) and may_be_cut(inner)) or not own >= {*inner.arrays, *inner.zero}:
        return None
    further = known_before(nest, (NestedCut(inner.index, inner.granule, inner.granule), *inner.further))
    if not further:
        return None
    zero = {*outer.zero, *inner.zero}
    return replace(
        outer,
        granule=max(outer.granule, granule),
        cells=tuple(sorted({*outer.cells, *inner.cells})),
        arrays=tuple(sorted(own - zero)),
        zero=tuple(sorted(zero)),
        further=further,
    )


def is_nest(stmt: ir.Loop, mapping: Mapping | None) -> bool:
    """Whether there are loops in the loop that have their own iterations in order, or a tile of them: what is shared
    instead of a loop around is written once more, which is not worth it for rows of elements."""
    is_around = any(isinstance(s, ir.Loop) for s in all_statements(stmt.body))
    return is_around and isinstance(mapping, ScalarLoop | TiledNest)


def are_all_nests(loop: ir.Loop, path: Path, shared: list[Path]) -> bool:
    """Whether all that is in loops in a loop of `loop`, at `path`, is in those at the paths `shared`."""
    inside = [s for s in statements(loop.body, path) if len(s.loops) > 1]
    return all(any(s.path[: len(p)] == p for p in shared) for s in inside)


def stands_alone(mapping: Mapping | None, sharing: Parallel) -> bool:
    """Whether a loop that is shared is written as it stands, and chunks are not cut along others."""
    is_alone = isinstance(mapping, ScalarLoop) and mapping.together == 1
    return is_alone and not (sharing.further or sharing.late or sharing.early)


def known_before(nest: ir.Loop, cuts: tuple[NestedCut, ...]) -> tuple[NestedCut, ...]:
    """Of `cuts` the first ones, whose loops have bounds that are the same wherever `nest` is, and can be found ahead of
    it."""
    inside = all_statements((nest,))
    loops = {s.index: s for s in inside if isinstance(s, ir.Loop)}
    names = {*loops, *lets_in((nest,))}
    found: list[NestedCut] = []
    for cut in cuts[: DEEPEST - 1]:
        bounds = loops[cut.index].lower, loops[cut.index].upper
        if not all(is_known(e, names) for bound in bounds for e in subexprs(bound)):
            break
        found.append(cut)
    return tuple(found)


def is_known(expr: ir.Expr, inside: set[str]) -> bool:
    """Whether `expr` has a value before the loops and Lets `inside`, and cannot fail."""
    match expr:
        case ir.Load():
            return False
        case ir.Index(name=name) | ir.Var(name=name):
            return name not in inside
        case ir.Apply():
            return is_total(expr)
        case _:
            return True
