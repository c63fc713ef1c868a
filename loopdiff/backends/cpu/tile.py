"""Register tiles: contractions whose results stay in vector registers while the summed loops run.

Results are held in a tile of rows x columns accumulators, so that every loaded operand is used several times (Goto and
van de Geijn 2008, "Anatomy of high-performance matrix multiplication"). Where operands are contiguous along the summed
loop instead, the accumulators are dot products, whose lanes are added at the end.

At the edge of the result a tile keeps its shape: columns are masked; rows beyond the last repeat it and are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loopdiff.backends.cpu.simd.types import host_width, vector_bits
from loopdiff.ir.nodes import Access, Apply, Const, Expr, Index, Load, Loop
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ScalarType
from loopdiff.ir.walk import subexprs, substitute
from loopdiff.transform.contractions import Contraction, factors, terms
from loopdiff.transform.mapping import TiledNest
from loopdiff.transform.strides import stride_of

if TYPE_CHECKING:
    from loopdiff.backends.cpu.scheduled import ScheduledEmitter

NONE: frozenset[str] = frozenset()
Placed = dict[Expr, Expr]


@dataclass(slots=True)
class TileWriter:
    """Writes one contraction as nested tiles."""

    emitter: ScheduledEmitter
    tile: TiledNest
    found: Contraction
    zero: str = ""
    held: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> ScalarType:
        return self.emitter.types.arrays[self.found.update.target.array].element

    @property
    def width(self) -> int:
        return host_width("float64" if self.kind is F64 else "float32")

    def write(self) -> None:
        tile, writer = self.tile, self.emitter.writer
        writer.quote(self.found.update.loc)
        self.zero = self.fresh("zero")
        self.line(f"{self.zero} = {self.splat(0.0)}")
        used = {tile.columns, *tile.sums, tile.rows, tile.second_rows}
        with ExitStack() as stack:
            if self.found.start is None:
                # Where nothing is summed the target is not touched: it may be smaller than the loops around it.
                ranges = [self.bounds(index) for index in tile.sums]
                some = " and ".join(f"{lower} < {upper}" for lower, upper in ranges)
                stack.enter_context(writer.block(f"if {some}:"))
            for index in (p.index for p in self.found.loops if p.index not in used):
                stack.enter_context(self.plain(index))
            if tile.is_dot:
                self.dot_tiles()
            else:
                self.column_tiles()

    # -- loops -----------------------------------------------------------------------------------------------
    def line(self, text: str) -> None:
        self.emitter.writer.line(text)

    def fresh(self, stem: str) -> str:
        return self.emitter.names.fresh(stem)

    def simd(self, name: str) -> str:
        self.emitter.simd.add(name)
        return name

    def splat(self, value: float) -> str:
        return f"{self.simd('splat')}({self.emitter.expr(Const(value, self.kind))}, {self.width})"

    def bounds(self, index: str) -> tuple[str, str]:
        loop = self.loop(index)
        return self.emitter.expr(loop.lower), self.emitter.expr(loop.upper)

    def loop(self, index: str) -> Loop:
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

    def row_blocks(self, index: str | None, size: int, write: Callable[[int, str], None], is_thrifty: bool) -> None:
        """`write(rows, end)` inside loops over `index` in blocks of `size` rows; `is_thrifty`: the last rows one by
        one if they fill less than half a block."""
        if index is None:
            write(1, "")
            return
        start, end = self.span(index)
        stop = end
        if is_thrifty:
            stop = self.fresh(f"{index}_stop")
            rest = f"({end} - {start}) % {size}"
            self.line(f"{stop} = {end} - {rest} if {rest} < {(size + 1) // 2} else {end}")
        with self.emitter.writer.block(f"for {index} in range({start}, {stop}, {size}):"):
            write(size, end)
        if is_thrifty:
            with self.emitter.writer.block(f"for {index} in range({stop}, {end}):"):
                write(1, end)

    def clamped(self, index: str | None, rows: int, end: str) -> list[str]:
        """Names of the index of each row of a block; rows beyond the last repeat it."""
        if index is None:
            return [""]
        names = [index]
        if rows > 1:
            last = self.fresh(f"{index}_last")
            self.line(f"{last} = {end} - 1")
            for row in range(1, rows):
                names.append(self.fresh(f"{index}_{row}"))
                self.line(f"{names[-1]} = {self.simd('minimum')}({index} + {row}, {last})")
        return names

    # -- vectors along the columns of the target --------------------------------------------------------------
    def column_tiles(self) -> None:
        """Blocks of columns, then the rest in single, masked vectors; inside, blocks of rows."""
        index, width, block = self.tile.columns, self.width, self.emitter.writer.block
        rows = 8 if vector_bits() == 512 else 4
        columns = 3 if self.tile.rows is not None else 4
        start, end = self.span(index)
        stop = self.fresh(f"{index}_stop")
        self.line(f"{stop} = {end} - ({end} - {start}) % {columns * width}")
        with block(f"for {index} in range({start}, {stop}, {columns * width}):"):
            whole = [""] * columns
            self.row_blocks(self.tile.rows, rows, lambda size, last: self.column_tile(size, last, whole), True)
        with block(f"for {index} in range({stop}, {end}, {width}):"):
            mask = self.fresh("live")
            self.line(f"{mask} = {self.simd('tail_mask')}({end} - {index}, {width})")
            self.row_blocks(self.tile.rows, rows, lambda size, last: self.column_tile(size, last, [mask]), False)

    def column_tile(self, rows: int, end: str, masks: list[str]) -> None:
        """One tile; `masks` has the mask of each vector of a row, empty if all its lanes are live."""
        tile, index, columns = self.fresh("tile"), self.tile.rows, len(masks)
        names = self.clamped(index, rows, end)
        places: list[Placed] = [{Index(index): Index(n)} if index else {} for n in names]
        self.line(f"{tile} = {self.simd('repeat')}({self.zero}, {rows * columns})")
        with ExitStack() as stack:
            for summed in self.tile.sums:
                stack.enter_context(self.plain(summed))
            moved = [(self.shifted(c), m) for c, m in enumerate(masks)]
            self.add_products(tile, places, moved, self.tile.rows, self.tile.columns)
        for r, placed in enumerate(places):
            row = f"{self.simd('row_of')}({tile}, {r}, {columns})"
            self.update(placed, row, masks, f"{index} + {r} < {end}" if r else "True")

    def update(self, placed: Placed, row: str, masks: list[str], is_live: str) -> None:
        """Bring a row of vectors into consecutive elements of the target."""
        target = self.found.update.target
        function = self.simd("add_row" if self.found.start is None else "store_row")
        live = f"({', '.join(masks)},)" if all(masks) else "()"
        where = self.subscripts(target.subscripts, placed)
        self.line(f"{function}({target.array}, {where}, {row}, {live}, {is_live})")

    def shifted(self, column: int) -> Placed:
        index = self.tile.columns
        return {Index(index): Index(f"({index} + {column * self.width})")} if column else {}

    # -- dot products ----------------------------------------------------------------------------------------
    def dot_tiles(self) -> None:
        """Blocks of the longer side of a tile, which stay in cache, around blocks of the shorter one."""
        second = self.tile.second_rows
        assert second is not None
        seconds = min(8, self.width)
        rows = max(1, (24 if vector_bits() == 512 else 12) // seconds)

        def inside(_: int, end: str) -> None:
            names, live = self.clamped(second, seconds, end), self.fresh("live")
            left = f"{self.simd('minimum')}({end} - {second}, {seconds})"
            self.line(f"{live} = {self.simd('tail_mask')}({left}, {self.width})")
            self.row_blocks(self.tile.rows, rows, lambda size, last: self.dot_tile(size, last, names, live), False)

        self.row_blocks(second, seconds, inside, False)

    def dot_tile(self, size: int, end: str, seconds: list[str], live: str) -> None:
        tile, first, second, index = self.fresh("tile"), self.tile.rows, self.tile.second_rows, self.tile.columns
        assert second is not None
        rows = self.clamped(first, size, end)
        self.line(f"{tile} = {self.simd('repeat')}({self.zero}, {len(rows) * len(seconds)})")
        lower, upper = self.bounds(index)
        stop, mask = self.fresh(f"{index}_end"), self.fresh("live")
        self.line(f"{stop} = {upper}")
        places: list[Placed] = [{Index(first): Index(r)} if first else {} for r in rows]
        full = self.fresh(f"{index}_full")
        self.line(f"{full} = {stop} - ({stop} - {lower}) % {self.width}")
        with self.emitter.writer.block(f"for {index} in range({lower}, {full}, {self.width}):"):
            self.add_products(tile, places, [({Index(second): Index(n)}, "") for n in seconds], first, second)
        with self.emitter.writer.block(f"for {index} in range({full}, {stop}, {self.width}):"):
            self.line(f"{mask} = {self.simd('tail_mask')}({stop} - {index}, {self.width})")
            self.add_products(tile, places, [({Index(second): Index(n)}, mask) for n in seconds], first, second)
        for r, placed in enumerate(places):
            sums = f"{self.simd('sums_of')}({self.simd('row_of')}({tile}, {r}, {len(seconds)}))"
            is_live = f"{first} + {r} < {end}" if r else "True"
            self.add_sums(sums, placed, live, is_live)

    def add_sums(self, sums: str, placed: Placed, mask: str, is_live: str) -> None:
        """Bring a vector of sums into consecutive (or else any) elements of the target."""
        target, second = self.found.update.target, self.tile.second_rows
        assert second is not None
        if stride_of(target, second, NONE, self.emitter.ls) == "unit":
            self.update(placed, f"({sums},)", [mask], is_live)
            return
        lanes = f"{self.simd('iota')}({second}, 1, {self.width})"
        where = self.subscripts(target.subscripts, {**placed, Index(second): Index(lanes)})
        update = self.simd("scatter_add_masked" if self.found.start is None else "scatter_masked")
        with self.emitter.writer.block(f"if {is_live}:"):
            self.line(f"{update}({target.array}, {where}, {sums}, {mask})")

    # -- arithmetic ------------------------------------------------------------------------------------------
    def add_products(
        self, tile: str, rows: list[Placed], columns: list[tuple[Placed, str]], first: str | None, second: str
    ) -> None:
        """Add the summand at every place of the tile, term by term: as rows times columns where a term is such."""
        self.held = {}
        for is_negative, term in terms(self.found.summand):
            parts = factors(term)
            left = [f for f in parts if first is not None and depends_on(f, first)]
            right = [f for f in parts if f not in left]
            if any(depends_on(f, second) for f in left):
                products = [self.product(parts, {**r, **c}, mask, is_negative) for r in rows for c, mask in columns]
                self.line(f"{tile} = {self.simd('add_each')}({tile}, ({', '.join(products)},))")
                continue
            a = [self.product(left, r, columns[0][1], False) for r in rows]
            b = [self.product(right, c, mask, is_negative) for c, mask in columns]
            self.line(f"{tile} = {self.simd('rank_one')}({tile}, ({', '.join(a)},), ({', '.join(b)},))")

    def product(self, parts: list[Expr], placed: Placed, mask: str, is_negative: bool) -> str:
        """A vector: the product of `parts` at one place, zero in dead lanes of a dot product."""
        texts = [self.operand(f, placed, mask) for f in parts]
        text = " * ".join(texts) if texts else self.emitter.expr(Const(1.0, self.kind))
        text = f"-({text})" if is_negative else text
        if not any(has_loads(f) for f in parts):
            text = f"{self.simd('splat')}({text}, {self.width})"
        if self.tile.is_dot and mask and not all(self.vanishes(f) for f in parts):
            text = f"{self.simd('select')}({mask}, {text}, {self.zero})"
        return self.hold(text, "product")

    def vanishes(self, expr: Expr) -> bool:
        """Whether `expr` is zero in dead lanes, whose loads give zero."""
        match expr:
            case Load(access=access):
                return stride_of(access, self.tile.columns, NONE, self.emitter.ls) != "uniform"
            case Apply(op=Op.NEG | Op.ADD | Op.SUB | Op.MUL, args=args):
                return all(self.vanishes(a) for a in args)
            case _:
                return False

    def operand(self, expr: Expr, placed: Placed, mask: str) -> str:
        """A vector, or a scalar where nothing is loaded; loads are held in a variable and used again."""
        match expr:
            case Load(access=access) if access.subscripts:
                return self.hold(self.load(access, placed, mask), access.array)
            case Apply(op=Op.NEG, args=(a,)) if has_loads(expr):
                return f"(-{self.operand(a, placed, mask)})"
            case Apply(op=Op.MUL | Op.ADD | Op.SUB as op, args=(a, b)) if has_loads(expr):
                return f"({self.operand(a, placed, mask)} {op.value} {self.operand(b, placed, mask)})"
            case _:
                return self.emitter.expr(expr)

    def hold(self, text: str, stem: str) -> str:
        """The name of a variable that holds `text`, unless it is a name itself."""
        if text.isidentifier():
            return text
        if text not in self.held:
            self.held[text] = self.fresh(f"{stem}_v")
            self.line(f"{self.held[text]} = {text}")
        return self.held[text]

    def load(self, access: Access, placed: Placed, mask: str) -> str:
        where = self.subscripts(access.subscripts, placed)
        if stride_of(access, self.tile.columns, NONE, self.emitter.ls) == "uniform":
            return f"{self.simd('load_splat')}({access.array}, {where}, {self.width})"
        if not mask:
            return f"{self.simd('load')}({access.array}, {where}, {self.width})"
        return f"{self.simd('load_masked')}({access.array}, {where}, {mask})"

    def subscripts(self, parts: tuple[Expr, ...], placed: Placed) -> str:
        texts = [self.emitter.expr(substitute(s, placed)) for s in parts]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def depends_on(expr: Expr, index: str) -> bool:
    return any(isinstance(e, Index) and e.name == index for e in subexprs(expr))


def has_loads(expr: Expr) -> bool:
    """Whether `expr` reads an element of an array."""
    return any(isinstance(e, Load) and e.access.subscripts for e in subexprs(expr))
