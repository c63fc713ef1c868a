"""Kernel fusion: neighbouring nests become one where each thread reads only what it has written itself.

    for i in range(n): y[i] = f(x[i])                   for i in range(n):
    t = 0.0                                 becomes         y[i] = f(x[i])
    for i in range(n): t += y[i] * w[i]                     t += y[i] * w[i]

Two nests over the same range become one if its iterations are independent still, and no axis of a grid is lost: then no
iteration of the second nest needs anything of the first one but from the same iteration. That is not so of what each
iteration of the one nest then has for itself, so that they stay apart if the second reads there what the first has
written. What stands between them moves ahead where it has nothing to do with the first. Nests that check something stay
apart from those after them, which begin when all threads have found it true.
"""

from __future__ import annotations

from dataclasses import dataclass

from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import has_same_range
from loopdiff.ir.renaming import body_at
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import Path, all_statements, are_independent, children, exchanged, touched_arrays
from loopdiff.mapping.grids import Grid
from loopdiff.model import tuning
from loopdiff.schedule.gpu.grid_mapper import GridMapper, Mapped
from loopdiff.settings.requests import Requests

Names = frozenset[str]


def fuse_grids(ls: ir.LoopSet, dead: Names, requests: Requests, *, may_reassociate: bool) -> ir.LoopSet:
    """`ls` with neighbouring nests as one, where that makes one kernel of two which touch the same arrays."""
    fuser = Fuser(ls, dead, requests, may_reassociate)
    fuser.block(())
    return fuser.ls


@dataclass(slots=True)
class Fuser:
    ls: ir.LoopSet
    dead: Names
    requests: Requests
    may_reassociate: bool
    mapper: GridMapper | None = None

    def mapped(self, stmt: ir.Loop, path: Path) -> Mapped | None:
        if self.mapper is None:
            self.mapper = GridMapper(build_model(self.ls), self.dead, self.may_reassociate, self.requests)
        found = self.mapper.mapped(stmt, path)
        return found if isinstance(found, Mapped) else None

    def block(self, prefix: Path) -> None:
        """Put nests together in the block at `prefix`, and in those inside it."""
        place = 0
        while place < len(body := self.body(prefix)):
            stmt = body[place]
            if isinstance(stmt, ir.Loop):
                if self.fused(prefix, place):
                    continue
                if may_hold_neighbours(stmt.body) and self.mapped(stmt, (*prefix, place)) is None:
                    self.block((*prefix, place))
            place += 1

    def body(self, prefix: Path) -> tuple[ir.Stmt, ...]:
        found = self.ls.body
        for number in prefix:
            found = children(found[number])
        return found

    def fused(self, prefix: Path, place: int) -> bool:
        """Whether the nest at `place` of a block is now one with the next one."""
        body = self.body(prefix)
        other = next((k for k in range(place + 1, len(body)) if isinstance(body[k], ir.Loop)), None)
        if other is None or other - place > tuning.FUSED_KERNELS_GAP:
            return False
        first, second, between = body[place], body[other], body[place + 1 : other]
        assert isinstance(first, ir.Loop)
        assert isinstance(second, ir.Loop)
        if not touched_arrays((first,)) & touched_arrays((second,)) - frozenset(cell_types(self.ls)):
            return False
        if not has_same_range(first, second) or not self.may_lead(between, first):
            return False
        if any(isinstance(s, ir.Require) for s in all_statements(first.body)):
            return False
        one, two = self.mapped(first, (*prefix, place)), self.mapped(second, (*prefix, other))
        if one is None or two is None or one.grid.copies or two.grid.copies or depth(one) != depth(two):
            return False
        both = together(first, second, axes_of(one.grid), axes_of(two.grid))
        if both is None:
            return False
        before, mapper = self.ls, self.mapper
        new = {(*prefix, place): (), (*prefix, other): (both,)}
        self.ls = replace(before, body=exchanged(before.body, new))
        self.mapper = None
        found = self.mapped(both, (*prefix, place + len(between)))
        shared = touched_arrays((first,)) & touched_arrays((second,)) - filled_anew(two)
        if found is not None and depth(found) == depth(one) and not shared & own_names(found):
            return True
        self.ls, self.mapper = before, mapper
        return False

    def may_lead(self, between: tuple[ir.Stmt, ...], nest: ir.Loop) -> bool:
        """Whether the statements `between` may run before the `nest` that they stand after."""
        cells = frozenset(cell_types(self.ls))
        for stmt in between:
            match stmt:
                case ir.Let() | ir.Allocate():
                    pass
                case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in cells:
                    pass
                case _:
                    return False
        return are_independent(between, (nest,))


def may_hold_neighbours(body: tuple[ir.Stmt, ...]) -> bool:
    return sum(isinstance(s, ir.Loop) for s in body) > 1 or any(
        isinstance(s, ir.Loop | ir.If) and may_hold_neighbours(children(s)) for s in body
    )


def depth(found: Mapped) -> int:
    return len(found.grid.axes)


def own_names(found: Mapped) -> Names:
    """Cells and arrays that each iteration has for itself."""
    return frozenset((*found.cells, *found.grid.arrays))


def filled_anew(found: Mapped) -> Names:
    """Those of which an iteration reads nothing that it has not written."""
    return own_names(found) - frozenset(found.grid.zero)


def axes_of(grid: Grid) -> Names:
    return frozenset(a.loop.index for a in grid.axes)


def together(first: ir.Loop, second: ir.Loop, ones: Names, twos: Names) -> ir.Loop | None:
    """Two nests as one, as deep as their loops are axes, `ones` those of the first and `twos` those of the second; None
    if these are not the outermost loops of both, over the same ranges. What runs inside threads stays one after the
    other."""
    if first.index not in ones or second.index not in twos or not has_same_range(first, second):
        return None
    rest = body_at(second, ir.Index(first.index))
    if len(ones) == 1:
        return replace(first, body=(*first.body, *rest))
    if not (len(first.body) == 1 == len(rest) and isinstance(first.body[0], ir.Loop) and isinstance(rest[0], ir.Loop)):
        return None
    inner = together(first.body[0], rest[0], ones - {first.index}, twos - {second.index})
    return None if inner is None else replace(first, body=(inner,))
