"""Vector loops: the statements of a loop body as operations on all lanes at once.

Conditions that vary become masks; the last, partial vector is a mask too. Only rows that often have no whole vector at
all end in scalar code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from loopdiff.analysis.strides import is_varying, varying_names
from loopdiff.backends.cpu.lane_values import CHOICES, INFIX, NAMED, Lanes, LaneValues, sure_accesses
from loopdiff.backends.cpu.patience import PatientEmitter
from loopdiff.backends.cpu.simd.types import has_mask_registers, host_width
from loopdiff.backends.cpu.tape_streams import tape_streams
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F32, F64, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import (
    all_statements,
    loads,
    nodes_in,
    nodes_of,
    statements,
    stmt_exprs,
    subexprs,
    touched_arrays,
    written_arrays,
)
from loopdiff.mapping.lane_blocks import FEW

UNROLL = 4
COPIES_OF_BLOCK = 4
# Sizes of loop bodies, in operations: below the first a single sum is bound by latency, up to the second copies still
# fit in registers (with that many cells of their own), beyond the third a second, unmasked version does not pay.
LIGHT, SHORT, HEAVY = 8, 16, 12
COPIED_CELLS = 4
FEW_CALLS = 2  # with masks a loop around an exponential takes a third longer than without
SUMMED = 8  # elements of a short row for whose sum vectors are brought together
COMPUTED = 128  # operations for each masked store, where these take long, of a body that is written with masks only
CALL = 16  # operations that take as long as one that is not an instruction
TWICE = 32  # operations of a block of lanes that is written with and without masks, where those take long
INSTRUCTIONS = frozenset((*INFIX, *NAMED, *CHOICES, Op.NOT, Op.INVERT, Op.STOP))


@dataclass(slots=True)
class VectorLoopWriter(LaneValues):
    """Writes one loop as vectors of `width` lanes into `emitter`.

    Of the cells that an iteration owns, `private` have a value per lane and `shared` the same one in all lanes.
    """

    private: frozenset[str]
    shared: frozenset[str]
    sums: dict[int, list[str]]

    @classmethod
    def of(cls, emitter: PatientEmitter, loop: ir.Loop, owned: frozenset[str]) -> VectorLoopWriter:
        varying, width = varying_names(loop), loop_width(emitter, loop)
        return cls(emitter, loop, varying, width, sure_accesses(loop), owned & varying, owned - varying, {})

    # -- the loop --------------------------------------------------------------------------------------------
    def write(self, may_be_short: bool, few: int) -> None:
        names, line = self.emitter.names, self.emitter.writer.line
        index = self.loop.index
        start, end = names.fresh(f"{index}_start"), names.fresh(f"{index}_end")
        line(f"{start} = {self.emitter.expr(self.loop.lower)}")
        line(f"{end} = {self.simd('maximum')}({start}, {self.emitter.expr(self.loop.upper)})")
        promoted, is_block = self.promoted(), self.is_block_of_nests()
        suffixes = self.suffixes(COPIES_OF_BLOCK if is_block else self.copies(promoted))
        if may_be_short or (self.is_small_block() and not has_mask_registers()):
            self.write_row(start, end, promoted, suffixes)
        elif few and not is_block:
            with self.emitter.writer.block(f"if {end} - {start} <= {min(few, self.width - 1)}:"):
                self.write_rest(start, end)
            with self.emitter.writer.block("else:"), self.emitter.writer.nest():
                self.write_vectors(start, end, promoted, suffixes, False)
        else:
            self.write_vectors(start, end, promoted, suffixes, is_block)

    def write_vectors(
        self, start: str, end: str, promoted: list[ir.Accumulate], suffixes: list[str], is_block: bool
    ) -> None:
        """All iterations in vectors."""
        self.start_cells(promoted, suffixes)
        if is_block:
            self.start_copies(promoted)
            self.write_block(start, end, suffixes)
            self.join_copies(promoted)
        else:
            self.write_range(start, end, suffixes, promoted)
        self.finish_sums(promoted)

    def start_cells(self, promoted: list[ir.Accumulate], suffixes: list[str]) -> None:
        """Cells of the vectors side by side, and the sums of one."""
        for cell in sorted(self.private):
            for suffix in dict.fromkeys(("", *suffixes)):
                kind = self.emitter.types.arrays[cell].element
                self.emitter.writer.line(f"{cell}{suffix} = {self.splat_constant(0, kind)}")
        for stmt in promoted:
            self.sums[id(stmt)] = [self.emitter.names.fresh(f"{stmt.target.array}_lanes") for _ in suffixes]
            self.start_sum(stmt, self.sums[id(stmt)][:1])

    def write_row(self, start: str, end: str, promoted: list[ir.Accumulate], suffixes: list[str]) -> None:
        """Whole vectors, if there are enough to bring sums together for, and the rest as scalar code.

        Its stores, other than masked ones, are forwarded to loads soon after: often the next row begins with them.
        """
        line, block, index, width = self.emitter.writer.line, self.emitter.writer.block, self.loop.index, self.width
        full = self.emitter.names.fresh(f"{index}_full")
        line(f"{full} = {start}")
        with block(f"if {end} - {start} >= {max(width, SUMMED) if promoted else width}:"):
            line(f"{full} = {end} - ({end} - {start}) % {width}")
            self.start_cells(promoted, suffixes)
            first = self.write_many(start, end, suffixes, promoted)
            with self.over(first, full, width, is_rest=first != start):
                self.block(self.loop.body, [Lanes(index)])
            self.finish_sums(promoted)
        self.write_rest(full, end)

    def write_rest(self, start: str, end: str) -> None:
        """Iterations as scalar code."""
        for cell in sorted(self.private):
            zero = ir.Const(0, self.emitter.types.arrays[cell].element)
            self.emitter.writer.line(f"{cell} = {self.emitter.expr(zero)}")
        with self.emitter.writer.block(f"for {self.loop.index} in range({start}, {end}):"):
            self.emitter.block(self.loop.body)

    def write_many(self, start: str, end: str, suffixes: list[str], promoted: list[ir.Accumulate]) -> str:
        """Vectors side by side, as many as the suffixes, if more than one; where the ones that are left begin.

        Short rows have none, and no time to start sums for them.
        """
        if len(suffixes) == 1:
            return start
        index, size = self.loop.index, len(suffixes) * self.width
        first = self.emitter.names.fresh(f"{index}_many")
        self.emitter.writer.line(f"{first} = {end} - ({end} - {start}) % {size}")
        with ExitStack() as stack:
            if promoted:
                stack.enter_context(self.emitter.writer.block(f"if {first} > {start}:"))
                self.start_copies(promoted)
            with self.over(start, first, size):
                self.block(self.loop.body, [Lanes(b, suffix=s) for b, s in self.places(suffixes)])
            self.join_copies(promoted)
        return first

    def write_range(self, start: str, end: str, suffixes: list[str], promoted: list[ir.Accumulate]) -> None:
        """Vectors side by side, then single ones, the last one masked."""
        names, line, block = self.emitter.names, self.emitter.writer.line, self.emitter.writer.block
        index, width = self.loop.index, self.width
        mask, first = names.fresh("live"), self.write_many(start, end, suffixes, promoted)
        if self.is_masked_throughout():
            with self.over(first, end, width, is_rest=first != start):
                line(f"{mask} = {self.simd('tail_mask')}({end} - {index}, {width})")
                self.block(self.loop.body, [Lanes(index, mask)])
        else:
            full = names.fresh(f"{index}_full")
            line(f"{full} = {end} - ({end} - {start}) % {width}")
            with self.over(first, full, width, is_rest=first != start):
                self.block(self.loop.body, [Lanes(index)])
            with block(f"if {full} < {end}:"):
                line(f"{mask} = {self.simd('tail_mask')}({end} - {full}, {width})")
                self.block(self.loop.body, [Lanes(full, mask)])

    @contextmanager
    def over(self, start: str, end: str, step: int, is_rest: bool = False) -> Iterator[None]:
        """The loop over vectors, in blocks where it is to look out; not what is left of it, which is short."""
        emitter, index = self.emitter, self.loop.index
        with ExitStack() as stack:
            if index in emitter.patience.sizes and not is_rest:
                start, end = stack.enter_context(emitter.patience.range(index, (start, end), step))
            stack.enter_context(emitter.writer.block(f"for {index} in range({start}, {end}, {step}):"))
            emitter.around += 1
            if not is_rest:
                self.ask_ahead(step)
            yield
            emitter.around -= 1

    def ask_ahead(self, step: int) -> None:
        """Ask for what an iteration a page later reads of tapes, of all the lines of so many elements."""
        for stream in tape_streams(self.loop, self.emitter.ls, self.emitter.ways):
            for behind in range(0, step, stream.elements_of_line):
                place = self.subscripts(
                    stream.access, Lanes(f"({self.loop.index} + {behind})" if behind else self.loop.index)
                )
                self.emitter.writer.line(f"{self.simd('ask_ahead')}({stream.access.array}, {place}, {stream.distance})")

    def write_block(self, start: str, end: str, suffixes: list[str]) -> None:
        """The vectors of a block of lanes side by side, all of them masked: inner loops are written once.

        Where masked stores are slow, short bodies are written again for what is not all there.
        """
        width, line = self.width, self.emitter.writer.line
        if not has_mask_registers() and len(self.operations()) <= TWICE:
            first = self.write_many(start, end, suffixes, [])
        else:
            first = start
        with self.over(first, end, len(suffixes) * width, is_rest=first != start):
            copies = []
            for base, suffix in self.places(suffixes):
                mask = self.emitter.names.fresh("live")
                line(f"{mask} = {self.simd('tail_mask')}({end} - {base}, {width})")
                copies.append(Lanes(base, mask, suffix=suffix))
            self.block(self.loop.body, copies)

    def places(self, suffixes: list[str]) -> Iterator[tuple[str, str]]:
        """The index of lane 0 of each of the vectors side by side, and its suffix."""
        for number, suffix in enumerate(suffixes):
            yield (f"({self.loop.index} + {number * self.width})" if number else self.loop.index), suffix

    def is_block_of_nests(self) -> bool:
        """Whether the loop runs over a block of lanes around loops that they share."""
        is_whole = self.lane_block is not None and self.lane_block.size % (COPIES_OF_BLOCK * self.width) == 0
        return is_whole and not self.is_small_block() and any(isinstance(s, ir.Loop) for s in self.loop.body)

    def is_small_block(self) -> bool:
        """Whether the loop runs over a block of few lanes, as one around recurrences: bodies are long there."""
        return self.lane_block is not None and self.lane_block.size <= FEW

    def copies(self, promoted: list[ir.Accumulate]) -> int:
        """How many vectors run side by side, to hide the latency of sums that each depend on the one before."""
        if promoted and not self.private and self.is_light():
            return UNROLL if self.has_floats(promoted) else 1
        chains = [s for s in statements(self.loop.body) if isinstance(s.stmt, ir.Accumulate) and s.loops]
        inside = [s.stmt for s in chains if s.stmt.target.array in self.private]  # type: ignore[union-attr]
        is_simple = not any(isinstance(s, ir.If) for s in all_statements(self.loop.body))
        is_short = len(self.operations()) <= SHORT and len(self.private) <= COPIED_CELLS
        return UNROLL if inside and is_simple and is_short and not self.has_calls(inside) else 1

    def has_floats(self, sums: list[ir.Accumulate]) -> bool:
        """Whether any of `sums` is of floating numbers: those of integers do not wait for each other for long."""
        return any(self.emitter.types.arrays[s.target.array].element.is_float for s in sums)

    def suffixes(self, copies: int) -> list[str]:
        """What tells the names of the copies apart; the names are taken from now on."""
        if copies == 1:
            return [""]
        taken, joint = self.emitter.names.taken, "_"
        lets = {s.name for s in all_statements(self.loop.body) if isinstance(s, ir.Let)}
        while any(f"{n}{joint}{k}" in taken for n in lets | self.private for k in range(copies)):
            joint += "_"
        taken.update(f"{n}{joint}{k}" for n in lets | self.private for k in range(copies))
        return [f"{joint}{k}" for k in range(copies)]

    def promoted(self) -> list[ir.Accumulate]:
        """Accumulations into one address for the whole loop: they run in vector accumulators."""
        out: list[ir.Accumulate] = []
        for site in statements(self.loop.body):
            stmt = site.stmt
            if not isinstance(stmt, ir.Accumulate) or any(isinstance(s, ir.Loop) for s in site.enclosing):
                continue
            if stmt.target.array in self.private | self.shared or self.stride(stmt.target) != "uniform":
                continue
            inside = {s.name for s in all_statements(self.loop.body) if isinstance(s, ir.Let)}
            if not any(isinstance(e, ir.Var) and e.name in inside for s in stmt.target.subscripts for e in subexprs(s)):
                out.append(stmt)
        return out

    def operations(self) -> list[ir.Apply]:
        nodes = list(nodes_in(self.loop.body))
        return [e for e in nodes if isinstance(e, ir.Apply)]

    def has_calls(self, stmts: Iterable[ir.Stmt]) -> bool:
        """Whether `stmts` need more than instructions."""
        nodes = [e for s in stmts for e in nodes_of(s)]
        return any(isinstance(e, ir.Apply) and e.op not in INSTRUCTIONS for e in nodes)

    def is_light(self) -> bool:
        """Whether the body is so short that latency, not throughput, would bound a single accumulator."""
        body = all_statements(self.loop.body)
        is_flat = not any(isinstance(s, ir.Loop | ir.If) for s in body)
        return is_flat and len(self.operations()) <= LIGHT and not self.has_calls(body)

    def is_masked_throughout(self) -> bool:
        """Whether the body is so long, or does so little, that one masked version beats a plain and a masked one.

        Where masks have no registers of their own, a masked store takes as long as ten others: there it is what
        computes much for each of them.
        """
        body = all_statements(self.loop.body)
        sums = [s for s in body if isinstance(s, ir.Accumulate)]
        is_check = all(isinstance(s, ir.Accumulate | ir.Let) for s in body) and not self.has_floats(sums)
        calls = sum(e.op not in INSTRUCTIONS for e in self.operations())
        is_long = len(self.operations()) > HEAVY or calls > FEW_CALLS
        is_large = is_long or any(isinstance(s, ir.Loop) for s in body)
        if has_mask_registers():
            return is_check or is_large
        written = [s for s in body if isinstance(s, ir.Assign | ir.Accumulate) and id(s) not in self.sums]
        stores = sum(s.target.array not in self.private | self.shared for s in written)
        work = sum(1 if e.op in INSTRUCTIONS else CALL for e in self.operations())
        return work > COMPUTED * max(1, stores)

    def start_sum(self, stmt: ir.Accumulate, parts: Iterable[str]) -> None:
        kind = self.emitter.types.arrays[stmt.target.array].element
        for name in parts:
            self.emitter.writer.line(f"{name} = {self.splat_constant(neutral_value(stmt.op, kind), kind)}")

    def start_copies(self, promoted: list[ir.Accumulate]) -> None:
        """Sums of the other vectors side by side."""
        for stmt in promoted:
            self.start_sum(stmt, self.sums[id(stmt)][1:])

    def join_copies(self, promoted: list[ir.Accumulate]) -> None:
        """One sum of all vectors side by side."""
        for stmt in promoted:
            first, *others = self.sums[id(stmt)]
            whole = first
            for part in others:
                whole = self.combined(stmt, whole, part)
            if others:
                self.emitter.writer.line(f"{first} = {whole}")

    def finish_sums(self, promoted: list[ir.Accumulate]) -> None:
        for stmt in promoted:
            self.add_to_place(stmt, f"{self.simd(f'reduce_{stmt.op}')}({self.sums[id(stmt)][0]})")

    def add_to_place(self, stmt: ir.Accumulate, value: str) -> None:
        """Bring the scalar `value` into the target. An element that no iteration reached may not even exist: a value
        that changes nothing leaves it alone."""
        place, line = self.emitter.place(stmt.target), self.emitter.writer.line
        with ExitStack() as stack:
            if stmt.target.subscripts:
                kind = self.emitter.types.arrays[stmt.target.array].element
                total = self.emitter.names.fresh("total")
                line(f"{total} = {value}")
                neutral = self.emitter.expr(ir.Const(neutral_value(stmt.op, kind), kind))
                stack.enter_context(self.emitter.writer.block(f"if {total} != {neutral}:"))
                value = total
            if stmt.op == "add":
                line(f"{place} += {value}")
            else:
                self.emitter.imports.add(f"{stmt.op}2")
                line(f"{place} = {stmt.op}2({self.emitter.load(stmt.target)}, {value})")

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...], copies: list[Lanes]) -> None:
        """What adds to both parts of complex elements loads both before it stores one: what a masked store leaves out
        would have to wait for it."""
        waiting: dict[int, list[str]] = {}
        for number, stmt in enumerate(body):
            other = None if id(stmt) in waiting else self.other_part(stmt, body[number + 1 :])
            if other is None and id(stmt) not in waiting:
                self.statement(stmt, copies)
                continue
            assert isinstance(stmt, ir.Accumulate)
            stores = [*waiting.pop(id(stmt), ()), *self.added(stmt, copies)]
            if other is not None:
                waiting[id(other)] = stores
                continue
            for store in stores:
                self.emitter.writer.line(store)

    def other_part(self, stmt: ir.Stmt, rest: tuple[ir.Stmt, ...]) -> ir.Accumulate | None:
        """What adds to the imaginary parts of complex elements side by side, to whose real parts `stmt` adds, or the
        other way round, before anything else asks for their array."""
        if not isinstance(stmt, ir.Accumulate) or not self.is_close(stmt.target):
            return None
        one, kind = stmt.target, self.emitter.ls.array(stmt.target.array).type
        place = next((k for k, s in enumerate(rest) if one.array in touched_arrays((s,))), None)
        if place is None or kind is None or not kind.is_pair:
            return None
        changed = {one.array, *written_arrays(rest[:place])}
        if any(e.access.array in changed for s in one.subscripts for e in loads(s)):  # the store comes after that
            return None
        match rest[place]:
            case ir.Accumulate(target=target, value=value) as other:
                is_other = target != one and target.subscripts[:-1] == one.subscripts[:-1] and target.array == one.array
                is_read = any(e.access.array == one.array for e in loads(value))
                return other if is_other and not is_read and self.is_close(target) else None
            case _:
                return None

    def added(self, stmt: ir.Accumulate, copies: list[Lanes]) -> list[str]:
        """Add up for every copy; the stores of the sums."""
        self.emitter.writer.quote(stmt.loc)
        stores: list[str] = []
        for lanes in copies:
            name = self.emitter.names.fresh(f"{stmt.target.array}_part")
            value = self.combined(stmt, self.load(stmt.target, lanes), self.vector(stmt.value, lanes))
            self.emitter.writer.line(f"{name} = {value}")
            stores.append(self.store(stmt.target, name, lanes))
        return stores

    def statement(self, stmt: ir.Stmt, copies: list[Lanes]) -> None:
        """`stmt` for every copy; inner loops are shared by the copies."""
        self.emitter.writer.quote(stmt.loc)
        match stmt:
            case ir.If():
                self.branch(stmt, copies)
            case ir.Loop():
                with self.emitter.patience.blocks(stmt) as part:
                    bounds = ", ".join(self.emitter.expr(e) for e in (part.lower, part.upper, part.step))
                    with self.emitter.writer.block(f"for {stmt.index} in range({bounds}):"):
                        self.emitter.patience.begin_iteration(stmt.index, stmt.index)
                        self.block(stmt.body, copies)
            case ir.Let(name=name, value=value) if name not in self.varying:
                self.emitter.writer.line(f"{name} = {self.emitter.expr(value)}")
            case ir.Accumulate(target=ir.Access(array=array)) if array in self.shared:
                self.emitter.statement(stmt)
            case ir.Assign(target=ir.Access(array=array, subscripts=())) if array not in self.private:
                self.emitter.statement(stmt)
            case ir.Accumulate() if self.is_summed(stmt):
                self.add_to_place(stmt, self.sum_of_lanes(stmt, copies))
            case _:
                for number, lanes in enumerate(copies):
                    self.simple(stmt, lanes, number)

    def simple(self, stmt: ir.Stmt, lanes: Lanes, number: int) -> None:
        match stmt:
            case ir.Let(name=name, value=value):
                self.emitter.writer.line(f"{name}{lanes.suffix} = {self.vector(value, lanes)}")
            case ir.Assign(target=target, value=value):
                self.assign(target, value, lanes)
            case ir.Accumulate():
                self.accumulate(stmt, lanes, number)
            case _:
                raise AssertionError(stmt)

    def assign(self, target: ir.Access, value: ir.Expr, lanes: Lanes) -> None:
        if target.array in self.private:
            name, new = f"{target.array}{lanes.suffix}", self.vector(value, lanes)
            self.emitter.writer.line(f"{name} = {self.where(lanes.cond, new, name)}")
        else:
            self.emitter.writer.line(self.store(target, self.vector(value, lanes), lanes))

    def accumulate(self, stmt: ir.Accumulate, lanes: Lanes, number: int) -> None:
        target, line = stmt.target, self.emitter.writer.line
        value = self.vector(stmt.value, lanes)
        if id(stmt) in self.sums:
            name = self.sums[id(stmt)][number]
            line(f"{name} = {self.where(lanes.mask, self.combined(stmt, name, value), name)}")
        elif target.array in self.private:
            name = f"{target.array}{lanes.suffix}"
            line(f"{name} = {self.where(lanes.cond, self.combined(stmt, name, value), name)}")
        elif self.stride(target) == "indexed":
            line(self.scatter_add(target, value, lanes))
        else:
            line(self.store(target, self.combined(stmt, self.load(target, lanes), value), lanes))

    def is_summed(self, stmt: ir.Accumulate) -> bool:
        """Whether all lanes go to one element, here and now."""
        is_own = stmt.target.array in self.private or id(stmt) in self.sums
        return not is_own and self.stride(stmt.target) == "uniform"

    def sum_of_lanes(self, stmt: ir.Accumulate, copies: list[Lanes]) -> str:
        """The sum (or greatest, least) of `stmt`'s values in all live lanes of all copies."""
        kind = self.emitter.types.arrays[stmt.target.array].element
        neutral = self.splat_constant(neutral_value(stmt.op, kind), kind)
        first, *others = (self.where(c.mask, self.vector(stmt.value, c), neutral) for c in copies)
        for value in others:
            first = self.combined(stmt, first, value)
        return f"{self.simd(f'reduce_{stmt.op}')}({first})"

    def combined(self, stmt: ir.Accumulate, old: str, value: str) -> str:
        if stmt.op == "add":
            return f"{old} + {value}"
        return f"{self.simd(NAMED[Op.MAX if stmt.op == 'max' else Op.MIN])}({old}, {value})"

    def where(self, mask: str | None, value: str, other: str) -> str:
        return value if mask is None else f"{self.simd('select')}({mask}, {value}, {other})"

    def branch(self, stmt: ir.If, copies: list[Lanes]) -> None:
        if not is_varying(stmt.cond, self.varying) and copies[0].cond is None:
            with self.emitter.writer.block(f"if {self.emitter.expr(stmt.cond)}:"):
                self.block(stmt.then, copies)
            if stmt.orelse:
                with self.emitter.writer.block("else:"):
                    self.block(stmt.orelse, copies)
            return
        masks = [self.emitter.names.fresh("mask") for _ in copies]
        for held, lanes in zip(masks, copies, strict=True):
            self.emitter.writer.line(f"{held} = {self.vector(stmt.cond, lanes)}")
        for outcome, body in ((True, stmt.then), (False, stmt.orelse)):
            if body:
                pairs = zip(masks, copies, strict=True)
                self.block(body, [self.narrowed(lanes, m if outcome else f"~{m}") for m, lanes in pairs])


def neutral_value(op: ir.AccumulateOp, kind: ScalarType) -> int | float:
    """What leaves an accumulation of `kind` unchanged."""
    if kind.is_float:
        return {"add": 0.0, "max": float("-inf"), "min": float("inf")}[op]
    return {"add": 0, "max": -(1 << 63), "min": (1 << 63) - 1}[op]


def loop_width(emitter: PatientEmitter, loop: ir.Loop) -> int:
    """Lanes of the loop's vectors: those of the widest floating type it touches."""
    kinds: set[ScalarType] = set()
    for stmt in all_statements(loop.body):
        for expr in stmt_exprs(stmt):
            kinds |= {type_of(e, emitter.types) for e in subexprs(expr)}
        if isinstance(stmt, ir.Assign | ir.Accumulate):
            kinds.add(emitter.types.arrays[stmt.target.array].element)
    if F64 in kinds:
        return host_width("float64")
    return host_width("float32") if F32 in kinds else host_width("int64")
