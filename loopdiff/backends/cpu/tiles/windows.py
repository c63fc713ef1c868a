"""Register tiles over windows: rows of an image whose sums go over neighbouring elements of another one.

    for p: for q: for r: for s: y[p, q] += x[p + r, q + s] * w[r, s]

Several rows are summed at once, with every element of `w` loaded once for all of them. Blocks that are whole know where
their rows lie, which the others look up. Where the sums end at the edges of the image that is read,

    for i: for j: for r in range(max(0, i - P + 1), min(R, i + 1)): for s in range(max(0, j - Q + 1), min(S, j + 1)):
        x_adj[i, j] += y_adj[i - r, j - s] * w[r, s]

rows at the edges have sums of their own, and lanes that have nothing at `s` are left out of it by a mask: an infinite
`w[r, s]` reaches just the elements that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from loopdiff.analysis.contractions import Slide, slides_of
from loopdiff.backends.cpu.tiles.tile import Block, Side, TileWriter
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import shifted, sub
from loopdiff.ir.walk import substitute


@dataclass(slots=True)
class Column:
    """A vector of columns of a block: the writer of its sums, their name, the name of its first index, and the mask of
    those that are there ("" if all are)."""

    writer: TileWriter
    tile: str
    index: str
    live: str


@dataclass(slots=True)
class WindowTileWriter(TileWriter):
    """Writes a contraction over windows. `between`: bounds of summed loops that differ from those in the program."""

    between: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def slides(self) -> tuple[Slide, ...]:
        found = slides_of(self.found.loops)
        assert found is not None, "`choose_tile` has asked"
        return found

    def slide_along(self, index: str | None) -> Slide | None:
        return next((s for s in self.slides if s.along == index), None)

    def bounds(self, index: str) -> tuple[str, str]:
        return self.between.get(index) or TileWriter.bounds(self, index)

    def ranges(self) -> list[tuple[str, str]]:
        slides, spell = {s.index: s for s in self.slides}, self.emitter.expr
        found: list[tuple[str, str]] = []
        for index in self.tile.sums:
            slide = slides.get(index)
            if slide is None:
                found.append(self.bounds(index))
            else:
                found += [(spell(slide.low), spell(slide.high)), (spell(slide.first), spell(slide.end))]
        return found

    # -- vectors along the columns of the target --------------------------------------------------------------
    def column_tiles(self) -> None:
        """Blocks of rows around blocks of columns, as images lie in memory."""
        rows = self.tile.rows
        assert rows is not None
        columns, (start, end) = self.span(self.tile.columns), self.span(rows)
        slide = self.slide_along(rows)
        if slide is None:
            self.whole_rows(start, end, lambda side: self.row_of_blocks(side, *columns))
            return
        # Rows between `first` and `last` have all of the sum.
        first, last, edge = self.fresh(f"{rows}_first"), self.fresh(f"{rows}_last"), self.fresh(f"{rows}_edge")
        spell = self.emitter.expr
        low, high = spell(sub(slide.high, slide.end)), spell(shifted(sub(slide.low, slide.first), 1))
        least, most = self.simd("minimum"), self.simd("maximum")
        self.line(f"{first} = {least}({most}({start}, {low}), {end})")
        self.line(f"{last} = {most}({first}, {least}({end}, {high}))")
        with self.emitter.writer.block(f"for {edge} in range({start}, {end} - ({last} - {first})):"):
            self.line(f"{rows} = {edge} if {edge} < {first} else {edge} + ({last} - {first})")
            self.row_of_blocks(Side(rows), *columns)
        self.between[slide.index] = spell(slide.low), spell(slide.high)
        self.whole_rows(first, last, lambda side: self.row_of_blocks(side, *columns))

    def whole_rows(self, start: str, end: str, write: Callable[[Side], None]) -> None:
        """Blocks of rows, then blocks of half as many, not all of which may be there."""
        rows, size = self.tile.rows, self.shape.rows
        stop, left = self.fresh(f"{rows}_stop"), self.fresh(f"{rows}_left")
        self.line(f"{stop} = {end} - ({end} - {start}) % {size}")
        with self.emitter.writer.block(f"for {rows} in range({start}, {stop}, {size}):"):
            write(Side(rows, size))
        with self.emitter.writer.block(f"for {rows} in range({stop}, {end}, {size // 2}):"):
            self.line(f"{left} = {end} - {rows} - 1")
            write(Side(rows, size // 2, 1, left))

    def row_of_blocks(self, rows: Side, start: str, end: str) -> None:
        """Blocks of columns; the last one has masks, as all have where lanes have sums of their own, and those of the
        last rows, which are not worth more code. Single rows go vector by vector."""
        index, width, block = self.tile.columns, self.width, self.emitter.writer.block
        wide = self.shape.columns if rows.count > 1 else 1
        size, stop = wide * width, start
        if self.slide_along(index) is None and rows.count == self.shape.rows:
            stop = self.fresh(f"{index}_stop")
            self.line(f"{stop} = {end} - ({end} - {start}) % {size}")
            with block(f"for {index} in range({start}, {stop}, {size}):"):
                self.block_of_columns(rows, self.shape.columns, "")
        with block(f"for {index} in range({stop}, {end}, {size}):"):
            for count in reversed(range(1, wide + 1)):
                is_rest = f"if {end} - {index} > {(count - 1) * width}:" if count > 1 else "else:"
                with block(is_rest) if wide > 1 else nullcontext():
                    self.block_of_columns(rows, count, end)

    def block_of_columns(self, rows: Side, count: int, end: str) -> None:
        """`count` vectors of columns for all `rows`; up to the column `end`, if that is not clear."""
        columns = [self.column(k, rows, end) for k in range(count)]
        across = self.slide_along(self.tile.columns)
        sums = sorted(self.tile.sums, key=lambda k: across is None or k != across.index)
        with ExitStack() as stack:
            masks = [c.live for c in columns]
            for index in sums:
                if across is not None and index == across.index:
                    stack.enter_context(self.columns_seen(across, count))
                    masks = [self.lanes_of(across, c) for c in columns]
                else:
                    stack.enter_context(self.plain(index))
            for column, mask in zip(columns, masks, strict=True):
                column.writer.add_products(column.tile, Block(rows, Side(), mask))
        for column in columns:
            column.writer.update(column.tile, rows, column.live)

    def column(self, number: int, rows: Side, end: str) -> Column:
        """Vector `number` of a block of columns, its sums at zero."""
        index = self.tile.columns
        if number:
            index = self.fresh(f"{index}_{number}")
            self.line(f"{index} = {self.tile.columns} + {number * self.width}")
        live = self.mask_of(f"{end} - {index}") if end else ""
        there: dict[ir.Expr, ir.Expr] = {ir.Index(self.tile.columns): ir.Index(index)}
        target = self.found.update.target
        target = replace(target, subscripts=tuple(substitute(s, there) for s in target.subscripts))
        update = replace(self.found.update, target=target)
        found = replace(self.found, update=update, summand=substitute(self.found.summand, there))
        is_guarded = self.slide_along(self.tile.columns) is not None
        tile = replace(self.tile, lanes=index, columns=index)
        writer = TileWriter(self.emitter, tile, found, self.zero, is_guarded=is_guarded)
        ticks, self.ticks = self.ticks, "" if number else self.ticks
        name = self.zero_tile(rows.count)
        self.ticks = ticks
        return Column(writer, name, index, live)

    @contextmanager
    def columns_seen(self, slide: Slide, count: int) -> Iterator[None]:
        """The loop over all that some of so many vectors of columns sum."""
        loop, along = self.loop(slide.index), ir.Index(slide.along)
        last: dict[ir.Expr, ir.Expr] = {along: shifted(along, count * self.width - 1)}
        lower, upper = self.emitter.expr(loop.lower), self.emitter.expr(substitute(loop.upper, last))
        with self.emitter.writer.block(f"for {slide.index} in range({lower}, {upper}):"):
            yield

    def lanes_of(self, slide: Slide, column: Column) -> str:
        """The name of a mask of the lanes that have something at this place of the sum."""
        seen, tail, spell = self.fresh("seen"), self.simd("tail_mask"), self.emitter.expr
        ends = [
            spell(shifted(sub(sub(ir.Index(slide.index), ir.Index(column.index)), e), 1))
            for e in (slide.first, slide.end)
        ]
        parts = [
            f"{tail}({ends[0]}, {self.width})",
            f"~{tail}({ends[1]}, {self.width})",
            *([column.live] if column.live else []),
        ]
        self.line(f"{seen} = {' & '.join(parts)}")
        return seen

    # -- dot products ----------------------------------------------------------------------------------------
    def dot_tiles(self) -> None:
        """Whole blocks of the window, and rows of it one by one where a block is not whole."""
        rows, columns, size = self.tile.rows, self.tile.columns, self.shape.columns
        assert rows is not None
        (start, end), (first, last) = self.span(columns), self.span(rows)
        with self.emitter.writer.block(f"for {columns} in range({start}, {end}, {size}):"):
            left, stop = self.fresh(f"{columns}_left"), self.fresh(f"{rows}_stop")
            self.line(f"{left} = {end} - {columns} - 1")
            live = self.mask_of(f"{self.simd('minimum')}({left} + 1, {size})")
            whole = f"{last} - ({last} - {first}) % {self.shape.rows}"
            self.line(f"{stop} = {whole} if {left} >= {size - 1} else {first}")
            with self.emitter.writer.block(f"for {rows} in range({first}, {stop}, {self.shape.rows}):"):
                self.dot_tile(Side(rows, self.shape.rows), Side(columns, size), live)
            with self.emitter.writer.block(f"for {rows} in range({stop}, {last}):"):
                self.dot_tile(Side(rows), Side(columns, size, 1, left), live)
