"""The statements of a thread, or of a warp whose lanes do most of them together, for the GPU and the CPU alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby

from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.cuda.text.spelling import CHECKED, OWN_FUNCTIONS, STATUS, FailureChecks
from loopdiff.backends.cuda.text.warps import LaneSum, WarpText
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, integer, mul
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.walk import accesses, all_statements, written_arrays
from loopdiff.mapping.launches import WarpLoop


@immutable
class Place:
    """Names of a thread's place along each axis of the grid, the fastest first, and of how many threads it has."""

    here: tuple[str, ...]
    counts: tuple[str, ...]

    @property
    def params(self) -> tuple[str, ...]:
        return (*self.here, *self.counts)

    def of(self, axes: int) -> Place:
        """The same for a grid of so many axes."""
        return Place(self.here[:axes], self.counts[:axes])


@immutable
class ListText:
    """The list of updates of `array`: names of the arrays of `places`, counted from one, and of `values`, and of where
    the next update goes. An iteration has `most` updates, or they are counted, and those of each begin at `offsets`.

    `leading`: the axis of the grid that says where along the first axis of the array they go; places are counted from
    after `before_first` elements then. `in_rows`: an update is that of a row, as are places and what comes before them;
    `along`: the last axis of the grid, if its threads list a row together.
    `is_filled`: no part of the list is left as it was.
    """

    array: str
    places: str
    values: str
    slot: str
    most: ir.Expr | None
    offsets: str
    leading: int | None
    before_first: str
    in_rows: bool
    along: str
    is_filled: bool

    def inner_extents(self, rank: int) -> list[str]:
        """Extents of the array, of `rank` axes, that the number of a place is made with, but of the first axis."""
        return [f"{self.array}.shape[{k}]" for k in range(1, rank - self.in_rows)]

    def width(self, rank: int) -> str:
        """How many elements an update goes to."""
        return f"{self.array}.shape[{rank - 1}]" if self.in_rows else "1"


@dataclass(slots=True)
class ThreadEmitter(ScalarEmitter):
    """Writes what one thread does. `on_device`: scalars that are elements of arrays.

    `status` is the array in which threads say what they found wrong, `checks` what its elements mean. `warps` spells
    what lanes of a warp do together: those `spread` are the loops that they share.
    """

    warps: WarpText = field(kw_only=True)
    on_device: frozenset[str] = frozenset()
    checks: FailureChecks = field(default_factory=FailureChecks)
    status: str = field(init=False)
    thread: str = field(init=False)
    all_places: Place = field(init=False)
    all_cells: frozenset[str] = field(init=False)
    summed: str = field(init=False, default="")
    parts: dict[str, str] = field(init=False, default_factory=dict)
    lists: dict[str, ListText] = field(init=False, default_factory=dict)
    lets: frozenset[str] = field(init=False, default=frozenset())
    strides: tuple[str, str] = field(init=False, default=("", ""))
    last: str = field(init=False, default="")
    is_counting: bool = field(init=False, default=False)
    unsigned: dict[str, str] = field(init=False, default_factory=dict)
    spread: dict[str, WarpLoop] = field(init=False, default_factory=dict)
    is_together: bool = field(init=False, default=False)
    totals: frozenset[str] = field(init=False, default=frozenset())
    lane: str = field(init=False)

    def __post_init__(self) -> None:
        ScalarEmitter.__post_init__(self)
        self.names.taken.add(self.ls.name)
        self.status = self.names.fresh("status")
        self.thread = self.names.fresh("thread")
        self.lane = self.names.fresh("lane")
        here, counts = (tuple(self.names.fresh(f"{stem}_{p}") for p in "xyz") for stem in ("thread", "threads"))
        self.all_places = Place(here, counts)
        self.all_cells = self.cells

    # -- expressions and statements --------------------------------------------------------------------------
    def expr(self, expr: ir.Expr) -> str:
        if isinstance(expr, ir.Var) and expr.name in self.on_device - self.lets:
            return f"{expr.name}[0]"
        return ScalarEmitter.expr(self, expr)

    def place(self, access: ir.Access) -> str:
        if access.array in self.all_cells and access.array not in self.cells:
            return f"{access.array}[0]"
        return ScalarEmitter.place(self, access)

    def subscript(self, expr: ir.Expr) -> str:
        """A subscript, which is not negative, without sign: Numba would ask whether it counts from the end."""
        if isinstance(expr, ir.Index) and expr.name in self.unsigned:
            return self.unsigned[expr.name]
        return f"np.uint64({self.expr(expr)})"

    def begin_iteration(self, index: str, body: tuple[ir.Stmt, ...]) -> None:
        """Have an index without sign, too, if it is a subscript: once, as each conversion takes Numba its time."""
        self.unsigned.pop(index, None)
        if any(ir.Index(index) in access.subscripts for s in all_statements(body) for access in accesses(s)):
            self.unsigned[index] = self.names.fresh(f"{index}_u")
            self.writer.line(f"{self.unsigned[index]} = np.uint64({index})")

    def spelled(self, op: Op, kind: ScalarType, texts: list[str]) -> str:
        if kind is INT and op in CHECKED:
            self.imports.add(CHECKED[op])
            return reduce(lambda a, b: f"{CHECKED[op]}({a}, {b}, {self.status})", texts)
        if (op, kind) in OWN_FUNCTIONS:
            name = OWN_FUNCTIONS[op, kind]
            self.imports.add(name)
            return f"{name}({', '.join(texts)})"
        return ScalarEmitter.spelled(self, op, kind, texts)

    def statement(self, stmt: ir.Stmt) -> None:
        match stmt:
            case ir.Require(cond=cond, code=code):
                self.writer.quote(stmt.loc)
                number = self.checks.number(code, stmt.said_in_code)
                with self.writer.block(f"if not {self.expr(cond)}:"):
                    self.writer.line(f"{self.status}[{number}] = 1")
                    self.writer.line(f"{self.status}[{STATUS}] = 1")
                    self.writer.line(f"return {self.summed}".rstrip())
            case ir.Loop() if row := self.row_in(stmt):
                self.listed_row(stmt, *row)
            case ir.Loop(index=index) if index in self.spread:
                self.writer.quote(stmt.loc)
                self.warp_loop(self.spread[index])
            case _:
                ScalarEmitter.statement(self, stmt)

    def store(self, stmt: ir.Let | ir.Assign | ir.Accumulate | ir.Allocate | ir.Jump) -> None:
        match stmt:
            case ir.Let(name=name, value=value) if name in self.on_device - self.lets:
                self.writer.line(f"{name}[0] = {self.expr(value)}")
            case ir.Allocate(array=array, fill=fill) if fill is not None and array not in self.cells:
                self.fill(array, fill)
            case ir.Accumulate(target=target, value=value) if target.array in self.lists:
                self.listed(self.lists[target.array], target, value)
            case _:
                ScalarEmitter.store(self, stmt)

    def listed(self, update: ListText, target: ir.Access, value: ir.Expr) -> None:
        """Add to a list that `value` goes to the element `target`, or to that of the row whose turn it is."""
        slot = update.slot
        if update.in_rows:
            width, number = update.width(len(target.subscripts)), self.expr(target.subscripts[-1])
            self.writer.line(f"{update.values}[np.uint64({slot} * {width} + {number})] = {self.expr(value)}")
            if update.along:
                with self.writer.block(f"if {number} == 0:"):
                    self.note_place(update, target.subscripts[:-1])
                self.next_slot(update)
            return
        if not self.is_counting:
            self.note_place(update, target.subscripts)
            self.writer.line(f"{update.values}[np.uint64({slot})] = {self.expr(value)}")
        self.next_slot(update)

    def row_in(self, loop: ir.Loop) -> tuple[ListText, ir.Access] | None:
        """The list to which a loop adds a row, and where that is."""
        sums = (s.target for s in loop.body if isinstance(s, ir.Accumulate))
        rows = ((self.lists[t.array], t) for t in sums if t.array in self.lists)
        return next((row for row in rows if row[0].in_rows and not row[0].along), None)

    def listed_row(self, loop: ir.Loop, update: ListText, target: ir.Access) -> None:
        """The loop over the elements of a row, with one place."""
        if not self.is_counting:
            self.note_place(update, target.subscripts[:-1])
            ScalarEmitter.statement(self, loop)
        self.next_slot(update)

    def note_place(self, update: ListText, subscripts: Sequence[ir.Expr]) -> None:
        place, *rest = (f"({self.expr(s)})" for s in subscripts)
        for axis, subscript in enumerate(rest, 1):
            place = f"({place} * {update.array}.shape[{axis}] + {subscript})"
        first = f" - {update.before_first}" if update.before_first else ""
        self.writer.line(f"{update.places}[np.uint64({update.slot})] = {place}{first} + 1")

    def next_slot(self, update: ListText) -> None:
        self.writer.line(f"{update.slot} += {'1' if update.offsets else self.strides[bool(update.along)]}")

    def fill(self, array: str, fill: ir.Expr) -> None:
        """Every element of the array, or of the thread's own part of it."""
        kind = self.types.arrays[array]
        rank = kind.rank - (array in self.parts)
        indices = [self.names.fresh(f"axis_{k}") for k in range(rank)]
        subscripts = [*indices, *([self.thread] if array in self.parts else [])]

        def write(number: int) -> None:
            if number == rank:
                self.writer.line(f"{array}[{', '.join(subscripts) or '()'}] = {self.expr(fill)}")
                return
            with self.writer.block(f"for {indices[number]} in range({array}.shape[{number}]):"):
                write(number + 1)

        write(0)

    def call(self, stmt: ir.Call) -> None:
        raise AssertionError(stmt)

    # -- lanes of a warp -------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...]) -> None:
        """Statements; those of a warp that write memory are for one of its lanes, while the others wait."""
        for is_single, group in groupby(body, self.is_for_one):
            with self.on_first_lane() if is_single else nullcontext():
                ScalarEmitter.block(self, tuple(group))

    def is_for_one(self, stmt: ir.Stmt) -> bool:
        """Whether one lane does it for all."""
        if not self.is_together:
            return False
        match stmt:
            case ir.Assign(target=target) | ir.Accumulate(target=target):
                return target.array not in self.cells or target.array in self.totals
            case ir.Let(name=name):
                return name in self.on_device - self.lets
            case ir.Allocate(array=array):
                return array not in self.cells
            case _:
                return False

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What lanes write inside is seen by all of them after, and not before."""
        self.warps.wait(self.writer)
        yield
        self.warps.wait(self.writer)

    @contextmanager
    def on_first_lane(self) -> Iterator[None]:
        with self.waiting(), self.warps.first(self.writer, self.lane):
            yield

    def warp_loop(self, spread: WarpLoop) -> None:
        """A loop that lanes share, and what they have summed together."""
        line, lane = self.writer.line, self.lane
        sums = [LaneSum(n, op, self.types.arrays[n].element, self.names.fresh(f"{n}_held")) for n, op in spread.sums]
        before = {n: self.names.fresh(f"{n}_before") for n, _ in spread.sums}
        for name in before:
            line(f"{before[name]} = {name}")
        waiting = self.waiting() if written_arrays(spread.loop.body) - self.cells else nullcontext()
        with waiting, self.warps.lanes(self.writer, lane, sums):
            for part in sums:
                line(f"{part.cell} = {spell_constant(neutral_value(part.op, part.kind), part.kind)}")
            self.is_together = False
            self.loop(with_lanes(spread.loop, lane))
            self.is_together = True
        for part in sums:
            self.bring_together(part, before[part.cell])

    def bring_together(self, part: LaneSum, before: str) -> None:
        """What lanes have summed, with what was there `before`: in all of them, or in one if threads are summed yet."""
        name, (total, function) = part.cell, self.warps.total(part)
        self.writer.line(f"{name} = {total}")
        new = f"{before} + {name}" if part.op == "add" else f"{part.op}2({before}, {name})"
        self.imports |= {function} if part.op == "add" else {function, f"{part.op}2"}
        text = self.warps.of_first(self.lane, new, before) if name in self.totals else new
        self.writer.line(f"{name} = {text}")


def with_lanes(loop: ir.Loop, lane: str) -> ir.Loop:
    """The iterations of one lane."""
    first = add(loop.lower, mul(ir.Index(lane), loop.step))
    return replace(loop, lower=first, step=mul(integer(WARP), loop.step))
