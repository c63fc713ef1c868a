"""Choice of the register tile of a contraction T[...] += sum of products."""

from __future__ import annotations

from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Apply,
    Const,
    Expr,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Param,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs, substitute
from loopdiff.transform.mapping import TiledNest
from loopdiff.transform.strides import stride_of

NONE: frozenset[str] = frozenset()


def inlined(lets: tuple[Let, ...], value: Expr) -> Expr:
    """`value` with the Lets before it put in place."""
    known: dict[Expr, Expr] = {}
    for let in lets:
        known[Var(let.name)] = substitute(let.value, known)
    return substitute(value, known)


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


def indices_in(access: Access) -> frozenset[str]:
    return frozenset(e.name for s in access.subscripts for e in subexprs(s) if isinstance(e, Index))


def choose_tile(ls: LoopSet, loops: tuple[Loop, ...], lets: tuple[Let, ...], update: Accumulate) -> TiledNest | None:
    """Vector loop and unrolled loop of the tile; None if no loop gives contiguous vectors throughout.

    Preferred: vectors along an axis of the target. Else dot products: vectors along the one summed loop.
    """
    target, value = update.target, inlined(lets, update.value)
    if not is_plain(value, frozenset(p.index for p in loops)):
        return None
    reads = [e.access for e in subexprs(value) if isinstance(e, Load)]
    kept = [p.index for p in loops if p.index in indices_in(target)]
    sums = tuple(p.index for p in loops if p.index not in kept)
    for columns in reversed(kept):
        strides = [stride_of(a, columns, NONE, ls) for a in reads]
        is_smooth = stride_of(target, columns, NONE, ls) == "unit" and all(s in ("unit", "uniform") for s in strides)
        if is_smooth and "unit" in strides:
            return TiledNest(row_loop(kept, columns, reads), columns, sums, is_dot=False)
    if len(sums) == 1:
        strides = [stride_of(a, sums[0], NONE, ls) for a in reads]
        if all(s in ("unit", "uniform") for s in strides) and "unit" in strides and kept:
            second = kept[-1]
            first = next((k for k in kept[:-1] if any(k in indices_in(a) and second not in indices_in(a) for a in reads)), None)
            return TiledNest(first, sums[0], sums, is_dot=True, second_rows=second)
    return None


def row_loop(kept: list[str], columns: str, reads: list[Access]) -> str | None:
    """The loop to unroll so that the vectors loaded along `columns` are used again for every row."""
    for row in kept:
        reuses = any(columns in indices_in(a) and row not in indices_in(a) for a in reads)
        if row != columns and reuses:
            return row
    return None
