"""Triangular products in blocks: most of a triangle is rectangles, which are products of matrices.

    for i in range(N):                         for b in range(0, N, 32):
        for j in range(i, N):                      for i in rows of b: for j in range(i, last row): for k: ...
            for k in range(M):      becomes        for i in rows of b: for j in range(last row, N):
                T[i, j] += A[k, i] * A[k, j]           for k: T[i, j] += A[k, i] * A[k, j]

The range of `j` is split where all rows of the block agree, so its second part is a product of matrices; the first one
is a small triangle that runs as before (Gustavson 1997, "Recursion leads to automatic variable blocking for dense
linear-algebra algorithms"). Where an array is touched at `i + j`, or at `j - i`, that sum becomes the index in place of
`j`. Sums of products may come in any order, and each product is made once on either side.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.contractions import Contraction, is_rectangular, is_uniform, nest_of_update
from loopdiff.analysis.strides import direction
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded
from loopdiff.ir.build import integer, is_constant, nested, shifted
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import indices_in, map_blocks, map_expr, substitute
from loopdiff.mapping.lane_blocks import block_loop
from loopdiff.model import tuning
from loopdiff.model.register_tiles import as_product

ROWS = integer(tuning.TRIANGLE_ROWS)


def block_triangles(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with triangular products in blocks of rows, whose rectangles are products of matrices."""
    blocker = Blocker(ls, type_env(ls), supply(ls))
    return replace(ls, body=blocker.block(ls.body))


@immutable
class Blocker:
    ls: ir.LoopSet
    types: TypeEnv
    names: NameSupply

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(self.in_blocks(s) or map_blocks(self.block, s) for s in body)

    def in_blocks(self, stmt: ir.Stmt) -> ir.Loop | None:
        """`stmt` in blocks, if it is a triangular product."""
        found = nest_of_update(stmt)
        if found is None or is_rectangular(found.loops) or not is_uniform(found, self.types):
            return None
        for place, rows in enumerate(found.loops):
            for inner in found.loops[place + 1 :]:
                if rows.index not in indices_in(inner.lower, inner.upper) or not may_part(found, rows, inner):
                    continue
                start = self.names.fresh(f"{rows.index}_block")
                for form in forms(found, rows.index, inner):
                    halves = split(form, rows, inner.index, start)
                    if halves is not None and self.is_product(halves[1], rows, inner.index):
                        triangle, rectangle = map(nest, halves)
                        body = (triangle, *renamed_block((rectangle,), self.names))
                        return ir.Loop(start, rows.lower, rows.upper, ROWS, body, loc=rows.loc)
        return None

    def is_product(self, found: Contraction, rows: ir.Loop, inner: str) -> bool:
        """Whether `found` is a product of matrices, these two among its loops, whose blocks nothing inside decides."""
        if not found.sums or not is_rectangular((*found.loops, rows)):
            return False
        product = as_product(self.ls, found)
        return product is not None and {rows.index, inner} <= {k for kind in product.kinds for k in kind}


def may_part(found: Contraction, *loops: ir.Loop) -> bool:
    """Whether each element is started once where these loops are split: none of them is summed over, or none starts."""
    return found.start is None or all(p.index in found.kept for p in loops)


def forms(found: Contraction, rows: str, inner: ir.Loop) -> Iterator[Contraction]:
    """The contraction as it is, and with `inner + rows` and `inner - rows` for the index `inner`."""
    yield found
    own = ir.Index(inner.index)
    for op, back in ((Op.ADD, Op.SUB), (Op.SUB, Op.ADD)):
        moved: dict[ir.Expr, ir.Expr] = {own: ir.Apply(back, (own, ir.Index(rows)))}
        lower, upper = (folded(ir.Apply(op, (bound, ir.Index(rows))), INT) for bound in (inner.lower, inner.upper))
        loops = tuple(replace(p, lower=lower, upper=upper) if p.index == inner.index else p for p in found.loops)
        target = with_folded(
            replace(found.update.target, subscripts=tuple(substitute(s, moved) for s in found.update.target.subscripts))
        )
        yield Contraction(
            loops,
            replace(found.update, target=target),
            with_plain_subscripts(substitute(found.summand, moved)),
            None if found.start is None else replace(found.start, target=target),
        )


def with_folded(access: ir.Access) -> ir.Access:
    return replace(access, subscripts=tuple(folded(s, INT) for s in access.subscripts))


def with_plain_subscripts(expr: ir.Expr) -> ir.Expr:
    """`expr` with folded subscripts."""
    return map_expr(lambda e: replace(e, access=with_folded(e.access)) if isinstance(e, ir.Load) else e, expr)


def split(found: Contraction, rows: ir.Loop, inner: str, start: str) -> tuple[Contraction, Contraction] | None:
    """A block of the `rows` of the contraction from `start` on: the triangle, and the rectangle.

    None unless just one end of the range of `inner` moves with the rows, and that in one direction.
    """
    block = block_loop(rows.index, start, ROWS, rows.upper, (), rows.loc)
    loop = next(p for p in found.loops if p.index == inner)
    low, high = (direction(bound, rows.index) for bound in (loop.lower, loop.upper))
    if low is None or high is None or (low == 0) == (high == 0) or not is_constant(rows.step, 1):
        return None
    first, last = block.lower, shifted(block.upper, -1)

    def at(bound: ir.Expr, row: ir.Expr) -> ir.Expr:
        return folded(substitute(bound, {ir.Index(rows.index): row}), INT)

    if low:
        edge = at(loop.lower, last if low > 0 else first)
        cut = replace(loop, upper=ir.Apply(Op.MIN, (edge, loop.upper))), replace(loop, lower=edge)
    else:
        edge = at(loop.upper, first if high > 0 else last)
        cut = replace(loop, lower=ir.Apply(Op.MAX, (edge, loop.lower))), replace(loop, upper=edge)
    triangle, rectangle = (
        replace(found, loops=tuple(block if p is rows else c if p is loop else p for p in found.loops)) for c in cut
    )
    return triangle, rectangle


def nest(found: Contraction) -> ir.Loop:
    """The loops of the contraction around its update, its start before those that are summed over."""
    update: tuple[ir.Stmt, ...] = (replace(found.update, value=found.summand),)
    if found.start is None:
        (whole,) = nested(found.loops, update)
    else:
        outside = [p for p in found.loops if p.index in found.kept]
        inside = [p for p in found.loops if p.index in found.sums]
        (whole,) = nested(outside, (found.start, *nested(inside, update)))
    assert isinstance(whole, ir.Loop)
    return whole
