"""Products of many small matrices side by side, C[r, c, l] += scale * sum over s of A[r, s, l] * B[s, c, l].

The lanes of a vector are as many of the products. Both operands are copied into panels of such vectors, and so is the
result unless its lanes are neighbours in memory; from its panel it is brought to where it belongs at the end.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from loopdiff.backends.cpu.host import host_machine
from loopdiff.immutable import immutable
from loopdiff.model.register_tiles import TileShape, product_blocks, product_tile

from .build import ARITHMETIC, FLOATS, INT8, INT64, Typed, constant, overloaded, prefetch
from .kernels import Copy, Lanes, shared_function, transposition
from .lanes import first_lanes
from .rooms import take_room
from .types import has_mask_registers, host_width
from .watch import goes_on, watched
from .words import POINTER, Variable, Word, counted, words

DEPTH = 64  # Iterations of the sum that are done together.
ROOMS = 16


@immutable
class LaneTile:
    """A tile of `rows` x `columns` vectors, all lanes of which are live."""

    lanes: Lanes
    rows: int
    columns: int

    def function(self, module: Any) -> Any:
        """c, c_row, c_col, a, a_row, a1, b, b_col, b1, count, is_sum, scale."""
        name = f"loopdiff.lane_tile.{self.lanes.scalar}.{self.rows}x{self.columns}x{self.lanes.width}"
        return shared_function(module, name, [*[INT64] * 11, self.lanes.scalar], self.body)

    def body(self, builder: Any, *args: Any) -> None:
        c, c_row, c_col, a, a_row, a1, b, b_col, b1, count, is_sum = words(builder, args[:-1])
        zero, vector = constant(self.lanes.vector, 0), self.lanes.vector
        held = [[cgutils.alloca_once_value(builder, zero) for _ in range(self.columns)] for _ in range(self.rows)]
        beyond = 2 * self.lanes.width * self.lanes.itemsize - 1  # the end of what the next lanes bring their sums into
        for r in range(self.rows):
            for n in range(self.columns):
                prefetch(builder, (c + c_row * r + c_col * n + beyond).pointer, True)
        with counted(builder, count) as k:
            right = [self.lanes.load(builder, (b + k * b1 + b_col * n).pointer) for n in range(self.columns)]
            for number, row in enumerate(held):
                left = self.lanes.load(builder, (a + k * a1 + a_row * number).pointer)
                for cell, column in zip(row, right, strict=True):
                    old = builder.load(cell, typ=vector)
                    builder.store(overloaded(builder, "llvm.fmuladd", left, column, old), cell)
        factor = self.lanes.everywhere(builder, args[-1])
        for r, row in enumerate(held):
            for n, cell in enumerate(row):
                place = (c + c_row * r + c_col * n).pointer
                new = builder.fmul(builder.load(cell, typ=vector), factor, flags=ARITHMETIC)
                total = Variable(builder, cgutils.alloca_once_value(builder, new))
                with builder.if_then(is_sum.test("!=", 0)):
                    builder.store(builder.fadd(new, self.lanes.load(builder, place)), total.cell)
                self.lanes.store(builder, place, builder.load(total.cell, typ=vector))


@immutable
class LaneProduct:
    """The products of one floating type, in functions of an LLVM module; `room` bytes for copies."""

    lanes: Lanes
    shape: TileShape
    room: int
    rooms: int = ROOMS

    @property
    def step(self) -> int:
        """Bytes of a vector."""
        return self.lanes.width * self.lanes.itemsize

    @property
    def stem(self) -> str:
        return f"loopdiff.lane_product.{self.lanes.scalar}"

    # -- the result ------------------------------------------------------------------------------------------
    def spread_function(self, module: Any) -> Any:
        """source, c, c_col, c_lane, columns, live, is_sum: a row of vectors into C, or added to it."""
        return shared_function(module, f"{self.stem}.spread", [INT64] * 7, self.spread, is_unrolled=True)

    def spread(self, builder: Any, *args: Any) -> None:
        source, c, c_col, c_lane, columns, live, is_sum = words(builder, args)
        width, size, scalar = self.lanes.width, self.lanes.itemsize, self.lanes.scalar

        def put_square(first: Word, mask: Any) -> None:
            rows = [self.lanes.load(builder, (source + (first + k) * self.step).pointer) for k in range(width)]
            for lane, vector in enumerate(transposition(builder, rows)):
                with builder.if_then(live.test(">", lane)):
                    place = (c + c_lane * lane + first * size).pointer
                    old = self.lanes.load(builder, place, mask)
                    kept = builder.select(is_sum.test("!=", 0), old, constant(self.lanes.vector, 0))
                    self.lanes.store(builder, place, builder.fadd(vector, kept), mask)

        def along_columns() -> None:
            with counted(builder, columns, width) as first:
                mask = first_lanes(builder, (columns - first).value, width)
                if has_mask_registers():
                    put_square(first, mask)
                else:
                    with builder.if_else((first + width).test("<=", columns)) as (then, otherwise):
                        with then:
                            put_square(first, None)
                        with otherwise:
                            put_square(first, mask)

        def one_by_one() -> None:
            with counted(builder, columns) as column, counted(builder, live) as lane:
                here = builder.bitcast((source + column * self.step + lane * size).pointer, scalar.as_pointer())
                there = builder.bitcast((c + column * c_col + lane * c_lane).pointer, scalar.as_pointer())
                new = builder.load(here, align=size, typ=scalar)
                old = builder.load(there, align=size, typ=scalar)
                kept = builder.select(is_sum.test("!=", 0), old, constant(scalar, 0))
                builder.store(builder.fadd(new, kept), there, align=size)

        with builder.if_else(c_col.test("==", size)) as (then, otherwise):
            with then:
                along_columns()
            with otherwise:
                one_by_one()

    # -- one block -------------------------------------------------------------------------------------------
    def tiles_function(self, module: Any) -> Any:
        """rows, columns, c, c_row, c_col, a, b, depth, count, is_sum, scale: all tiles of a block whose operands are
        copied; rows of A and columns of B are `depth` vectors apart."""
        return shared_function(module, f"{self.stem}.tiles", [*[INT64] * 10, self.lanes.scalar], self.tiles)

    def tiles(self, builder: Any, *args: Any) -> None:
        rows, columns, c, c_row, c_col, a, b, depth, count, is_sum = words(builder, args[:-1])
        apart, vector = depth * self.step, Word(builder, INT64(self.step))
        column = Variable.of(0, builder)
        row = Variable.of(0, builder)
        for wide in range(self.shape.columns, 0, -1):
            whole = (columns - column.now) // wide
            with counted(builder, whole) as k:
                n = column.now + k * wide
                row.become(0)
                for tall in (self.shape.rows >> p for p in range(self.shape.rows.bit_length())):
                    with counted(builder, (rows - row.now) // tall) as block:
                        r = row.now + block * tall
                        function = LaneTile(self.lanes, tall, wide).function(builder.module)
                        where = [c + r * c_row + n * c_col, c_row, c_col, a + r * apart, apart, vector]
                        passed = [*where, b + n * apart, apart, vector, count, is_sum]
                        builder.call(function, [*(w.value for w in passed), args[-1]])
                    row.become(row.now + (rows - row.now) // tall * tall)
            column.become(column.now + whole * wide)

    # -- the whole -------------------------------------------------------------------------------------------
    def function(self, module: Any) -> Any:
        """c, c_row, c_col, c_lane, a, a_row, a_lane, a1, a2, a3, b, b_col, b_lane, b1, b2, b3, rows, columns, count,
        n1, n2, n3, is_sum, watch, scale: C = scale * A * B for `count` products, or C += that if `is_sum`."""
        return shared_function(module, self.stem, [*[INT64] * 24, self.lanes.scalar], self.body)

    def body(self, builder: Any, *args: Any) -> None:
        rows, columns, count, n1, n2, n3, is_sum = words(builder, args[16:23])
        is_some = builder.and_(builder.and_(rows.test(">", 0), columns.test(">", 0)), count.test(">", 0))
        has_terms = builder.and_(builder.and_(n1.test(">", 0), n2.test(">", 0)), n3.test(">", 0))
        with builder.if_then(builder.and_(is_some, builder.or_(is_sum.test("==", 0), has_terms))):
            self.blocked(builder, args)

    def blocked(self, builder: Any, args: Any) -> None:
        c, c_row, c_col, c_lane, a, a_row, a_lane, *others = words(builder, args[:16])
        rows, columns, count, n1, n2, n3, is_sum, watch = words(builder, args[16:24])
        n1, n2, n3 = (n.most(0) for n in (n1, n2, n3))
        a1, a2, a3, b, b_col, b_lane, b1, b2, b3 = others
        d1 = n1.least(DEPTH).most(1)
        lock, room_a, room_b, room_c, tall, wide = self.regions(builder, rows, columns)
        adds = Variable.of(1, builder)
        with ExitStack() as stack:
            lane = stack.enter_context(counted(builder, count, self.lanes.width))
            live = (count - lane).least(self.lanes.width)
            in_place = builder.and_(c_lane.test("==", self.lanes.itemsize), live.test("==", self.lanes.width))
            column = stack.enter_context(counted(builder, columns, wide))
            row = stack.enter_context(counted(builder, rows, tall))
            across, down = (columns - column).least(wide), (rows - row).least(tall)
            target = c + lane * c_lane + column * c_col + row * c_row
            vector = Word(builder, INT64(self.step))
            walk = [
                target.where(in_place, room_c),
                c_row.where(in_place, vector * across),
                c_col.where(in_place, vector),
            ]
            adds.become(is_sum.where(in_place, 0))
            with (
                counted(builder, n3.most(1)) as s3,
                counted(builder, n2.most(1)) as s2,
                counted(builder, n1.most(1), d1) as s1,
            ):
                some = (n1 - s1).least(d1).where(builder.and_(n2.test(">", 0), n3.test(">", 0)), 0)
                terms = some.where(goes_on(builder, watch, some * across * down * self.lanes.width), 0)
                left = [a + lane * a_lane + s1 * a1 + s2 * a2 + s3 * a3 + row * a_row, a_row, a_lane, a1]
                right = [b + lane * b_lane + s1 * b1 + s2 * b2 + s3 * b3 + column * b_col, b_col, b_lane, b1]
                self.copies(builder, room_a, left, down, terms, live)
                self.copies(builder, room_b, right, across, terms, live)
                passed = [down, across, *walk, room_a, room_b, terms, terms, adds.now]
                builder.call(self.tiles_function(builder.module), [*(w.value for w in passed), args[-1]])
                adds.become(1)
            with builder.if_then(builder.not_(in_place)), counted(builder, down) as r:
                passed = [room_c + r * across * self.step, target + r * c_row, c_col, c_lane, across, live, is_sum]
                builder.call(self.spread_function(builder.module), [w.value for w in passed])
        with builder.if_then(lock.test("!=", 0)):
            builder.store_atomic(INT64(0), builder.inttoptr(lock.value, INT64.as_pointer()), "release", 8)

    def copies(self, builder: Any, to: Word, walk: list[Word], count: Word, terms: Word, live: Word) -> None:
        """The rows of A, or the columns of B, one after the other as vectors."""
        start, apart, lane, along = walk
        zero, one = Word(builder, INT64(0)), Word(builder, INT64(1))
        with counted(builder, count) as k:
            place = [to + k * terms * self.step, Word(builder, INT64(self.step))]
            args = [w.value for w in (*place, start + k * apart, lane, along, zero, zero, terms, one, one, live)]
            args[0], args[2] = builder.inttoptr(args[0], POINTER), builder.inttoptr(args[2], POINTER)
            builder.call(Copy(self.lanes).function(builder.module), args)

    def regions(self, builder: Any, rows: Word, columns: Word) -> tuple[Word, Word, Word, Word, Word, Word]:
        """A lock, room for copies of A, B and C, and the rows and columns of a block."""
        few = self.shape.rows
        small, beyond = 3 * few * DEPTH * self.step, self.lanes.width * self.step  # what `spread` reads for nothing
        with builder.goto_entry_block():
            stack = builder.alloca(llvm_ir.ArrayType(INT8, small + beyond))
            stack.align = 64
        lock, room = Variable.of(0, builder), Variable.of(0, builder)
        take_room(builder, self.rooms, self.room + beyond, lock, room)
        is_there = room.now.test("!=", 0)
        start = room.now.where(is_there, Word(builder, builder.ptrtoint(stack, INT64)))
        third = Word(builder, INT64(self.room // 3 // 64 * 64)).where(is_there, small // 3)
        rows_there = max(min(self.room // 3 // (DEPTH * self.step), DEPTH) // few * few, few)
        tall = Word(builder, INT64(rows_there)).where(is_there, few)
        wide = (third // (tall.most(DEPTH) * self.step)).least(columns).most(1)
        return lock.now, start, start + third, start + third * 2, tall.least(rows), wide


def lane_product_of(element: types.Type) -> LaneProduct:
    """The products of matrices of that element for this machine."""
    machine = host_machine()
    room = max(product_blocks(machine).held, 1 << 20)
    return LaneProduct(Lanes(element, host_width(str(element))), product_tile(machine), room)


@intrinsic
def lane_product(typingctx: Any, words: Any, scale: Any) -> Typed | None:
    """Products of matrices side by side; not zero if they were interrupted. `words`: see `LaneProduct.function`."""
    if scale not in FLOATS or not isinstance(words, types.UniTuple) or words.count != 23:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        function = lane_product_of(scale).function(builder.module)
        watch, ended = watched(builder)
        given = (builder.extract_value(values[0], k) for k in range(words.count))
        builder.call(function, [*given, watch.value, values[1]])
        return builder.load(ended)

    return signature(types.int64, words, scale), lower
