"""Products of matrices, C += scale * A * B, for operands that lie in memory in any way.

Blocks are those of Goto and van de Geijn (2008), "Anatomy of high-performance matrix multiplication": so much of the
sum at a time that panels of both operands pass through the first cache, so many rows that their part of A stays in the
second. What lies apart, or on too few lines of a cache, is copied into panels first. The order of the sums depends on
the extents only.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import reduce
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.host import host_machine
from loopdiff.immutable import immutable
from loopdiff.model.register_tiles import Blocks, TileShape, product_blocks, product_tile, tall_tiles

from .build import FLOATS, INT8, INT64, Typed
from .dots import ROWS, Dots
from .kernels import ADD_ROWS, ADD_TILE, ASSIGN, Copy, Lanes, Tile, column_function, shared_function
from .rooms import forget_copy, keep_copy, take_kept, take_room, unlock
from .types import host_width, vector_bits
from .watch import goes_on, watched
from .words import POINTER, Variable, Word, counted, repeated, words

ADD, IN_PARTS, GIVE_UP = 1, 2, 4
FEW_KEPT = 2  # rows that are still too few where copies of the columns are there already
INTERRUPTED = 1  # which is no ticket
LINE, PAGE, CLOSE = 64, 4096, 24 << 10
ROOMS = 16


@immutable
class Copies:
    """The lock of a room, or 0, room for copies of A and of B (0 where they stay in place), and the bytes of the
    latter; whether what is there of B `is_new`, so that it has to be filled, and whether it `is_kept` for later, at a
    time all of it, block after block."""

    lock: Word
    room_a: Word
    room_b: Word
    held: Word
    is_new: Word
    is_kept: Any


@immutable
class Product:
    """The product of matrices of one floating type, in functions of an LLVM module."""

    lanes: Lanes
    shape: TileShape
    blocks: Blocks
    rooms: int = ROOMS
    tall: tuple[TileShape, ...] = ()
    narrow: Lanes | None = None  # vectors half as long, where these take half as long

    @property
    def panel(self) -> int:
        """Columns of a panel of B."""
        return self.shape.columns * self.lanes.width

    @property
    def size(self) -> int:
        return self.lanes.itemsize

    @property
    def stem(self) -> str:
        return f"loopdiff.product.{self.lanes.scalar}"

    # -- one block of the sum --------------------------------------------------------------------------------
    def block_function(self, module: Any) -> Any:
        """c, c_row, c_row2, a, a_row, a_row2, a1, a2, a3, b, b_col, b1, b2, b3, rows, rows2, columns, n1, n2, n3,
        is_sum, room_a, room_b, is_new, watch, scale: the part of C that stems from this block of the sum. Unless
        `is_new`, the copies in room B are there."""
        return shared_function(module, f"{self.stem}.block", [*[INT64] * 25, self.lanes.scalar], self.block)

    def block(self, builder: Any, *args: Any) -> None:
        c, c_row, c_row2, a, a_row, a_row2, *others = words(builder, args[:-1])
        (
            a1,
            a2,
            a3,
            b,
            b_col,
            b1,
            b2,
            b3,
            rows,
            rows2,
            all_columns,
            n1,
            n2,
            n3,
            is_sum,
            room_a,
            room_b,
            is_new,
            watch,
        ) = others
        depth, tall, counts = n1 * n2 * n3, self.shape.rows, [n1, n2, n3]
        is_first = Variable.of(is_new, builder)
        with counted(builder, rows2) as row2, counted(builder, rows, self.blocks.rows) as row:
            here = (rows - row).least(self.blocks.rows)
            columns = all_columns.where(goes_on(builder, watch, here * depth * all_columns), 0)
            here = here.where(columns.test(">", 0), 0)
            start = a + row2 * a_row2 + row * a_row
            with builder.if_then(room_a.test("!=", 0)), counted(builder, here, tall) as k:
                to = [room_a + k * depth * self.size, Word(builder, INT64(tall * self.size))]
                self.copy(builder, tall, to, [start + k * a_row, a_row, a1, a2, a3], counts, (here - k).least(tall))
            is_copied = room_a.test("!=", 0)
            step = Word(builder, INT64(tall * self.size))
            packed = [room_a, Word(builder, INT64(self.size)), step * depth, step, step * n1, step * n1 * n2]
            plain = [start, a_row, a_row * tall, a1, a2, a3]
            left = [p.where(is_copied, q) for p, q in zip(packed, plain, strict=True)]
            column = Variable.of(0, builder)
            column.become(0)
            with repeated(builder, column, columns):
                target = [c + row2 * c_row2 + row * c_row + column.now * self.size, c_row]
                right = [b + column.now * b_col, b_col, b1, b2, b3]
                room = (room_b + column.now * depth * self.size).where(room_b.test("!=", 0), 0)
                self.columns(
                    builder,
                    column,
                    columns,
                    [here, *target, *left],
                    right,
                    counts,
                    room,
                    is_first.now,
                    [is_sum, args[-1]],
                )
            is_first.become(0)

    def columns(
        self,
        builder: Any,
        column: Variable,
        end: Word,
        left: list[Word],
        right: list[Word],
        counts: list[Word],
        room: Word,
        is_first: Word,
        last: list[Any],
    ) -> None:
        """One to three vectors of columns, copied before where there is room; four that are left are a tall tile, or
        two pairs. Fewer than three are tall tiles where the last vector is whole, and rows of A follow each other as
        they do in memory: copies of A are arranged for tiles of the usual height."""
        width, wide = self.lanes.width, self.shape.columns
        there = (end - column.now + (width - 1)) // width
        few = there.least(wide - 1)
        vectors = Word(builder, INT64(wide)).where(builder.or_(there.test("==", wide), there.test(">", wide + 1)), few)
        is_plain = left[5].test("==", left[4] * self.shape.rows)
        for shape in self.tall:
            vectors = there.where(builder.and_(there.test("==", shape.columns), is_plain), vectors)
        live = (end - column.now - (vectors - 1) * width).least(width)
        step = vectors * (width * self.size)
        with (
            builder.if_then(room.test("!=", 0)),
            builder.if_then(is_first.test("!=", 0)),
            counted(builder, vectors) as k,
        ):
            source = [right[0] + k * width * right[1], *right[1:]]
            exist = live.where(k.test("==", vectors - 1), width)
            self.copy(builder, width, [room + k * (width * self.size), step], source, counts, exist)
        packed = [room, step, step * counts[0], step * counts[0] * counts[1]]
        is_copied = room.test("!=", 0)
        walk = [p.where(is_copied, q) for p, q in zip(packed, [right[0], *right[2:]], strict=True)]
        adds = Word(builder, INT64(ADD_ROWS)).where(self.overlap(builder, left[2], vectors, live), ADD_TILE)
        update = adds.where(builder.icmp_signed("!=", last[0].value, INT64(0)), ASSIGN)
        args = [w.value for w in (*left, *walk, *counts, live, update)]
        for k in (1, 3, 9):
            args[k] = builder.inttoptr(args[k], POINTER)
        self.tiles(builder, vectors, live, left, args, last[1])
        column.become(column.now + vectors * width)

    def tiles(
        self, builder: Any, vectors: Word, live: Word, left: list[Word], args: list[Any], scale: Any
    ) -> None:  # fmt: skip
        """The tiles of so many vectors of columns, `live` lanes of the last of which are there."""
        is_whole, wide = live.test("==", self.lanes.width), self.shape.columns
        is_plain = left[5].test("==", left[4] * self.shape.rows)

        def write(tile: Tile) -> None:
            block = left[5] if tile.rows == self.shape.rows else left[4] * tile.rows
            self.column(builder, tile, [*args[:5], block.value, *args[6:]], scale)

        tall = {shape.columns: shape for shape in self.tall}
        for count in range(1, max((wide, *tall)) + 1):
            usual = TileShape(self.shape.rows, count) if count <= wide else tall[count]
            whole = tall.get(count, usual)
            with builder.if_then(vectors.test("==", count)), ExitStack() as stack:
                if self.narrow is not None:
                    half, more = stack.enter_context(builder.if_else(live.test("<=", self.narrow.width)))
                    with half:
                        write(Tile(self.lanes, usual.rows, count, narrow=self.narrow))
                    stack.enter_context(more)
                if count < wide and whole is usual:
                    write(Tile(self.lanes, usual.rows, count))
                    continue
                may_be = is_whole if count >= wide else builder.and_(is_whole, is_plain)
                with builder.if_else(may_be) as (then, otherwise):
                    with then:
                        write(Tile(self.lanes, whole.rows, count, is_whole=True))
                    with otherwise:
                        write(Tile(self.lanes, usual.rows, count))

    def overlap(self, builder: Any, c_row: Word, vectors: Word, live: Word) -> Any:
        """Whether rows of so many vectors of C, the last one with `live` lanes, have elements in common."""
        extent = (((vectors - 1) * self.lanes.width) + live) * self.size
        return builder.and_(c_row.test("<", extent), (-c_row).test("<", extent))

    def column(self, builder: Any, tile: Tile, args: list[Any], scale: Any) -> None:
        builder.call(column_function(builder.module, tile), [*args, scale])

    def copy(
        self, builder: Any, width: int, to: list[Word], source: list[Word], counts: list[Word], live: Word
    ) -> None:
        args = [w.value for w in (*to, *source, *counts, live)]
        args[0], args[2] = builder.inttoptr(args[0], POINTER), builder.inttoptr(args[2], POINTER)
        builder.call(Copy(Lanes(self.lanes.element, width)).function(builder.module), args)

    # -- the whole -------------------------------------------------------------------------------------------
    def function(self, module: Any) -> Any:
        """c, c_row, c_row2, a, a_row, a_row2, a1, a2, a3, b, b_col, b1, b2, b3, rows, rows2, columns, n1, n2, n3, how,
        kept, watch, scale: C = scale * A * B, or C += that if `how` has ADD. With IN_PARTS, rows may be a part of those
        of the program, and their number makes no difference to the order of sums. Where the ticket at the address
        `kept` is not zero, copies of B are kept for the next one, which has the same B; with GIVE_UP they are no more.
        """
        return shared_function(module, self.stem, [*[INT64] * 23, self.lanes.scalar], self.body)

    def body(self, builder: Any, *args: Any) -> None:
        rows, rows2, columns, n1, n2, n3, how, kept = words(builder, args[14:22])
        is_sum, ticket = how & ADD, Word(builder, builder.load(number_at(builder, kept), typ=INT64))
        with builder.if_then((how & GIVE_UP).test("!=", 0)):
            forget_copy(builder, self.rooms, ticket)
        args = (*args[:20], is_sum.value, *args[21:])
        is_some = [w.test(">", 0) for w in (rows, rows2, columns)]
        has_terms = [w.test(">", 0) for w in (n1, n2, n3)]
        summed = builder.or_(is_sum.test("==", 0), builder.and_(builder.and_(*has_terms[:2]), has_terms[2]))
        with builder.if_then(builder.and_(builder.and_(builder.and_(*is_some[:2]), is_some[2]), summed)):
            is_few = builder.and_(self.is_few(builder, words(builder, args[:-2])), (how & IN_PARTS).test("==", 0))
            is_few = builder.and_(is_few, builder.or_(ticket.test("==", 0), rows.test("<=", FEW_KEPT)))
            with builder.if_else(is_few) as (then, otherwise):
                with then:
                    c, c_row, _, a, a_row, *_ = args
                    dots = Dots(self.lanes).function(builder.module)
                    others = (args[k] for k in (9, 10, 14, 16, 17, 20, 23))
                    builder.call(dots, [c, c_row, a, a_row, *others])
                with otherwise:
                    self.blocked(builder, args)

    def is_few(self, builder: Any, args: list[Word]) -> Any:
        """Whether the rows are too few for copies of columns that are contiguous along the sum."""
        a1, b_col, b1, rows, rows2, n2, n3 = (args[k] for k in (6, 10, 11, 14, 15, 18, 19))
        tests = [b_col.test("!=", self.size), rows.test("<=", ROWS), *(n.test("==", 1) for n in (rows2, n2, n3))]
        tests += [a1.test("==", self.size), b1.test("==", self.size)]
        return reduce(builder.and_, tests)

    def blocked(self, builder: Any, args: Any) -> None:
        c, c_row, c_row2, a, a_row, a_row2, *others = words(builder, args[:-1])
        a1, a2, a3, b, b_col, b1, b2, b3, rows, rows2, columns, n1, n2, n3, is_sum, kept, watch = others
        is_one = builder.and_((c_row * rows).test("==", c_row2), (a_row * rows).test("==", a_row2))
        rows, rows2 = (rows * rows2).where(is_one, rows), Word(builder, INT64(1)).where(is_one, rows2)
        n1, n2, n3 = (n.most(0) for n in (n1, n2, n3))
        d1, d2, d3 = self.depths(builder, n1, n2, n3)
        depth = d1 * d2 * d3
        strides, ticket = [a_row, a1, b_col, b1], Variable(builder, number_at(builder, kept))
        copies = self.copies(builder, strides, rows * rows2, columns, depth, n1 * n2 * n3, ticket.now)
        room_a, room_b = copies.room_a, copies.room_b
        wide = self.width(builder, columns, depth, room_b, copies.held)
        adds, place = Variable.of(is_sum, builder), Variable.of(0, builder)
        padded = ((columns + (self.lanes.width - 1)) & -self.lanes.width) * self.size
        with counted(builder, columns, wide) as first:
            adds.become(is_sum)
            with (
                counted(builder, n3.most(1), d3) as s3,
                counted(builder, n2.most(1), d2) as s2,
                counted(builder, n1.most(1), d1) as s1,
            ):
                target = [c + first * self.size, c_row, c_row2]
                left = [a + s1 * a1 + s2 * a2 + s3 * a3, a_row, a_row2, a1, a2, a3]
                right = [b + first * b_col + s1 * b1 + s2 * b2 + s3 * b3, b_col, b1, b2, b3]
                counts = [(n1 - s1).least(d1), (n2 - s2).least(d2), (n3 - s3).least(d3)]
                extents = [rows, rows2, (columns - first).least(wide), *counts]
                rooms = [room_a, room_b + place.now, copies.is_new]
                passed = [*target, *left, *right, *extents, adds.now, *rooms, watch]
                builder.call(self.block_function(builder.module), [*(w.value for w in passed), args[-1]])
                adds.become(1)
                apart = padded * counts[0] * counts[1] * counts[2]
                place.become((place.now + apart).where(copies.is_kept, 0))
        with builder.if_then(copies.lock.test("!=", 0)):
            with builder.if_then(builder.and_(copies.is_kept, copies.is_new.test("!=", 0))):
                keep_copy(builder, self.rooms, copies.lock, ticket)
            unlock(builder, number_at(builder, copies.lock))

    def depths(self, builder: Any, *counts: Word) -> list[Word]:
        """How much of each loop of the sum is done together. Divisions take long, so small sums go without."""
        n1, n2, n3 = counts
        found = [Variable.of(n.most(1), builder) for n in counts]
        with builder.if_then((n1 * n2 * n3).test(">", self.blocks.depth)):
            most = Word(builder, INT64(self.blocks.depth))
            d1 = n1.least(most)
            d2 = n2.least(most // d1).most(1).where(d1.test(">=", n1), 1)
            is_whole = builder.and_(d1.test(">=", n1), d2.test(">=", n2))
            for variable, d in zip(
                found, (d1, d2, n3.least(most // (d1 * d2)).most(1).where(is_whole, 1)), strict=True
            ):
                variable.become(d)
        return [variable.now for variable in found]

    def width(self, builder: Any, columns: Word, depth: Word, room_b: Word, held: Word) -> Word:
        """Columns that are done together: all, or parts of much the same size whose copies find room."""
        found, step = Variable.of(columns, builder), depth * (self.panel * self.size)
        is_large = ((columns + self.panel) * depth * self.size).test(">", held)
        with builder.if_then(builder.and_(room_b.test("!=", 0), is_large)):
            widest = (held // step * self.panel).most(1)
            parts = (columns + widest - 1) // widest
            found.become(((columns + parts - 1) // parts + (self.panel - 1)) // self.panel * self.panel)
        return found.now

    def copies(
        self, builder: Any, strides: list[Word], rows: Word, columns: Word, depth: Word, whole: Word, ticket: Word
    ) -> Copies:
        """What is copied, of sums over `whole` of which `depth` is done together."""
        a_row, a1, b_col, b1 = strides
        fits_a = builder.or_(
            builder.and_(a1.test("==", self.size), (a_row & -a_row).test("<", PAGE)),
            builder.and_(a_row.test("==", self.size), (depth * (a1 & -a1).most(2 * LINE)).test("<=", CLOSE)),
        )
        stays_a = builder.or_(columns.test("<", self.blocks.rows), fits_a)
        fits_b = builder.or_(rows.test("<", 32), (depth * (b1 & -b1).most(3 * LINE)).test("<=", CLOSE))
        stays_b = builder.and_(b_col.test("==", self.size), fits_b)
        lock, room, room_a, room_b, held = (Variable.of(0, builder) for _ in range(5))
        of_a, small = self.blocks.rows * self.blocks.depth * 8, self.blocks.depth * self.panel * self.size
        fits = ((columns + self.panel) * whole * self.size).test("<=", self.blocks.held)
        may_keep = builder.and_(builder.and_(ticket.test("!=", 0), builder.not_(stays_b)), fits)
        with builder.goto_entry_block():
            stack = builder.alloca(llvm_ir.ArrayType(INT8, small))
            stack.align = LINE
        is_new, is_kept = Variable.of(1, builder), Variable.of(0, builder)
        with builder.if_then(builder.not_(builder.and_(stays_a, stays_b))):
            with builder.if_then(may_keep):
                take_kept(builder, self.rooms, ticket, lock, room)
                is_new.become(Word(builder, INT64(0)).where(lock.now.test("!=", 0), 1))
            with builder.if_then(lock.now.test("==", 0)):
                take_room(builder, self.rooms, of_a + self.blocks.held, lock, room)
            is_there = room.now.test("!=", 0)
            room_a.become(room.now.where(builder.not_(stays_a), 0))
            taken = (room.now + of_a).where(is_there, Word(builder, builder.ptrtoint(stack, INT64)))
            room_b.become(taken.where(builder.not_(stays_b), 0))
            held.become(Word(builder, INT64(self.blocks.held)).where(is_there, small))
            is_kept.become(Word(builder, INT64(1)).where(builder.and_(may_keep, is_there), 0))
        keeps = is_kept.now.test("!=", 0)
        return Copies(lock.now, room_a.now, room_b.now, held.now, is_new.now, keeps)


def number_at(builder: Any, place: Word) -> Any:
    """A pointer to the number at that address."""
    return builder.inttoptr(place.value, INT64.as_pointer())


def product_of(element: types.Type) -> Product:
    """The product of matrices of that element for this machine."""
    machine, width = host_machine(), host_width(str(element))
    narrow = Lanes(element, width // 2) if vector_bits() == 512 else None
    lanes, tall = Lanes(element, width), tall_tiles(machine)
    return Product(lanes, product_tile(machine), product_blocks(machine), ROOMS, tall, narrow)


@intrinsic
def product(typingctx: Any, words: Any, scale: Any) -> Typed | None:
    """C = scale * A * B, or C += that; the ticket of what is kept, or INTERRUPTED. `words`: see `Product.function`, the
    last one is the ticket."""
    if scale not in FLOATS or not isinstance(words, types.UniTuple) or words.count != 22:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        function = product_of(scale).function(builder.module)
        watch, ended = watched(builder)
        *given, ticket = (builder.extract_value(values[0], k) for k in range(words.count))
        kept = cgutils.alloca_once(builder, INT64)
        builder.store(ticket, kept)
        builder.call(function, [*given, builder.ptrtoint(kept, INT64), watch.value, values[1]])
        is_over = builder.icmp_signed("!=", builder.load(ended), INT64(0))
        return builder.select(is_over, INT64(INTERRUPTED), builder.load(kept, typ=INT64))

    return signature(types.int64, words, scale), lower
