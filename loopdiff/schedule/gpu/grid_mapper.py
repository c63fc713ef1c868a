"""Which loops of a nest become the threads of a CUDA kernel.

The outermost loop whose iterations are independent, and of a perfect nest those inside it, each give an axis of the
grid. Independent means: apart from what each thread can have for itself (cells and arrays that every iteration fills
anew) and from what is only summed into. Cells are summed over the threads in a fixed order. What goes to elements that
the data choose is listed (`update_lists`). Loops that would sum into other arrays run inside the threads of the others,
and where there are no others, each thread sums into a copy of its own. Nothing is ever added atomically.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.legality import AnyOrder, describe_conflict, violation
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import Model, index_hull
from loopdiff.analysis.privatization import find_privates
from loopdiff.analysis.shared_reductions import Sums, lost_values, shared_sums
from loopdiff.analysis.strides import coefficient
from loopdiff.canonical.invariant_motion import PLAIN
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, all_of, compare, integer, is_unit_step, nested
from loopdiff.ir.ops import COMPARISONS, Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import Path, accesses, all_statements, indices_in, subexprs, written_arrays
from loopdiff.mapping.grids import MOST_AXES, Axis, Grid
from loopdiff.mapping.lane_blocks import is_block_loop
from loopdiff.mapping.update_lists import is_listed, leading_axis
from loopdiff.model import tuning
from loopdiff.settings.requests import Requests, Wish

Names = frozenset[str]
INSIDE: tuple[Wish, ...] = ("sequential", "warp")  # wishes for loops that are no axes of a grid


@immutable
class Mapped:
    """A nest as the threads of a `grid`: the `body` that each of them runs, and the `cells` that are its own."""

    grid: Grid
    body: tuple[ir.Stmt, ...]
    cells: tuple[str, ...]


@immutable
class Independence:
    """What the iterations of a loop have for themselves, and what they sum."""

    cells: Names
    arrays: Names
    zero: Names
    sums: tuple[tuple[str, ir.AccumulateOp], ...]
    copies: Names
    lists: Names


@immutable
class GridMapper:
    """Finds grids in the LoopSet of `model`, of which nobody looks at the `dead` arrays before or after."""

    model: Model
    dead: Names
    may_reassociate: bool
    requests: Requests

    def wish(self, loop: ir.Loop) -> Wish | None:
        """What was asked of a loop."""
        return self.requests.wish(loop.index, loop.loc.line)

    def is_too_short(self, loop: ir.Loop) -> bool:
        """Whether a loop is not worth a launch, unless that was asked for."""
        return is_short(loop) and self.wish(loop) != "threads"

    def mapped(self, stmt: ir.Loop, path: Path, apart: Names = frozenset()) -> Mapped | str:
        """The nest at `path` as threads, or why its outermost loop is none of them, if its iterations touch the arrays
        `apart` in different places."""
        return self.model.cached(
            ("mapped", self.dead, self.may_reassociate, self.requests, path, apart),
            lambda: self.compute_mapped(stmt, path, apart),
        )

    def compute_mapped(self, stmt: ir.Loop, path: Path, apart: Names) -> Mapped | str:
        first = self.independence(stmt, path, apart)
        if isinstance(first, str):
            return first
        if self.wish(stmt) in INSIDE:
            return "that was requested"
        axes: list[Axis] = []
        inside: list[ir.Loop] = []
        found: list[Independence] = []
        lets: list[ir.Let] = []
        innermost, conditions = stmt, list[ir.Expr]()
        nest = list(perfect_nest(stmt, path, written_arrays(stmt.body)))
        for loop, place, between in nest:
            own = self.independence(loop, place) if loop is not stmt else first
            around = {x.loop.index for x in axes}, {x.index for x in inside}
            axis = None if isinstance(own, str) else self.axis(loop, place, *around)
            if isinstance(own, str) or axis is None or len(axes) == MOST_AXES or self.wish(loop) in INSIDE:
                break
            if not own.copies and not all(is_apart(nest, n, loop) for f in found for n in f.copies):
                break
            innermost = loop
            lets += between
            found.append(own)
            if own.copies:
                inside.append(loop)
            else:
                axes.append(axis)
                conditions += self.within_bounds(axis)
        if not found:
            return "where it begins or ends is only known inside the nest"
        body = (*lets, *innermost.body)
        if not axes:
            return self.with_copies(stmt, first)
        body = nested(inside, body)
        if conditions:
            body = (ir.If(all_of(conditions), body, loc=stmt.loc),)
        lists = frozenset[str]().union(*(f.lists for f in found))
        return joined(self.coalesced(axes, body, lists), body, found)

    def coalesced(self, axes: list[Axis], body: tuple[ir.Stmt, ...], lists: Names) -> list[Axis]:
        """`axes` with the one last along which most accesses are neighbours in memory: threads side by side take what
        comes from there in one go. It is none that is cut into pieces for the sake of `lists`, if there is another."""
        used = [a for s in all_statements(body) for a in accesses(s) if a.subscripts]
        indices = [a.loop.index for a in axes]
        leading = {k for n in lists if (k := leading_axis(body, n, indices)) is not None}

        def score(axis: Axis) -> int:
            return sum(self.steps(access, axis.loop.index) for access in used)

        best = max(reversed([a for k, a in enumerate(axes) if k not in leading] or axes), key=score)
        return [*(a for a in axes if a is not best), best]

    def steps(self, access: ir.Access, index: str) -> int:
        """1 for an access that goes by one element in memory with the index, -1 for more, 0 where it stays."""
        kind = self.model.ls.array(access.array).type
        dense = 0 if kind is not None and kind.layout == "F" else len(access.subscripts) - 1
        moving = [k for k, s in enumerate(access.subscripts) if index in indices_in(s)]
        if not moving:
            return 0
        return 1 if moving == [dense] and abs(coefficient(access.subscripts[dense], index) or 0) == 1 else -1

    def with_copies(self, stmt: ir.Loop, own: Independence) -> Mapped:
        """The outermost loop alone, each of whose threads sums into copies."""
        axes = (Axis(stmt, stmt.lower, stmt.upper),)
        sparse = {n for n in own.copies if is_listed(stmt.body, n, self.rank(n), own.cells, is_last_resort=True)}
        sums = own.sums, ordered(own.copies - sparse), ordered(own.lists | sparse)
        grid = Grid(axes, ordered(own.arrays), ordered(own.zero), *sums)
        return Mapped(grid, stmt.body, ordered(own.cells))

    def axis(self, loop: ir.Loop, path: Path, outer: set[str], inside: set[str]) -> Axis | None:
        """The loop as an axis inside those over `outer`; None where its bounds depend on loops `inside` the threads,
        or are unknown."""
        used = indices_in(loop.lower) | indices_in(loop.upper)
        if not used & (outer | inside):
            return Axis(loop, loop.lower, loop.upper)
        if used & inside or not is_unit_step(loop):
            return None
        hull = index_hull(self.model, path)
        if hull is None:
            return None
        low, high = hull
        if step_of(loop) > 0:
            return Axis(loop, low, add(high, integer(1)))
        return Axis(loop, high, add(low, integer(-1)))

    def within_bounds(self, axis: Axis) -> Iterator[ir.Expr]:
        """What an iteration of the hull asks before it is one of the loop."""
        loop, here = axis.loop, ir.Index(axis.loop.index)
        is_up = step_of(loop) > 0
        if axis.lower != loop.lower:
            yield compare(Op.GE if is_up else Op.LE, here, loop.lower)
        if axis.upper != loop.upper:
            yield compare(Op.LT if is_up else Op.GT, here, loop.upper)

    def independence(self, loop: ir.Loop, path: Path, apart: Names = frozenset()) -> Independence | str:
        """What the iterations of the loop at `path` have for themselves, or why they are not independent."""
        if not isinstance(loop.step, ir.Const):
            return "it goes by blocks of rows" if is_block_loop(loop) else "its step is not known"
        if any(isinstance(s, ir.Exit) for s in loop.body):
            return "it may end early"
        private = find_privates(self.model, self.dead, loop, path, apart)
        if private is None:
            conflict = violation(self.model, AnyOrder(path, owned_cells(self.model, path)))
            return "its iterations share arrays" if conflict is None else describe_conflict(self.model, path, conflict)
        sums = shared_sums(self.model, path, private.names | apart)
        obstacle = self.lost(loop, frozenset(private.homes), sums)
        if obstacle:
            return obstacle
        cells = {n for n in sums if not self.rank(n)}
        lists = {n for n in sums if is_listed(loop.body, n, self.rank(n), frozenset(private.homes))}
        return Independence(
            frozenset(private.homes), private.arrays, private.zero,
            tuple(sorted((n, op) for n, op in sums.items() if n in cells)), frozenset(sums) - cells - lists,
            frozenset(lists),
        )  # fmt: skip

    def rank(self, name: str) -> int:
        """How many axes it has: none, for cells; arguments without axes are arrays."""
        decl = self.model.ls.array(name)
        assert decl.type is not None
        return 1 if name in self.model.ls.params else decl.type.rank

    def lost(self, loop: ir.Loop, owned: Names, sums: Sums) -> str:
        """What threads could not hand on to those who need it."""
        if sums and not self.may_reassociate:
            return f"`{min(sums)}` is summed in the order that is written"

        def has_parts(name: str) -> bool:
            kind = self.model.ls.array(name).type
            is_number = kind is not None and kind.element is not BOOL
            return is_number and (not self.rank(name) or sums[name] == "add")

        return lost_values(loop, owned, sums, lambda target: not self.rank(target.array), has_parts)


def joined(axes: list[Axis], body: tuple[ir.Stmt, ...], found: list[Independence]) -> Mapped:
    """One grid of what the loops of a nest have for themselves: the outermost loop's own are all of them."""
    arrays = frozenset[str]().union(*(f.arrays for f in found))
    zero = frozenset[str]().union(*(f.zero for f in found))
    cells = frozenset[str]().union(*(f.cells for f in found))
    sums = dict(pair for f in found for pair in f.sums if pair[0] not in cells)
    lists = frozenset[str]().union(*(f.lists for f in found))
    grid = Grid(tuple(axes), ordered(arrays), ordered(zero), tuple(sorted(sums.items())), lists=ordered(lists))
    return Mapped(grid, body, ordered(cells))


def ordered(names: Names) -> tuple[str, ...]:
    return tuple(sorted(names))


Nest = tuple[ir.Loop, Path, tuple[ir.Let, ...]]


def perfect_nest(
    stmt: ir.Loop, path: Path, written: Names, lets: tuple[ir.Let, ...] = (), known: Names = frozenset()
) -> Iterator[Nest]:  # fmt: skip
    """The loop at `path`, the loop that is its whole body, and so on; each with the `lets` that stand right before it,
    which every thread may make for itself: they are cheap, read nothing that the nest writes, and bound no loop of it.

    `known` are those of the loops around.
    """
    yield stmt, path, lets
    if not stmt.body:
        return
    *before, last = stmt.body
    between = tuple(s for s in before if isinstance(s, ir.Let) and is_cheap(s.value, written))
    if not isinstance(last, ir.Loop) or len(between) < len(before):
        return
    known |= {s.name for s in between}
    bounds = (e for b in (last.lower, last.upper, last.step) for e in subexprs(b))
    if not any(isinstance(e, ir.Var) and e.name in known for e in bounds):
        yield from perfect_nest(last, (*path, len(before)), written, between, known)


def is_cheap(expr: ir.Expr, written: Names) -> bool:
    """Whether an expression is elements and plain arithmetic, with nothing in it that is `written`."""
    for e in subexprs(expr):
        match e:
            case ir.Load(access=access) if access.array in written:
                return False
            case ir.Apply(op=op) if op not in PLAIN and op not in COMPARISONS:
                return False
            case _:
                pass
    return True


def is_apart(nest: list[Nest], array: str, loop: ir.Loop) -> bool:
    """Whether iterations of `loop` sum into different elements of `array`, whatever the other loops of the nest do."""
    targets = [
        s.target for s in all_statements(nest[-1][0].body) if isinstance(s, ir.Accumulate) and s.target.array == array
    ]
    return any(
        len(set(places)) == 1
        and coefficient(places[0], loop.index) not in (0, None)
        and all(
            isinstance(e, ir.Apply | ir.Const | ir.Param | ir.Dim) or e == ir.Index(loop.index)
            for e in subexprs(places[0])
        )
        for places in zip(*(t.subscripts for t in targets), strict=True)
    )


def step_of(loop: ir.Loop) -> int:
    assert isinstance(loop.step, ir.Const)
    return int(loop.step.value)


def is_short(loop: ir.Loop) -> bool:
    """Whether the loop plainly has few iterations."""
    match loop:
        case ir.Loop(lower=ir.Const(value=low), upper=ir.Const(value=high), step=ir.Const(value=step)):
            return abs(high - low) <= tuning.LAUNCH_ITERATIONS * abs(step)
        case _:
            return False
