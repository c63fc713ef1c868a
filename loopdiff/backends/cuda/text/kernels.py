"""What one thread of a kernel does, as a readable Python function for Numba, the same for the GPU and the CPU.

A thread is given its place in the grid, how many threads there are along each axis, and what the kernel is given. It
takes every iteration that is its own: as many threads apart as there are. It returns what it has summed.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from loopdiff.backends.cpu.chunks import free_names
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.common_functions import WARP
from loopdiff.backends.cuda.text.spelling import STATUS
from loopdiff.backends.cuda.text.threads import ListText, Place, ThreadEmitter
from loopdiff.backends.writer import Writer
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import BOOL, ArrayType, ScalarType
from loopdiff.ir.walk import lets_in, map_accesses, map_body, map_expr, map_stmt_exprs
from loopdiff.mapping.grids import AXES, LEAST_COPIES, Grid
from loopdiff.mapping.launches import Launch
from loopdiff.mapping.update_lists import counting_body, is_filled, leading_axis, most_updates, rows_listed
from loopdiff.schedule.gpu.grid_mapper import step_of
from loopdiff.schedule.gpu.thread_tiles import Tile, jam, untiled

# Threads of a block along each axis, the fastest first, by how many axes a grid has.
BLOCKS = {0: (1, 1, 1), 1: (256, 1, 1), 2: (32, 8, 1), 3: (32, 8, 1)}
# ... and of kernels whose threads sum into copies of arrays, of which there are few.
COPYING = (LEAST_COPIES, 1, 1)
# ... and where another axis than the fastest is cut into pieces, which may have one iteration along it.
ALONG_ONE = BLOCKS[1]
WARPS = 8  # of a block, where an iteration is that of a warp


@immutable
class AxisText:
    """An axis of a grid in the generated text: names of where it begins and of how many iterations it has."""

    index: str
    lower: str
    count: str
    step: int


@immutable
class Kernel:
    """A written kernel. `text` is the function of a thread, `params` what it is given after its place.

    `axes` are from the outside in. `own`: arrays with one part for each thread, by the array they stand for.
    """

    name: str
    launch: Launch
    text: str
    params: tuple[str, ...]
    axes: tuple[AxisText, ...]
    sums: tuple[tuple[str, ir.AccumulateOp, ScalarType], ...]
    own: dict[str, str]
    lists: tuple[ListText, ...]
    place: Place

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block along each axis; those of a warp lie along the first."""
        return (WARP, WARPS, 1) if self.is_warped else self.each

    @property
    def each(self) -> tuple[int, int, int]:
        """How many iterations a block takes at a time along each axis."""
        grid = self.launch.grid
        if self.is_warped:
            return WARPS, 1, 1
        if any(u.leading not in (None, len(self.axes) - 1) for u in self.lists):
            return ALONG_ONE
        return COPYING if grid is not None and grid.copies else BLOCKS[min(len(self.axes), AXES)]

    @property
    def is_warped(self) -> bool:
        return bool(self.launch.warp_loops)


@dataclass(slots=True)
class KernelEmitter(ThreadEmitter):
    """Writes the functions of threads: what they begin with, and the iterations that each takes."""

    # -- kernels ---------------------------------------------------------------------------------------------
    def kernel(self, launch: Launch, number: int) -> Kernel:
        """The function of a thread of the kernel with that `number`."""
        grid = launch.grid
        axes = () if grid is None else self.axis_texts(grid)
        lists = () if grid is None else tuple(self.list_text(n, launch.body, grid) for n in grid.lists)
        return self.written(launch, number, axes, lists)

    def counting_kernel(self, kernel: Kernel, number: int) -> Kernel:
        """The kernel that counts the updates for lists of `kernel` which nobody knows the length of before."""
        launch = kernel.launch
        assert launch.grid is not None
        lists = tuple(u for u in kernel.lists if u.offsets)
        names = frozenset(u.array for u in lists)
        body = counting_body(launch.body, names, frozenset(launch.cells))
        assert body is not None
        grid = Grid(launch.grid.axes, lists=tuple(sorted(names)))
        lets = lets_in(body) - self.on_device | launch.lets
        counting = Launch(body, launch.cells, grid, lets=lets, is_guarded=launch.is_guarded)
        self.is_counting = True
        found = self.written(counting, number, kernel.axes, lists)
        self.is_counting = False
        return found

    def written(self, launch: Launch, number: int, axes: tuple[AxisText, ...], lists: tuple[ListText, ...]) -> Kernel:
        """The kernel of a launch whose axes and lists have these names."""
        grid = launch.grid
        self.writer = Writer()
        self.unsigned = {}
        sums = () if grid is None else grid.sums
        own = () if grid is None else (*grid.arrays, *grid.copies)
        private, self.lets = {*launch.cells, *(n for n, _ in sums)}, launch.lets
        self.cells = self.all_cells - (self.on_device - private)
        self.summed = ", ".join(n for n, _ in sums)
        self.lists = {u.array: u for u in lists}
        counts = [a.count for a in axes]
        self.strides, self.last = (" * ".join(counts), " * ".join(counts[:-1]) or "1"), "".join(counts[-1:])
        body, parts = self.with_parts(launch.body, own)
        self.is_together = bool(launch.warp_loops)
        self.totals = frozenset(n for n, _ in sums)
        self.names.taken.add(self.ls.name)
        name = self.names.fresh(f"{self.ls.name}_{number}")
        self.parts = {new: old for old, new in parts.items()}
        kinds = {n: self.types.arrays[n].element for n, _ in sums}
        with self.writer.block(f"def {name}():"):
            for cell, op in sums:
                self.writer.line(f"{cell} = {spell_constant(neutral_value(op, kinds[cell]), kinds[cell])}")
            if self.is_together:
                self.warps.begin(self.writer, self.lane)
            with self.writer.block(f"if {self.is_well()}:") if launch.is_guarded else nullcontext():
                self.iterations(launch, axes, body)
            if sums:
                self.writer.line(f"return {self.summed}")
        written = {n for n, _ in sums}
        given = free_names("\n".join(self.writer.lines)) & self.names.taken
        place = self.all_places.of(len(axes))
        only_inside = lets_in(launch.body) - (self.on_device - self.lets)
        assert not given & only_inside, given & only_inside
        params = tuple(sorted(given - {*place.params, name, self.ls.name, *written}))
        self.writer.lines[0] = f"def {name}({', '.join((*place.params, *params))}):"
        self.cells = self.all_cells
        text = "\n".join(self.writer.lines)
        return Kernel(name, launch, text, params, axes, tuple((n, op, kinds[n]) for n, op in sums), parts, lists, place)

    def is_well(self) -> str:
        """Whether nothing is wrong yet, which all lanes of a warp agree about."""
        status = f"{self.status}[{STATUS}]"
        if not self.is_together:
            return f"{status} == 0"
        self.imports.add("of_first_lane")
        return f"of_first_lane({status}) == 0"

    def list_text(self, array: str, body: tuple[ir.Stmt, ...], grid: Grid) -> ListText:
        """Names for the list of what `body` adds to an array."""
        kind = self.types.arrays[array]
        places, values, slot = (self.names.fresh(n) for n in (f"{array}_places", f"{array}_values", "slot"))
        self.declare(array, places, ArrayType("int32", 1))
        self.declare(array, values, ArrayType(kind.dtype, 1))
        along, in_rows = rows_listed(self.decls[array], body, grid.last, grid.lists)
        most, offsets = most_updates(body, array, in_rows=in_rows and not along), ""
        if most is None:
            offsets = self.names.fresh(f"{array}_offsets")
            self.declare(array, offsets, ArrayType("int64", 1))
        leading = leading_axis(body, array, [a.loop.index for a in grid.axes])
        before_first = "" if leading is None else self.names.fresh("before_first")
        filled = is_filled(body, array)
        return ListText(array, places, values, slot, most, offsets, leading, before_first, in_rows, along, filled)

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

    def iterations(self, launch: Launch, axes: tuple[AxisText, ...], body: tuple[ir.Stmt, ...]) -> None:
        """The iterations of a thread, axis by axis from the outside in: tiles of them if it has several."""
        if self.parts:
            self.writer.line(f"{self.thread} = {thread_number(self.all_places.of(len(axes)))}")
        single = untiled(launch, body, tuple(a.index for a in axes))
        if not launch.tile:
            self.turns(axes, single, "")
            return
        assert launch.grid is not None
        tile = jam(launch, launch.grid, self.names)
        self.know(tile)
        counts = self.all_places.counts
        tiled = (f"{a.count} > {counts[len(axes) - 1 - k]}" for k, a in enumerate(axes) if len(tile.axes[k]) > 1)
        with self.writer.block(f"if {' and '.join(tiled)}:"):
            self.turns(axes, tile, "")
        with self.writer.block("else:"):
            self.turns(axes, single, "")

    def know(self, tile: Tile) -> None:
        """Make the names of a tile known."""
        for new, old in tile.cells.items():
            self.declare(old, new, self.types.arrays[old])
        flags = dict.fromkeys(tile.inside.values(), BOOL)
        lets = {new: self.types.lets[old] for new, old in tile.lets.items()}
        lets |= {new: self.types.arrays[old].element for new, old in tile.reads.items()}
        self.types = replace(self.types, lets={**self.types.lets, **lets, **flags})
        self.cells |= tile.cells.keys()
        self.lets |= lets.keys() | flags.keys()

    def turns(self, axes: tuple[AxisText, ...], tile: Tile, outer: str) -> None:
        """The tiles of a thread along the innermost `axes`; `outer` is the number of the iteration of the others."""
        if not axes:
            self.spread = {w.loop.index: w for w in tile.warp_loops}
            self.iteration(tile.body, tuple(tile.cells), outer)
            return
        if len(axes) > AXES:
            self.turns_together(axes, tile)
            return
        first, names = axes[0], tile.axes[-len(axes)]
        here, count = self.all_places.here[len(axes) - 1], self.all_places.counts[len(axes) - 1]
        begin, step = self.names.fresh("turn"), "" if first.step == 1 else f" * ({first.step})"
        apart = count if len(names) == 1 else f"{len(names)} * {count}"
        # No thread counts its turns: a quotient takes as long as dozens of sums.
        with self.writer.block(f"for {begin} in range({here}, {first.count}, {apart}):"):
            for later, index in enumerate(names):
                number = begin
                if later:
                    number = f"({begin} + {later} * {count})"
                    self.writer.line(f"{tile.inside[index]} = {number} < {first.count}")
                    number = f"min({number}, {first.count} - 1)"
                self.writer.line(f"{index} = {first.lower} + {number}{step}")
                self.begin_iteration(index, tile.body)
            self.turns(axes[1:], tile, f"({outer} * {first.count} + {begin})" if outer else begin)

    def turns_together(self, axes: tuple[AxisText, ...], tile: Tile) -> None:
        """The iterations of a thread along all axes but the last two, which share one of the grid, as one row."""
        together, rest = axes[: 1 - AXES], axes[1 - AXES :]
        here, count = self.all_places.here[-1], self.all_places.counts[-1]
        number, left = (self.names.fresh(n) for n in ("turn", "left"))
        with self.writer.block(f"for {number} in range({here}, {' * '.join(a.count for a in together)}, {count}):"):
            value = number
            for place, axis in reversed(list(enumerate(together))):
                if place:
                    self.writer.line(f"{left} = {value} // {axis.count}")
                own = f"({value} - {left} * {axis.count})" if place else value
                step = "" if axis.step == 1 else f" * ({axis.step})"
                self.writer.line(f"{axis.index} = {axis.lower} + {own}{step}")
                self.begin_iteration(axis.index, tile.body)
                value, left = left, self.names.fresh("left")
            self.turns(rest, tile, number)

    def iteration(self, body: tuple[ir.Stmt, ...], cells: tuple[str, ...], number: str) -> None:
        """One iteration, which is the one of that `number`."""
        for cell in cells:
            self.writer.line(f"{cell} = {spell_constant(0, self.types.arrays[cell].element)}")
        for update in self.lists.values():
            known = f"{update.offsets}[np.uint64({number})]" if update.offsets else number
            known = f"{number} // {self.last}" if update.along else known
            self.writer.line(f"{update.slot} = {'0' if self.is_counting else known}")
        self.block(body)
        if self.is_counting:
            for update in self.lists.values():
                self.writer.line(f"{update.offsets}[np.uint64({number})] = {update.slot}")

    def with_parts(self, body: tuple[ir.Stmt, ...], own: tuple[str, ...]) -> tuple[tuple[ir.Stmt, ...], dict[str, str]]:
        """`body` with accesses to each thread's part of arrays, and the names of the arrays of all parts."""
        if not own:
            return body, {}
        parts = {name: self.names.fresh(f"{name}_parts") for name in own}
        for old, new in parts.items():
            kind = self.types.arrays[old]
            self.declare(old, new, ArrayType(kind.dtype, kind.rank + 1))

        def moved(access: ir.Access) -> ir.Access:
            if access.array not in parts:
                return access
            return replace(access, array=parts[access.array], subscripts=(*access.subscripts, ir.Index(self.thread)))

        def renamed(expr: ir.Expr) -> ir.Expr:
            return replace(expr, array=parts[expr.array]) if isinstance(expr, ir.Dim) and expr.array in parts else expr

        def allocated(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
            match stmt:
                case ir.Allocate(array=array) if array in parts:
                    return (replace(stmt, array=parts[array]),)
                case _:
                    return (stmt,)

        new = (map_accesses(moved, s) for s in body)
        sized = (map_stmt_exprs(lambda e: map_expr(renamed, e), s) for s in new)
        return map_body(tuple(sized), allocated), parts


def thread_number(place: Place) -> str:
    """The number of a thread among all of the grid."""
    text = place.here[-1]
    for here, count in reversed(list(zip(place.here[:-1], place.counts, strict=False))):
        text = f"({text}) * {count} + {here}"
    return text
