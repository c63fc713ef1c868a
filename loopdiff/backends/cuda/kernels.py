"""What one thread of a kernel does, as a readable Python function for Numba, the same for the GPU and the CPU.

A thread is given its place in the grid, how many threads there are along each axis, and what the kernel is given. It
takes every iteration that is its own: as many threads apart as there are. It returns what it has summed.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import reduce

from loopdiff.backends.cpu.chunks import free_names
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.spelling import CHECKED, OWN_FUNCTIONS, STATUS, Checks
from loopdiff.backends.writer import Writer
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    AccumulateOp,
    Allocate,
    Assign,
    Dim,
    Expr,
    Index,
    Jump,
    Let,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.nodes import Call as CallStmt
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ArrayType, ScalarType
from loopdiff.ir.walk import map_accesses, map_body, map_expr, map_stmt_exprs
from loopdiff.transform.grid import LEAST_COPIES, Grid, step_of
from loopdiff.transform.launch_plan import Launch, lets_of
from loopdiff.transform.update_lists import counting_body, most_updates

# Threads of a block along each axis, the fastest first, by how many axes a grid has.
BLOCKS = {0: (1, 1, 1), 1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 8, 1)}
# ... and of kernels whose threads sum into copies of arrays, of which there are few.
COPYING = (LEAST_COPIES, 1, 1)


@dataclass(frozen=True, slots=True)
class AxisText:
    """An axis of a grid in the generated text: names of where it begins and of how many iterations it has."""

    index: str
    lower: str
    count: str
    step: int


@dataclass(frozen=True, slots=True)
class Place:
    """Names of a thread's place along each axis of the grid, the fastest first, and of how many threads it has."""

    here: tuple[str, ...]
    counts: tuple[str, ...]

    @property
    def params(self) -> tuple[str, ...]:
        return (*self.here, *self.counts)


@dataclass(frozen=True, slots=True)
class ListText:
    """The list of updates of `array`: names of the arrays of `places`, counted from one, and of `values`, and of where
    the next update goes. An iteration has `most` updates, or they are counted, and those of each begin at `offsets`."""

    array: str
    places: str
    values: str
    slot: str
    most: Expr | None
    offsets: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A written kernel. `text` is the function of a thread, `params` what it is given after its place.

    `axes` are from the outside in. `own`: arrays with one part for each thread, by the array they stand for.
    """

    name: str
    launch: Launch
    text: str
    params: tuple[str, ...]
    axes: tuple[AxisText, ...]
    sums: tuple[tuple[str, AccumulateOp, ScalarType], ...]
    own: dict[str, str]
    lists: tuple[ListText, ...]
    place: Place

    @property
    def block(self) -> tuple[int, int, int]:
        grid = self.launch.grid
        return COPYING if grid is not None and grid.copies else BLOCKS[len(self.axes)]


@dataclass(slots=True)
class KernelEmitter(ScalarEmitter):
    """Writes the functions of threads. `on_device`: scalars that are elements of arrays.

    `status` is the array in which threads say what they found wrong, `checks` what its elements mean.
    """

    on_device: frozenset[str] = frozenset()
    checks: Checks = field(default_factory=Checks)
    status: str = field(init=False)
    thread: str = field(init=False)
    all_places: Place = field(init=False)
    all_cells: frozenset[str] = field(init=False)
    summed: str = field(init=False, default="")
    parts: dict[str, str] = field(init=False, default_factory=dict)
    lists: dict[str, ListText] = field(init=False, default_factory=dict)
    lets: frozenset[str] = field(init=False, default=frozenset())
    stride: str = field(init=False, default="")
    is_counting: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        ScalarEmitter.__post_init__(self)
        self.names.taken.add(self.ls.name)
        self.status = self.names.fresh("status")
        self.thread = self.names.fresh("thread")
        here, counts = (tuple(self.names.fresh(f"{stem}_{p}") for p in "xyz") for stem in ("thread", "threads"))
        self.all_places = Place(here, counts)
        self.all_cells = self.cells

    # -- expressions and statements --------------------------------------------------------------------------
    def expr(self, expr: Expr) -> str:
        if isinstance(expr, Var) and expr.name in self.on_device - self.lets:
            return f"{expr.name}[0]"
        return ScalarEmitter.expr(self, expr)

    def place(self, access: Access) -> str:
        if access.array in self.all_cells and access.array not in self.cells:
            return f"{access.array}[0]"
        return ScalarEmitter.place(self, access)

    def subscript(self, expr: Expr) -> str:
        """A subscript, which is not negative, without sign: Numba would ask whether it counts from the end."""
        return f"np.uint64({self.expr(expr)})"

    def spelled(self, op: Op, kind: ScalarType, texts: list[str]) -> str:
        if kind is INT and op in CHECKED:
            self.imports.add(CHECKED[op])
            return reduce(lambda a, b: f"{CHECKED[op]}({a}, {b}, {self.status})", texts)
        if (op, kind) in OWN_FUNCTIONS:
            name = OWN_FUNCTIONS[op, kind]
            self.imports.add(name)
            return f"{name}({', '.join(texts)})"
        return ScalarEmitter.spelled(self, op, kind, texts)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Require(cond=cond, code=code, message=message):
                self.writer.quote(stmt.loc)
                number = self.checks.number(code, message)
                with self.writer.block(f"if not {self.expr(cond)}:"):
                    self.writer.line(f"{self.status}[{number}] = 1")
                    self.writer.line(f"{self.status}[{STATUS}] = 1")
                    self.writer.line(f"return {self.summed}".rstrip())
            case _:
                ScalarEmitter.statement(self, stmt)

    def store(self, stmt: Let | Assign | Accumulate | Allocate | Jump) -> None:
        match stmt:
            case Let(name=name, value=value) if name in self.on_device - self.lets:
                self.writer.line(f"{name}[0] = {self.expr(value)}")
            case Allocate(array=array, fill=fill) if fill is not None and array not in self.cells:
                self.fill(array, fill)
            case Accumulate(target=target, value=value) if target.array in self.lists:
                self.listed(self.lists[target.array], target, value)
            case _:
                ScalarEmitter.store(self, stmt)

    def listed(self, update: ListText, target: Access, value: Expr) -> None:
        """Add to a list that `value` goes to the element `target`."""
        slot = update.slot
        if not self.is_counting:
            place, *rest = (f"({self.expr(s)})" for s in target.subscripts)
            for axis, subscript in enumerate(rest, 1):
                place = f"({place} * {target.array}.shape[{axis}] + {subscript})"
            self.writer.line(f"{update.places}[np.uint64({slot})] = {place} + 1")
            self.writer.line(f"{update.values}[np.uint64({slot})] = {self.expr(value)}")
        self.writer.line(f"{slot} += {'1' if update.offsets else self.stride}")

    def fill(self, array: str, fill: Expr) -> None:
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

    def call(self, stmt: CallStmt) -> None:
        raise AssertionError(stmt)

    # -- kernels ---------------------------------------------------------------------------------------------
    def kernel(self, launch: Launch, number: int, *, is_guarded: bool) -> Kernel:
        """The function of a thread of the kernel with that `number`; a guarded one does nothing if something is wrong
        already."""
        grid = launch.grid
        axes = () if grid is None else self.axis_texts(grid)
        lists = () if grid is None else tuple(self.list_text(n, launch.body) for n in grid.lists)
        return self.written(launch, number, axes, lists, is_guarded=is_guarded)

    def counting_kernel(self, kernel: Kernel, number: int, *, is_guarded: bool) -> Kernel:
        """The kernel that counts the updates for lists of `kernel` which nobody knows the length of before."""
        launch = kernel.launch
        assert launch.grid is not None
        lists = tuple(u for u in kernel.lists if u.offsets)
        names = frozenset(u.array for u in lists)
        body = counting_body(launch.body, names, frozenset(launch.cells))
        assert body is not None
        grid = Grid(launch.grid.axes, lists=tuple(sorted(names)))
        counting = Launch(body, launch.cells, grid, lets=lets_of(body) - self.on_device | launch.lets)
        self.is_counting = True
        found = self.written(counting, number, kernel.axes, lists, is_guarded=is_guarded)
        self.is_counting = False
        return found

    def written(
        self, launch: Launch, number: int, axes: tuple[AxisText, ...], lists: tuple[ListText, ...], *, is_guarded: bool
    ) -> Kernel:  # fmt: skip
        """The kernel of a launch whose axes and lists have these names."""
        grid = launch.grid
        self.writer = Writer()
        sums = () if grid is None else grid.sums
        own = () if grid is None else (*grid.arrays, *grid.copies)
        private, self.lets = {*launch.cells, *(n for n, _ in sums)}, launch.lets
        self.cells = self.all_cells - (self.on_device - private)
        self.summed = ", ".join(n for n, _ in sums)
        self.lists = {u.array: u for u in lists}
        self.stride = " * ".join(a.count for a in axes)
        body, parts = self.with_parts(launch.body, own)
        self.names.taken.add(self.ls.name)
        name = self.names.fresh(f"{self.ls.name}_{number}")
        self.parts = {new: old for old, new in parts.items()}
        kinds = {n: self.types.arrays[n].element for n, _ in sums}
        with self.writer.block(f"def {name}():"):
            for cell, op in sums:
                self.writer.line(f"{cell} = {spell_constant(neutral_value(op, kinds[cell]), kinds[cell])}")
            with self.writer.block(f"if {self.status}[{STATUS}] == 0:") if is_guarded else nullcontext():
                self.iterations(axes, body, launch.cells)
            if sums:
                self.writer.line(f"return {self.summed}")
        written = {n for n, _ in sums}
        given = free_names("\n".join(self.writer.lines)) & self.names.taken
        place = Place(self.all_places.here[: len(axes)], self.all_places.counts[: len(axes)])
        only_inside = lets_of(launch.body) - (self.on_device - self.lets)
        assert not given & only_inside, given & only_inside
        params = tuple(sorted(given - {*place.params, name, self.ls.name, *written}))
        self.writer.lines[0] = f"def {name}({', '.join((*place.params, *params))}):"
        self.cells = self.all_cells
        text = "\n".join(self.writer.lines)
        return Kernel(name, launch, text, params, axes, tuple((n, op, kinds[n]) for n, op in sums), parts, lists, place)

    def list_text(self, array: str, body: tuple[Stmt, ...]) -> ListText:
        """Names for the list of what `body` adds to an array."""
        kind = self.types.arrays[array]
        places, values, slot = (self.names.fresh(n) for n in (f"{array}_places", f"{array}_values", "slot"))
        self.declare(array, places, ArrayType("int32", 1))
        self.declare(array, values, ArrayType(kind.dtype, 1))
        most, offsets = most_updates(body, array), ""
        if most is None:
            offsets = self.names.fresh(f"{array}_offsets")
            self.declare(array, offsets, ArrayType("int64", 1))
        return ListText(array, places, values, slot, most, offsets)

    def declare(self, array: str, new: str, kind: ArrayType) -> None:
        """Make the array `new` known, which has something to do with `array`."""
        self.decls[new] = replace(self.decls[array], name=new, type=kind, extents=None)
        self.types = replace(self.types, arrays={**self.types.arrays, new: kind})

    def axis_texts(self, grid: Grid) -> tuple[AxisText, ...]:
        return tuple(
            AxisText(
                a.loop.index, self.names.fresh(f"{a.loop.index}_lower"), self.names.fresh(f"{a.loop.index}_count"),
                step_of(a.loop),
            )
            for a in grid.axes
        )  # fmt: skip

    def iterations(self, axes: tuple[AxisText, ...], body: tuple[Stmt, ...], cells: tuple[str, ...]) -> None:
        """The iterations of a thread, axis by axis from the outside in."""
        if self.parts:
            self.writer.line(f"{self.thread} = {thread_number(self.all_places, len(axes))}")
        self.axis(axes, body, cells, "")

    def axis(self, axes: tuple[AxisText, ...], body: tuple[Stmt, ...], cells: tuple[str, ...], outer: str) -> None:
        """The iterations of the innermost `axes`; `outer` is the number of that of the others."""
        if not axes:
            self.iteration(body, cells, outer)
            return
        first, here, count = axes[0], self.all_places.here[len(axes) - 1], self.all_places.counts[len(axes) - 1]
        turn = self.names.fresh("turn")
        turns = f"({first.count} - {here} + {count} - 1) // {count}"
        with self.writer.block(f"for {turn} in range({turns}):"):
            number = f"({here} + {turn} * {count})"
            scaled = number if first.step == 1 else f"{number} * ({first.step})"
            self.writer.line(f"{first.index} = {first.lower} + {scaled}")
            self.axis(axes[1:], body, cells, f"({outer} * {first.count} + {number})" if outer else number)

    def iteration(self, body: tuple[Stmt, ...], cells: tuple[str, ...], number: str) -> None:
        """One iteration, which is the one of that `number`."""
        for cell in cells:
            self.writer.line(f"{cell} = {spell_constant(0, self.types.arrays[cell].element)}")
        for update in self.lists.values():
            known = f"{update.offsets}[np.uint64({number})]" if update.offsets else number
            self.writer.line(f"{update.slot} = {'0' if self.is_counting else known}")
        self.block(body)
        if self.is_counting:
            for update in self.lists.values():
                self.writer.line(f"{update.offsets}[np.uint64({number})] = {update.slot}")

    def with_parts(self, body: tuple[Stmt, ...], own: tuple[str, ...]) -> tuple[tuple[Stmt, ...], dict[str, str]]:
        """`body` with accesses to each thread's part of arrays, and the names of the arrays of all parts."""
        if not own:
            return body, {}
        parts = {name: self.names.fresh(f"{name}_parts") for name in own}
        for old, new in parts.items():
            kind = self.types.arrays[old]
            self.declare(old, new, ArrayType(kind.dtype, kind.rank + 1))

        def moved(access: Access) -> Access:
            if access.array not in parts:
                return access
            return replace(access, array=parts[access.array], subscripts=(*access.subscripts, Index(self.thread)))

        def renamed(expr: Expr) -> Expr:
            return replace(expr, array=parts[expr.array]) if isinstance(expr, Dim) and expr.array in parts else expr

        def allocated(stmt: Stmt) -> tuple[Stmt, ...]:
            match stmt:
                case Allocate(array=array) if array in parts:
                    return (replace(stmt, array=parts[array]),)
                case _:
                    return (stmt,)

        new = (map_accesses(moved, s) for s in body)
        sized = (map_stmt_exprs(lambda e: map_expr(renamed, e), s) for s in new)
        return map_body(tuple(sized), allocated), parts


def thread_number(place: Place, axes: int) -> str:
    """The number of a thread among all of the grid."""
    text = place.here[axes - 1]
    for here, count in reversed(list(zip(place.here[: axes - 1], place.counts, strict=False))):
        text = f"({text}) * {count} + {here}"
    return text
