"""Distribution of data-dependent scatters into a nest of their own, where that makes more threads.

    for p:                                      for p: for l: for c:
        s = 0.0                                     y[l, index[p, l, c]] += v * w[p, l]
        for l: for c:                 becomes   for p:
            s += v * w[p, l]                        s = 0.0
            y[l, index[p, l, c]] += v * w[p, l]     for l: for c: s += v * w[p, l]
        x[p] += s                                   x[p] += s

What is summed over inner loops keeps these inside of threads. Updates go to a list, whoever makes them, and could be
made by more threads. They go first, where dependences allow it, and what they need is computed twice: elements and
arithmetic, but no elementary functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import Distribution, is_legal
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import supply
from loopdiff.ir.ops import INFO, PLAIN
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.slicing import keep_live, live_names
from loopdiff.ir.walk import Path, all_statements, exchanged, nodes_in, without, written_arrays
from loopdiff.mapping.grids import AXES
from loopdiff.passes.loops.distribution import events_of
from loopdiff.schedule.gpu.grid_mapper import GridMapper, Mapped
from loopdiff.settings.requests import Requests

Names = frozenset[str]
Numbered = list[tuple[int, ir.Stmt]]


def isolate_updates(model: Model, dead: Names, requests: Requests) -> Model:
    """The model of a LoopSet in which listed updates have nests of their own where their grid has more axes then.

    Nobody looks at the `dead` arrays before or after; sums may be added up in another order.
    """
    tried: list[tuple[ir.Loop, str]] = []
    while (found := next(candidates(GridMapper(model, dead, True, requests), tried), None)) is not None:
        nest, path, array, axes = found
        tried.append((nest, array))
        parts = Parts.of(nest, array)
        if parts is None or not parts.may_be_apart(model, path):
            continue
        (first,) = renamed_block((parts.loop(parts.updates),), supply(model.ls))
        assert isinstance(first, ir.Loop)
        rest = (parts.loop(parts.rest),) if parts.rest else ()
        changed = build_model(replace(model.ls, body=exchanged(model.ls.body, {path: (first, *rest)})))
        mapped = GridMapper(changed, dead, True, requests).mapped(first, path)
        if isinstance(mapped, Mapped) and len(mapped.grid.axes) > axes:
            model = changed
    return model


def candidates(mapper: GridMapper, tried: list[tuple[ir.Loop, str]]) -> Iterator[tuple[ir.Loop, Path, str, int]]:
    """Nests that become kernels of few axes, with their paths, an array that they list updates of, and the number of
    axes."""

    def inside(body: tuple[ir.Stmt, ...], prefix: Path) -> Iterator[tuple[ir.Loop, Path, str, int]]:
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            if not isinstance(stmt, ir.Loop):
                continue
            found = mapper.mapped(stmt, path)
            if isinstance(found, str):
                yield from inside(stmt.body, path)
            elif len(found.grid.axes) < AXES:
                yield from ((stmt, path, n, len(found.grid.axes)) for n in found.grid.lists if (stmt, n) not in tried)

    return inside(mapper.model.ls.body, ())


@immutable
class Parts:
    """Two parts of the body of a `nest`, each statement with its number there: `updates` and what they need, and what
    is left without them."""

    nest: ir.Loop
    updates: Numbered
    rest: Numbered

    @classmethod
    def of(cls, nest: ir.Loop, array: str) -> Parts | None:
        """The parts with the updates of `array` and without; None where what is costly would be computed twice."""
        if not all(
            isinstance(s, ir.Let | ir.Assign | ir.Accumulate | ir.Loop | ir.If) for s in all_statements(nest.body)
        ):
            return None
        updates = kept(list(enumerate(nest.body)), frozenset({array}))
        others = [(k, s) for k, stmt in enumerate(nest.body) for s in without((stmt,), lambda s: adds_to(s, array))]
        rest = kept(others, written_arrays(tuple(s for _, s in others)))
        return None if any(map(is_costly, updates)) else cls(nest, updates, rest)

    def loop(self, part: Numbered) -> ir.Loop:
        return replace(self.nest, body=tuple(s for _, s in part))

    def may_be_apart(self, model: Model, path: Path) -> bool:
        """Whether all updates may come before the rest, in whichever iteration."""
        first, second = (events_of(model, path, part) for part in (self.updates, self.rest))
        return is_legal(model, Distribution(first, second, depth_of(model, path) - 1))


def kept(body: Numbered, wanted: Names) -> Numbered:
    """What writes the `wanted` arrays of statements, and the Lets and loops that it needs."""
    live = live_names(tuple(s for _, s in body), wanted, wanted)
    return [(k, s) for k, stmt in body for s in keep_live((stmt,), live, wanted)]


def adds_to(stmt: ir.Stmt, array: str) -> bool:
    return isinstance(stmt, ir.Accumulate) and stmt.target.array == array


def is_costly(numbered: tuple[int, ir.Stmt]) -> bool:
    """Whether elementary functions or quotients are in a statement."""
    exprs = nodes_in(numbered[1:])
    return any(isinstance(e, ir.Apply) and INFO[e.op].result == "float" and e.op not in PLAIN for e in exprs)
