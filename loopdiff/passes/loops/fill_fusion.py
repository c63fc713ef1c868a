"""Fusion of zero fills of arrays with the nests that write them, row by row, while the rows are in cache.

    x_adj[...] = 0.0                            for d in range(N):
    for i in range(1, N - 1):                       for e: x_adj[d, e] = 0.0
        for j: x_adj[i - 1, j] += y[i, j]   becomes if 1 <= d < N - 1:
                                                        for j: x_adj[d - 1, j] += y[d, j]

An array that is as large as memory would go there and back once more otherwise. Only where the nest that first touches
the array can follow the zeros.
"""

from __future__ import annotations

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import nested, upto
from loopdiff.ir.names import supply
from loopdiff.ir.walk import accesses, all_statements
from loopdiff.passes.loops.fusion import fuse, is_fill, row_nest, takes_fills


def fuse_with_fills(ls: ir.LoopSet, *, is_strict: bool) -> ir.LoopSet:
    """`ls` fused, the zeros of gradients with the nests that follow where that is possible."""
    spread, arrays = spread_fills(ls)
    found = fuse(spread, is_strict=is_strict, waiting=arrays)
    is_apart = any(isinstance(s, ir.Loop) and is_fill(s, arrays) for s in found.body)
    return fuse(ls, is_strict=is_strict) if is_apart else found


def spread_fills(ls: ir.LoopSet) -> tuple[ir.LoopSet, frozenset[str]]:
    """`ls` with the fills of gradients, of more than one axis, that its first loop touches as nests before that; and
    these gradients.
    """
    place = next((k for k, s in enumerate(ls.body) if not is_beginning(s)), len(ls.body))
    first = ls.body[place] if place < len(ls.body) else None
    if first is None or (row_nest(first, ls) is None and not takes_fills(first, ls)):
        return ls, frozenset()
    touched = {a.array for s in all_statements((first,)) for a in accesses(s)}
    gradients = {a.name for a in ls.arrays if a.role == "gradient" and a.extents is not None and len(a.extents) > 1}
    names = supply(ls)
    arrays: set[str] = set()
    kept: list[ir.Stmt] = []
    nests: list[ir.Stmt] = []
    for stmt in ls.body[:place]:
        if isinstance(stmt, ir.Allocate) and isinstance(stmt.fill, ir.Const) and stmt.array in touched & gradients:
            arrays.add(stmt.array)
            extents = ls.array(stmt.array).extents or ()
            stems = [*indices_of(first), *("d" for _ in extents)]
            spans = [(names.fresh(stem), extent) for stem, extent in zip(stems, extents, strict=False)]
            value = ir.Assign(ir.Access(stmt.array, tuple(ir.Index(i) for i, _ in spans)), stmt.fill, loc=first.loc)
            nests += nested([upto(*span, loc=first.loc) for span in spans], (value,))
        else:
            kept.append(stmt)
    return replace(ls, body=(*kept, *nests, *ls.body[place:])), frozenset(arrays)


def is_beginning(stmt: ir.Stmt) -> bool:
    """Whether `stmt` does nothing but begin arrays, perhaps under a condition."""
    if isinstance(stmt, ir.If):
        return all(isinstance(s, ir.Allocate) for s in (*stmt.then, *stmt.orelse))
    return isinstance(stmt, ir.Allocate)


def indices_of(stmt: ir.Stmt) -> list[str]:
    """The indices of a nest, outermost first, as far as it has one loop in another."""
    for inner in all_statements((stmt,)):
        if isinstance(inner, ir.Loop):
            return [inner.index, *(indices_of(inner.body[0]) if inner.body else ())]
    return []
