"""Nests that add to shifted elements of arrays, as adjoints of stencils do: which these are, and where they add."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import Distribution, is_legal, within
from loopdiff.analysis.ownership import Owned
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.analysis.privatization import span
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant, is_unit_step, nested, parted, shifted
from loopdiff.ir.walk import (
    Path,
    Site,
    all_statements,
    has_values,
    indices_in,
    loads_of,
    statements,
    subexprs,
    written_access,
)

Shift = tuple[int, ...]
Span = tuple[ir.Expr, ir.Expr]


@immutable
class Perfect:
    """Loops around nothing but each other and, in the innermost, `body`; `spans` are their least indices and those
    after the greatest, which do not depend on each other."""

    loops: tuple[ir.Loop, ...]
    spans: tuple[Span, ...]

    @property
    def body(self) -> tuple[ir.Stmt, ...]:
        return self.loops[-1].body

    @property
    def indices(self) -> tuple[str, ...]:
        return tuple(p.index for p in self.loops)

    def around(self, body: tuple[ir.Stmt, ...]) -> ir.Loop:
        """The same loops around another `body`."""
        (found,) = nested(self.loops, body)
        assert isinstance(found, ir.Loop)
        return found


@immutable
class ShiftedTarget:
    """An array of which an iteration updates elements at constant distances from one of its own, `place`.

    `shifts`: these distances along every loop, by the path of the update in the body of the nest. `start`: the distance
    of the element that an iteration has begin at zero, before anything is added to it. `room`: the least and the
    greatest distances of elements that are there, and zero before the nest. `is_certain`: every iteration updates at
    the least and at the greatest distance along each loop, so all elements up to there are in the array.
    """

    place: ir.Access
    shifts: Mapping[Path, Shift]
    start: Shift | None = None
    room: tuple[Shift, Shift] | None = None
    is_certain: bool = True

    @property
    def array(self) -> str:
        return self.place.array

    @property
    def distances(self) -> tuple[Shift, ...]:
        own = () if self.start is None else (self.start,)
        return tuple(dict.fromkeys((*own, *self.shifts.values())))

    @property
    def is_summed(self) -> bool:
        """Whether an element gets something from more than one iteration, or after a clear."""
        return len(self.distances) > 1 or self.start is not None

    def reach(self, level: int) -> tuple[int, int]:
        """The least and the greatest distance along a loop."""
        found = [d[level] for d in (*self.distances, *(self.room or ()))]
        return min(found), max(found)


@immutable
class Scatter:
    """A nest at `path` with its `targets`, and the updates of other arrays and cells, `rest`, by
    their paths in the body of the nest."""

    nest: Perfect
    path: Path
    targets: tuple[ShiftedTarget, ...]
    rest: frozenset[Path]

    @property
    def updates(self) -> frozenset[Path]:
        return frozenset(u for t in self.targets for u in t.shifts)


# -- which nests ---------------------------------------------------------------------------------------------
def perfect(loop: ir.Loop) -> Perfect | None:
    """`loop` as a nest around plain statements, in steps of one up or down; None if it is none."""
    loops: list[ir.Loop] = []
    stmt: ir.Stmt = loop
    while isinstance(stmt, ir.Loop):
        if not is_unit_step(stmt):
            return None
        loops.append(stmt)
        if len(stmt.body) != 1 or not isinstance(stmt.body[0], ir.Loop):
            break
        stmt = stmt.body[0]
    indices = {p.index for p in loops}
    bounds = [e for p in loops for b in (p.lower, p.upper) for e in subexprs(b)]
    if any(isinstance(e, ir.Load) or (isinstance(e, ir.Index) and e.name in indices) for e in bounds):
        return None
    if not all(isinstance(s, ir.Let | ir.Assign | ir.Accumulate | ir.If) for s in all_statements(loops[-1].body)):
        return None
    spans = tuple((shifted(low, 0), shifted(high, 0)) for low, high in map(span, loops))
    return Perfect(tuple(loops), spans)


def shifted_scatter(loop: ir.Loop, path: Path, ls: ir.LoopSet, owners: Callable[[], Owned]) -> Scatter | None:
    """The nest at `path` if it adds to several elements of an array in each iteration, and may first do all that.

    `owners` gives what `cell_owners` says of `ls`.
    """
    nest = perfect(loop)
    if nest is None:
        return None
    targets = find_targets(nest, ls)
    if not any(t.is_summed for t in targets):
        return None
    taken = frozenset(u for t in targets for u in t.shifts)
    innermost = (*path, *(0,) * (len(nest.loops) - 1))
    owned = owners()(innermost)
    rest = frozenset(
        s.path
        for s in statements(nest.body)
        if (target := written_access(s.stmt)) is not None and s.path not in taken and target.array not in owned
    )
    late = frozenset((*innermost, *p) for p in rest)
    return Scatter(nest, path, targets, rest) if may_lead(ls, path, late) else None


def may_lead(ls: ir.LoopSet, path: Path, late: frozenset[Path]) -> bool:
    """Whether all that is read in the nest at `path` may be read before the statements `late` write."""
    if not late:
        return True
    model = build_model(ls)
    events = within(model, path)
    first = [e for e in events if not e.is_write and e.path not in late]
    stores = [e for e in events if e.is_write and e.path in late]
    return is_legal(model, Distribution(first, stores, depth_of(model, path) - 1))


# -- where they add ------------------------------------------------------------------------------------------
def find_targets(nest: Perfect, ls: ir.LoopSet) -> tuple[ShiftedTarget, ...]:
    """The arrays that a nest only updates, each iteration at constant distances."""
    sites = list(statements(nest.body))
    read = {e.access.array for s in sites for e in loads_of(s.stmt)}
    updates: dict[str, list[Site]] = {}
    for site in sites:
        target = written_access(site.stmt)
        if target is not None and target.subscripts:
            updates.setdefault(target.array, []).append(site)
    found = (target_of(nest, own) for name, own in updates.items() if name not in read and is_float(ls, name))
    return tuple(t for t in found if t is not None)


def target_of(nest: Perfect, updates: list[Site]) -> ShiftedTarget | None:
    """What the `updates` of one array have in common; None if an element's share cannot be told."""
    if any(isinstance(s.stmt, ir.Accumulate) and s.stmt.op != "add" for s in updates):
        return None
    places = {s.path: place_of(a, nest.indices) for s in updates if (a := written_access(s.stmt)) is not None}
    known = [p for p in places.values() if p is not None]
    if len(known) < len(places) or any(base != known[0][0] for base, _ in known):
        return None
    base, _ = known[0]
    least, most = (tuple(map(f, zip(*(d for _, d in known), strict=True))) for f in (min, max))
    origin = tuple(0 if low <= 0 <= high else low for low, high in zip(least, most, strict=True))
    shifts = {u: without_shift(p[1], origin) for u, p in places.items() if p is not None}
    moved = tuple(with_offset(s, nest.indices, origin) for s in base)
    stmt = updates[0].stmt
    assert isinstance(stmt, ir.Assign | ir.Accumulate)
    always = [p[1] for s in updates if len(s.path) == 1 and (p := places[s.path]) is not None]
    ends = [tuple(map(f, zip(*always, strict=True))) for f in (min, max)]
    target = ShiftedTarget(ir.Access(stmt.target.array, moved, loc=stmt.loc), shifts, is_certain=ends == [least, most])
    return started(nest, target, updates) if target.is_summed else target


def is_float(ls: ir.LoopSet, array: str) -> bool:
    kind = ls.array(array).type
    return kind is not None and kind.element.is_float


def started(nest: Perfect, target: ShiftedTarget, updates: list[Site]) -> ShiftedTarget | None:
    """`target`, whose elements begin anew where an iteration assigns to them; None if something is overwritten."""
    (starts, sums) = ([s for s in updates if isinstance(s.stmt, ir.Assign) is wanted] for wanted in (True, False))
    if not starts:
        return target
    (start, *others) = starts
    own = target.shifts[start.path]
    if others or len(start.path) > 1:
        return None
    signs = [1 if is_constant(p.step, 1) else -1 for p in nest.loops]
    for site in sums:
        later = [s * d for s, d in zip(signs, without_shift(own, target.shifts[site.path]), strict=True)]
        if (later, site.path) <= ([0] * len(later), start.path):
            return None
    return replace(target, start=own)


def place_of(access: ir.Access, indices: tuple[str, ...]) -> tuple[tuple[ir.Expr, ...], Shift] | None:
    """The subscripts of an access without constants, and these by loop; None unless each of the `indices` moves along
    an axis of its own."""
    bases: list[ir.Expr] = []
    shifts: dict[str, int] = {}
    for subscript in access.subscripts:
        base, offset = parted(subscript)
        inside = indices_in(base) & set(indices)
        if has_values(base) or len(inside) > 1 or inside & shifts.keys():
            return None
        for index in inside:
            if coefficient(base, index) != 1:
                return None
            shifts[index] = offset
        bases.append(base if inside else subscript)
    return (tuple(bases), tuple(shifts[i] for i in indices)) if len(shifts) == len(indices) else None


def with_offset(base: ir.Expr, indices: tuple[str, ...], offsets: Shift) -> ir.Expr:
    """`base` moved by the offset of the loop that it moves along."""
    used = indices_in(base)
    return next((shifted(base, by) for i, by in zip(indices, offsets, strict=True) if i in used), base)


def without_shift(a: Shift, b: Shift) -> Shift:
    return tuple(x - y for x, y in zip(a, b, strict=True))
