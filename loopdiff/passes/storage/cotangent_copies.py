"""Copy on write of cotangents: what a reverse sweep would store in a caller's cotangent goes to an array of its own.

    for i:                                           for i:
        for j: y_adj[i, j] = y_adj[i, j] / s[i]          for j: y_adj_own[i, j] = y_adj[i, j] / s[i]
        for j: x_adj[i, j] = y_adj[i, j] * e[i, j]       for j: x_adj[i, j] = y_adj_own[i, j] * e[i, j]

The caller's cotangent need not be copied then, and of the array of its own a row or two are kept where the sweep
uses it row by row (`schedule.blocks.array_contraction`).
"""

from __future__ import annotations

from loopdiff.ad.tape.sweeps import Sweeps
from loopdiff.analysis.exposure import is_exposed, seen_writes
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import supply
from loopdiff.ir.walk import Path, map_expr, map_stmt_exprs, written_arrays
from loopdiff.passes.storage.first_writes import rewritten
from loopdiff.passes.storage.workspace import with_workspace

Places = set[tuple[Path, ir.Access]]


def keep_cotangents(sweeps: Sweeps, forgotten: frozenset[str]) -> Sweeps:
    """`sweeps`, the reverse one writing to none of the `forgotten` buffers that it is given and reads in places of
    their own: what it finds there is either always the cotangent or never."""
    reverse = sweeps.reverse
    given = {buffer: argument for argument, buffer in sweeps.buffers.items() if buffer in forgotten}
    spoiled = [b for b in given if reverse.array(b).extents is None and b in written_arrays(reverse.body)]
    if not spoiled:
        return sweeps
    model = build_model(reverse)
    found = {b: places for b in spoiled if (places := places_of_cotangent(model, b)) is not None}
    for buffer, places in found.items():
        sweeps = with_own_array(sweeps, buffer, given[buffer], places)
    return sweeps


def places_of_cotangent(model: Model, buffer: str) -> Places | None:
    """Where the sweep reads the cotangent; None if it does so in a place where it also reads what it wrote."""
    writes = model.touching(buffer, True)
    reads = [read for read in model.touching(buffer, False) if not read.is_final]
    if not all(
        isinstance(model.sites[e.path].stmt, ir.Let | ir.Assign | ir.Accumulate) for e in (*reads, *writes) if e.path
    ):
        return None
    exposed = [read for read in reads if is_exposed(model, read)]
    mixed = (r for r in exposed if r.combines or any(seen_writes(model, r, lambda w: w in writes)))
    if next(mixed, None) is not None or not all(r.path for r in reads):
        return None
    return {(read.path, read.access) for read in exposed}


def with_own_array(sweeps: Sweeps, buffer: str, argument: str, places: Places) -> Sweeps:
    """`sweeps` with another array in place of `buffer`, but in those `places`."""
    forward, reverse = sweeps.forward, sweeps.reverse
    decl = reverse.array(buffer)
    assert decl.type is not None
    own = replace(
        decl,
        name=supply(forward, reverse).fresh(f"{buffer}_own"),
        type=replace(decl.type, layout="C"),
        role="adjoint",
        extents=tuple(ir.Dim(argument, k) for k in range(decl.type.rank)),
    )

    def renamed(stmt: ir.Stmt, path: Path) -> ir.Stmt:
        def load(expr: ir.Expr) -> ir.Expr:
            match expr:
                case ir.Load(access=access) if access.array == buffer and (path, access) not in places:
                    return replace(expr, access=replace(access, array=own.name))
                case _:
                    return expr

        found = map_stmt_exprs(lambda e: map_expr(load, e), stmt)
        if isinstance(found, ir.Assign | ir.Accumulate) and found.target.array == buffer:
            return replace(found, target=replace(found.target, array=own.name))
        return found

    place = len(forward.params)
    forward = with_workspace(forward, (own,), place, (own,))
    return replace(sweeps, forward=forward, reverse=with_workspace(rewritten(reverse, renamed), (own,), place, (own,)))
