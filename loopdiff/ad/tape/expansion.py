"""Buffers that are recorded as each iteration ends are written on the tape at once (array expansion: Feautrier, "Array
expansion", ICS 1988).

    for i in ...:                              for i in ...:
        for k in ...: c[k] = ... c[k - 1]          for k in ...: tape[i, k] = ... tape[i, k - 1]
        for k in ...: tape[i, k] = c[k]   becomes

Iterations then have nothing in common, which would keep them in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.plan import Tape, TapeStore
from loopdiff.analysis.exposure import is_inside
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import accesses, is_index_arithmetic, map_accesses, touched_arrays

Body = tuple[ir.Stmt, ...]


def expanded_buffers(facts: Facts, tape: Tape, reverse: Body) -> dict[str, TapeStore]:
    """The copies of whole buffers that need not be made, by buffer, if `reverse` does not ask for the buffer itself."""
    used = touched_arrays(reverse)
    found: dict[str, list[TapeStore]] = {}
    for store in tape.stores:
        if store.whole and isinstance(store.value, ir.Load):
            found.setdefault(store.value.access.array, []).append(store)
    return {
        array: stores[0]
        for array, stores in found.items()
        if len(stores) == 1 and array not in used and is_expandable(facts, tape, array, stores[0])
    }


def is_expandable(facts: Facts, tape: Tape, array: str, store: TapeStore) -> bool:
    """Whether iterations of the loop at the path of `store` own `array`, and know their part of the tape as they
    begin."""
    if store.scope is not None or store.when != "end" or not store.path or tape.is_counted(store.target.array):
        return False
    if array not in facts.owners(store.path) or not all(map(is_index_arithmetic, store.target.subscripts)):
        return False
    for path, site in facts.sites.items():
        stmt, is_in_loop = site.stmt, is_inside(path, store.path)
        if isinstance(stmt, ir.Allocate) and stmt.array == array and (is_in_loop or stmt.fill is not None):
            return False
        if any(a.array == array and (not is_in_loop or isinstance(stmt, ir.Call)) for a in accesses(stmt)):
            return False
    return True


def with_expanded(body: Body, expanded: Mapping[str, TapeStore]) -> Body:
    """`body`, which makes no copies of the buffers `expanded`, with these on the tape."""

    def place(access: ir.Access) -> ir.Access:
        store = expanded.get(access.array)
        if store is None:
            return access
        return replace(access, array=store.target.array, subscripts=(*store.target.subscripts, *access.subscripts))

    left = (s for s in body if not (isinstance(s, ir.Allocate) and s.array in expanded))
    return tuple(map_accesses(place, s) for s in left) if expanded else body
