"""Register tiles: contractions whose results stay in vector registers while the summed loops run.

Results are held in a tile of rows x columns accumulators, so that every loaded operand is used several times (Goto and
van de Geijn 2008, "Anatomy of high-performance matrix multiplication"). Where operands are contiguous along the summed
loop instead, the accumulators are dot products, whose lanes are added at the end.

At the edge of the result a tile keeps its shape: columns are masked; rows beyond the last repeat it and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from enum import Enum

from loopdiff.analysis.contractions import Contraction, access_indices, factors, terms
from loopdiff.analysis.strides import Stride, lane_axis, stride_of
from loopdiff.backends.cpu.patience import PatientEmitter
from loopdiff.backends.cpu.simd.types import host_width, vector_bits
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ScalarType
from loopdiff.ir.walk import subexprs, substitute
from loopdiff.mapping.loops import TiledNest
from loopdiff.model.register_tiles import TileShape, tile_shape
from loopdiff.model.work import PRODUCT, times_work
from loopdiff.model.work import number as nanoseconds

NONE: frozenset[str] = frozenset()
Placed = dict[ir.Expr, ir.Expr]


class Shape(Enum):
    """What a text stands for: one value for the whole tile, or a tuple of vectors for its rows, columns or places."""

    SCALAR = 0
    VECTOR = 1
    ROWS = 2
    COLUMNS = 3
    GRID = 4


@immutable
class Side:
    """One direction of a tile: `count` places, `step` apart in `index`.

    `left`: how many there are beyond the first, as text, if those of the block may not all be there.
    """

    index: str | None = None
    count: int = 1
    step: int = 1
    left: str = ""


@immutable
class Block:
    """A tile: its rows, its columns, and the mask of all its vectors ("" if every lane is live)."""

    rows: Side
    columns: Side
    mask: str

    @property
    def size(self) -> int:
        return self.rows.count * self.columns.count


Value = tuple[str, Shape]
Factor = tuple[ir.Expr, str, Shape]


@dataclass(slots=True)
class TileWriter:
    """Writes one contraction as nested tiles. `zero` is a vector of zeros, `ticks` what a tile counts, if it does.
    `is_guarded`: lanes that a mask leaves out keep their sums, whatever they would be multiplied by."""

    emitter: PatientEmitter
    tile: TiledNest
    found: Contraction
    zero: str = ""
    ticks: str = ""
    held: dict[str, str] = field(default_factory=dict)
    is_guarded: bool = False

    @property
    def kind(self) -> ScalarType:
        return self.emitter.types.arrays[self.found.update.target.array].element

    @property
    def width(self) -> int:
        return host_width("float64" if self.kind is F64 else "float32")

    @property
    def shape(self) -> TileShape:
        return tile_shape(self.tile, vector_bits(), self.width)

    def write(self) -> None:
        tile, writer = self.tile, self.emitter.writer
        writer.quote(self.found.update.loc)
        self.zero = self.fresh("zero")
        self.line(f"{self.zero} = {self.splat(0.0)}")
        if not self.emitter.patience.is_sweep(self.found.loops[0]):
            self.ticks = self.emitter.patience.ticks(self.work_of_tile(), "tile_ticks")
        used = {tile.lanes, tile.rows, tile.columns, *tile.sums}
        with ExitStack() as stack:
            if self.found.start is None:
                # Where nothing is summed the target is not touched: it may be smaller than the loops around it.
                some = " and ".join(f"{lower} < {upper}" for lower, upper in self.ranges())
                stack.enter_context(writer.block(f"if {some}:"))
            for index in (p.index for p in self.found.loops if p.index not in used):
                stack.enter_context(self.plain(index))
            if tile.is_dot:
                self.dot_tiles()
            elif tile.columns == tile.lanes:
                self.column_tiles()
            else:
                self.batch_tiles()

    def work_of_tile(self) -> ir.Expr:
        size = self.shape.rows * self.shape.columns * self.width
        loops = [self.loop(index) for index in self.tile.sums]
        return times_work(
            nanoseconds(size * PRODUCT), self.emitter.patience.estimate(*self.found.loops).runs(tuple(loops))
        )

    # -- loops -----------------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def fresh(self, stem: str) -> str:
        return self.emitter.names.fresh(stem)

    def simd(self, name: str) -> str:
        self.emitter.simd.add(name)
        return name

    def splat(self, value: float) -> str:
        return f"{self.simd('splat')}({self.emitter.expr(ir.Const(value, self.kind))}, {self.width})"

    def zero_tile(self, size: int) -> str:
        """The name of a tile of `size` vectors of zeros, with which each tile begins."""
        if self.ticks:
            self.emitter.patience.count(self.ticks)
        tile = self.fresh("tile")
        self.line(f"{tile} = {self.simd('repeat')}({self.zero}, {size})")
        return tile

    def mask_of(self, count: str) -> str:
        """The name of a mask of the first `count` lanes."""
        mask = self.fresh("live")
        self.line(f"{mask} = {self.simd('tail_mask')}({count}, {self.width})")
        return mask

    def bounds(self, index: str) -> tuple[str, str]:
        loop = self.loop(index)
        return self.emitter.expr(loop.lower), self.emitter.expr(loop.upper)

    def ranges(self) -> list[tuple[str, str]]:
        """Bounds between which there has to be something if anything is summed."""
        return [self.bounds(index) for index in self.tile.sums]

    def loop(self, index: str) -> ir.Loop:
        return next(p for p in self.found.loops if p.index == index)

    @contextmanager
    def plain(self, index: str) -> Iterator[None]:
        lower, upper = self.bounds(index)
        with self.emitter.writer.block(f"for {index} in range({lower}, {upper}):"):
            yield

    def span(self, index: str) -> tuple[str, str]:
        """Names of the bounds of the loop, the upper one not below the lower."""
        lower, upper = self.bounds(index)
        start, end = self.fresh(f"{index}_start"), self.fresh(f"{index}_end")
        self.line(f"{start} = {lower}")
        self.line(f"{end} = {self.simd('maximum')}({start}, {upper})")
        return start, end

    def row_blocks(self, index: str | None, size: int, write: Callable[[Side], None], is_thrifty: bool) -> None:
        """`write(rows)` inside loops over `index` in blocks of `size` rows; `is_thrifty`: the last rows one by one if
        they fill less than half a block."""
        if index is None:
            write(Side())
            return
        start, end = self.span(index)
        stop = end
        if is_thrifty:
            stop = self.fresh(f"{index}_stop")
            rest = f"({end} - {start}) % {size}"
            self.line(f"{stop} = {end} - {rest} if {rest} < {(size + 1) // 2} else {end}")
        with self.emitter.writer.block(f"for {index} in range({start}, {stop}, {size}):"):
            left = self.fresh(f"{index}_left")
            self.line(f"{left} = {end} - {index} - 1")
            write(Side(index, size, 1, left))
        if is_thrifty:
            with self.emitter.writer.block(f"for {index} in range({stop}, {end}):"):
                write(Side(index))

    # -- vectors along the columns of the target --------------------------------------------------------------
    def column_tiles(self) -> None:
        """Blocks of columns, then the rest in single, masked vectors; inside, blocks of rows."""
        index, width, block = self.tile.columns, self.width, self.emitter.writer.block
        rows, columns = self.shape.rows, self.shape.columns
        start, end = self.span(index)
        stop = self.fresh(f"{index}_stop")
        self.line(f"{stop} = {end} - ({end} - {start}) % {columns * width}")
        with block(f"for {index} in range({start}, {stop}, {columns * width}):"):
            whole = Side(index, columns, width)
            self.row_blocks(self.tile.rows, rows, lambda side: self.column_tile(Block(side, whole, "")), True)
        with block(f"for {index} in range({stop}, {end}, {width}):"):
            mask = self.mask_of(f"{end} - {index}")
            single = Side(index, 1, width)
            self.row_blocks(self.tile.rows, rows, lambda side: self.column_tile(Block(side, single, mask)), False)

    def column_tile(self, block: Block) -> None:
        self.update(self.summed(block), block.rows, block.mask)

    def summed(self, block: Block) -> str:
        """A tile with the sums at all places of `block`."""
        tile = self.zero_tile(block.size)
        with ExitStack() as stack:
            for index in self.tile.sums:
                stack.enter_context(self.plain(index))
            self.add_products(tile, block)
        return tile

    def update(self, tile: str, rows: Side, mask: str, placed: Placed | None = None) -> None:
        """Bring the rows of a tile into the target."""
        target = self.found.update.target
        if placed:
            target = replace(target, subscripts=tuple(substitute(s, placed) for s in target.subscripts))
        function = self.simd("add_rows" if self.found.start is None else "store_rows")
        masks = f"({mask},)" if mask else "()"
        self.line(f"{function}({self.run(target, rows)}, {tile}, {masks})")

    # -- vectors along a third index --------------------------------------------------------------------------
    def batch_tiles(self) -> None:
        """Vectors of lanes, the last one masked; inside, blocks of columns around blocks of rows."""
        index, width, rows = self.tile.lanes, self.width, self.shape.rows
        start, end = self.span(index)
        with self.emitter.writer.block(f"for {index} in range({start}, {end}, {width}):"):
            mask = self.mask_of(f"{end} - {index}")

            def inside(columns: Side) -> None:
                self.row_blocks(self.tile.rows, rows, lambda side: self.batch_tile(Block(side, columns, mask)), True)

            self.row_blocks(self.tile.columns, self.shape.columns, inside, False)

    def batch_tile(self, block: Block) -> None:
        tile, columns = self.summed(block), block.columns
        for number, placed in enumerate(self.places(columns)):
            with self.emitter.writer.block(f"if {number} <= {columns.left}:") if number else nullcontext():
                column = f"{self.simd('column_of')}({tile}, {number}, {columns.count})"
                self.update(column, block.rows, block.mask, placed)

    # -- dot products ----------------------------------------------------------------------------------------
    def dot_tiles(self) -> None:
        """Blocks of the longer side of a tile, which stay in cache, around blocks of the shorter one."""
        rows, size = self.shape.rows, self.shape.columns

        def inside(columns: Side) -> None:
            live = self.mask_of(f"{self.simd('minimum')}({columns.left} + 1, {size})")
            self.row_blocks(self.tile.rows, rows, lambda side: self.dot_tile(side, columns, live), False)

        self.row_blocks(self.tile.columns, size, inside, False)

    def dot_tile(self, rows: Side, columns: Side, live: str) -> None:
        """One tile; `live` is the mask of its columns."""
        tile, index = self.zero_tile(Block(rows, columns, "").size), self.tile.lanes
        lower, stop = self.span(index)
        full = self.fresh(f"{index}_full")
        self.line(f"{full} = {stop} - ({stop} - {lower}) % {self.width}")
        with ExitStack() as stack:
            for other in (k for k in self.tile.sums if k != index):
                stack.enter_context(self.plain(other))
            with self.emitter.writer.block(f"for {index} in range({lower}, {full}, {self.width}):"):
                self.add_products(tile, Block(rows, columns, ""))
            with self.emitter.writer.block(f"for {index} in range({full}, {stop}, {self.width}):"):
                self.add_products(tile, Block(rows, columns, self.mask_of(f"{stop} - {index}")))
        sums = self.fresh("sums")
        self.line(f"{sums} = {self.simd('sum_rows')}({tile}, {rows.count})")
        self.add_sums(sums, rows, columns, live)

    def add_sums(self, sums: str, rows: Side, columns: Side, live: str) -> None:
        """Bring a vector of sums for each row into consecutive (or else any) elements of the target."""
        target = self.found.update.target
        assert columns.index is not None
        if stride_of(target, columns.index, NONE, self.emitter.ls) == "unit":
            self.update(sums, rows, live)
            return
        lanes = ir.Index(f"{self.simd('iota')}({columns.index}, 1, {self.width})")
        update = self.simd("scatter_add_masked" if self.found.start is None else "scatter_masked")
        for number, placed in enumerate(self.places(rows)):
            where = self.subscripts(target.subscripts, {**placed, ir.Index(columns.index): lanes})
            is_there = f"{number} <= {rows.left}" if rows.left and number else "True"
            with self.emitter.writer.block(f"if {is_there}:"):
                self.line(f"{update}({target.array}, {where}, {sums}[{number}], {live})")

    # -- arithmetic ------------------------------------------------------------------------------------------
    def add_products(self, tile: str, block: Block) -> None:
        """Add the summand at every place of the tile, term by term: as rows times columns where a term is such."""
        self.held = {}
        for is_negative, term in terms(self.found.summand):
            parts = [(f, *self.value(f, block)) for f in factors(term)]
            rows = [p for p in parts if p[2] is Shape.ROWS]
            others = [p for p in parts if p[2] is not Shape.ROWS]
            left, right = self.product(rows, block, False), self.product(others, block, is_negative)
            if left[1] is Shape.ROWS and right[1] is Shape.COLUMNS:
                self.line(f"{tile} = {self.simd('rank_one')}({tile}, {left[0]}, {right[0]})")
            else:
                text = self.over_all(self.combined("*", left, right, block), block)
                new = f"{self.simd('add_each')}({tile}, {text})"
                kept = f"{self.simd('select_each')}({block.mask}, {new}, {tile})"
                self.line(f"{tile} = {kept if self.is_guarded else new}")

    def product(self, parts: list[Factor], block: Block, is_negative: bool) -> Value:
        """The product of factors, zero in dead lanes of a dot product."""
        found: Value = ("-1.0" if is_negative else "", Shape.SCALAR)
        for _, text, shape in sorted(parts, key=lambda p: p[2].value):
            found = self.combined("*", found, (text, shape), block)
        text, shape = found
        if self.tile.is_dot and block.mask and parts and not all(self.vanishes(f) for f, _, _ in parts):
            if shape in (Shape.SCALAR, Shape.VECTOR):
                return f"{self.simd('select')}({block.mask}, {text}, {self.zero})", Shape.VECTOR
            return f"{self.simd('keep_each')}({block.mask}, {text})", shape
        return found

    def vanishes(self, expr: ir.Expr) -> bool:
        """Whether `expr` is zero in dead lanes, whose loads give zero."""
        match expr:
            case ir.Load(access=access):
                return self.stride(access) != "uniform"
            case ir.Apply(op=Op.NEG | Op.ADD | Op.SUB | Op.MUL, args=args):
                return all(self.vanishes(a) for a in args)
            case _:
                return False

    def value(self, expr: ir.Expr, block: Block) -> Value:
        match expr:
            case ir.Load(access=access) if access.subscripts:
                text, shape = self.load(access, block)
                return self.hold(text, access.array), shape
            case ir.Apply(op=Op.NEG, args=(a,)) if has_loads(expr):
                return self.combined("*", ("-1.0", Shape.SCALAR), self.value(a, block), block)
            case ir.Apply(op=Op.MUL | Op.ADD | Op.SUB as op, args=(a, b)) if has_loads(expr):
                return self.combined(op.value, self.value(a, block), self.value(b, block), block)
            case _:
                return f"({self.emitter.expr(expr)})", Shape.SCALAR

    def combined(self, op: str, left: Value, right: Value, block: Block) -> Value:
        """`left op right` at every place; "" is the neutral element."""
        if not left[0] or not right[0]:
            return left if left[0] else right
        small = (Shape.SCALAR, Shape.VECTOR)
        shapes = {s for _, s in (left, right) if s not in small}
        if not shapes:
            return f"({left[0]} {op} {right[0]})", max(left[1], right[1], key=lambda s: s.value)
        if len(shapes) > 1:
            left, right, shapes = (
                (self.over_all(left, block), Shape.GRID),
                (self.over_all(right, block), Shape.GRID),
                {Shape.GRID},
            )
        function = self.simd({"*": "multiply_each", "+": "add_each", "-": "subtract_each"}[op])
        return f"{function}({left[0]}, {right[0]})", shapes.pop()

    def over_all(self, value: Value, block: Block) -> str:
        """`value` for every place of the tile; what is the same everywhere stays as it is."""
        text, shape = value
        match shape:
            case Shape.ROWS:
                return f"{self.simd('across')}({text}, {block.columns.count})"
            case Shape.COLUMNS:
                return f"{self.simd('down')}({text}, {block.rows.count})"
            case _:
                return text

    def hold(self, text: str, stem: str) -> str:
        """The name of a variable that holds `text`."""
        if text not in self.held:
            self.held[text] = self.fresh(f"{stem}_v")
            self.line(f"{self.held[text]} = {text}")
        return self.held[text]

    # -- memory ----------------------------------------------------------------------------------------------
    def load(self, access: ir.Access, block: Block) -> Value:
        """Vectors for the side of the tile along which the access moves, each by one run through memory if it can."""
        sides = {Shape.ROWS: block.rows, Shape.COLUMNS: block.columns}
        moving = [shape for shape, side in sides.items() if side.index in access_indices(access)]
        if not moving:
            return self.single(access, {}, block.mask), Shape.VECTOR
        if len(moving) > 1:
            places = [{**r, **c} for r in self.places(block.rows) for c in self.places(block.columns)]
            return self.singles(access, places, block.mask), Shape.GRID
        side = sides[moving[0]]
        if side.index is None or lane_axis(access, side.index, NONE) is None:
            return self.singles(access, self.places(side), block.mask), moving[0]
        if self.stride(access) == "uniform":
            return f"{self.simd('splat_rows')}({self.run(access, side)}, {self.width})", moving[0]
        return f"{self.simd('load_rows')}({self.run(access, side)}, {block.mask or self.width})", moving[0]

    def stride(self, access: ir.Access) -> Stride:
        return stride_of(access, self.tile.lanes, NONE, self.emitter.ls)

    def single(self, access: ir.Access, placed: Placed, mask: str) -> str:
        where = self.subscripts(access.subscripts, placed)
        match self.stride(access):
            case "uniform":
                return f"{self.simd('load_splat')}({access.array}, {where}, {self.width})"
            case "unit":
                function = self.simd("load_masked" if mask else "load")
                return f"{function}({access.array}, {where}, {mask or self.width})"
            case _:
                where = self.subscripts(access.subscripts, {**placed, **self.lanes_apart()})
                function, tail = ("gather_masked", f", {mask}") if mask else ("gather", "")
                return f"{self.simd(function)}({access.array}, {where}{tail})"

    def lanes_apart(self) -> Placed:
        """The index of each lane, for elements that are not next to each other."""
        index = self.tile.lanes
        return {ir.Index(index): ir.Index(f"{self.simd('iota')}({index}, 1, {self.width})")}

    def singles(self, access: ir.Access, places: list[Placed], mask: str) -> str:
        return f"({', '.join(self.single(access, p, mask) for p in places)},)"

    def places(self, side: Side) -> list[Placed]:
        """Where each place of a side is; beyond the last, that of the last."""
        if side.index is None:
            return [{}]
        found: list[Placed] = [{}]
        for number in range(1, side.count):
            ahead = f"{self.simd('minimum')}({number}, {side.left})" if side.left else number * side.step
            found.append({ir.Index(side.index): ir.Index(f"({side.index} + {ahead})")})
        return found

    def run(self, access: ir.Access, side: Side) -> str:
        """Arguments that say where the places of a side are: array, first index, axis, step, those left, count."""
        found = (0, 0) if side.index is None else lane_axis(access, side.index, NONE)
        assert found is not None
        axis, step = found
        where = self.subscripts(access.subscripts, {} if self.stride(access) != "strided" else self.lanes_apart())
        return f"{access.array}, {where}, {axis}, {step * side.step}, {side.left or side.count - 1}, {side.count}"

    def subscripts(self, parts: tuple[ir.Expr, ...], placed: Placed) -> str:
        texts = [self.emitter.expr(substitute(s, placed)) for s in parts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def has_loads(expr: ir.Expr) -> bool:
    """Whether `expr` reads an element of an array."""
    return any(isinstance(e, ir.Load) and e.access.subscripts for e in subexprs(expr))
