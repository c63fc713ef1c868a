"""An axis that the steps of a sequential loop have in common: chunks of it, each of which goes through all steps.

    for t in range(T):                            for each chunk [first, last):
        for n in range(N): g[n] += a * h[t, n]        for t in range(T):
        for n in range(N): h[t + 1, n] = f(g[n])          for n in range(first, last): g[n] += a * h[t, n]
                                                          for n in range(first, last): h[t + 1, n] = f(g[n])

Threads begin once instead of twice in each step, and what one of them writes no other one reads. That is a loop over n
around the one over t, without what the loops inside gain from being apart. So it is for samples of a batch in recurrent
layers, and in integrators of many systems. No element may be touched at two places of the axis, whatever the steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import conflicting_pairs, within
from loopdiff.analysis.ownership import is_part_of
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.pairs import aside
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, subexprs
from loopdiff.mapping.loops import Parallel


@immutable
class Step:
    """A nest inside the sequential loop, at `path`, and how chunks of it alone would be shared."""

    path: Path
    sharing: Parallel

    @property
    def own(self) -> frozenset[str]:
        """What no other nest touches, and each chunk has for itself."""
        return frozenset((*self.sharing.cells, *self.sharing.arrays, *self.sharing.zero))

    def along(self, model: Model) -> list[Path]:
        """The loops of which a chunk has a part."""
        inside = (p for p in model.sites if p == self.path or is_part_of(p, self.path))
        return [p for p in inside if isinstance(s := model.sites[p].stmt, ir.Loop) and s.index in self.sharing.cut]


def has_steps(loop: ir.Loop) -> bool:
    """Whether there are nests in `loop` and nothing else, and its bounds stay as they are."""
    bounds = (loop.lower, loop.upper, loop.step)
    is_fixed = not any(isinstance(e, ir.Load) for bound in bounds for e in subexprs(bound))
    return is_fixed and all(isinstance(s, ir.Loop) for s in loop.body)


def common_axis(model: Model, path: Path, steps: Sequence[Step]) -> Parallel | None:
    """Chunks of what all `steps` of the loop at `path` go through; None if they have something else in common."""
    if any(s.sharing.sums or s.sharing.near or s.sharing.late or s.sharing.early for s in steps):
        return None
    along = [p for step in steps for p in step.along(model)]
    loops = [model.loop(p) for p in along]
    ranges = {(p.lower, p.upper, p.step) for p in loops}
    if len(ranges) != 1 or not all(map(is_known_before, *ranges)):
        return None
    if not are_apart(model, path, along, frozenset(n for step in steps for n in step.own)):
        return None
    first, *others = (p.index for p in loops)
    return Parallel(
        first,
        max(s.sharing.granule for s in steps),
        cells=tuple(sorted(n for s in steps for n in s.sharing.cells)),
        arrays=tuple(sorted(n for s in steps for n in s.sharing.arrays)),
        zero=tuple(sorted(n for s in steps for n in s.sharing.zero)),
        beside=tuple(others),
    )


def is_known_before(bound: ir.Expr) -> bool:
    """Whether `bound` is the same in all steps, as it is made of extents and numbers that are given."""
    return not any(isinstance(e, ir.Index | ir.Var | ir.Load) for e in subexprs(bound))


def are_apart(model: Model, path: Path, along: Sequence[Path], own: frozenset[str]) -> bool:
    """Whether nothing but what is their `own` is touched at two places of the loops `along`, which all that is inside
    the loop at `path` is in, if that is written. Sums count as well: two threads would add at once."""
    shared = depth_of(model, path) - 1

    def meet(first: Event, second: Event) -> bool:
        mine, other = (next((p for p in along if is_part_of(e.path, p)), None) for e in (first, second))
        if mine is None or other is None:
            return True
        return not aside(model, first, second, shared, mine, other).is_empty()

    return not any(
        model.bounded(lambda x=a, y=b: meet(x, y) or meet(y, x), True)
        for a, b in conflicting_pairs(within(model, path))
        if a.access.array not in own
    )
