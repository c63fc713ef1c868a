"""Launches in the host's text: how many blocks there are, and what threads are given to sum into and to list in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from math import prod
from typing import Generic, NamedTuple, Protocol, TypeVar

from loopdiff.analysis.polyhedral.model import trip_count
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.cuda.text.failures import with_guards
from loopdiff.backends.cuda.text.kernels import AxisText, Kernel, KernelEmitter
from loopdiff.backends.cuda.text.threads import ListText
from loopdiff.backends.cuda.text.warps import WarpText
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.types import INT, ArrayType, ScalarType
from loopdiff.ir.walk import subexprs
from loopdiff.mapping.grids import AXES, BUSY, COPIED, MOST_AXES, MOST_COPIES, Axis, Grid
from loopdiff.mapping.launches import Launch, LaunchPlan
from loopdiff.mapping.update_lists import CACHED, LISTED, PLACE
from loopdiff.model import tuning
from loopdiff.schedule.gpu.launch_planner import depends_on_device

MOST_BLOCKS = 1024  # whose threads sum, or have arrays of their own
MOST_PLACES = (2**31 - 1, 65535, 65535)  # along each axis, the fastest first
OWNED = 1 << 27  # elements of all arrays that threads have for themselves, unless one block has more
PLACES = 2**31 - 2  # elements of an array that lists can name
# Lines that stand for what is known when everything is written: which checks and which arrays there are.
RAISE_FOUND, RELEASE_ALL = "raise_found", "release_all"


class Cut(NamedTuple):
    """An axis that is launched in pieces, and names of where all of it begins and of how many iterations it has."""

    axis: AxisText
    lower: str
    number: str


class Target(Protocol):
    """What differs between the GPU and its emulation in the host's text: lines that take an argument, make an array,
    fill it (None where that takes a kernel), give it back, leave it to the caller, launch a kernel, bring together what
    its blocks summed, add up a list of updates, and turn numbers of updates into where those of each iteration begin.
    """

    @property
    def warps(self) -> WarpText: ...
    def borrow(self, name: str) -> list[str]: ...
    def allocate(self, name: str, shape: str, dtype: str) -> list[str]: ...
    def fill(self, name: str, value: str) -> list[str] | None: ...
    def clear_rows(self, name: str, first: str, end: str) -> list[str]: ...
    def release(self, name: str) -> list[str]: ...
    def keep(self, name: str) -> list[str]: ...
    def peek(self, place: str, array: str, subscripts: list[str]) -> str: ...
    def launch(self, kernel: Kernel, blocks: list[str], params: Iterable[str], parts: list[str]) -> list[str]: ...
    def finish(self, op: ir.AccumulateOp, kind: ScalarType, parts: str, target: str, neutral: str) -> list[str]: ...
    def add_listed(self, update: ListText, kind: ArrayType, elements: str, width: str) -> list[str]: ...
    def scan(self, offsets: str) -> list[str]: ...


AnyTarget = TypeVar("AnyTarget", bound=Target)


@dataclass(slots=True)
class GridEmitter(ScalarEmitter, Generic[AnyTarget]):
    """Writes launches of the `kernels` of `plan`, in order. `owned`: arrays of the function."""

    plan: LaunchPlan = field(kw_only=True)
    target: AnyTarget = field(kw_only=True)
    kernels: list[Kernel] = field(default_factory=list)
    emitter: KernelEmitter = field(init=False)
    all_cells: frozenset[str] = field(init=False)
    owned: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        ScalarEmitter.__post_init__(self)
        self.emitter = KernelEmitter(self.ls, warps=self.target.warps, on_device=self.plan.on_device)
        self.names = self.emitter.names
        self.plan = replace(self.plan, steps=with_guards(self.plan.steps))
        self.all_cells = self.cells
        self.cells = self.cells - self.plan.on_device

    def look_first(self, exprs: Iterable[ir.Expr]) -> None:
        """Raise what threads found wrong before the host decides anything by what they made: it may be anything then,
        and never change."""
        if any(depends_on_device(e, self.all_cells, self.plan.on_device) for e in exprs):
            self.writer.line(RAISE_FOUND)

    # -- kernels ---------------------------------------------------------------------------------------------
    def launch(self, launch: Launch) -> None:
        stmt = launch.body[0]
        self.writer.quote(stmt.loc)
        kernel = self.emitter.kernel(launch, len(self.kernels) + 1)
        self.kernels.append(kernel)
        if launch.grid is None:
            self.lines(self.target.launch(kernel, ["1", "1", "1"], kernel.params, []))
            return
        self.look_first(e for a in launch.grid.axes for e in (a.lower, a.upper))
        before: list[str] = []
        for axis, text in sorted(zip(launch.grid.axes, kernel.axes, strict=True), key=lambda pair: is_of_data(pair[0])):
            self.ends_of_axis(axis, text, before)
            before.append(text.count)
        counts = [text.count for text in kernel.axes]
        with self.writer.block(f"if {are_some(counts)}:"):
            self.refuse_large(kernel)
            known = [u for u in kernel.lists if u.most is not None]
            if known:
                self.launch_pieces(kernel, counts, known)
            else:
                self.launch_grid(kernel, counts)
        if launch.grid.starts:
            with self.writer.block("else:"):
                for array in launch.grid.starts:
                    self.clear(array, self.types.arrays[array].element)

    def ends_of_axis(self, axis: Axis, text: AxisText, before: list[str]) -> None:
        """Lines for where an axis begins and how many iterations it has; data that say so may not be there unless all
        axes `before` have some."""
        lines = [
            f"{text.lower} = {self.expr(axis.lower)}",
            f"{text.count} = {self.expr(trip_count(axis.span))}",
        ]
        if not before or not is_of_data(axis):
            self.lines(lines)
            return
        with self.writer.block(f"if {are_some(before)}:"):
            self.lines(lines)
        with self.writer.block("else:"):
            self.lines((f"{text.lower} = 0", f"{text.count} = 0"))

    def launch_grid(self, kernel: Kernel, counts: list[str]) -> None:
        grid = kernel.launch.grid
        assert grid is not None
        counts = along_grid(counts)
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
        self.place_lists(kernel)
        self.make_lists(kernel, blocks, counts)
        self.lines(self.target.launch(kernel, [*blocks, "1", "1"][:3], kernel.params, parts))
        for part, (name, op, kind) in zip(parts, kernel.sums, strict=True):
            neutral = spell_constant(neutral_value(op, kind), kind)
            self.lines(self.target.finish(op, kind, part, name, neutral))
        for array in grid.copies:
            self.add_copies(array, kernel.own[array])
        for update in kernel.lists:
            elements = self.elements(kernel, update)
            self.lines(self.target.add_listed(update, self.types.arrays[update.array], elements, self.width(update)))
        lists = [n for u in kernel.lists for n in (u.places, u.values, u.offsets) if n]
        for name in (*parts, *kernel.own.values(), *lists):
            self.lines(self.target.release(name))

    def iterations_of_blocks(self, kernel: Kernel, counts: list[str]) -> list[str]:
        """How many iterations a block takes along each axis, the fastest first: tiles, if there are many."""
        tile = tuple(reversed(kernel.launch.tile))
        if not tile:
            return [str(size) for size in kernel.each]
        is_large, threads = self.names.fresh("is_large"), WARP if kernel.is_warped else 1
        enough = [f"{' * '.join(counts)} >= {prod(tile) * tuning.ENOUGH_THREADS // threads}"]
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

    # -- lists of updates ------------------------------------------------------------------------------------
    def refuse_large(self, kernel: Kernel) -> None:
        """Raise for arrays whose elements lists cannot name."""
        for update in kernel.lists:
            array = update.array
            self.refuse_unless(
                f"{' * '.join(f'{array}.shape[{k}]' for k in range(self.types.arrays[array].rank))} <= {PLACES}",
                f"LD607: `{array}` has too many elements to be summed into at places that the data choose",
            )

    def launch_pieces(self, kernel: Kernel, counts: list[str], known: list[ListText]) -> None:
        """Launch a kernel for so many iterations at a time that its lists stay in the cache: first of axes along which
        they go to other elements, then of another one."""
        updates, size = self.names.fresh("updates"), self.names.fresh("list_bytes")
        most = {u.array: f"({self.expr(u.most)})" for u in known if u.most is not None}
        self.writer.line(f"{updates} = {' + '.join(most.values())}")
        entries = (f"{most[u.array]} * {self.entry(u)}" for u in known)
        self.writer.line(f"{size} = {' + '.join(entries)}")
        leading = list(dict.fromkeys(u.leading for u in known if u.leading is not None))
        along = any(u.along for u in known)
        others = (k for k in range(len(counts) - along) if k not in leading)
        cuts = [self.whole(kernel.axes[k]) for k in (*leading, *islice(others, 1))]
        self.cut(kernel, counts, (updates, size), cuts)

    def entry(self, update: ListText) -> str:
        """Bytes of a list for an update of an iteration, be that of an element, of a row, or of a part of one."""
        size = f"({self.width(update)} * {update.array}.itemsize + {PLACE})"
        return f"({size} // {self.width(update)} + 1)" if update.along else size

    def whole(self, axis: AxisText) -> Cut:
        """An axis that is going to be cut, with names for all of it."""
        lower, count = self.names.fresh(f"{axis.index}_begin"), self.names.fresh(f"{axis.index}_all")
        self.writer.line(f"{lower} = {axis.lower}")
        self.writer.line(f"{count} = {axis.count}")
        return Cut(axis, lower, count)

    def cut(self, kernel: Kernel, counts: list[str], each: tuple[str, str], cuts: list[Cut]) -> None:
        """Launch a kernel for pieces of axes; `each`: how many updates an iteration has, and bytes of them."""
        if not cuts:
            self.launch_grid(kernel, counts)
            return
        (axis, lower, number), *rest = cuts
        others, piece, first = (self.names.fresh(n) for n in ("others", "piece", "first"))
        updates, size = each
        self.writer.line(f"{others} = {' * '.join(c for c in counts if c != axis.count) or '1'}")
        few = f"max({CACHED} // max(1, {size} * {others}), {BUSY} // {others})"
        self.writer.line(f"{piece} = max(1, min({few}, {LISTED} // max(1, {updates} * {others})))")
        with self.writer.block(f"for {first} in range(0, {number}, {piece}):"):
            self.writer.line(f"{axis.lower} = {lower} + {first}{'' if axis.step == 1 else f' * ({axis.step})'}")
            self.writer.line(f"{axis.count} = min({piece}, {number} - {first})")
            self.start_lists(kernel, axis)
            self.cut(kernel, counts, each, rest)

    def start_lists(self, kernel: Kernel, axis: AxisText) -> None:
        """Set to zero what lists are added to along a piece of an axis, if they start with that."""
        assert kernel.launch.grid is not None
        for update in kernel.lists:
            if update.array in kernel.launch.grid.starts and kernel.axes[update.leading or 0] == axis:
                lowest, highest = ends_of(axis)
                self.lines(self.target.clear_rows(update.array, lowest, f"{highest} + 1"))

    def place_lists(self, kernel: Kernel) -> None:
        """Say which elements of arrays come before all those that lists go to."""
        for update in kernel.lists:
            if update.leading is not None:
                lowest, _ = ends_of(kernel.axes[update.leading])
                first = " * ".join([f"max(0, {lowest})", *update.inner_extents(self.rank(update.array))])
                self.writer.line(f"{update.before_first} = {first}")

    def make_lists(self, kernel: Kernel, blocks: list[str], counts: list[str]) -> None:
        """Lists with room for all updates of a kernel, none of which is there yet."""
        iterations = " * ".join(counts)
        counted = [u for u in kernel.lists if u.most is None]
        for update in counted:
            self.lines(self.target.allocate(update.offsets, f"({iterations} + 1,)", "int64"))
            self.clear(update.offsets, INT)
        if counted:
            counting = self.emitter.counting_kernel(kernel, len(self.kernels) + 1)
            self.kernels.append(counting)
            self.lines(self.target.launch(counting, [*blocks, "1", "1"][:3], counting.params, []))
        for update in kernel.lists:
            room = self.names.fresh("room")
            if update.most is None:
                self.lines(self.target.scan(update.offsets))
                total = self.target.peek(f"{update.offsets}[{iterations}]", update.offsets, [iterations])
                self.writer.line(f"{room} = {total}")
            else:
                number = " * ".join((counts[:-1] if update.along else counts) or ["1"])
                self.writer.line(f"{room} = ({self.expr(update.most)}) * {number}")
            self.refuse_unless(
                f"{room} <= {PLACES}", f"LD607: `{update.array}` gets too many updates at places that the data choose"
            )
            self.lines(self.target.allocate(update.places, f"({room},)", "int32"))
            if not update.is_filled or kernel.launch.is_guarded:
                self.clear(update.places, INT)
            size, dtype = f"{room} * {self.width(update)}", self.types.arrays[update.array].dtype
            self.lines(self.target.allocate(update.values, f"({size},)", dtype))

    def elements(self, kernel: Kernel, update: ListText) -> str:
        """How many elements, or rows, of an array updates can go to, from the first one on that the kernel knows."""
        inner = update.inner_extents(self.rank(update.array))
        if update.leading is None:
            return " * ".join([f"{update.array}.shape[0]", *inner])
        _, highest = ends_of(kernel.axes[update.leading])
        end = " * ".join([f"min({highest} + 1, {update.array}.shape[0])", *inner])
        return f"max(0, {end} - {update.before_first})"

    def width(self, update: ListText) -> str:
        """How many elements an update goes to."""
        return update.width(self.rank(update.array))

    def rank(self, array: str) -> int:
        return self.types.arrays[array].rank

    # -- arrays ----------------------------------------------------------------------------------------------
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

    def add_copies(self, array: str, copies: str) -> None:
        """Add what threads have summed in copies of an array, one after the other for each element."""
        self.decls[copies] = self.emitter.decls[copies]
        subscripts, indices = self.fresh_subscripts(array)
        number = self.names.fresh("copy")
        part = ir.Load(ir.Access(copies, (*subscripts, ir.Index(number))))
        added = ir.Accumulate("add", ir.Access(array, subscripts), part)
        self.elementwise(array, indices, (counted(number, ir.Dim(copies, len(indices)), (added,)),))

    def fresh_subscripts(self, array: str) -> tuple[tuple[ir.Index, ...], list[str]]:
        indices = [self.names.fresh("axis") for _ in range(self.types.arrays[array].rank)]
        return tuple(map(ir.Index, indices)), indices

    def elementwise(self, array: str, indices: list[str], body: tuple[ir.Stmt, ...]) -> None:
        """A kernel with one thread for each element of an array."""
        for axis in range(len(indices) - 1, MOST_AXES - 1, -1):
            body = (counted(indices[axis], ir.Dim(array, axis), body),)
        axes = tuple(counted(i, ir.Dim(array, k), ()) for k, i in enumerate(indices[:MOST_AXES]))
        grid = Grid(tuple(Axis(a, a.lower, a.upper) for a in axes)) if axes else None
        self.launch(Launch(body, (), grid))

    def clear(self, name: str, kind: ScalarType) -> None:
        lines = self.target.fill(name, spell_constant(0, kind))
        assert lines is not None
        self.lines(lines)

    def refuse_unless(self, condition: str, message: str, *first: str) -> None:
        """Lines that raise, after those that come `first`, unless a condition holds."""
        with self.writer.block(f"if not ({condition}):"):
            self.lines((*first, RELEASE_ALL))
            self.writer.line(f"raise ArgumentError({message!r})")

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.writer.line(line)


def ends_of(axis: AxisText) -> tuple[str, str]:
    """The lowest and the highest index of an axis."""
    last = f"{axis.lower} + ({axis.count} - 1) * ({axis.step})"
    return (last, axis.lower) if axis.step < 0 else (axis.lower, last)


def is_of_data(axis: Axis) -> bool:
    """Whether elements of arrays say where an axis begins or ends."""
    return any(isinstance(e, ir.Load) for b in (axis.lower, axis.upper) for e in subexprs(b))


def are_some(counts: list[str]) -> str:
    """Whether each of the counts is more than zero."""
    return " and ".join(f"{count} > 0" for count in counts)


def along_grid(counts: list[str]) -> list[str]:
    """How many iterations there are along each axis of a grid of CUDA, from the outside in."""
    first = len(counts) - AXES + 1
    return counts if first < 2 else [f"({' * '.join(counts[:first])})", *counts[first:]]


def counted(index: str, count: ir.Expr, body: tuple[ir.Stmt, ...]) -> ir.Loop:
    return ir.Loop(index, integer(0), count, integer(1), body)
