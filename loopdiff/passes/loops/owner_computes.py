"""Owner-computes (gather) form: a nest that adds to shifted elements becomes one over the elements that are added to.

                                       if N >= 4:
                                           y[0] += x[1]
    for i in range(1, N - 1):              y[1] += x[2]
        y[i - 1] += x[i]     becomes       for i in range(2, N - 2): y[i] += x[i + 1] + x[i - 1]
        y[i + 1] += x[i]                   y[N - 2] += x[N - 3]
                                           y[N - 1] += x[N - 2]
                                       elif N > 2:
                                           for i in range(0, N): y[i] += those of the two that there are

Adjoints of stencils are such nests. Their iterations add to what others have just added to; those of a gather form have
nothing in common, and store once instead of once for each term. Rows of the innermost loop in which all terms exist
have their few elements at both ends as statements of their own; rows at the edge, and nests too small for that, ask for
each term whether it exists. Elements that begin at zero are stored, and what clears them right before the nest goes.

An array may be shorter than its nest reaches where it is only added to under a condition: rows of which every element
asks can ask for that too, and others stay as they are.

Sums run in another order, and what terms are made of is computed for each of them again: that has to take less time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from loopdiff.analysis.ownership import Owned, cell_owners
from loopdiff.canonical.simplify import simplify_expr, simplify_stmt
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_clear, is_zero, zeroed
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.renaming import Renaming, renamed, renamed_block
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    all_statements,
    map_blocks_at,
    map_body,
    map_stmt_exprs,
    read_arrays,
    statements,
    written_access,
    written_arrays,
)
from loopdiff.model import trip_counts as extents
from loopdiff.model.cost import CostModel
from loopdiff.model.edges import edges_of
from loopdiff.model.machine import Machine
from loopdiff.passes.loops.gather_form import GatherForm, only_updates, with_room
from loopdiff.passes.loops.shifted_updates import Scatter, perfect, place_of, shifted_scatter, without_shift
from loopdiff.passes.loops.sum_shapes import separate_shifts
from loopdiff.passes.storage.first_writes import drop_unread_zeros


def gather_sums(ls: ir.LoopSet, machine: Machine | None) -> ir.LoopSet:
    """`ls` with nests that add to shifted elements in gather form, where that is faster on `machine`.

    Without a machine all of them, in the form in which all elements do the same: as threads have to.
    """
    edges = frozenset[Path]() if machine is None else edges_of(ls)
    gatherer = Gatherer(ls, machine, supply(ls), type_env(ls), edges, cache(lambda: cell_owners(ls)))
    body = gatherer.block(ls.body, ())
    return replace(ls, arrays=(*ls.arrays, *gatherer.cells), body=body) if gatherer.is_changed else ls


def gather_with_zeros(ls: ir.LoopSet, machine: Machine) -> ir.LoopSet:
    """`ls` with sums in gather form, which may leave nothing of the zeros that arrays begin with."""
    found = gather_sums(ls, machine)
    cleared = {s.array for s in all_statements(ls.body) if isinstance(s, ir.Allocate) and is_zero(s.fill)}
    dead = {a.name for a in ls.arrays if a.extents is not None and a.role == "adjoint"}
    cleared &= dead | {a.name for a in ls.arrays if a.role == "gradient"}
    return drop_unread_zeros(found, cleared, dead) if cleared and found is not ls else found


@dataclass(slots=True)
class Gatherer:
    """Goes through `ls`; `cells` are those of the nests in gather form. The loops `edges` keep their order."""

    ls: ir.LoopSet
    machine: Machine | None
    names: NameSupply
    types: TypeEnv
    edges: frozenset[Path]
    owners: Callable[[], Owned]
    cells: list[ir.ArrayDecl] = field(default_factory=list)
    is_changed: bool = False

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, first: int = 0) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for number, stmt in enumerate(body, start=first):
            path = (*prefix, number)
            match stmt:
                case ir.Loop() if self.nest(stmt, path, out):
                    pass
                case _:
                    out.append(map_blocks_at(self.block, stmt, path))
        return tuple(out)

    def nest(self, stmt: ir.Loop, path: Path, out: list[ir.Stmt]) -> bool:
        """Write the nest `stmt` to `out` in gather form, if it is one that has a better one."""
        found = None if path in self.edges else shifted_scatter(stmt, path, self.ls, self.owners)
        if found is None:
            return False
        begun = None if not out else begun_by(found, out[-1])
        made = GatherForm.of(self.with_rooms(begun or found), NameSupply(self.names.taken), self.ls)
        if self.machine is not None and not made.is_safe:
            return False
        rows = made.asking_rows() if self.machine is None else made.rows()
        own = [made.decls[n] for n in sorted(written_arrays(rows)) if n in made.decls and not self.ls.has_array(n)]
        types = self.typed(rows, own)
        new = tuple(t for s in rows for t in tidied(s, types))
        if self.machine is not None:
            costs = CostModel(self.ls, types, self.machine, extents.TripCounter(self.ls, extents.Extents(), {}))
            if takes(costs, new, made.inner) >= takes_scattered(costs, found):
                return False
        self.names, self.types, self.is_changed = made.names, types, True
        self.cells += own
        if begun is not None:
            out.pop()
        out += [*new, *others(found, self.names)]
        return True

    def with_rooms(self, found: Scatter) -> Scatter:
        """`found` with all of those targets that are zero before it."""
        targets = (
            with_room(self.ls, found.nest, t) if self.is_zero_before(t.array, found.path) else t for t in found.targets
        )
        return replace(found, targets=tuple(targets))

    def is_zero_before(self, array: str, path: Path) -> bool:
        """Whether nothing happens to an array of the function's own before the nest at `path` but a clear."""
        before = [s for s in self.ls.body[: path[0]] if array in written_arrays((s,)) | read_arrays((s,))]
        is_cleared = all(zeroed(s) == ir.Access(array) for s in before)
        return len(path) == 1 and bool(before) and is_cleared and self.ls.array(array).role in ("adjoint", "gradient")

    def typed(self, body: tuple[ir.Stmt, ...], cells: Sequence[ir.ArrayDecl]) -> TypeEnv:
        """The types of what there is, and of `cells` and the Lets of `body`."""
        arrays = {c.name: c.type for c in cells if c.type is not None}
        found = TypeEnv({**self.types.arrays, **arrays}, self.types.scalars, lets := dict(self.types.lets))
        for stmt in all_statements(body):
            if isinstance(stmt, ir.Let):
                lets[stmt.name] = type_of(stmt.value, found)
        return found


def tidied(stmt: ir.Stmt, types: TypeEnv) -> tuple[ir.Stmt, ...]:
    return map_body((map_stmt_exprs(lambda e: simplify_expr(e, types), stmt),), simplify_stmt)


# -- what is faster ------------------------------------------------------------------------------------------
def takes(costs: CostModel, body: tuple[ir.Stmt, ...], inner: str) -> float:
    """Nanoseconds of a row in gather form, with all terms: its loop over `inner`, and the elements at its ends."""
    for site in statements(body):
        if isinstance(site.stmt, ir.Loop) and site.stmt.index == inner:
            row = site.enclosing[-1] if site.enclosing else site.stmt
            ends = row.then if isinstance(row, ir.If) else ()
            return costs.vector(site.stmt, {}) + costs.machine.nanoseconds(costs.straight(ends).cycles)
    return math.inf


def takes_scattered(costs: CostModel, found: Scatter) -> float:
    """Nanoseconds of a row as it is, for what goes to the targets."""
    inner = found.nest.loops[-1]
    loop = replace(inner, body=only_updates(inner.body, found.updates))
    groups = separate_shifts(loop) or [loop.body]
    return sum(costs.vector(replace(loop, body=g), {}) for g in groups)


# -- what comes before and after -----------------------------------------------------------------------------
def begun_by(found: Scatter, before: ir.Stmt) -> Scatter | None:
    """`found` with what the nest `before` it clears beginning at zero instead; None if it clears nothing of it."""
    nest = perfect(before) if isinstance(before, ir.Loop) else None
    if nest is None or nest.spans != found.nest.spans or len(nest.body) != 1 or not is_clear(nest.body[0]):
        return None
    cleared, indices = nest.body[0], found.nest.indices
    same: Renaming = {ir.Index(a): ir.Index(b) for a, b in zip(nest.indices, indices, strict=True)}
    access = written_access(renamed(cleared, same))
    place = None if access is None else place_of(access, indices)
    for target in found.targets:
        own = place_of(target.place, indices)
        if place is None or own is None or access is None or access.array != target.array or place[0] != own[0]:
            continue
        if any(isinstance(s, ir.Assign) and s.target.array == access.array for s in all_statements(found.nest.body)):
            return None
        begun = replace(target, start=without_shift(place[1], own[1]))
        return replace(found, targets=tuple(begun if t is target else t for t in found.targets))
    return None


def others(found: Scatter, names: NameSupply) -> tuple[ir.Stmt, ...]:
    """The rest of a nest: clears one by one, anything else in one nest."""
    body = found.nest.body
    clears = [s for k, s in enumerate(body) if (k,) in found.rest and is_clear(s)]
    if len(clears) == len(found.rest):
        nests = [found.nest.around((s,)) for s in clears]
    else:
        nests = [found.nest.around(only_updates(body, found.rest))]
    return tuple(s for n in nests for s in renamed_block((n,), names))
