"""Register tiles: contractions whose results stay in vector registers while the summed loops run.

Results are held in rows x columns accumulators, so that every loaded operand is used several times (Goto and van de
Geijn 2008, "Anatomy of high-performance matrix multiplication"). Where operands are contiguous along the summed loop
instead, the accumulators are dot products, whose lanes are added at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.simd.types import host_width, vector_bits
from loopdiff.ir.nodes import Access, Accumulate, Apply, Const, Expr, Index, Let, Load, Loop
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ScalarType
from loopdiff.ir.walk import subexprs, substitute
from loopdiff.transform.mapping import TiledNest
from loopdiff.transform.strides import stride_of
from loopdiff.transform.tiles import inlined

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

NONE: frozenset[str] = frozenset()


@dataclass(slots=True)
class TileWriter:
    """Writes one contraction as nested tiles."""

    emitter: ScheduledEmitter
    tile: TiledNest
    loops: dict[str, Loop]
    update: Accumulate
    value: Expr
    width: int
    held: dict[str, str] = field(default_factory=dict)
    zero: str = ""

    @classmethod
    def of(
        cls, emitter: ScheduledEmitter, tile: TiledNest, shape: tuple[tuple[Loop, ...], tuple[Let, ...], Accumulate]
    ) -> TileWriter:
        loops, lets, update = shape
        kind = emitter.types.arrays[update.target.array].element
        width = host_width("float64" if kind is F64 else "float32")
        return cls(emitter, tile, {p.index: p for p in loops}, update, inlined(lets, update.value), width)

    def write(self) -> None:
        tile = self.tile
        self.zero = self.emitter.names.fresh("zero")
        neutral = self.emitter.expr(Const(0.0, self.kind))
        self.line(f"{self.zero} = {self.simd('splat')}({neutral}, {self.width})")
        used = {tile.columns, *tile.sums, tile.rows, tile.second_rows}
        with ExitStack() as stack:
            self.emitter.writer.quote(self.update.loc)
            # Where nothing is summed the target is not touched: it may be smaller than the loops around it.
            ranges = [self.bounds(index) for index in tile.sums]
            is_summed = " and ".join(f"{lower} < {upper}" for lower, upper in ranges)
            stack.enter_context(self.emitter.writer.block(f"if {is_summed}:"))
            for index in (i for i in self.loops if i not in used):
                stack.enter_context(self.plain(index))
            if tile.is_dot:
                self.dot_tiles()
            else:
                self.column_tiles()

    # -- loops -----------------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def bounds(self, index: str) -> tuple[str, str]:
        loop = self.loops[index]
        return self.emitter.expr(loop.lower), self.emitter.expr(loop.upper)

    @contextmanager
    def plain(self, index: str) -> Iterator[None]:
        lower, upper = self.bounds(index)
        with self.emitter.writer.block(f"for {index} in range({lower}, {upper}):"):
            yield

    def blocks(self, index: str | None, sizes: tuple[int, ...]) -> Iterator[int]:
        """Loops over `index` in blocks of the given sizes, largest first; yields the size inside each."""
        if index is None:
            yield 1
            return
        lower, upper = self.bounds(index)
        start = self.emitter.names.fresh(f"{index}_start")
        end = self.emitter.names.fresh(f"{index}_end")
        self.line(f"{start} = {lower}")
        self.line(f"{end} = max({start}, {upper})")
        for size in sizes:
            if size == 1:
                with self.emitter.writer.block(f"for {index} in range({start}, {end}):"):
                    yield 1
                return
            stop = self.emitter.names.fresh(f"{index}_stop")
            self.line(f"{stop} = {end} - ({end} - {start}) % {size}")
            with self.emitter.writer.block(f"for {index} in range({start}, {stop}, {size}):"):
                yield size
            start = stop

    # -- vectors along the columns of the target --------------------------------------------------------------
    def column_tiles(self) -> None:
        """Blocks of columns, masked at the right edge; inside, blocks of rows."""
        rows, columns = self.shape()
        index = self.tile.columns
        lower, upper = self.bounds(index)
        names = self.emitter.names
        start, end = names.fresh(f"{index}_start"), names.fresh(f"{index}_end")
        self.line(f"{start} = {lower}")
        self.line(f"{end} = max({start}, {upper})")
        with self.emitter.writer.block(f"for {index} in range({start}, {end}, {columns * self.width}):"):
            masks = [names.fresh("live") for _ in range(columns)]
            for c, mask in enumerate(masks):
                offset = f" - {c * self.width}" if c else ""
                self.line(f"{mask} = {self.simd('tail_mask')}({end} - {index}{offset}, {self.width})")
            for size in self.blocks(self.tile.rows, rows):
                self.column_tile(size, masks)

    def shape(self) -> tuple[tuple[int, ...], int]:
        """Row block sizes and vectors per row that fit the registers."""
        has_many_registers = vector_bits() == 512
        if self.tile.rows is None:
            return (1,), 4
        return ((9, 1), 3) if has_many_registers else ((4, 1), 3)

    def column_tile(self, rows: int, masks: list[str]) -> None:
        sums = [[self.emitter.names.fresh("acc") for _ in masks] for _ in range(rows)]
        for name in (n for row in sums for n in row):
            self.line(f"{name} = {self.zero}")
        with ExitStack() as stack:
            for index in self.tile.sums:
                stack.enter_context(self.plain(index))
            self.held = {}
            for r in range(rows):
                for c, mask in enumerate(masks):
                    self.multiply_add(sums[r][c], self.placed(r, None), c * self.width, mask)
        for r in range(rows):
            for c, mask in enumerate(masks):
                self.add_to_target(sums[r][c], self.placed(r, None), c * self.width, mask)

    @property
    def kind(self) -> ScalarType:
        return self.emitter.types.arrays[self.update.target.array].element

    def placed(self, row: int, second: int | None) -> dict[Expr, Expr]:
        """Where the unrolled indices stand."""
        out: dict[Expr, Expr] = {}
        for index, offset in ((self.tile.rows, row), (self.tile.second_rows, second)):
            if index is not None and offset:
                out[Index(index)] = Index(f"({index} + {offset})")
        return out

    def add_to_target(self, name: str, placed: dict[Expr, Expr], offset: int, mask: str) -> None:
        array = self.update.target.array
        where = self.subscripts(self.update.target.subscripts, placed, offset)
        self.line(f"{self.simd('add_masked')}({array}, {where}, {name}, {mask})")

    # -- dot products ----------------------------------------------------------------------------------------
    def dot_tiles(self) -> None:
        first = (4, 1) if self.tile.rows is not None else (1,)
        second = (6, 1) if vector_bits() == 512 else (3, 1)
        if self.tile.rows is None:
            second = (8, 1)
        for a in self.blocks(self.tile.rows, first):
            for b in self.blocks(self.tile.second_rows, second):
                self.dot_tile(a, b)

    def dot_tile(self, rows: int, seconds: int) -> None:
        names = self.emitter.names
        sums = [[names.fresh("acc") for _ in range(seconds)] for _ in range(rows)]
        for name in (n for row in sums for n in row):
            self.line(f"{name} = {self.zero}")
        index = self.tile.columns
        lower, upper = self.bounds(index)
        end, mask = names.fresh(f"{index}_end"), names.fresh("live")
        self.line(f"{end} = {upper}")
        with self.emitter.writer.block(f"for {index} in range({lower}, {end}, {self.width}):"):
            self.line(f"{mask} = {self.simd('tail_mask')}({end} - {index}, {self.width})")
            self.products(sums, mask)
        target = self.update.target
        for r in range(rows):
            for s in range(seconds):
                where = self.subscripts(target.subscripts, self.placed(r, s), 0)
                self.line(f"{self.simd('add_sum')}({target.array}, {where}, {sums[r][s]})")

    def products(self, sums: list[list[str]], mask: str) -> None:
        self.held = {}
        for r, row in enumerate(sums):
            for s, name in enumerate(row):
                self.multiply_add(name, self.placed(r, s), 0, mask)

    # -- arithmetic ------------------------------------------------------------------------------------------
    def simd(self, name: str) -> str:
        self.emitter.simd.add(name)
        return name

    def multiply_add(self, name: str, placed: dict[Expr, Expr], offset: int, mask: str) -> None:
        """acc += the summand at one place of the tile."""
        match self.value:
            case Apply(op=Op.MUL, args=(a, b)):
                left, right = self.operand(a, placed, offset, mask), self.operand(b, placed, offset, mask)
                total = f"{self.simd('muladd')}({left}, {right}, {name})"
            case _:
                total = f"{name} + {self.operand(self.value, placed, offset, mask)}"
        if self.tile.is_dot and not self.is_zero_when_masked():
            total = f"{self.simd('select')}({mask}, {total}, {name})"
        self.line(f"{name} = {total}")

    def is_zero_when_masked(self) -> bool:
        """Whether dead lanes, loaded as zero, contribute zero: the summand is a product of loads that all vary."""
        match self.value:
            case Apply(op=Op.MUL, args=(Load() as a, Load() as b)):
                strides = [stride_of(x.access, self.tile.columns, NONE, self.emitter.ls) for x in (a, b)]
                return "uniform" not in strides
            case _:
                return False

    def operand(self, expr: Expr, placed: dict[Expr, Expr], offset: int, mask: str) -> str:
        """A vector for `expr`; loads are held in a variable and used again within the iteration."""
        match expr:
            case Load(access=access) if access.subscripts:
                return self.hold(self.load(access, placed, offset, mask))
            case Apply(op=Op.NEG, args=(a,)) if has_loads(expr):
                return self.hold(f"-{self.operand(a, placed, offset, mask)}")
            case Apply(op=Op.MUL | Op.ADD | Op.SUB as op, args=(a, b)) if has_loads(expr):
                left, right = self.operand(a, placed, offset, mask), self.operand(b, placed, offset, mask)
                return self.hold(f"{left} {op.value} {right}")
            case _:
                return self.emitter.expr(expr)

    def hold(self, text: str) -> str:
        if text not in self.held:
            self.held[text] = self.emitter.names.fresh("x")
            self.line(f"{self.held[text]} = {text}")
        return self.held[text]

    def load(self, access: Access, placed: dict[Expr, Expr], offset: int, mask: str) -> str:
        where = self.subscripts(access.subscripts, placed, offset)
        if stride_of(access, self.tile.columns, NONE, self.emitter.ls) == "uniform":
            return f"{self.simd('load_splat')}({access.array}, {where}, {self.width})"
        return f"{self.simd('load_masked')}({access.array}, {where}, {mask})"

    def subscripts(self, parts: tuple[Expr, ...], placed: dict[Expr, Expr], offset: int) -> str:
        column: dict[Expr, Expr] = {}
        if offset:
            column[Index(self.tile.columns)] = Index(f"({self.tile.columns} + {offset})")
        texts = [self.emitter.expr(substitute(s, {**placed, **column})) for s in parts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def has_loads(expr: Expr) -> bool:
    """Whether `expr` reads an element of an array."""
    return any(isinstance(e, Load) and e.access.subscripts for e in subexprs(expr))
