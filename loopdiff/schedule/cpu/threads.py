"""Which loops run on several threads, in chunks of their iterations.

The outermost loop whose iterations are independent, apart from what each chunk can have for itself: cells and arrays
that every iteration fills anew, and what is only summed into, which is added up chunk by chunk at the end. Of a
register tile the chunks go along an index of its target, so that they have nothing in common. If iterations depend on
each other, but all nests in them have an axis in common, it is chunks of that. Loops that may end early are left alone,
and those that check something and write: which iteration does so first would depend on threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.legality import AnyOrder, describe_conflict, violation
from loopdiff.analysis.ownership import homes_of_cells, owned_cells
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.privatization import find_privates
from loopdiff.analysis.shared_reductions import Sums, lost_values, shared_sums
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import Path, accesses, all_statements, children, statements, written_arrays
from loopdiff.mapping.loops import (
    Arranged,
    Parallel,
    ScalarLoop,
    Schedule,
    Serial,
    Sharing,
    TiledNest,
    VectorLoop,
)
from loopdiff.model import tuning
from loopdiff.schedule.cpu.common_axis import Step, common_axis, has_steps
from loopdiff.schedule.cpu.nested_chunks import are_all_nests, cut_along, is_nest, may_be_cut, only_loop, stands_alone
from loopdiff.schedule.cpu.overlapped_chunks import find_early, may_repeat
from loopdiff.schedule.cpu.planner import scalar_only
from loopdiff.schedule.cpu.postponed_rows import find_late
from loopdiff.schedule.cpu.tile_chunks import share_tile

LANES = 64  # whole vectors, of any width
FEW_ROWS = 4  # of a product in each step of a loop: those of half a tile take little more than half the time

Found = list[tuple[Path, Sharing]]


def share_loops(
    model: Model, schedule: Schedule, dead: frozenset[str], may_reassociate: bool
) -> tuple[tuple[Path, Sharing], ...]:
    """For the outermost loops of each nest whether they run in parallel, down to those that do.

    Nobody looks at the contents of the `dead` arrays before or after the function.
    """
    sharer = Sharer(model, schedule, dead, may_reassociate)
    found: Found = []
    for number, stmt in enumerate(model.ls.body):
        sharer.visit(stmt, (number,), found)
    return tuple(found)


def shares_all_of(arranged: Arranged, before: ir.LoopSet) -> bool:
    """Whether loops that were made of several ones of `before` all run on several threads, or inside one that does."""
    known = {s.index for s in all_statements(before.body) if isinstance(s, ir.Loop)}
    shared = arranged.schedule.shared
    return all(
        any(site.path[: k + 1] in shared for k in range(len(site.path)))
        for site in statements(arranged.ls.body)
        if isinstance(site.stmt, ir.Loop) and site.stmt.index not in known and len(site.stmt.body) > 1
    )


def shares_everything(arranged: Arranged) -> bool:
    """Whether all outermost loops run on several threads."""
    found = arranged.threads or arranged
    outermost = (s for s in statements(found.ls.body) if isinstance(s.stmt, ir.Loop) and not s.loops)
    return all(s.path in found.schedule.shared for s in outermost)


def with_rows_apart(arranged: Arranged, rolled: ir.LoopSet, dead: frozenset[str]) -> Found | None:
    """What `arranged` says of threads, for `rolled`, where arrays have fewer rows: each chunk has its own of these.

    None where chunks cannot, because one needs rows of another, or somebody looks at the array but the chunk.
    """
    before = {s.path: set(accesses(s.stmt)) for s in statements(arranged.ls.body)}
    after = {s.path: set(accesses(s.stmt)) for s in statements(rolled.body)}
    smaller = {path: {a.array for a in before[path] ^ after[path]} for path in before}

    def apart(path: Path, sharing: Parallel) -> Parallel | None:
        own = {n for p, names in smaller.items() if p[: len(path)] == path for n in names}
        kept = tuple((p, s) for p, inner in sharing.instead if (s := apart(p, inner)) is not None)
        sharing = replace(sharing, instead=kept)
        if not own:
            return sharing
        outside = {a.array for p, used in before.items() if p[: len(path)] != path for a in used}
        if sharing.late or not own <= dead or own & outside:
            return None
        sharing = replace(sharing, arrays=tuple(sorted({*sharing.arrays, *own})))
        loop = next(s.stmt for s in statements(arranged.ls.body) if s.path == path)
        assert isinstance(loop, ir.Loop)
        is_again = not sharing.early or may_repeat(loop, frozenset((*sharing.arrays, *sharing.cells)))
        return sharing if is_again else None

    found = [(path, apart(path, s) if isinstance(s, Parallel) else s) for path, s in arranged.schedule.sharing]
    known = [(path, s) for path, s in found if s is not None]
    return known if len(known) == len(found) else None


@immutable
class Sharer:
    model: Model
    schedule: Schedule
    dead: frozenset[str]
    may_reassociate: bool

    def visit(self, stmt: ir.Stmt, path: Path, found: Found, *, is_inside: bool = False) -> None:
        if isinstance(stmt, ir.Loop):
            mapping = self.schedule.of(path)
            sharing = self.nest(stmt, path)
            if isinstance(sharing, Parallel):
                is_alone = stands_alone(mapping, sharing) and sharing.index == stmt.index
                instead = tuple(self.instead(stmt, path, is_inside)) if is_alone else ()
                is_all = are_all_nests(stmt, path, [p for p, _ in instead])
                sharing = replace(sharing, is_repeated=is_inside, instead=instead if is_all else ())
            found.append((path, sharing))
            if isinstance(sharing, Parallel) or not isinstance(mapping, ScalarLoop):
                return
        if isinstance(stmt, ir.Loop | ir.If):
            for number, child in enumerate(children(stmt)):
                self.visit(child, (*path, number), found, is_inside=is_inside or isinstance(stmt, ir.Loop))

    def instead(self, stmt: ir.Loop | ir.If, path: Path, is_inside: bool) -> Iterator[tuple[Path, Parallel]]:
        """The outermost loops inside `stmt` that can be shared if it runs once, `is_inside` a loop or not."""
        for number, child in enumerate(children(stmt)):
            at = (*path, number)
            if isinstance(child, ir.If):
                yield from self.instead(child, at, is_inside)
            elif isinstance(child, ir.Loop) and is_nest(child, self.schedule.of(at)):
                sharing = self.nest(child, at)
                if isinstance(sharing, Parallel) and not (sharing.late or sharing.early):
                    yield at, replace(sharing, is_repeated=is_inside)
                elif isinstance(self.schedule.of(at), ScalarLoop):
                    yield from self.instead(child, at, True)

    def nest(self, loop: ir.Loop, path: Path) -> Sharing:
        """The loop at `path`, with those inside along which its chunks can be cut."""
        mapping = self.schedule.of(path)
        if isinstance(mapping, TiledNest):
            return share_tile(loop, mapping)
        sharing, number = self.loop(loop, path), only_loop(loop)
        if not isinstance(sharing, Parallel) or number is None or not isinstance(mapping, ScalarLoop):
            return sharing
        inner, at = loop.body[number], (*path, number)
        assert isinstance(inner, ir.Loop)
        if sharing.index != loop.index or not may_be_cut(sharing):  # of an axis that all steps have in common
            return sharing
        found, is_tile = self.nest(inner, at), isinstance(self.schedule.of(at), TiledNest)
        if not isinstance(found, Parallel) or not (is_tile or found.index == inner.index):
            return sharing
        return cut_along(loop, sharing, found, mapping.together) or sharing

    def loop(self, stmt: ir.Loop, path: Path) -> Sharing:
        obstacle = self.obstacle(stmt)
        if obstacle:
            return Serial(obstacle)
        private = find_privates(self.model, self.dead, stmt, path)
        if private is None:
            found = self.early(stmt, path) or self.late(stmt, path) or self.steps(stmt, path)
            if found is not None:
                return found
            conflict = violation(self.model, AnyOrder(path, owned_cells(self.model, path)))
            return Serial(
                "its iterations share arrays" if conflict is None else describe_conflict(self.model, path, conflict)
            )
        sums = shared_sums(self.model, path, private.names)
        obstacle = self.lost(stmt, frozenset(private.homes), sums) or unchecked(stmt, private.names)
        if obstacle:
            return Serial(obstacle)
        granule = LANES if isinstance(self.schedule.of(path), VectorLoop) else 1
        reaches = {n: r for n in sums if (r := reach(stmt, n)) is not None and r <= tuning.THREAD_DISTANCE}
        farthest = max((1, *reaches.values()))
        return Parallel(
            stmt.index,
            granule * -(-farthest // granule),
            farthest,
            tuple(sorted((n, op) for n, op in sums.items() if n not in reaches)),
            near=tuple(sorted(reaches)),
            cells=tuple(sorted(private.homes)),
            arrays=tuple(sorted(private.arrays - private.zero)),
            zero=tuple(sorted(private.zero)),
        )

    def early(self, loop: ir.Loop, path: Path) -> Parallel | None:
        """Chunks of a loop that begin earlier to fill arrays of their own."""
        own = frozenset(homes_of_cells(self.model, path))
        found = find_early(self.model, self.dead, loop, path, own)
        if found is None:
            return None
        arrays, early = found
        sums = shared_sums(self.model, path, own | arrays)
        if sums or self.lost(loop, own, {}) or unchecked(loop, own | arrays):
            return None
        least, cells = max(1, early), tuple(sorted(own))
        return Parallel(
            loop.index, tuning.WAITING_CHUNKS * least, least, cells=cells, arrays=tuple(sorted(arrays)), early=early
        )

    def late(self, loop: ir.Loop, path: Path) -> Parallel | None:
        """Chunks of a loop some of whose statements wait in their first iterations until all chunks have ended."""
        homes = homes_of_cells(self.model, path)
        own = frozenset(homes)
        found = find_late(self.model, loop, path, own, may_reassociate=self.may_reassociate)
        if found is None or self.lost(loop, own, {}) or unchecked(loop, own):
            return None
        late, least = found
        return Parallel(loop.index, tuning.WAITING_CHUNKS * least, least, cells=tuple(sorted(homes)), late=late)

    def steps(self, loop: ir.Loop, path: Path) -> Parallel | None:
        """Chunks of an axis that all nests inside the loop go through."""
        if not has_steps(loop):
            return None
        steps: list[Step] = []
        for number, stmt in enumerate(loop.body):
            assert isinstance(stmt, ir.Loop)
            sharing = self.step(stmt, (*path, number))
            if not isinstance(sharing, Parallel):
                return None
            steps.append(Step((*path, number), sharing))
        found = common_axis(self.model, path, steps)
        own = frozenset(n for step in steps for n in step.own)
        return None if found is None or self.lost(loop, own, {}) or unchecked(loop, own) else found

    def step(self, stmt: ir.Loop, path: Path) -> Sharing:
        """How a nest inside such a loop is shared. What a product copies for each chunk counts as what that has for
        itself, so that chunks have as many rows as that is worth."""
        mapping = self.schedule.of(path)
        found = share_tile(stmt, mapping) if isinstance(mapping, TiledNest) else self.loop(stmt, path)
        if not isinstance(found, Parallel):
            return found
        product = mapping.product if isinstance(mapping, TiledNest) else None
        is_row = product is not None and found.index in product.rows
        return replace(found, granule=FEW_ROWS if is_row else found.granule, further=(), instead=())

    def obstacle(self, loop: ir.Loop) -> str:
        """What in the loop has to happen on one thread."""
        if not isinstance(loop.step, ir.Const):
            return "its step is not known"
        for site in statements(loop.body):
            if isinstance(site.stmt, ir.Exit | ir.Allocate | ir.Call):
                return scalar_only(site)
        return ""

    def lost(self, loop: ir.Loop, owned: frozenset[str], sums: Sums) -> str:
        """What chunks could not hand on to those who need it."""
        if sums and not self.may_reassociate:
            return f"`{min(sums)}` is summed in the order that is written"

        def has_parts(name: str) -> bool:
            kind = self.model.ls.array(name).type
            if kind is None or kind.element is BOOL:
                return False
            return not kind.rank or (kind.layout != "A" and sums[name] == "add")

        return lost_values(loop, owned, sums, lambda target: not target.subscripts, has_parts)


def unchecked(loop: ir.Loop, own: frozenset[str]) -> str:
    """What iterations would do after one that is refused: nothing outside the loop may come of it."""
    checks = [s for s in statements(loop.body) if isinstance(s.stmt, ir.Require)]
    return scalar_only(checks[0]) if checks and written_arrays(loop.body) - own else ""


def reach(loop: ir.Loop, array: str) -> int | None:
    """How many iterations of `loop` apart the farthest are that accumulate into one element of `array`.

    None unless all do so along one axis, at a fixed distance from the iteration's own place.
    """
    targets = [s.target for s in all_statements(loop.body) if isinstance(s, ir.Accumulate)]
    axes = zip(*(t.subscripts for t in targets if t.array == array), strict=True)
    return min((r for places in axes if (r := spread(places, loop.index)) is not None), default=None)


def spread(places: tuple[ir.Expr, ...], index: str) -> int | None:
    """The same for the subscripts of one axis."""
    factors = {coefficient(p, index) for p in places}
    if len(factors) > 1 or factors <= {0, None}:
        return None
    origins = [constant_part(p, index) for p in places]
    known = [o for o in origins if o is not None]
    if len(known) < len(origins):
        return None
    factor = factors.pop() or 1
    return -(-(max(known) - min(known)) // abs(factor))


def constant_part(expr: ir.Expr, index: str) -> int | None:
    """`expr`, which is linear in the index, where the index is zero; None if that is not a number."""
    match expr:
        case ir.Index(name=name) if name == index:
            return 0
        case ir.Const(value=value):
            return int(value)
        case ir.Apply(op=Op.NEG, args=(a,)):
            inner = constant_part(a, index)
            return None if inner is None else -inner
        case ir.Apply(op=Op.ADD | Op.SUB | Op.MUL as op, args=(a, b)):
            left, right = constant_part(a, index), constant_part(b, index)
            if left is None or right is None:
                return None
            return left + right if op is Op.ADD else left - right if op is Op.SUB else left * right
        case _:
            return None
