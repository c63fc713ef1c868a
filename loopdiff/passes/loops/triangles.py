"""Interchange of triangular loops, so that sums over triangles are made in registers.

    for i in range(N):                              for j in range(N):
        for j in range(i + 1):          becomes         for i in range(j, N):
            for k in range(M):                              for k in range(M):
                T[j, k] += A[i, j] * B[i, k]                    T[j, k] += A[i, j] * B[i, k]

On the left every iteration of `i` goes over all of `T` again; on the right a row of it is a register tile. Sums of
products may come in any order, and each product is made once on either side.
"""

from __future__ import annotations

from loopdiff.analysis.contractions import Contraction, contraction
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import is_constant, nested, shifted
from loopdiff.ir.walk import indices_in, map_blocks, subexprs
from loopdiff.model.register_tiles import choose_tile


def turn_triangles(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with summed loops moved inside of loops over a triangle with them, where that makes a register tile."""
    return replace(ls, body=tuple(turned(s, ls) for s in ls.body))


def turned(stmt: ir.Stmt, ls: ir.LoopSet) -> ir.Stmt:
    found = contraction(stmt)
    better = None if found is None else turned_nest(found, ls)
    return better or map_blocks(lambda body: tuple(turned(s, ls) for s in body), stmt)


def turned_nest(found: Contraction, ls: ir.LoopSet) -> ir.Loop | None:
    """The nest with its outermost loop, which is summed over, inside of one whose range grows with it."""
    outer, *others = found.loops
    array = found.update.target.array
    reads = {e.access.array for e in subexprs(found.summand) if isinstance(e, ir.Load)}
    if found.start is not None or outer.index not in found.sums or array in reads:
        return None
    for loop in others:
        rest = [p for p in others if p is not loop]
        pair = turned_pair(outer, loop)
        if loop.index not in found.kept or pair is None or not all(is_apart(p, outer, loop) for p in rest):
            continue
        inner = nest((pair[1], *rest), found)
        product = contraction(inner)
        if product is not None and choose_tile(ls, product) is not None:
            return replace(pair[0], body=(inner,))
    return None


def turned_pair(outer: ir.Loop, inner: ir.Loop) -> tuple[ir.Loop, ir.Loop] | None:
    """The two loops, one of whose bounds grows with the other's index, the other way round.

    `for i in range(a, b): for j in range(c, i + d)` is `for j in range(c, b + d - 1): for i in range(j - d + 1, b)`
    where `a <= c - d + 1`, and `for j in range(i + d, c)` is `for j in range(a + d, c): for i in range(a, j - d + 1)`
    where `c - d <= b`. None for ranges that are not known to be such.
    """
    if not all(is_constant(p.step, 1) for p in (outer, inner)):
        return None
    over, under = (shift(e, outer.index) for e in (inner.upper, inner.lower))
    free = [outer.index not in indices_in(e) for e in (inner.upper, inner.lower)]
    if over is not None and free[1] and is_at_most(outer.lower, inner.lower, 1 - over):
        upper = shifted(outer.upper, over - 1)
        return replace(inner, upper=upper), replace(outer, lower=shifted(ir.Index(inner.index), 1 - over))
    if under is not None and free[0] and is_at_most(inner.upper, outer.upper, under):
        lower = shifted(outer.lower, under)
        return replace(inner, lower=lower), replace(outer, upper=shifted(ir.Index(inner.index), 1 - under))
    return None


def shift(bound: ir.Expr, index: str) -> int | None:
    """`d` of a bound that is `index + d`."""
    terms, constant = linear(bound)
    return constant if terms == {ir.Index(index): 1} else None


def is_at_most(a: ir.Expr, b: ir.Expr, more: int) -> bool:
    """Whether `a <= b + more` is plain."""
    (left, low), (right, high) = linear(a), linear(b)
    return left == right and low <= high + more


def is_apart(loop: ir.Loop, *others: ir.Loop) -> bool:
    """Whether the range of `loop` depends on none of the others, nor on memory."""
    bounds = [e for bound in (loop.lower, loop.upper) for e in subexprs(bound)]
    return not any(isinstance(e, ir.Load | ir.Var) or any(e == ir.Index(p.index) for p in others) for e in bounds)


def nest(loops: tuple[ir.Loop, ...], found: Contraction) -> ir.Loop:
    """The update of a contraction inside of these loops alone."""
    (inner,) = nested(loops, (replace(found.update, value=found.summand),))
    assert isinstance(inner, ir.Loop)
    return inner
