"""Buffers that are recorded as each iteration ends are written on the tape at once (array expansion: Feautrier, "Array
expansion", ICS 1988).

    for i in ...:                              for i in ...:
        for k in ...: c[k] = ... c[k - 1]          for k in ...: tape[i, k] = ... tape[i, k - 1]
        for k in ...: tape[i, k] = c[k]   becomes

Iterations then have nothing in common, which would keep them in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.plan import Tape, TapeStore
from loopdiff.analysis.exposure import is_inside
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import is_index_arithmetic
from loopdiff.ir.walk import accesses, map_accesses, touched_arrays, without

Body = tuple[ir.Stmt, ...]


def expanded_buffers(facts: Facts, tape: Tape, reverse: Body) -> dict[str, TapeStore]:
    """The copies of whole buffers that need not be made, by buffer, if `reverse` does not ask for the buffer itself."""
    used = touched_arrays(reverse)
    found: dict[str, list[TapeStore]] = {}
    for store in tape.stores:
        if store.whole and isinstance(store.value, ir.Load):
            found.setdefault(store.value.access.array, []).append(store)
    candidates = {
        array: stores[0]
        for array, stores in found.items()
        if len(stores) == 1 and array not in used and is_owned(facts, tape, array, stores[0])
    }
    if not candidates:
        return {}
    lost = {
        a
        for path, site in facts.sites.items()
        for a in mentioned_arrays(site.stmt).intersection(candidates)
        if not may_use_tape(site.stmt, is_inside(path, candidates[a].path))
    }
    stmts = [site.stmt for site in facts.sites.values()]
    made = {s.array for s in stmts if isinstance(s, ir.Allocate)}
    summed = {s.target.array for s in stmts if isinstance(s, ir.Accumulate)}  # products of rows are summed in blocks
    return {array: store for array, store in candidates.items() if array not in lost | (made & summed)}


def mentioned_arrays(stmt: ir.Stmt) -> set[str]:
    """The arrays that a statement itself touches or makes."""
    made = {stmt.array} if isinstance(stmt, ir.Allocate) else set()
    return made.union(a.array for a in accesses(stmt))


def is_owned(facts: Facts, tape: Tape, array: str, store: TapeStore) -> bool:
    """Whether iterations of the loop at the path of `store` own `array`, and know their part of the tape as they
    begin."""
    if store.scope is not None or store.when != "end" or not store.path or tape.is_counted(store.target.array):
        return False
    return array in facts.owners(store.path) and all(map(is_index_arithmetic, store.target.subscripts))


def may_use_tape(stmt: ir.Stmt, is_in_loop: bool) -> bool:
    """Whether `stmt`, which mentions an array that iterations of a loop own, in that loop or out of it, may find a part
    of a tape in its place."""
    if isinstance(stmt, ir.Allocate):  # anything may be in it, and so in a part of the tape
        return stmt.fill is None
    return is_in_loop and not isinstance(stmt, ir.Call)


def with_expanded(body: Body, expanded: Mapping[str, TapeStore]) -> Body:
    """`body`, which makes no copies of the buffers `expanded`, with these on the tape."""

    def place(access: ir.Access) -> ir.Access:
        store = expanded.get(access.array)
        if store is None:
            return access
        return replace(access, array=store.target.array, subscripts=(*store.target.subscripts, *access.subscripts))

    left = without(body, lambda s: isinstance(s, ir.Allocate) and s.array in expanded)
    return tuple(map_accesses(place, s) for s in left) if expanded else body
