"""The host's side of a launch plan, as a readable Python function for Numba: it makes arrays and launches kernels.

The text is the same for the GPU and for its emulation but for a few lines, which `Target` spells.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import prod
from typing import Generic, Protocol, TypeVar

from loopdiff.analysis.polyhedra import trip_count
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.cuda.failures import FAILURES, guarded
from loopdiff.backends.cuda.kernels import Kernel, KernelEmitter
from loopdiff.backends.cuda.spelling import STATUS
from loopdiff.backends.cuda.threads import ListText
from loopdiff.backends.cuda.warps import WarpText
from loopdiff.backends.writer import Writer
from loopdiff.ir.build import integer
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    AccumulateOp,
    Allocate,
    Assign,
    Dim,
    Expr,
    Index,
    Load,
    Loop,
    Require,
    ScalarResult,
    Stmt,
    Var,
)
from loopdiff.ir.types import INT, ArrayType, ScalarType
from loopdiff.ir.walk import read_arrays, returned_arrays, stmt_exprs, written_arrays
from loopdiff.transform.grid import AXES, COPIED, MOST_COPIES, Axis, Grid
from loopdiff.transform.launch_plan import (
    HostIf,
    HostLoop,
    Launch,
    LaunchPlan,
    OnHost,
    Step,
    all_steps,
    depends_on_device,
)

MOST_BLOCKS = 1024  # whose threads sum, or have arrays of their own
MOST_PLACES = (2**31 - 1, 65535, 65535)  # along each axis, the fastest first
OWNED = 1 << 27  # elements of all arrays that threads have for themselves, unless one block has more
LISTED = 1 << 24  # updates that are listed at most before they are sorted and added up, if there is a choice
BUSY = 1 << 14  # threads that a GPU needs at least to be busy
PLACES = 2**31 - 2  # elements of an array that lists can name
# Lines that stand for what is known when everything is written: which checks and which arrays there are.
RAISE_FOUND, RELEASE_ALL = "raise_found", "release_all"


class Target(Protocol):
    """What differs between the GPU and its emulation in the host's text: lines that allocate an array, fill it (None
    where that takes a kernel), give it back, launch a kernel, bring together what its blocks summed, add up a list of
    updates, and turn numbers of updates into where those of each iteration begin."""

    @property
    def warps(self) -> WarpText: ...
    def allocate(self, name: str, shape: str, dtype: str) -> list[str]: ...
    def fill(self, name: str, value: str) -> list[str] | None: ...
    def release(self, name: str) -> list[str]: ...
    def peek(self, place: str, array: str, subscripts: list[str]) -> str: ...
    def launch(self, kernel: Kernel, blocks: list[str], params: Iterable[str], parts: list[str]) -> list[str]: ...
    def finish(self, op: AccumulateOp, kind: ScalarType, parts: str, target: str, neutral: str) -> list[str]: ...
    def add_listed(self, update: ListText, kind: ArrayType) -> list[str]: ...
    def scan(self, offsets: str) -> list[str]: ...


AnyTarget = TypeVar("AnyTarget", bound=Target)


@dataclass(slots=True)
class HostEmitter(ScalarEmitter, Generic[AnyTarget]):
    """Writes the function that runs `plan`: its `text`, and the `kernels` that it launches, in order."""

    plan: LaunchPlan = field(kw_only=True)
    target: AnyTarget = field(kw_only=True)
    text: str = field(init=False)
    kernels: list[Kernel] = field(default_factory=list)
    emitter: KernelEmitter = field(init=False)
    guarded: set[int] = field(init=False)
    all_cells: frozenset[str] = field(init=False)
    owned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        ScalarEmitter.__post_init__(self)
        self.emitter = KernelEmitter(self.ls, warps=self.target.warps, on_device=self.plan.on_device)
        self.names = self.emitter.names
        self.guarded = guarded(self.plan.steps)
        self.all_cells = self.cells
        self.cells = self.cells - self.plan.on_device
        self.text = self.function()

    # -- values ----------------------------------------------------------------------------------------------
    def expr(self, expr: Expr) -> str:
        match expr:
            case Var(name=name) if name in self.plan.on_device:
                return self.target.peek(f"{name}[0]", name, ["0"])
            case Load(access=access) if access.array in self.plan.on_device:
                return self.target.peek(f"{access.array}[0]", access.array, ["0"])
            case _:
                return ScalarEmitter.expr(self, expr)

    def load(self, access: Access) -> str:
        if access.array in self.cells:
            return access.array
        place = ScalarEmitter.place(self, access)
        text = self.target.peek(place, access.array, [self.expr(s) for s in access.subscripts])
        kind = self.types.arrays[access.array]
        return text if kind.dtype in ("float64", "float32", "int64", "bool") else f"np.int64({text})"

    # -- steps -----------------------------------------------------------------------------------------------
    def steps(self, steps: tuple[Step, ...]) -> None:
        for step in steps:
            match step:
                case OnHost(stmt=stmt):
                    self.look_first(stmt_exprs(stmt))
                    self.statement(stmt)
                case Launch():
                    self.launch(step)
                case HostLoop():
                    self.host_loop(step)
                case HostIf(stmt=stmt, then=then, orelse=orelse):
                    self.look_first((stmt.cond,))
                    with self.writer.block(f"if {self.expr(stmt.cond)}:"):
                        self.steps(then)
                    if orelse:
                        with self.writer.block("else:"):
                            self.steps(orelse)

    def look_first(self, exprs: Iterable[Expr]) -> None:
        """Raise what threads found wrong before the host decides anything by what they made: it may be anything then,
        and never change."""
        if any(depends_on_device(e, self.all_cells, self.plan.on_device) for e in exprs):
            self.writer.line(RAISE_FOUND)

    def host_loop(self, step: HostLoop) -> None:
        loop = step.loop
        self.writer.quote(loop.loc)
        self.look_first((loop.lower, loop.upper, loop.step))
        bounds = ", ".join(map(self.expr, (loop.lower, loop.upper, loop.step)))
        with self.writer.block(f"for {loop.index} in range({bounds}):"):
            self.steps(step.steps)

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Require(cond=cond):
                self.refuse_unless(self.expr(cond), f"{stmt.code}: {stmt.message}", RAISE_FOUND)
            case Allocate(array=array, fill=fill) if array not in self.all_cells:
                if fill is not None:
                    self.fill(array, fill)
            case _:
                ScalarEmitter.statement(self, stmt)

    def fill(self, array: str, value: Expr) -> None:
        lines = self.target.fill(array, self.expr(value))
        if lines is not None:
            self.lines(lines)
            return
        subscripts, indices = self.fresh_subscripts(array)
        self.elementwise(array, indices, (Assign(Access(array, subscripts), value),))

    def fresh_subscripts(self, array: str) -> tuple[tuple[Index, ...], list[str]]:
        indices = [self.names.fresh("axis") for _ in range(self.types.arrays[array].rank)]
        return tuple(map(Index, indices)), indices

    def elementwise(self, array: str, indices: list[str], body: tuple[Stmt, ...]) -> None:
        """A kernel with one thread for each element of an array."""
        for axis in range(len(indices) - 1, AXES - 1, -1):
            body = (counted(indices[axis], Dim(array, axis), body),)
        axes = tuple(counted(i, Dim(array, k), ()) for k, i in enumerate(indices[:AXES]))
        grid = Grid(tuple(Axis(a, a.lower, a.upper) for a in axes)) if axes else None
        self.launch(Launch(body, (), grid))

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.writer.line(line)

    # -- kernels ---------------------------------------------------------------------------------------------
    def launch(self, launch: Launch) -> None:
        stmt = launch.body[0]
        self.writer.quote(stmt.loc)
        kernel = self.emitter.kernel(launch, len(self.kernels) + 1, is_guarded=id(launch) in self.guarded)
        self.kernels.append(kernel)
        if launch.grid is None:
            self.lines(self.target.launch(kernel, ["1", "1", "1"], kernel.params, []))
            return
        self.look_first(e for a in launch.grid.axes for e in (a.lower, a.upper))
        for axis, text in zip(launch.grid.axes, kernel.axes, strict=True):
            self.writer.line(f"{text.lower} = {self.expr(axis.lower)}")
            self.writer.line(f"{text.count} = {self.expr(trip_count(axis.span))}")
        counts = [a.count for a in kernel.axes]
        with self.writer.block(f"if {' and '.join(f'{c} > 0' for c in counts)}:"):
            self.refuse_large(kernel)
            known = [u for u in kernel.lists if u.most is not None]
            if known:
                self.launch_pieces(kernel, counts, known)
            else:
                self.launch_grid(kernel, counts)

    def refuse_large(self, kernel: Kernel) -> None:
        """Raise for arrays whose elements lists cannot name."""
        for update in kernel.lists:
            array = update.array
            self.refuse_unless(
                f"{' * '.join(f'{array}.shape[{k}]' for k in range(self.types.arrays[array].rank))} <= {PLACES}",
                f"LD607: `{array}` has too many elements to be summed into at places that the data choose",
            )

    def launch_pieces(self, kernel: Kernel, counts: list[str], known: list[ListText]) -> None:
        """Launch a kernel for so many iterations of its outermost loop at a time that lists do not become long."""
        outer = kernel.axes[0]
        lower, count, updates, piece, first = (
            self.names.fresh(n) for n in (f"{outer.index}_begin", f"{outer.index}_all", "updates", "piece", "first")
        )  # fmt: skip
        self.writer.line(f"{lower} = {outer.lower}")
        self.writer.line(f"{count} = {outer.count}")
        self.writer.line(f"{updates} = {' + '.join(f'({self.expr(u.most)})' for u in known if u.most is not None)}")
        each = " * ".join([updates, *counts[1:]])
        self.writer.line(f"{piece} = max(1, {LISTED} // max(1, {each}))")
        with self.writer.block(f"for {first} in range(0, {count}, {piece}):"):
            self.writer.line(f"{outer.lower} = {lower} + {first}{'' if outer.step == 1 else f' * ({outer.step})'}")
            self.writer.line(f"{outer.count} = min({piece}, {count} - {first})")
            self.launch_grid(kernel, counts)

    def launch_grid(self, kernel: Kernel, counts: list[str]) -> None:
        grid = kernel.launch.grid
        assert grid is not None
        blocks = [self.names.fresh(f"blocks_{p}") for p in ("x", "y", "z")[: len(counts)]]
        each = self.iterations_of_blocks(kernel, counts)
        limit = self.most_blocks(kernel)
        for place, (name, count) in enumerate(zip(blocks, reversed(counts), strict=True)):
            most = str(MOST_PLACES[place]) if limit is None else limit
            if limit is not None and place:
                most = f"max(1, {limit} // ({' * '.join(blocks[:place])}))"
            size = each[place]
            wanted = count if size == "1" else f"({count} + {size} - 1) // {size}"
            self.writer.line(f"{name} = min({wanted}, {most})")
        number = " * ".join(blocks)
        parts = [self.names.fresh(f"{n}_sums") for n, _, _ in kernel.sums]
        for part, (_, _, kind) in zip(parts, kernel.sums, strict=True):
            self.lines(self.target.allocate(part, f"({number},)", kind.value))
        self.own_parts(kernel, f"{number} * {prod(kernel.block)}")
        self.make_lists(kernel, blocks, " * ".join(counts))
        self.lines(self.target.launch(kernel, [*blocks, "1", "1"][:3], kernel.params, parts))
        for part, (name, op, kind) in zip(parts, kernel.sums, strict=True):
            neutral = spell_constant(neutral_value(op, kind), kind)
            self.lines(self.target.finish(op, kind, part, name, neutral))
        for array in grid.copies:
            self.add_copies(array, kernel.own[array])
        for update in kernel.lists:
            self.lines(self.target.add_listed(update, self.types.arrays[update.array]))
        lists = [n for u in kernel.lists for n in (u.places, u.values, u.offsets) if n]
        for name in (*parts, *kernel.own.values(), *lists):
            self.lines(self.target.release(name))

    def iterations_of_blocks(self, kernel: Kernel, counts: list[str]) -> list[str]:
        """How many iterations a block takes along each axis, the fastest first: tiles, if there are many."""
        tile = tuple(reversed(kernel.launch.tile))
        if not tile:
            return [str(size) for size in kernel.each]
        is_large, threads = self.names.fresh("is_large"), WARP if kernel.is_warped else 1
        enough = [f"{' * '.join(counts)} >= {prod(tile) * BUSY // threads}"]
        each = zip(reversed(counts), kernel.each, tile, strict=False)
        enough += [f"{count} >= {size * wide}" for count, size, wide in each if wide > 1]
        self.writer.line(f"{is_large} = {' and '.join(enough)}")
        found: list[str] = []
        for place, (size, wide) in enumerate(zip(kernel.each, tile, strict=False)):
            found.append(str(size))
            if wide > 1:
                found[place] = self.names.fresh("iterations")
                self.writer.line(f"{found[place]} = {size * wide} if {is_large} else {size}")
        return found

    def make_lists(self, kernel: Kernel, blocks: list[str], iterations: str) -> None:
        """Lists with room for all updates of a kernel, none of which is there yet."""
        counted = [u for u in kernel.lists if u.most is None]
        for update in counted:
            self.lines(self.target.allocate(update.offsets, f"({iterations} + 1,)", "int64"))
            self.clear(update.offsets, INT)
        if counted:
            is_guarded = id(kernel.launch) in self.guarded
            counting = self.emitter.counting_kernel(kernel, len(self.kernels) + 1, is_guarded=is_guarded)
            self.kernels.append(counting)
            self.lines(self.target.launch(counting, [*blocks, "1", "1"][:3], counting.params, []))
        for update in kernel.lists:
            room = self.names.fresh("room")
            if update.most is None:
                self.lines(self.target.scan(update.offsets))
                total = self.target.peek(f"{update.offsets}[{iterations}]", update.offsets, [iterations])
                self.writer.line(f"{room} = {total}")
            else:
                self.writer.line(f"{room} = ({self.expr(update.most)}) * {iterations}")
            self.refuse_unless(
                f"{room} <= {PLACES}", f"LD607: `{update.array}` gets too many updates at places that the data choose"
            )
            self.lines(self.target.allocate(update.places, f"({room},)", "int32"))
            self.clear(update.places, INT)
            self.lines(self.target.allocate(update.values, f"({room},)", self.types.arrays[update.array].dtype))

    def refuse_unless(self, condition: str, message: str, *first: str) -> None:
        """Lines that raise, after those that come `first`, unless a condition holds."""
        with self.writer.block(f"if not ({condition}):"):
            self.lines((*first, RELEASE_ALL))
            self.writer.line(f"raise ArgumentError({message!r})")

    def most_blocks(self, kernel: Kernel) -> str | None:
        """How many blocks there are at most, if their threads sum, or have arrays of their own, or copies: fewer where
        these are large."""
        if not kernel.own:
            return str(MOST_BLOCKS) if kernel.sums else None
        grid = kernel.launch.grid
        assert grid is not None
        threads = prod(kernel.block)
        sizes = [
            " * ".join([f"{a}.shape[{k}]" for k in range(self.types.arrays[a].rank)] or ["1"]) for a in kernel.own
        ]  # fmt: skip
        together = COPIED if grid.copies else OWNED
        fitting = f"{together // threads} // max(1, {' + '.join(sizes)})"
        limit = self.names.fresh("most_blocks")
        self.writer.line(f"{limit} = max(1, min({MOST_COPIES // threads if grid.copies else MOST_BLOCKS}, {fitting}))")
        return limit

    def add_copies(self, array: str, copies: str) -> None:
        """Add what threads have summed in copies of an array, one after the other for each element."""
        self.decls[copies] = self.emitter.decls[copies]
        subscripts, indices = self.fresh_subscripts(array)
        number = self.names.fresh("copy")
        part = Load(Access(copies, (*subscripts, Index(number))))
        added = Accumulate("add", Access(array, subscripts), part)
        self.elementwise(array, indices, (counted(number, Dim(copies, len(indices)), (added,)),))

    def own_parts(self, kernel: Kernel, threads: str) -> None:
        """An array for each of `threads`, in the place of each that threads have for themselves."""
        grid = kernel.launch.grid
        assert grid is not None
        for array, parts in kernel.own.items():
            decl = self.decls[array]
            assert decl.type is not None
            extents = [f"{array}.shape[{k}]" for k in range(decl.type.rank)]
            self.lines(self.target.allocate(parts, f"({', '.join([*extents, threads])},)", decl.type.dtype))
            if array in grid.zero or array in grid.copies:
                self.clear(parts, decl.type.element)

    # -- the function ----------------------------------------------------------------------------------------
    def function(self) -> str:
        """The whole function."""
        with self.writer.block(f"def {self.ls.name}({', '.join(self.ls.params)}):"):
            self.own_arrays()
            place = len(self.writer.lines)
            self.steps(self.plan.steps)
            self.writer.line(RAISE_FOUND)
            results = []
            for number, result in enumerate(self.ls.results):
                if isinstance(result, ScalarResult):
                    results.append(self.names.fresh(f"result_{number}"))
                    self.writer.line(f"{results[-1]} = {self.expr(result.value)}")
                else:
                    results.append(result.array)
            self.lines(self.released(returned_arrays(self.ls)))
            if results:
                joined = ", ".join(results) + ("," if self.ls.returns_tuple and len(results) == 1 else "")
                self.writer.line(f"return {joined}")
        lines = self.writer.lines
        if self.has_status:
            status = self.emitter.status
            self.writer = Writer(depth=1)
            self.lines(self.target.allocate(status, f"({self.emitter.checks.size},)", "int64"))
            self.clear(status, INT)
            lines[place:place] = self.writer.lines
        header, *body = (out for line in lines for out in self.in_full(line))
        return "\n".join([header, *(body or ["    pass"])]) + "\n"

    def in_full(self, line: str) -> list[str]:
        """A line, or what it stands for."""
        text = line.lstrip()
        self.writer = Writer(depth=(len(line) - len(text)) // 4)
        if text == RAISE_FOUND:
            self.raise_found()
        elif text == RELEASE_ALL:
            self.lines(self.released(frozenset()))
        else:
            return [line]
        return self.writer.lines

    @property
    def has_status(self) -> bool:
        return any(self.emitter.status in k.params for k in self.kernels)

    def raise_found(self) -> None:
        """Raise what threads found wrong."""
        if not self.has_status:
            return
        status = self.emitter.status
        errors = (*FAILURES, *self.found_checks())
        wrong = [self.names.fresh("wrong") for _ in errors]
        with self.writer.block(f"if {self.target.peek(f'{status}[{STATUS}]', status, [str(STATUS)])} != 0:"):
            for name, (number, _) in zip(wrong, errors, strict=True):
                self.writer.line(f"{name} = {self.target.peek(f'{status}[{number}]', status, [str(number)])}")
            self.lines(self.released(frozenset()))
            for name, (_, error) in zip(wrong, errors, strict=True):
                with self.writer.block(f"if {name} != 0:"):
                    self.writer.line(f"raise {error}")

    def released(self, kept: frozenset[str]) -> list[str]:
        """Lines that give back the function's own arrays, but for those that are `kept`."""
        names = (*self.owned, *([self.emitter.status] if self.has_status else []))
        return [line for n in names if n not in kept for line in self.target.release(n)]

    def clear(self, name: str, kind: ScalarType) -> None:
        lines = self.target.fill(name, spell_constant(0, kind))
        assert lines is not None
        self.lines(lines)

    def found_checks(self) -> list[tuple[int, str]]:
        known = self.emitter.checks.known
        return [(n, f"ArgumentError({f'{code}: {message}'!r})") for (code, message), n in known.items()]

    def own_arrays(self) -> None:
        launches = [s for s in all_steps(self.plan.steps) if isinstance(s, Launch)]
        bodies = (self.ls.body, *(k.body for k in launches))
        used = returned_arrays(self.ls).union(*(read_arrays(b) | written_arrays(b) for b in bodies))
        of_kernels = {c for k in launches for c in k.cells}
        for decl in self.ls.arrays:
            assert decl.type is not None
            kind = decl.type.element
            if decl.name in self.ls.params:
                continue
            if decl.name in self.plan.on_device:
                self.own(decl.name, "(1,)", kind.value)
                self.clear(decl.name, kind)
            elif decl.name in self.cells - of_kernels:
                self.writer.line(f"{decl.name} = {spell_constant(0, kind)}")
            elif decl.type.rank and decl.name in used:
                shape = ", ".join(self.expr(e) for e in decl.extents or ())
                self.own(decl.name, f"({shape},)", decl.type.dtype)
        for name in sorted(self.plan.on_device & self.types.lets.keys()):
            self.own(name, "(1,)", self.types.lets[name].value)

    def own(self, name: str, shape: str, dtype: str) -> None:
        self.owned.append(name)
        self.lines(self.target.allocate(name, shape, dtype))


def counted(index: str, count: Expr, body: tuple[Stmt, ...]) -> Loop:
    return Loop(index, integer(0), count, integer(1), body)
