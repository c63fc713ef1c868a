"""Choice of the register tile of a contraction, and of the blocks for its caches."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from loopdiff.analysis.contractions import Contraction, Slide, access_indices, factors, slides_of, terms
from loopdiff.analysis.polyhedral.model import derived_once
from loopdiff.analysis.strides import Stride, coefficient, lane_axis, stride_of
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import indices_in, subexprs
from loopdiff.mapping.loops import Product, TiledNest
from loopdiff.model.machine import Machine
from loopdiff.model.trip_counts import windows_of

NONE: frozenset[str] = frozenset()
IN_FLIGHT = 8  # products that hide the latency of one
ADDRESSES = 12  # rows whose addresses find registers
ONE = ir.Const(1.0)
ROW_LOOPS, SUM_LOOPS = 2, 3


@immutable
class TileShape:
    """Rows, and vectors in each of them, whose sums are held in registers."""

    rows: int
    columns: int

    @property
    def registers(self) -> int:
        """The sums, a row of vectors to multiply, and one element of the other operand."""
        return self.rows * self.columns + self.columns + 1

    @property
    def reuse(self) -> float:
        """Products for each load."""
        return self.rows * self.columns / (self.rows + self.columns)


def register_tile(registers: int) -> TileShape:
    """The tile with the most products for each load. More than three vectors in a row waste too many lanes at the edge;
    rows that are left over are done in halves, so their number is a power of two."""
    shapes = [TileShape(rows, columns) for rows in (1, 2, 4, 8) for columns in (1, 2, 3)]
    return max((s for s in shapes if s.registers <= registers), key=lambda s: s.reuse)


def tile_shape(tile: TiledNest, bits: int, lanes: int) -> TileShape:
    """The shape of a tile that is no product of matrices, for vector registers of `bits` with so many lanes."""
    if tile.over_windows:
        return WINDOW_DOTS if tile.is_dot else TileShape(8 if bits == 512 else 4, 2)
    if tile.is_dot:
        columns = min(8, lanes)
        return TileShape(1 if tile.rows is None else max(1, (24 if bits == 512 else 12) // columns), columns)
    return TileShape(1, 4) if tile.rows is None else TileShape(8 if bits == 512 else 4, 3)


WINDOW_DOTS = TileShape(3, 3)  # few windows are smaller, and most of them odd


@immutable
class Blocks:
    """Blocks of a product for the caches: iterations of the sum, rows, and bytes of panels of the right operand."""

    depth: int
    rows: int
    held: int


def product_tile(machine: Machine) -> TileShape:
    """The register tile of a product of matrices."""
    return register_tile(machine.registers)


def tall_tiles(machine: Machine) -> tuple[TileShape, ...]:
    """Tiles for whole vectors that are left, where the left operand stays in place: for four, if that has more products
    for each load than two pairs; for one and two, if the usual rows hardly hide the latency of products."""
    registers, usual = machine.registers, product_tile(machine)
    four = TileShape((registers - 5) // 4, 4)
    fewer = [TileShape(usual.rows * usual.columns // count, count) for count in (1, 2)]
    found = [s for s in fewer if usual.rows * s.columns <= IN_FLIGHT and s.rows <= ADDRESSES]
    return (*found, *([four] if four.reuse > TileShape(usual.rows, 2).reuse else []))


def product_blocks(machine: Machine) -> Blocks:
    """The blocks of a product of matrices (Goto and van de Geijn 2008, "Anatomy of high-performance matrix
    multiplication"): what a tile reads passes through the first cache and is almost three times as large; rows of the
    left operand take a third of the second cache, panels of the right one a sixth of the last."""
    shape, lanes = product_tile(machine), machine.bits // 8
    first, second, last = (machine.caches[k].size for k in (0, min(1, len(machine.caches) - 1), -1))
    depth = max(11 * first // 4 // (shape.columns * lanes + 8 * shape.rows) // 32, 1) * 32
    rows = max(second // 3 // (8 * depth) // shape.rows, 1) * shape.rows
    panel = depth * shape.columns * lanes
    return Blocks(depth, rows, max(last // 6 // panel, 1) * panel)


def is_product_operand(expr: ir.Expr, indices: frozenset[str]) -> bool:
    """Whether `expr` is made of loads and values that do not depend on `indices` by +, - and *."""
    match expr:
        case ir.Load() | ir.Const() | ir.Param() | ir.Var():
            return True
        case ir.Apply(op=Op.MUL | Op.ADD | Op.SUB | Op.NEG, args=args) if any(
            isinstance(e, ir.Load) for e in subexprs(expr)
        ):
            return all(is_product_operand(a, indices) for a in args)
        case _:
            nodes = list(subexprs(expr))
            return not any(isinstance(e, ir.Load) or (isinstance(e, ir.Index) and e.name in indices) for e in nodes)


def choose_tile(ls: ir.LoopSet, found: Contraction) -> TiledNest | None:
    """The tile of a contraction; None if no loop gives vectors worth their loads, or if ranges depend on each other
    otherwise than those of windows at the edges of what they slide over.

    Preferred: a product of matrices. Else vectors along an axis of the target. Else, or where that axis is a window
    that leaves most lanes idle, dot products: vectors along a summed loop. Else vectors along an axis of the target
    whose elements lie apart in some arrays.
    """
    if not is_product_operand(found.summand, frozenset(p.index for p in found.loops)):
        return None
    reads = [e.access for e in subexprs(found.summand) if isinstance(e, ir.Load)]
    slides = slides_of(found.loops)
    if slides is None or slides:
        return None if slides is None else sliding_tile(ls, found, reads, slides)
    short = loops_over_windows(ls, found)
    product = as_product(ls, found, short)
    if product is None:
        tile = column_vectors(ls, found, reads)
    else:
        tile = TiledNest(product.columns, product.rows[0], product.columns, found.sums, product)
    if tile is not None and tile.columns not in short:
        return tile
    dots = dot_products(ls, found, reads, short) if tile is not None or len(found.sums) == 1 else None
    return dots or tile or gathered_vectors(ls, found, reads)


def as_product(ls: ir.LoopSet, found: Contraction, short: frozenset[str] | None = None) -> Product | None:
    """The contraction as a product of matrices, if it is one whose operands do not lie along a loop outside it that is
    not short; `short` are those that are, if they are known."""
    inside = frozenset(p.index for p in found.loops)
    short = loops_over_windows(ls, found) if short is None else short
    for columns in reversed(found.kept):
        parts = operands(found, columns, ())
        if parts is None or stride_of(found.update.target, columns, NONE, ls) != "unit":
            continue
        a, b, scale = parts
        apart = [k for k in reversed(found.kept) if k in access_indices(a) and k not in access_indices(b)]
        rows = tuple(sorted(apart, key=lambda k: k in short))[:ROW_LOOPS]
        used = (*rows, columns, *found.sums)
        if rows and is_straight(found, a, b, used):
            if any(stride_of(x, k, NONE, ls) == "unit" for x in (a, b) for k in inside - short - frozenset(used)):
                return None
            is_packed = stride_of(b, columns, NONE, ls) != "unit"
            return Product(rows, columns, (), found.sums[::-1], a, b, scale, is_packed)
    return None


def loops_over_windows(ls: ir.LoopSet, found: Contraction) -> frozenset[str]:
    """Those that are short: rows are taken from others first, and vectors along them are worth little."""
    windows = derived_once(ls, "windows", windows_of)
    return frozenset(p.index for p in found.loops if isinstance(e := p.upper, ir.Dim) and (e.array, e.axis) in windows)


def side_by_side(found: Contraction, lanes: str, rows: str, columns: str) -> Product | None:
    """The contraction as one product of matrices for each of the lanes, if it is that."""
    parts = operands(found, columns, (lanes,))
    if parts is None:
        return None
    a, b, scale = parts
    is_split = rows in access_indices(a) and rows not in access_indices(b)
    if not is_split or not is_straight(found, a, b, (rows, columns, lanes, *found.sums)):
        return None
    return Product((rows,), columns, (lanes,), found.sums[::-1], a, b, scale, True)


def operands(found: Contraction, columns: str, lanes: tuple[str, ...]) -> tuple[ir.Access, ir.Access, ir.Expr] | None:
    """The two arrays that are multiplied, the second the one with the columns, and what scales the product."""
    parts = terms(found.summand)
    if len(parts) > 1 or len(found.sums) > SUM_LOOPS:
        return None
    is_negative, term = parts[0]
    inside = frozenset(p.index for p in found.loops)
    right = [f for f in factors(term) if columns in indices_in(f)]
    outside = frozenset(k for f in right for k in indices_in(f) if k in found.kept and k not in lanes)
    left = [f for f in factors(term) if f not in right and (inside - outside) & indices_in(f)]
    match left, right:
        case [ir.Load(access=a)], [ir.Load(access=b)]:
            fixed = [f for f in factors(term) if f not in left and f not in right]
            scale = reduce(lambda x, y: ir.Apply(Op.MUL, (x, y)), fixed) if fixed else ONE
            return a, b, ir.Apply(Op.NEG, (scale,)) if is_negative else scale
        case _:
            return None


def is_straight(found: Contraction, a: ir.Access, b: ir.Access, indices: tuple[str, ...]) -> bool:
    """Whether the addresses of the target and of both operands are linear in each of `indices`."""
    return are_linear((found.update.target, a, b), indices)


def are_linear(accesses: Iterable[ir.Access], indices: tuple[str, ...]) -> bool:
    return all(coefficient(s, k) is not None for a in accesses for s in a.subscripts for k in indices)


def column_vectors(ls: ir.LoopSet, found: Contraction, reads: list[ir.Access]) -> TiledNest | None:
    for columns in reversed(found.kept):
        strides = [stride_of(a, columns, NONE, ls) for a in reads]
        is_smooth = all(s in ("unit", "uniform") for s in strides) and "unit" in strides
        if is_smooth and stride_of(found.update.target, columns, NONE, ls) == "unit":
            rows = row_loop(found, columns, reads)
            along = rows or sliding_rows(found, columns, reads)
            return TiledNest(columns, along, columns, found.sums, over_windows=rows is None and along is not None)
    return None


def sliding_tile(
    ls: ir.LoopSet, found: Contraction, reads: list[ir.Access], slides: tuple[Slide, ...]
) -> TiledNest | None:  # fmt: skip
    """The tile over windows whose sums end at the edges of its rows and columns."""
    tile = column_vectors(ls, found, reads)
    if tile is None or not tile.over_windows or any(s.index not in found.sums for s in slides):
        return None
    along = [s.along for s in slides]
    return tile if len(set(along)) == len(along) and {*along} <= {tile.rows, tile.columns} else None


def sliding_rows(found: Contraction, columns: str, reads: list[ir.Access]) -> str | None:
    """The loop to unroll of those that slide along a summed one: what is not read along it is used for every row."""
    for row in found.kept:
        moving = [a for a in (found.update.target, *reads) if row in access_indices(a)]
        slides = any(row in indices_in(s) and indices_in(s) & {*found.sums} for a in moving[1:] for s in a.subscripts)
        if row != columns and slides and all(lane_axis(a, row, NONE) is not None for a in moving):
            return row
    return None


def dot_products(
    ls: ir.LoopSet, found: Contraction, reads: list[ir.Access], short: frozenset[str]
) -> TiledNest | None:  # fmt: skip
    """Vectors along a summed loop that is not short; if there are others, all of them go around it."""
    target, sums = found.update.target, found.sums
    kept = [k for k in found.kept if all(coefficient(s, k) is not None for s in target.subscripts)]

    def is_smooth(index: str) -> bool:
        strides = [stride_of(a, index, NONE, ls) for a in reads]
        return "unit" in strides and all(s in ("unit", "uniform") for s in strides)

    lanes = next((k for k in sums if k not in short and is_smooth(k)), None)
    if lanes is None or not kept or (len(sums) > 1 and not are_linear(reads, sums)):
        return None
    columns = next((k for k in reversed(kept) if stride_of(target, k, NONE, ls) == "unit"), kept[-1])
    rows = row_loop(found, columns, reads)
    beside = next((k for k in kept if k != columns and {k, columns} <= short), None) if rows is None else None
    return TiledNest(lanes, rows or beside, columns, sums, over_windows=beside is not None)


def gathered_vectors(ls: ir.LoopSet, found: Contraction, reads: list[ir.Access]) -> TiledNest | None:
    """Lanes along the loop in which most accesses are contiguous; the others are gathered, once for all rows or
    columns."""
    target, kept = found.update.target, found.kept

    def strides(index: str) -> list[Stride]:
        return [stride_of(a, index, NONE, ls) for a in (target, *reads)]

    def moves_straight(index: str) -> bool:
        return all(lane_axis(a, index, NONE) is not None for a in (target, *reads) if index in access_indices(a))

    suitable = [k for k in kept if moves_straight(k) and "unit" in strides(k)]
    lanes = max(suitable, key=lambda k: strides(k).count("unit"), default=None)
    if lanes is None:
        return None
    sides = [k for k in kept if k != lanes and moves_straight(k) and any(k not in access_indices(a) for a in reads)]
    for rows in sides:
        for columns in sides:
            is_reused = all(not {rows, columns} <= access_indices(a) for a in reads)
            if rows != columns and is_reused:
                product = side_by_side(found, lanes, rows, columns) or side_by_side(found, lanes, columns, rows)
                if product is not None:
                    rows, columns = product.rows[0], product.columns
                return TiledNest(lanes, rows, columns, found.sums, product)
    return None


def row_loop(found: Contraction, columns: str, reads: list[ir.Access]) -> str | None:
    """The loop to unroll so that what is loaded along `columns` is used again for every row."""
    for row in found.kept:
        reuses = any(columns in access_indices(a) and row not in access_indices(a) for a in reads)
        if row != columns and reuses and lane_axis(found.update.target, row, NONE) is not None:
            return row
    return None
