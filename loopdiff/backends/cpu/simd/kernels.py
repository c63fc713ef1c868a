"""Register tiles of products as functions of their own, and the copies that bring their operands close together.

A tile of C has rows, and columns of vectors: C[r, c] += the sum over s of A[r, s] * B[s, c]. Elements of A are spread
over the lanes, those of B are vectors; the sum is a nest of three loops. Where operands lie is said in bytes: the
address of the first element, and how far it is to the next row, column or iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from llvmlite import ir as llvm_ir
from llvmlite.binding import get_process_triple
from numba.core import cgutils, types

from loopdiff.immutable import immutable
from loopdiff.model.register_tiles import IN_FLIGHT

from .build import (
    ARITHMETIC,
    INT8,
    INT32,
    INT64,
    broadcast,
    call,
    constant,
    mangled,
    masked_load,
    overloaded,
    prefetch,
    shuffle,
)
from .lanes import first_lanes
from .types import LLVM_ELEMENTS, has_mask_registers, vector_bits
from .words import POINTER

DEEP = 96  # Iterations that are long enough for rows of C to arrive meanwhile.
VECTOR_REGISTERS = {"x86_64": "x", "aarch64": "w", "arm64": "w"}  # How assembly calls them.
# What becomes of C: it is assigned, or added to. Rows that overlap are loaded and stored one after the other; else all
# loads come first, as they would wait for stores that go to the same line.
ASSIGN, ADD_TILE, ADD_ROWS = 0, 1, 2


def ahead(builder: Any, base: Any, *offsets: Any) -> Any:
    for offset in offsets:
        base = builder.gep(base, [offset], source_etype=INT8)
    return base


def times(builder: Any, count: Any, stride: Any) -> Any:
    return builder.mul(count, stride, flags=("nsw",))


def kept_mask(builder: Any, mask: Any) -> Any:
    """`mask` as what `used_mask` makes a mask of. Where masks have no registers of their own, LLVM compares again
    wherever it needs one: what it cannot see through stays in a register."""
    kind = VECTOR_REGISTERS.get(get_process_triple().split("-")[0])
    if has_mask_registers() or kind is None:
        return mask
    wide = llvm_ir.VectorType(llvm_ir.IntType(max(8, vector_bits() // mask.type.count)), mask.type.count)
    identity = llvm_ir.FunctionType(wide, [wide])
    return builder.asm(identity, "", f"={kind},0", [builder.sext(mask, wide)], False)


def used_mask(builder: Any, kept: Any) -> Any:
    if kept is None or kept.type.element.width == 1:
        return kept
    return builder.icmp_signed("<", kept, constant(kept.type, 0))


def shared_function(
    module: Any, name: str, arguments: Sequence[llvm_ir.Type], body: Callable[..., None], *, is_unrolled: bool = False
) -> Any:
    """The function `name` of the module, written when it is first asked for.

    `is_unrolled`: LLVM may make copies of its loops. Those of a loop that is written out already take registers for
    more addresses.
    """
    found = module.globals.get(name)
    if found is not None:
        return found
    function = llvm_ir.Function(module, llvm_ir.FunctionType(llvm_ir.VoidType(), arguments), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    if not is_unrolled:
        function.attributes.add("optsize")
    builder = llvm_ir.IRBuilder(function.append_basic_block("entry"))
    body(builder, *function.args)
    builder.ret_void()
    return function


@immutable
class Lanes:
    """Vectors of `width` elements in memory."""

    element: types.Type
    width: int

    @property
    def scalar(self) -> llvm_ir.Type:
        return LLVM_ELEMENTS[self.element]

    @property
    def vector(self) -> llvm_ir.VectorType:
        return llvm_ir.VectorType(self.scalar, self.width)

    @property
    def itemsize(self) -> int:
        return 8 if self.element == types.float64 else 4

    def load(self, builder: Any, pointer: Any, mask: Any = None) -> Any:
        if mask is None:
            return builder.load(
                builder.bitcast(pointer, self.vector.as_pointer()), align=self.itemsize, typ=self.vector
            )
        return masked_load(builder, pointer, self.vector, self.itemsize, mask)

    def store(self, builder: Any, pointer: Any, value: Any, mask: Any = None) -> None:
        if mask is None:
            builder.store(value, builder.bitcast(pointer, self.vector.as_pointer()), align=self.itemsize)
            return
        args = [value, pointer, INT32(self.itemsize), mask]
        call(builder, f"llvm.masked.store.{mangled(self.vector)}.p0", llvm_ir.VoidType(), args)

    def spread(self, builder: Any, pointer: Any) -> Any:
        where = builder.bitcast(pointer, self.scalar.as_pointer())
        return broadcast(builder, builder.load(where, align=self.itemsize, typ=self.scalar), self.width)

    def everywhere(self, builder: Any, scalar: Any) -> Any:
        return broadcast(builder, scalar, self.width)

    def collect(self, builder: Any, pointers: list[Any]) -> Any:
        """One element from each place, one by one: gather instructions take longer."""
        vector = llvm_ir.Constant(self.vector, llvm_ir.Undefined)
        for lane, pointer in enumerate(pointers):
            element = builder.load(
                builder.bitcast(pointer, self.scalar.as_pointer()), align=self.itemsize, typ=self.scalar
            )
            vector = builder.insert_element(vector, element, INT32(lane))
        return vector


# -- tiles ---------------------------------------------------------------------------------------------------
@immutable
class Tile:
    """A tile of `rows` rows and `columns` vectors; only the last vector of a row may have dead lanes, and none of a
    tile that `is_whole`. Where it is `narrow` it has fewer lanes than the others, its first ones."""

    lanes: Lanes
    rows: int
    columns: int
    is_whole: bool = False
    narrow: Lanes | None = None

    @property
    def name(self) -> str:
        last = f"{'.whole' * self.is_whole}{f'.{self.narrow.width}' if self.narrow else ''}"
        return f"{self.lanes.scalar}.{self.rows}x{self.columns}x{self.lanes.width}{last}"

    @property
    def vectors(self) -> list[Lanes]:
        """The vectors of a row."""
        return [*[self.lanes] * (self.columns - 1), self.narrow or self.lanes]

    def places(self, builder: Any, row: Any, mask: Any) -> list[tuple[Any, Any]]:
        """Pointers to the vectors of a row, and their masks."""
        size = self.lanes.width * self.lanes.itemsize
        pointers = [ahead(builder, row, INT64(k * size)) for k in range(self.columns)]
        return [(p, used_mask(builder, mask) if k == self.columns - 1 else None) for k, p in enumerate(pointers)]

    def function(self, module: Any) -> Any:
        """tall, c, c_row, a, a_row, a1, a2, a3, b, b1, b2, b3, n1, n2, n3, live, update, scale: the first `tall` rows.

        The sums are brought into C as `update` says, times `scale`; `live` lanes of the last column are there.
        """
        kinds = [INT64, POINTER, INT64, POINTER, *[INT64] * 4, POINTER, *[INT64] * 8, self.lanes.scalar]
        return shared_function(module, f"loopdiff.tile.{self.name}", kinds, self.body)

    def body(self, builder: Any, tall: Any, *args: Any) -> None:
        """Write a tile; all of its rows are there if `tall` is None, else others do what the last one does."""
        c, c_row, a, a_row, a1, a2, a3, b, b1, b2, b3, n1, n2, n3, live, update, scale = args
        mask = None if self.is_whole else kept_mask(builder, first_lanes(builder, live, self.vectors[-1].width))
        down = [times(builder, k, c_row) for k in self.numbers(builder, tall)]
        rows = [self.places(builder, ahead(builder, c, offset), mask) for offset in down]
        is_all = tall is None
        apart = (
            multiples(builder, a_row, self.rows)
            if is_all
            else [times(builder, k, a_row) for k in self.numbers(builder, tall)]
        )
        zeros = [constant(lanes.vector, 0) for lanes in self.vectors]
        held = [[cgutils.alloca_once_value(builder, zero) for zero in zeros] for _ in rows]
        with builder.if_then(builder.icmp_signed(">=", n1, INT64(DEEP))):
            for pointer, _ in (p for row in rows for p in row):
                prefetch(builder, pointer, True)
        with ExitStack() as stack:
            for count, left, right in ((n3, a3, b3), (n2, a2, b2), (n1, a1, b1)):
                loop = stack.enter_context(cgutils.for_range(builder, count, intp=INT64))
                a = ahead(builder, a, times(builder, loop.index, left))
                b = ahead(builder, b, times(builder, loop.index, right))
            self.add_products(builder, held, a, apart, self.places(builder, b, mask))
        factor = self.in_each(builder, broadcast(builder, scale, self.lanes.width))
        for way in (ASSIGN, ADD_TILE, ADD_ROWS):
            with builder.if_then(builder.icmp_signed("==", update, INT64(way))):
                self.finish(builder, held, rows, factor, way, tall)

    def numbers(self, builder: Any, tall: Any) -> list[Any]:
        """The numbers of the rows; that of the last one for those beyond it."""
        if tall is None:
            return [INT64(r) for r in range(self.rows)]
        last = builder.sub(tall, INT64(1))
        return [INT64(0), *(call(builder, "llvm.smin.i64", INT64, [INT64(r), last]) for r in range(1, self.rows))]

    def add_products(self, builder: Any, held: Any, a: Any, apart: list[Any], right: Any) -> None:
        columns = [lanes.load(builder, *place) for lanes, place in zip(self.vectors, right, strict=True)]
        for row, offset in zip(held, apart, strict=True):
            left = self.in_each(builder, self.lanes.spread(builder, ahead(builder, a, offset)))
            for cell, factor, column in zip(row, left, columns, strict=True):
                old = builder.load(cell, typ=column.type)
                builder.store(overloaded(builder, "llvm.fmuladd", factor, column, old), cell)

    def in_each(self, builder: Any, value: Any) -> list[Any]:
        """What is the same in all lanes, for each vector of a row."""
        last = value if self.narrow is None else shuffle(builder, value, range(self.narrow.width))
        return [*[value] * (self.columns - 1), last]

    def finish(self, builder: Any, held: Any, rows: Any, factor: list[Any], way: int, tall: Any) -> None:
        """Bring the sums into C."""

        def of_row(cells: Any, places: Any) -> list[Any]:
            found: list[Any] = []
            for lanes, by, cell, place in zip(self.vectors, factor, cells, places, strict=True):
                new = builder.load(cell, typ=lanes.vector)
                if way == ASSIGN:
                    found.append(builder.fmul(new, by, flags=ARITHMETIC))
                else:
                    found.append(overloaded(builder, "llvm.fmuladd", new, by, lanes.load(builder, *place)))
            return found

        def is_there(number: int) -> AbstractContextManager[Any]:
            if tall is None or number == 0:
                return nullcontext()
            return builder.if_then(builder.icmp_signed(">", tall, INT64(number)))

        ahead_of_stores = [] if way == ADD_ROWS else [of_row(*row) for row in zip(held, rows, strict=True)]
        for number, (cells, places) in enumerate(zip(held, rows, strict=True)):
            with is_there(number):
                found = of_row(cells, places) if way == ADD_ROWS else ahead_of_stores[number]
                for lanes, value, (pointer, mask) in zip(self.vectors, found, places, strict=True):
                    lanes.store(builder, pointer, value, mask)


def multiples(builder: Any, stride: Any, count: int) -> list[Any]:
    """0, stride, 2 * stride and so on. Odd multiples are numbers of their own for LLVM, which would otherwise move from
    one to the next by additions between the products; an address has room for an even multiple."""
    odd: dict[int, Any] = {1: stride}
    for k in range(3, count, 2):
        odd[k] = opaque(builder, times(builder, INT64(k), stride))
    found: list[Any] = [INT64(0)]
    for k in range(1, count):
        power = k & -k
        found.append(builder.shl(odd[k // power], INT64(power.bit_length() - 1), flags=("nsw",)))
    return found


def opaque(builder: Any, value: Any) -> Any:
    """The integer `value`, of which LLVM knows nothing."""
    return builder.asm(llvm_ir.FunctionType(INT64, [INT64]), "", "=r,0", [value], False)


def column_function(module: Any, tile: Tile) -> Any:
    """rows, c, c_row, a, a_row, a_block, ...: a column of tiles, blocks of `tile.rows` rows `a_block` bytes apart in A,
    then the rows that are left in one of at least as many; the other arguments are those of a tile."""

    def body(builder: Any, *args: Any) -> None:
        rows, c, c_row, a, a_row, a_block, *others = args
        blocks = builder.sdiv(rows, INT64(tile.rows))
        done = builder.mul(blocks, INT64(tile.rows))
        with cgutils.for_range(builder, blocks, intp=INT64) as loop:
            first = builder.mul(loop.index, INT64(tile.rows))
            a_at = ahead(builder, a, times(builder, loop.index, a_block))
            tile.body(builder, None, ahead(builder, c, times(builder, first, c_row)), c_row, a_at, a_row, *others)
        c, a = ahead(builder, c, times(builder, done, c_row)), ahead(builder, a, times(builder, blocks, a_block))
        left, least = builder.sub(rows, done), 0
        for size in sizes_of_rest(tile):
            is_more = builder.icmp_signed(">", left, INT64(least))
            fits = builder.icmp_signed("<=", left, INT64(size))
            with builder.if_then(builder.and_(is_more, fits)):
                function = Tile(tile.lanes, size, tile.columns, narrow=tile.narrow).function(module)
                builder.call(function, [left, c, c_row, a, a_row, *others])
            least = size

    kinds = [INT64, POINTER, INT64, POINTER, *[INT64] * 5, POINTER, *[INT64] * 8, tile.lanes.scalar]
    return shared_function(module, f"loopdiff.tiles.{tile.name}", kinds, body)


def sizes_of_rest(tile: Tile) -> list[int]:
    """How many rows the tiles for rows that are left have: so many that half of them would not take less time."""
    powers = [1 << k for k in range(1, tile.rows.bit_length()) if 1 << k < tile.rows]
    return [*(n for n in powers if 2 * n * tile.columns > IN_FLIGHT), tile.rows]


# -- copies --------------------------------------------------------------------------------------------------
@immutable
class Copy:
    """Copies some columns of a matrix side by side: a vector of them for each iteration of the sum.

    Columns that are not there are copies of the last one.
    """

    lanes: Lanes

    def function(self, module: Any) -> Any:
        """to, step, a, column, a1, a2, a3, n1, n2, n3, live: from A to vectors `step` bytes apart."""
        kinds = [POINTER, INT64, POINTER, *[INT64] * 8]
        name = f"loopdiff.pack.{self.lanes.scalar}.{self.lanes.width}"
        return shared_function(module, name, kinds, self.body, is_unrolled=True)

    def body(self, builder: Any, *args: Any) -> None:
        to, step, a, column, a1, a2, a3, n1, n2, n3, live = args
        place = cgutils.alloca_once_value(builder, to)
        last = builder.sub(live, INT64(1))
        apart = [
            times(builder, call(builder, "llvm.smin.i64", INT64, [INT64(k), last]), column)
            for k in range(self.lanes.width)
        ]

        def put(vector: Any) -> None:
            pointer = builder.load(place, typ=POINTER)
            self.lanes.store(builder, pointer, vector)
            builder.store(ahead(builder, pointer, step), place)

        def outside(inner: Callable[[Any], None]) -> None:
            with ExitStack() as stack:
                base = a
                for count, stride in ((n3, a3), (n2, a2)):
                    loop = stack.enter_context(cgutils.for_range(builder, count, intp=INT64))
                    base = ahead(builder, base, times(builder, loop.index, stride))
                inner(base)

        def is_dense(stride: Any) -> Any:
            return builder.icmp_signed("==", stride, INT64(self.lanes.itemsize))

        with builder.if_else(is_dense(column)) as (then, otherwise):
            with then:
                mask = kept_mask(builder, first_lanes(builder, live, self.lanes.width))
                outside(lambda base: self.rows(builder, base, n1, a1, mask, put))
            with otherwise, builder.if_else(is_dense(a1)) as (then, otherwise):
                with then:
                    outside(lambda base: self.squares(builder, base, n1, apart, put))
                with otherwise:
                    outside(lambda base: self.elements(builder, base, INT64(0), n1, a1, apart, put))

    def rows(self, builder: Any, base: Any, count: Any, stride: Any, mask: Any, put: Callable[[Any], None]) -> None:
        """Rows are contiguous. The vectors after these are needed next, and lie too far apart to be foreseen."""
        beyond = INT64(2 * self.lanes.width * self.lanes.itemsize - 1)
        with cgutils.for_range(builder, count, intp=INT64) as loop:
            place = ahead(builder, base, times(builder, loop.index, stride))
            prefetch(builder, ahead(builder, place, beyond), False)
            put(self.lanes.load(builder, place, used_mask(builder, mask)))

    def squares(self, builder: Any, base: Any, count: Any, apart: list[Any], put: Callable[[Any], None]) -> None:
        """Columns are contiguous: squares of them are transposed."""
        full = builder.and_(count, INT64(-self.lanes.width))
        size = INT64(self.lanes.itemsize)
        steps = cgutils.for_range_slice(builder, INT64(0), full, INT64(self.lanes.width), intp=INT64)
        with steps as (index, _):
            start = ahead(builder, base, times(builder, index, size))
            for vector in transposition(builder, [self.lanes.load(builder, ahead(builder, start, o)) for o in apart]):
                put(vector)
        self.elements(builder, base, full, count, size, apart, put)

    def elements(
        self, builder: Any, base: Any, start: Any, end: Any, stride: Any, apart: list[Any], put: Callable[[Any], None]
    ) -> None:
        with cgutils.for_range_slice(builder, start, end, INT64(1), intp=INT64) as (index, _):
            here = ahead(builder, base, times(builder, index, stride))
            put(self.lanes.collect(builder, [ahead(builder, here, o) for o in apart]))


def transposition(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of a square of vectors: blocks off the diagonal change places, from halves down to elements."""
    count = len(rows)
    run = count // 2
    while run:
        low = [k - run + count if k & run else k for k in range(count)]
        high = [k + count if k & run else k + run for k in range(count)]
        pairs = {k: (rows[k], rows[k + run]) for k in range(count) if not k & run}
        rows = list(rows)
        for k, (upper, lower) in pairs.items():
            rows[k], rows[k + run] = shuffle(builder, upper, low, lower), shuffle(builder, upper, high, lower)
        run //= 2
    return rows
