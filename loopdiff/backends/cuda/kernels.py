"""What one thread of a kernel does, as a readable Python function for Numba, the same for the GPU and the CPU.

A thread is given its place in the grid, how many threads there are along each axis, and what the kernel is given. It
takes every iteration that is its own: as many threads apart as there are. It returns what it has summed.
"""

from __future__ import annotations

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
from loopdiff.transform.grid import Grid, step_of
from loopdiff.transform.launch_plan import Launch, lets_of

# Threads of a block along each axis, the fastest first, by how many axes a grid has.
BLOCKS = {0: (1, 1, 1), 1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 8, 1)}
# ... and of kernels whose threads sum into copies of arrays, of which there are few.
COPYING = (32, 1, 1)


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
        if isinstance(expr, Var) and expr.name in self.on_device:
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
            case Let(name=name, value=value) if name in self.on_device:
                self.writer.line(f"{name}[0] = {self.expr(value)}")
            case Allocate(array=array, fill=fill) if fill is not None and array not in self.cells:
                self.fill(array, fill)
            case _:
                ScalarEmitter.store(self, stmt)

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
        self.writer = Writer()
        sums = () if grid is None else grid.sums
        own = () if grid is None else (*grid.arrays, *grid.copies)
        private = {*launch.cells, *(n for n, _ in sums)}
        self.cells = self.all_cells - (self.on_device - private)
        self.summed = ", ".join(n for n, _ in sums)
        body, parts = self.with_parts(launch.body, own)
        axes = () if grid is None else self.axis_texts(grid)
        self.names.taken.add(self.ls.name)
        name = self.names.fresh(f"{self.ls.name}_{number}")
        self.parts = {new: old for old, new in parts.items()}
        kinds = {n: self.types.arrays[n].element for n, _ in sums}
        with self.writer.block(f"def {name}():"):
            for cell, op in sums:
                self.writer.line(f"{cell} = {spell_constant(neutral_value(op, kinds[cell]), kinds[cell])}")
            if is_guarded:
                with self.writer.block(f"if {self.status}[{STATUS}] == 0:"):
                    self.iterations(list(axes), body, launch.cells, bool(parts))
            else:
                self.iterations(list(axes), body, launch.cells, bool(parts))
            if sums:
                self.writer.line(f"return {self.summed}")
        written = {n for n, _ in sums}
        given = free_names("\n".join(self.writer.lines)) & self.names.taken
        place = Place(self.all_places.here[: len(axes)], self.all_places.counts[: len(axes)])
        assert not given & (lets_of(launch.body) - self.on_device)  # nothing is used that is only made inside
        params = tuple(sorted(given - {*place.params, name, self.ls.name, *written}))
        text = "\n".join(self.writer.lines)
        header = ", ".join((*place.params, *params))
        text = text.replace(f"def {name}():", f"def {name}({header}):", 1)
        self.cells = self.all_cells
        return Kernel(name, launch, text, params, axes, tuple((n, op, kinds[n]) for n, op in sums), parts, place)

    def axis_texts(self, grid: Grid) -> tuple[AxisText, ...]:
        return tuple(
            AxisText(
                a.loop.index, self.names.fresh(f"{a.loop.index}_lower"), self.names.fresh(f"{a.loop.index}_count"),
                step_of(a.loop),
            )
            for a in grid.axes
        )  # fmt: skip

    def iterations(self, axes: list[AxisText], body: tuple[Stmt, ...], cells: tuple[str, ...], has_own: bool) -> None:
        """The iterations of a thread, axis by axis from the outside in."""
        if has_own:
            self.writer.line(f"{self.thread} = {thread_number(self.all_places, len(axes))}")
        self.axis(axes, body, cells)

    def axis(self, axes: list[AxisText], body: tuple[Stmt, ...], cells: tuple[str, ...]) -> None:
        if not axes:
            for cell in cells:
                self.writer.line(f"{cell} = {spell_constant(0, self.types.arrays[cell].element)}")
            self.block(body)
            return
        first, here, count = axes[0], self.all_places.here[len(axes) - 1], self.all_places.counts[len(axes) - 1]
        turn = self.names.fresh("turn")
        turns = f"({first.count} - {here} + {count} - 1) // {count}"
        with self.writer.block(f"for {turn} in range({turns}):"):
            number = f"({here} + {turn} * {count})"
            scaled = number if first.step == 1 else f"{number} * ({first.step})"
            self.writer.line(f"{first.index} = {first.lower} + {scaled}")
            self.axis(axes[1:], body, cells)

    def with_parts(self, body: tuple[Stmt, ...], own: tuple[str, ...]) -> tuple[tuple[Stmt, ...], dict[str, str]]:
        """`body` with accesses to each thread's part of arrays, and the names of the arrays of all parts."""
        if not own:
            return body, {}
        parts = {name: self.names.fresh(f"{name}_parts") for name in own}
        for old, new in parts.items():
            decl = self.decls[old]
            assert decl.type is not None
            kind = ArrayType(decl.type.dtype, decl.type.rank + 1)
            self.decls[new] = replace(decl, name=new, type=kind, extents=None)
            self.types = replace(self.types, arrays={**self.types.arrays, new: kind})

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
