"""The gather form of one nest: rows of elements, each with all its terms. See `owner_computes`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from loopdiff.canonical.like_terms import collected
from loopdiff.errors import NOWHERE
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer, is_clear, parted, shifted, sub, zero
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import Renaming, renamed, renamed_names
from loopdiff.ir.slicing import keep_live, live_names
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    Path,
    all_statements,
    loads,
    map_body,
    map_sites,
    map_stmt_exprs,
    nodes_in,
    statements,
    subexprs,
    substitute,
    written_access,
    written_arrays,
)
from loopdiff.model import tuning
from loopdiff.passes.loops.shifted_updates import Perfect, Scatter, Shift, ShiftedTarget

Place = dict[str, ir.Expr]
Rewrite = Callable[[ir.Stmt, Path], tuple[ir.Stmt, ...]]
Has = Callable[[Shift], bool]


@immutable
class GatherForm:
    """The nest of `found` in gather form, with sums in `cells` by array. The loop over `inner` has all terms.

    `is_roomy`: all elements that a row may touch are there, even if the nest has no iterations; those of `safe` targets
    are if it has some. `decls` are cells by
    name, those that loops have for themselves with them.
    """

    found: Scatter
    names: NameSupply
    cells: Mapping[str, ir.ArrayDecl]
    inner: str
    is_roomy: bool
    safe: tuple[ShiftedTarget, ...]
    decls: dict[str, ir.ArrayDecl]

    @classmethod
    def of(cls, found: Scatter, names: NameSupply, ls: ir.LoopSet) -> GatherForm:
        cells: dict[str, ir.ArrayDecl] = {}
        for target in found.targets:
            kind = ls.array(target.array).type
            if target.is_summed and kind is not None:
                name = names.fresh(f"{target.array}_sum")
                cells[target.array] = ir.ArrayDecl(name, ArrayType(kind.dtype, 0), "local", ())
        summed = [t for t in found.targets if t.is_summed]
        roomy = [t for t in summed if has_room(ls, found.nest, t)]
        safe = tuple(t for t in summed if t.is_certain or t.room is not None or t in roomy)
        decls = {a.name: a for a in (*ls.arrays, *cells.values()) if a.type is not None and a.type.rank == 0}
        return cls(found, names, cells, names.fresh(found.nest.indices[-1]), len(roomy) == len(summed), safe, decls)

    @property
    def is_safe(self) -> bool:
        """Whether all elements are there that rows without conditions touch."""
        return all(t in self.safe for t in self.found.targets if t.is_summed)

    @property
    def distances(self) -> tuple[Shift, ...]:
        return tuple(dict.fromkeys(d for t in self.found.targets for d in t.distances))

    def reach(self, level: int) -> tuple[int, int]:
        """The least and the greatest distance along a loop, of all targets."""
        least, most = zip(*(t.reach(level) for t in self.found.targets), strict=True)
        return min(least), max(most)

    def core(self, level: int) -> tuple[int, int]:
        """How far from the lower and the upper bound of a loop the elements begin, and end, that have all terms."""
        found = [d[level] for d in self.distances]
        return max(found), min(found)

    def rows(self) -> tuple[ir.Stmt, ...]:
        """The loops over all elements that something may be added to."""
        outer = self.found.nest.loops[:-1]
        place: Place = {p.index: ir.Index(self.names.fresh(p.index)) for p in outer}
        body = self.row(place)
        for level in reversed(range(len(outer))):
            index = place[outer[level].index]
            assert isinstance(index, ir.Index)
            body = (self.loop(level, index.name, self.reach(level), body),)
        return body

    def asking_rows(self) -> tuple[ir.Stmt, ...]:
        """The same as one perfect nest, every element of which asks for each of its terms."""
        outer = self.found.nest.loops[:-1]
        place: Place = {p.index: ir.Index(self.names.fresh(p.index)) for p in outer}
        body: ir.Stmt = self.asking(place, self.reach(len(outer)))
        for level in reversed(range(len(outer))):
            index = place[outer[level].index]
            assert isinstance(index, ir.Index)
            body = self.loop(level, index.name, self.reach(level), (body,))
        return (body,) if self.is_roomy else (ir.If(self.has_iterations, (body,), loc=body.loc),)

    @property
    def has_iterations(self) -> ir.Expr:
        """Whether the nest has iterations along those loops that its targets are shifted along."""
        spans = [s for k, s in enumerate(self.found.nest.spans) if len(set(self.reach(k))) > 1]
        return all_of(compare(Op.LT, *s) for s in spans)

    def loop(self, level: int, index: str, reach: tuple[int, int], body: tuple[ir.Stmt, ...]) -> ir.Loop:
        """A loop over the range of another, moved by `reach` at both ends."""
        low, high = self.found.nest.spans[level]
        loc = self.found.nest.loops[level].loc
        return ir.Loop(index, shifted(low, reach[0]), shifted(high, reach[1]), integer(1), body, loc=loc)

    def row(self, place: Place) -> tuple[ir.Stmt, ...]:
        """The innermost loop: with all terms if they are known to exist, else with those that do."""
        level = len(self.found.nest.loops) - 1
        whole = [e for k in range(level) for e in self.within(place, k, self.core(k))]
        low, high = self.found.nest.spans[level]
        first, last = self.core(level)
        if len(set(self.reach(level))) > 1:
            whole.append(compare(Op.GE, sub(high, low), integer(first - last)))
        exists = all_of([]) if self.is_roomy else self.has_iterations
        here = place | self.at(ir.Index(self.inner))
        inside = self.loop(level, self.inner, (first, last), self.apart(self.known(here, is_any, is_any)))
        body = (*self.end(place, low, True), inside, *self.end(place, high, False))
        other = self.asking(place, self.reach(level))
        loc = self.found.nest.loops[level].loc
        return (ir.If(all_of(whole), body, (ir.If(exists, (other,), loc=loc),), loc=loc),)

    def at(self, position: ir.Expr) -> Place:
        return {self.found.nest.indices[-1]: position}

    def end(self, place: Place, edge: ir.Expr, is_first: bool) -> tuple[ir.Stmt, ...]:
        """The elements of a row at the lower or upper `edge` of its range, where some terms are missing."""
        level = len(self.found.nest.loops) - 1
        first, last = (
            (self.reach(level)[0], self.core(level)[0]) if is_first else (self.core(level)[1], self.reach(level)[1])
        )
        if last - first > tuning.EDGE_COLUMNS:
            loop = self.asking(place, self.reach(level))
            return (replace(loop, lower=shifted(edge, first), upper=shifted(edge, last)),)
        out: list[ir.Stmt] = []
        for column in range(first, last):

            def has(distance: Shift, c: int = column) -> bool:
                return (distance[level] <= c) == is_first

            def is_reached(target: ShiftedTarget, c: int = column) -> bool:
                least, most = target.reach(level)
                return least <= c if is_first else c < most

            out += self.known(place | self.at(shifted(edge, column)), has, is_reached)
        return tuple(out)

    # -- elements ------------------------------------------------------------------------------------------------
    def known(self, place: Place, has: Has, is_reached: Callable[[ShiftedTarget], bool]) -> tuple[ir.Stmt, ...]:
        """What those targets' elements at `place` get that are reached: the terms from the distances that are there."""
        out: list[ir.Stmt] = []
        sums: dict[str, list[ir.Expr]] = {a: [] for a in self.cells}
        for stmt in (s for d in self.distances if has(d) for s in self.terms(d, place)):
            array = self.summed_in(stmt)
            if array is None:
                out.append(stmt)
                continue
            assert isinstance(stmt, ir.Accumulate)
            value = stmt.value
            if has_cells(value):
                part = self.names.fresh(f"{array}_part")
                out.append(ir.Let(part, value, loc=stmt.loc))
                value = ir.Var(part)
            sums[array].append(value)
        for array, cell in self.cells.items():
            if cell.name in written_arrays(tuple(out)):
                sums[array].append(ir.Load(ir.Access(cell.name)))
                out.insert(0, self.cleared(array))
        for target in self.found.targets:
            if target.is_summed and is_reached(target):
                total = self.total(target.array, sums[target.array], out)
                is_new = target.room is not None or (target.start is not None and has(target.start))
                out.append(self.stored(target, place, total, is_new))
        return with_needed_lets(out)

    def asking(self, place: Place, reach: tuple[int, int]) -> ir.Loop:
        """A row in which every term is asked for whether it exists, first of all in all of the row."""
        level = len(self.found.nest.loops) - 1
        index = self.names.fresh(self.found.nest.indices[-1])
        place = place | self.at(ir.Index(index))
        out: list[ir.Stmt] = [self.cleared(a) for a in self.cells]
        here: dict[int, ir.Expr] = {}
        rows: dict[Shift, list[ir.Stmt]] = {}
        for distance in self.distances:
            if distance[level] not in here:
                there = self.exists(place, distance, distance, (level,))
                if not isinstance(there, ir.Const):
                    let = ir.Let(self.names.fresh("there"), there)
                    out.append(let)
                    there = ir.Var(let.name)
                here[distance[level]] = there
            terms = self.summed_up(self.terms(distance, place))
            rows.setdefault(distance[:level], []).append(ir.If(here[distance[level]], terms))
        outer = range(level)
        out += (ir.If(self.exists(place, row, row, outer), tuple(terms)) for row, terms in rows.items())
        for target in self.found.targets:
            if not target.is_summed:
                continue
            total = ir.Load(ir.Access(self.cells[target.array].name))
            store: ir.Stmt = self.stored(target, place, total, target.room is not None)
            if target.start is not None and target.room is None:
                begins = self.exists(place, target.start, target.start, range(level + 1))
                store = ir.If(begins, (self.stored(target, place, total, True),), (store,))
            least, most = zip(*(target.reach(k) for k in range(level + 1)), strict=True)
            there = self.exists(place, least, most, range(level + 1))
            out.append(ir.If(all_of([there, *self.in_array(target, place)]), (store,)))
        return self.loop(level, index, reach, self.apart(tuple(out)))

    def in_array(self, target: ShiftedTarget, place: Place) -> Iterator[ir.Expr]:
        """Whether the target has an element at `place`, where not every iteration proves that."""
        if target in self.safe:
            return
        for axis, subscript in enumerate(self.element(target, place).subscripts):
            yield compare(Op.GE, subscript, integer(0))
            yield compare(Op.LT, subscript, ir.Dim(target.array, axis))

    def exists(self, place: Place, least: Shift, most: Shift, levels: Iterable[int]) -> ir.Expr:
        """Whether `place` lies in the ranges of the loops at these `levels` moved by `least` at the lower and by `most`
        at the upper ends."""
        limits: list[ir.Expr] = []
        for level in levels:
            first, last = self.reach(level)
            both = self.within(place, level, (least[level], most[level]))
            limits += [both[0]] if least[level] > first else []
            limits += [both[1]] if most[level] < last else []
        return all_of(limits)

    def within(self, place: Place, level: int, reach: tuple[int, int]) -> list[ir.Expr]:
        """What it takes for `place` to be in the range of a loop moved by `reach` at both ends."""
        low, high = self.found.nest.spans[level]
        at = place[self.found.nest.indices[level]]
        if len(set(self.reach(level))) == 1:
            return []
        return [compare(Op.GE, at, shifted(low, reach[0])), compare(Op.LT, at, shifted(high, reach[1]))]

    # -- statements ----------------------------------------------------------------------------------------------
    def terms(self, distance: Shift, place: Place) -> tuple[ir.Stmt, ...]:
        """What the iteration at that distance before `place` does for the targets, their sums in cells."""
        nest = self.found.nest
        updates = {u: t for t in self.found.targets for u, d in t.shifts.items() if d == distance}
        wanted = frozenset(self.cells[t.array].name if t.is_summed else t.array for t in updates.values())

        def summed(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
            target = updates.get(path)
            if target is None or not target.is_summed:
                return () if target is None else (stmt,)
            assert isinstance(stmt, ir.Assign | ir.Accumulate)
            if is_clear(stmt):
                return ()
            return (ir.Accumulate("add", ir.Access(self.cells[target.array].name), stmt.value, loc=stmt.loc),)

        body = with_single_uses(part_of(nest.body, summed, wanted))
        new: Renaming = {ir.Index(i): shifted(place[i], -d) for i, d in zip(nest.indices, distance, strict=True)}
        lets = [s.name for s in all_statements(body) if isinstance(s, ir.Let)]
        new |= {ir.Var(name): ir.Var(self.names.fresh(name)) for name in lets}
        return tuple(renamed(s, new) for s in body)

    def apart(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """`body` with cells of its own: what several loops share none of their iterations owns."""
        new = {n: self.names.fresh(n) for n in sorted(written_arrays(body)) if n in self.decls}
        self.decls.update((to, replace(self.decls[n], name=to)) for n, to in new.items())
        return renamed_names(body, new)

    def summed_in(self, stmt: ir.Stmt) -> str | None:
        """The array of which `stmt` adds to the sum."""
        target = written_access(stmt)
        return None if target is None else next((a for a, c in self.cells.items() if c.name == target.array), None)

    def summed_up(self, stmts: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """`stmts` with one statement for all that they certainly add to the sum of an array, and need no cells for."""
        out: list[ir.Stmt] = []
        sums: dict[str, list[ir.Expr]] = {}
        for stmt in stmts:
            array = self.summed_in(stmt)
            if array is not None and isinstance(stmt, ir.Accumulate) and not has_cells(stmt.value):
                sums.setdefault(array, []).append(stmt.value)
            else:
                out.append(stmt)
        loc = stmts[-1].loc if stmts else NOWHERE
        for array, values in sums.items():
            cell = ir.Access(self.cells[array].name)
            out.append(ir.Accumulate("add", cell, self.total(array, values, out), loc=loc))
        return with_needed_lets(out)

    def total(self, array: str, values: list[ir.Expr], before: list[ir.Stmt]) -> ir.Expr:
        """The sum of what an array gets, `before` which there are Lets."""
        kind = self.cells[array].type
        assert kind is not None
        lets = {s.name: s.value for s in before if isinstance(s, ir.Let) and not has_cells(s.value)}
        return collected(values, lets, kind.element)

    def cleared(self, array: str) -> ir.Stmt:
        return ir.Assign(ir.Access(self.cells[array].name), self.zero(array))

    def zero(self, array: str) -> ir.Expr:
        kind = self.cells[array].type
        assert kind is not None
        return zero(kind.element)

    def stored(self, target: ShiftedTarget, place: Place, total: ir.Expr, is_new: bool) -> ir.Stmt:
        """The sum `total` in, or added to, the target's element at `place`."""
        element = self.element(target, place)
        if is_new:
            return ir.Assign(element, total, loc=element.loc)
        return ir.Accumulate("add", element, total, loc=element.loc)

    def element(self, target: ShiftedTarget, place: Place) -> ir.Access:
        own: Renaming = {ir.Index(i): e for i, e in place.items()}
        return replace(target.place, subscripts=tuple(substitute(s, own) for s in target.place.subscripts))


def with_room(ls: ir.LoopSet, nest: Perfect, target: ShiftedTarget) -> ShiftedTarget:
    """`target`, which is zero before the nest, as far as its array goes; as it is where that is not near."""
    room = room_of(ls, nest, target.place)
    if room is None or not target.is_summed or not reaches_within(target, room):
        return target
    is_near = all(max(-least, most) <= tuning.EDGE_ROWS for least, most in zip(*room, strict=True))
    return replace(target, room=room) if is_near else target


def has_room(ls: ir.LoopSet, nest: Perfect, target: ShiftedTarget) -> bool:
    """Whether the ranges of the nest, moved as far as the target's updates are, certainly lie within its extents."""
    room = room_of(ls, nest, target.place)
    return room is not None and reaches_within(target, room)


def reaches_within(target: ShiftedTarget, room: tuple[Shift, Shift]) -> bool:
    reaches = map(target.reach, range(len(room[0])))
    return all(low >= least and high <= most for (low, high), least, most in zip(reaches, *room, strict=True))


def room_of(ls: ir.LoopSet, nest: Perfect, place: ir.Access) -> tuple[Shift, Shift] | None:
    """The least and the greatest distances from `place` along every loop that stay inside the array in all iterations;
    None if they are no constants."""
    extents = ls.array(place.array).extents
    if extents is None or len(extents) != len(nest.loops):
        return None
    least, most = ([0] * len(nest.loops) for _ in range(2))
    for subscript, extent in zip(place.subscripts, extents, strict=True):
        base, origin = parted(subscript)
        if not isinstance(base, ir.Index) or base.name not in nest.indices:
            return None
        level = nest.indices.index(base.name)
        (first, low), (last, high) = map(parted, nest.spans[level])
        size, room = parted(extent)
        if first != integer(0) or last != size:
            return None
        least[level], most[level] = -low - origin, room - high - origin
    return tuple(least), tuple(most)


def with_single_uses(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body`, which reads nothing that it writes but cells, with Lets of elements put where they are used, if once.

    Long values stay Lets: chains of thousands would be one expression, as deep as it is long.
    """
    uses = Counter(e.name for e in nodes_in(body) if isinstance(e, ir.Var))
    known: dict[ir.Expr, ir.Expr] = {}

    def put(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        new = map_stmt_exprs(lambda e: substitute(e, known), stmt)
        if isinstance(new, ir.Let) and uses[new.name] == 1 and is_short(new.value) and not has_cells(new.value):
            known[ir.Var(new.name)] = new.value
            return ()
        return (new,)

    return map_body(body, put)


def is_short(expr: ir.Expr) -> bool:
    return sum(1 for _ in subexprs(expr)) <= tuning.TERM_NODES


def with_needed_lets(body: list[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """`body` without Lets that nothing in it uses."""
    wanted = written_arrays(tuple(body))
    return keep_live(tuple(body), live_names(tuple(body), wanted, None), None)


def has_cells(expr: ir.Expr) -> bool:
    return any(not e.access.subscripts for e in loads(expr))


def is_any(_: object) -> bool:
    return True


def part_of(body: tuple[ir.Stmt, ...], update: Rewrite, wanted: frozenset[str]) -> tuple[ir.Stmt, ...]:
    """Of `body`, with its updates of elements rewritten, what `wanted` arrays and cells need."""

    def rewritten(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        target = written_access(stmt)
        return (stmt,) if target is None or not target.subscripts else update(stmt, path)

    found = map_sites(body, rewritten)
    return keep_live(found, live_names(found, wanted, None), None)


def only_updates(body: tuple[ir.Stmt, ...], updates: frozenset[Path]) -> tuple[ir.Stmt, ...]:
    """Of `body`, the `updates` at these paths, with all that they need."""
    own = [a.array for s in statements(body) if s.path in updates and (a := written_access(s.stmt)) is not None]
    return part_of(body, lambda s, path: (s,) if path in updates else (), frozenset(own))
