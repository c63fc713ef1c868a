"""Choice of the register tile of a contraction."""

from __future__ import annotations

from loopdiff.ir.nodes import Access, Apply, Const, Expr, Index, Load, LoopSet, Param, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs
from loopdiff.transform.contractions import Contraction, indices_in
from loopdiff.transform.mapping import TiledNest
from loopdiff.transform.strides import Stride, lane_axis, stride_of

NONE: frozenset[str] = frozenset()


def is_plain(expr: Expr, indices: frozenset[str]) -> bool:
    """Whether `expr` is made of loads and values that do not depend on `indices` by +, - and *."""
    match expr:
        case Load() | Const() | Param() | Var():
            return True
        case Apply(op=Op.MUL | Op.ADD | Op.SUB | Op.NEG, args=args) if any(isinstance(e, Load) for e in subexprs(expr)):
            return all(is_plain(a, indices) for a in args)
        case _:
            nodes = list(subexprs(expr))
            return not any(isinstance(e, Load) or (isinstance(e, Index) and e.name in indices) for e in nodes)


def choose_tile(ls: LoopSet, found: Contraction) -> TiledNest | None:
    """The tile of a contraction; None if no loop gives vectors worth their loads.

    Preferred: vectors along an axis of the target. Else dot products: vectors along the one summed loop. Else vectors
    along an axis of the target whose elements lie apart in some arrays.
    """
    if not is_plain(found.summand, frozenset(p.index for p in found.loops)):
        return None
    reads = [e.access for e in subexprs(found.summand) if isinstance(e, Load)]
    return column_vectors(ls, found, reads) or dot_products(ls, found, reads) or gathered_vectors(ls, found, reads)


def column_vectors(ls: LoopSet, found: Contraction, reads: list[Access]) -> TiledNest | None:
    for columns in reversed(found.kept):
        strides = [stride_of(a, columns, NONE, ls) for a in reads]
        is_smooth = all(s in ("unit", "uniform") for s in strides) and "unit" in strides
        if is_smooth and stride_of(found.update.target, columns, NONE, ls) == "unit":
            return TiledNest(columns, row_loop(found, columns, reads), columns, found.sums)
    return None


def dot_products(ls: LoopSet, found: Contraction, reads: list[Access]) -> TiledNest | None:
    target, kept, sums = found.update.target, found.kept, found.sums
    if len(sums) != 1 or not kept:
        return None
    strides = [stride_of(a, sums[0], NONE, ls) for a in reads]
    if "unit" not in strides or not all(s in ("unit", "uniform") for s in strides):
        return None
    columns = next((k for k in reversed(kept) if stride_of(target, k, NONE, ls) == "unit"), kept[-1])
    return TiledNest(sums[0], row_loop(found, columns, reads), columns, sums)


def gathered_vectors(ls: LoopSet, found: Contraction, reads: list[Access]) -> TiledNest | None:
    """Lanes along the loop in which most accesses are contiguous; the others are gathered, once for all rows or
    columns."""
    target, kept = found.update.target, found.kept

    def strides(index: str) -> list[Stride]:
        return [stride_of(a, index, NONE, ls) for a in (target, *reads)]

    def moves_straight(index: str) -> bool:
        return all(lane_axis(a, index, NONE) is not None for a in (target, *reads) if index in indices_in(a))

    suitable = [k for k in kept if moves_straight(k) and "unit" in strides(k)]
    lanes = max(suitable, key=lambda k: strides(k).count("unit"), default=None)
    if lanes is None:
        return None
    sides = [k for k in kept if k != lanes and moves_straight(k) and any(k not in indices_in(a) for a in reads)]
    for rows in sides:
        for columns in sides:
            is_reused = all(not {rows, columns} <= indices_in(a) for a in reads)
            if rows != columns and is_reused:
                return TiledNest(lanes, rows, columns, found.sums)
    return None


def row_loop(found: Contraction, columns: str, reads: list[Access]) -> str | None:
    """The loop to unroll so that what is loaded along `columns` is used again for every row."""
    for row in found.kept:
        reuses = any(columns in indices_in(a) and row not in indices_in(a) for a in reads)
        if row != columns and reuses and lane_axis(found.update.target, row, NONE) is not None:
            return row
    return None
