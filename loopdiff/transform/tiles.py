"""Choice of the register tile of a contraction."""

from __future__ import annotations

from loopdiff.ir.nodes import Access, Apply, Const, Expr, Index, Load, LoopSet, Param, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs
from loopdiff.transform.contractions import Contraction, indices_in
from loopdiff.transform.mapping import TiledNest
from loopdiff.transform.strides import lane_axis, stride_of

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
    """Vector loop and unrolled loops of the tile; None if no loop gives contiguous vectors throughout.

    Preferred: vectors along an axis of the target. Else dot products: vectors along the one summed loop.
    """
    if not is_plain(found.summand, frozenset(p.index for p in found.loops)):
        return None
    target, kept, sums = found.update.target, found.kept, found.sums
    reads = [e.access for e in subexprs(found.summand) if isinstance(e, Load)]
    for columns in reversed(kept):
        strides = [stride_of(a, columns, NONE, ls) for a in reads]
        is_smooth = stride_of(target, columns, NONE, ls) == "unit" and all(s in ("unit", "uniform") for s in strides)
        if is_smooth and "unit" in strides:
            return TiledNest(row_loop(found, columns, reads), columns, sums, is_dot=False)
    if len(sums) != 1 or not kept:
        return None
    strides = [stride_of(a, sums[0], NONE, ls) for a in reads]
    if "unit" not in strides or not all(s in ("unit", "uniform") for s in strides):
        return None
    second = next((k for k in reversed(kept) if stride_of(target, k, NONE, ls) == "unit"), kept[-1])
    return TiledNest(row_loop(found, second, reads), sums[0], sums, is_dot=True, second_rows=second)


def row_loop(found: Contraction, columns: str, reads: list[Access]) -> str | None:
    """The loop to unroll so that what is loaded along `columns` is used again for every row."""
    for row in found.kept:
        reuses = any(columns in indices_in(a) and row not in indices_in(a) for a in reads)
        if row != columns and reuses and lane_axis(found.update.target, row, NONE) is not None:
            return row
    return None
