"""Loops on several threads: the loop becomes a function of one chunk, and where it stood the pool is asked to run it.

    t_parts = np.empty(chunks)                      def energy_chunk(chunk, lower, upper, size, t_parts, x):
    run_in_chunks(energy_chunk, chunks, ...)            first = lower + chunk * size
    for part in t_parts:                                t = 0.0
        t += part                                       for i in range(first, min(first + size, upper)):
                                                            t += x[i] * x[i]
                                                        t_parts[chunk] = t

The first chunk works in the arrays themselves, the others in arrays of their own. Small nests shall not pay for any of
this: they are written a second time as without threads, and the extents decide which one runs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

from loopdiff.backends.cpu.emission import LoopEmitter
from loopdiff.backends.cpu.patience import PatientEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.tiles.kept import lasts
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.writer import Writer
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ScalarType
from loopdiff.ir.walk import accesses, all_statements, loops_in, nodes_of, statements
from loopdiff.mapping.loops import NestedCut, Parallel, TiledNest
from loopdiff.model.work import estimate_of, number, plus_work, times_work
from loopdiff.schedule.cpu.overlapped_chunks import only_into
from loopdiff.source.nodes import syntax_nodes

# Nanoseconds that an element costs which each chunk has for itself: summed apart, set to zero, or only there.
SUMMED, CLEARED, TOUCHED = 4.0, 2.0, 0.5
COPIED = 0.1  # nanoseconds of an element of an operand of a product, which is arranged for it
# Of all the work, what threads have to save at least: where nests stay as they are, and where they are not fused.
SAME, UNFUSED = 0.05, 0.33
TOGETHER = 16  # arguments in a tuple
FINE = 4096  # iterations that are as many chunks as are worth it, to a few hundredths
Span = tuple[str, str]  # names of the first index and of the one after the last


@immutable
class Piece:
    """Names of the bounds of the loop over `index`, and of how many iterations a piece of it has. `count`: into so many
    of these the chunks of the others are cut."""

    index: str
    lower: str
    upper: str
    size: str
    count: str = ""


def write_both(emitter: PatientEmitter, stmt: ir.Loop) -> None:
    """The nest `stmt` with its shared loops in chunks if that is worth it, else as without threads."""
    with emitter.writer.block(f"if {worth(emitter, (stmt,), SAME)}:"):
        emitter.on_threads(stmt)
    with emitter.writer.block("else:"):
        emitter.on_one_thread(stmt)


def worth(emitter: PatientEmitter, body: tuple[ir.Stmt, ...], least: float) -> str:
    """Whether the shared loops of `body` save at least that part of its work."""
    estimate = estimate_of(body, emitter.mapping_of)
    loops = [(s.stmt, s.loops) for s in statements(body) if isinstance(s.stmt, ir.Loop)]

    def saved_by(shared: Mapping[str, Parallel]) -> str:
        found: list[str] = []
        for loop, around in loops:
            sharing = shared.get(loop.index)
            if sharing is None:
                continue
            apart = ChunkWriter(emitter, loop, sharing).apart()
            costs = estimate.statement(loop), apart, estimate.runs(around)
            saving = f"saving({', '.join(map(emitter.expr, costs))})"
            if sharing.instead:
                trips = emitter.expr(estimate.trips(loop))
                saving = f"({saving} if {trips} > 1.0 else {saved_by(shared_instead(emitter, loop, sharing))})"
            found.append(saving)
        return " + ".join(found)

    saved = saved_by(emitter.sharing)
    emitter.threads |= {"is_worth", "saving"}
    lost = times_work(number(least), estimate.block(body))
    return f"is_worth({saved}, {emitter.expr(lost)})"


def shared_instead(emitter: LoopEmitter, loop: ir.Loop, sharing: Parallel) -> dict[str, Parallel]:
    """By their indices, the loops inside `loop` that are shared if it runs once."""
    paths = {emitter.mappings[p.index][0]: p.index for p in loops_in((loop,)) if p.index in emitter.mappings}
    return {paths[path]: inner for path, inner in sharing.instead}


def write_shared(emitter: PatientEmitter, stmt: ir.Loop, sharing: Parallel) -> None:
    """The loop in chunks, or those inside that are shared if it runs once."""
    chunks = ChunkWriter(emitter, stmt, sharing)
    if not sharing.instead:
        chunks.write()
        return
    trips = trip_count(emitter.expr(stmt.lower), emitter.expr(stmt.upper), chunks.step(stmt.index))
    with emitter.writer.block(f"if {trips} > 1:"):
        chunks.write()
    with emitter.writer.block("else:"):
        before = emitter.sharing
        emitter.sharing = shared_instead(emitter, stmt, sharing)
        emitter.as_mapped(stmt)
        emitter.sharing = before


@dataclass(slots=True)
class ChunkWriter:
    """Writes one loop as chunks into `emitter`, and the function of a chunk into its `chunks`."""

    emitter: PatientEmitter
    loop: ir.Loop
    sharing: Parallel

    def write(self) -> None:
        """Ask how many chunks there are, have them run, and bring together what they summed."""
        writer, fresh, sharing = self.emitter.writer, self.emitter.names.fresh, self.sharing
        lower, upper, count, size = (fresh(n) for n in ("lower", "upper", "chunks", "size"))
        writer.line(self.bounds(sharing.index, lower, upper))
        work = estimate_of((self.loop,), self.emitter.mapping_of).statement(self.loop)
        given = ", ".join(map(self.emitter.expr, (work, self.apart())))
        trips = trip_count(lower, upper, self.step(sharing.index))
        limits = f"{sharing.granule}, {sharing.reach}, {sharing.is_repeated}"
        writer.line(f"{count}, {size} = {self.call('share')}({trips}, {limits}, {given})")
        pieces = [Piece(sharing.index, lower, upper, size)]
        if sharing.further:
            wanted, unused = fresh("wanted"), fresh("size")  # `_` may be the index of a loop
            writer.line(f"{wanted}, {unused} = share({FINE}, 1, 1, {sharing.is_repeated}, {given})")
            pieces += [self.cut(c, count, wanted) for c in sharing.further]
        parts = {name: fresh(f"{name}_parts") for name, _ in sharing.sums}
        for name, held in parts.items():
            shape = count if name in self.emitter.cells else f"({count} - 1,) + {self.in_order(name)}.shape"
            writer.line(f"{held} = np.empty({shape}, np.{self.emitter.types.arrays[name].dtype})")
        if sharing.late:
            self.write_late(lower, upper, count, size)
            return
        function, names = self.function(pieces, parts)
        run = self.call("run_in_turns" if sharing.near else "run_in_chunks")
        writer.line(f"{run}({', '.join((function, count, *in_tuples(names)))})")
        for name, op in sharing.sums:
            if name in self.emitter.cells:
                place = fresh("chunk")
                with writer.block(f"for {place} in range({count}):"):
                    writer.line(f"{name} = {self.combined(op, name, f'{parts[name]}[{place}]')}")
            else:
                writer.line(f"{self.call('add_parts')}({self.in_order(name)}, {parts[name]})")

    def cut(self, cut: NestedCut, count: str, wanted: str) -> Piece:
        """Cut the `count` chunks if they are few of those `wanted`, so that they are more from here on."""
        fresh, line = self.emitter.names.fresh, self.emitter.writer.line
        found = Piece(cut.index, *(fresh(n) for n in ("lower", "upper", "size", "pieces")))
        line(self.bounds(cut.index, found.lower, found.upper))
        trips = trip_count(found.lower, found.upper, self.step(cut.index))
        limits = f"{cut.granule}, {cut.least}, {cut.is_dear}, {count}, {wanted}"
        line(f"{found.count}, {found.size} = {self.call('cut')}({trips}, {limits})")
        line(f"{count} *= {found.count}")
        return found

    def along(self, index: str) -> ir.Loop:
        """The loop over `index` whose iterations are shared: this one, or one of its nest."""
        return next(p for p in loops_in((self.loop,)) if p.index == index)

    def bounds(self, index: str, lower: str, upper: str) -> str:
        """A line that gives the bounds of the loop over `index` names."""
        along = self.along(index)
        return f"{lower}, {upper} = {self.emitter.expr(along.lower)}, {self.emitter.expr(along.upper)}"

    def step(self, index: str) -> int:
        step = self.along(index).step
        assert isinstance(step, ir.Const)
        return int(step.value)

    def call(self, name: str) -> str:
        self.emitter.threads.add(name)
        return name

    def kind(self, name: str) -> ScalarType:
        return self.emitter.types.arrays[name].element

    def apart(self) -> ir.Expr:
        """What it costs for each chunk to have arrays of its own."""
        sums = (n for n, _ in self.sharing.sums if n not in self.emitter.cells)
        arrays = (n for n in self.sharing.arrays if self.rows(n) is None)
        groups = ((SUMMED, sums), (CLEARED, self.sharing.zero), (TOUCHED, arrays))
        total: ir.Expr = number(0.0)
        for price, names in groups:
            for name in names:
                size: ir.Expr = number(price)
                for axis in range(self.emitter.types.arrays[name].rank):
                    size = times_work(size, ir.Cast(F64, ir.Dim(name, axis)))
                total = plus_work(total, size)
        return plus_work(total, self.copied())

    def copied(self) -> ir.Expr:
        """What it costs that each chunk copies what its rows are multiplied by, as often as that is another."""
        estimate, total = estimate_of((self.loop,), self.emitter.mapping_of), number(0.0)
        for site in statements(self.loop.body):
            mapping = self.emitter.mapping_of(site.stmt)
            product = mapping.product if isinstance(mapping, TiledNest) else None
            nest = site.stmt
            if isinstance(nest, ir.Loop) and product and product.is_packed and {*self.sharing.cut} & {*product.rows}:
                inside = (p for p in loops_in((nest,)) if p.index in (product.columns, *product.sums))
                changing = takewhile(lambda p, n=nest, x=product: not lasts(p, n, x), (self.loop, *site.loops))
                total = plus_work(total, times_work(number(COPIED), estimate.runs((*changing, *inside))))
        return total

    def in_order(self, name: str) -> str:
        """The array with its axes as they lie in memory."""
        return f"{name}.T" if self.emitter.types.arrays[name].layout == "F" else name

    def combined(self, op: ir.AccumulateOp, total: str, part: str) -> str:
        if op == "add":
            return f"{total} + {part}"
        self.emitter.imports.add(f"{op}2")
        return f"{op}2({total}, {part})"

    # -- the function of a chunk -----------------------------------------------------------------------------
    def function(self, pieces: Sequence[Piece], parts: dict[str, str]) -> tuple[str, list[str]]:
        """The name of the function of one chunk, now among the emitter's, and its parameters after the chunk."""
        chunk = self.emitter.names.fresh("chunk")
        with self.elsewhere() as body:
            spans = self.spans(chunk, pieces)
            self.own(chunk, parts)
            if self.sharing.early:
                self.begin_early(chunk, spans[self.sharing.index][0])
            self.emitter.on_one_thread(self.between(self.loop, spans))
            for summed, _ in self.sharing.sums:
                if summed in self.emitter.cells:
                    body.line(f"{parts[summed]}[{chunk}] = {summed}")
        replaced = {*self.sharing.arrays, *self.sharing.zero, *(n for n in parts if n not in self.emitter.cells)}
        return self.finish(body, chunk, replaced)

    def spans(self, chunk: str, pieces: Sequence[Piece]) -> dict[str, Span]:
        """Where loops begin and end in the `chunk`: the last of the `pieces` is another one from chunk to chunk."""
        found: dict[str, Span] = {}
        fresh, line, rest = self.emitter.names.fresh, self.emitter.writer.line, chunk
        for piece in reversed(pieces):
            step, number = self.step(piece.index), rest
            if piece is not pieces[0]:
                number, before, rest = fresh("piece"), rest, fresh("rest")
                line(f"{rest}, {number} = {before} // {piece.count}, {before} % {piece.count}")
            first, last = found[piece.index] = fresh("first"), fresh("last")
            stride = piece.size if step == 1 else f"{piece.size} * {step}"
            line(f"{first} = {piece.lower} + {number} * {stride}")
            line(f"{last} = {'min' if step > 0 else 'max'}({first} + {stride}, {piece.upper})")
        return found

    def begin_early(self, chunk: str, first: str) -> None:
        """Fill the chunk's own arrays as iterations before its first one do, which the first chunk has no need of."""
        emitter, sharing = self.emitter, self.sharing
        begin = emitter.names.fresh("begin")
        emitter.writer.line(f"{begin} = {first} - {sharing.early} if {chunk} > 0 else {first}")
        before = replace(self.loop, lower=ir.Index(begin), upper=ir.Index(first))
        for new in only_into((before,), frozenset((*sharing.arrays, *sharing.cells))):
            assert isinstance(new, ir.Loop)
            emitter.on_one_thread(new)

    def finish(self, body: Writer, chunk: str, replaced: set[str]) -> tuple[str, list[str]]:
        """The function of one `chunk`, which gets arrays that are `replaced` by its own in `body`, and its name."""
        emitter = self.emitter
        emitter.names.taken.add(emitter.ls.name)
        name = emitter.names.fresh(f"{emitter.ls.name}_chunk")
        given = sorted((free_names(body.text) | replaced) & emitter.names.taken - {chunk})
        header = f"def {name}({', '.join((chunk, *given))}):"
        function = Writer([header, *(f"    {line}" for line in body.lines)])
        emitter.patience.begin_function(function)
        emitter.chunks.append(function.text.rstrip())
        return name, given

    # -- loops of which chunks leave something for later -----------------------------------------------------
    def write_late(self, lower: str, upper: str, count: str, size: str) -> None:
        """All chunks, then what they have left at their beginnings."""
        writer = self.emitter.writer
        run = self.call("run_in_chunks")
        function, names = self.late_function(lower, upper, size, is_rest=False)
        writer.line(f"{run}({', '.join((function, count, *in_tuples(names)))})")
        function, names = self.late_function(lower, upper, size, is_rest=True)
        with writer.block(f"if {count} > 1:"):
            writer.line(f"{run}({', '.join((function, f'{count} - 1', *in_tuples(names)))})")

    def late_function(self, lower: str, upper: str, size: str, *, is_rest: bool) -> tuple[str, list[str]]:
        """The same as `function` of what chunks do at once, or of the rest, which the first chunk has nothing of."""
        chunk, first, last = map(self.emitter.names.fresh, ("chunk", "first", "last"))
        late = self.sharing.late
        begins = {n: self.emitter.names.fresh("begin") for n in sorted({*late} - {0})}
        with self.elsewhere() as body:
            body.line(f"{first} = {lower} + {f'({chunk} + 1)' if is_rest else chunk} * {size}")
            longest = max(late) if is_rest else size
            body.line(f"{last} = min({first} + {longest}, {upper})")
            for number, begin in begins.items():
                found = f"{first} + {number}"
                body.line(f"{begin} = {found if is_rest else f'{found} if {chunk} > 0 else {first}'}")
            self.own(chunk, {})
            here = ir.Index(self.loop.index)
            inside: list[ir.Stmt] = []
            for stmt, number in zip(self.loop.body, late, strict=True):
                if number:
                    cond = compare(Op.LT if is_rest else Op.GE, here, ir.Index(begins[number]))
                    inside.append(ir.If(cond, (stmt,), loc=stmt.loc))
                elif not is_rest:
                    inside.append(stmt)
            new = replace(self.loop, lower=ir.Index(first), upper=ir.Index(last), body=tuple(inside))
            self.emitter.on_one_thread(new)
        return self.finish(body, chunk, set())

    @contextmanager
    def elsewhere(self) -> Iterator[Writer]:
        """A writer of its own for what the emitter writes."""
        emitter = self.emitter
        here, around = emitter.writer, emitter.around
        emitter.writer, emitter.around = Writer(), 0
        yield emitter.writer
        emitter.writer, emitter.around = here, around

    def own(self, chunk: str, parts: dict[str, str]) -> None:
        """What each chunk has for itself; the first chunk uses the arrays themselves."""
        emitter, sharing = self.emitter, self.sharing
        line = emitter.writer.line
        for cell in sharing.cells:
            line(f"{cell} = {spell_constant(0, self.kind(cell))}")
        for name, op in sharing.sums:
            if name in emitter.cells:
                line(f"{name} = {spell_constant(neutral_value(op, self.kind(name)), self.kind(name))}")
        anew = [f"{n} = {self.empty(n)}" for n in sharing.arrays]
        anew += [f"{n} = np.zeros_like({n})" for n in sharing.zero]
        for name in (n for n, _ in sharing.sums if n not in emitter.cells):
            turned = ".T" if self.in_order(name) != name else ""
            anew.append(f"{name} = {parts[name]}[{chunk} - 1]{turned}")
            anew.append(f"{name}[...] = {spell_constant(0, self.kind(name))}")
        if anew:
            with emitter.writer.block(f"if {chunk} > 0:"):
                for text in anew:
                    line(text)

    def empty(self, name: str) -> str:
        """An array for the chunk itself, of no more rows than the loop has places for."""
        rows = self.rows(name)
        if rows is None:
            return f"np.empty_like({name})"
        others = "".join(f", {name}.shape[{k}]" for k in range(1, self.emitter.types.arrays[name].rank))
        return f"np.empty(({rows}{others}), {name}.dtype)"

    def rows(self, name: str) -> int | None:
        """How many rows of an array all iterations use; None if they may use all."""
        if self.emitter.types.arrays[name].layout != "C":
            return None
        most = 0
        for stmt in all_statements((self.loop,)):
            if any(isinstance(e, ir.Dim) and e.array == name for e in nodes_of(stmt)):
                return None
            for access in accesses(stmt):
                match access:
                    case ir.Access(array=array) if array != name:
                        pass
                    case ir.Access(subscripts=(ir.Apply(op=Op.MOD, args=(_, ir.Const(value=count))), _, *_)):
                        most = max(most, int(count))
                    case ir.Access(subscripts=(ir.Const(value=place), _, *_)):
                        most = max(most, int(place) + 1)
                    case _:
                        return None
        return most or None

    def between(self, loop: ir.Loop, spans: Mapping[str, Span]) -> ir.Loop:
        """The nest with its shared loops where they begin and end."""
        body = tuple(self.between(s, spans) if isinstance(s, ir.Loop) else s for s in loop.body)
        index = self.sharing.index if loop.index in self.sharing.beside else loop.index
        if index not in spans:
            return replace(loop, body=body)
        first, last = spans[index]
        return replace(loop, lower=ir.Index(first), upper=ir.Index(last), body=body)


def trip_count(lower: str, upper: str, step: int) -> str:
    if step < 0:
        lower, upper, step = upper, lower, -step
    return f"{upper} - {lower}" if step == 1 else f"({upper} - {lower} + {step - 1}) // {step}"


def in_tuples(names: Sequence[str]) -> Iterator[str]:
    """Arguments a few at a time: from thirty on Python puts all of them into one tuple, which may hold no function."""
    for start in range(0, len(names), TOGETHER):
        yield f"({', '.join(names[start : start + TOGETHER])},)"


def free_names(text: str) -> set[str]:
    """Names that `text` uses before, or without, giving them a value."""
    nodes = [n for n in syntax_nodes(ast.parse(text)) if isinstance(n, ast.Name)]
    loaded = {n.id for n in nodes if isinstance(n.ctx, ast.Load)}
    return loaded - {n.id for n in nodes if isinstance(n.ctx, ast.Store)}
