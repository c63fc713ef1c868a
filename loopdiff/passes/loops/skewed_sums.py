"""Loop skewing of nests that only sum: a loop over what is added to, in place of one over what that is added from.

    for i in range(N):                       for u in range(0, N + K - 1):
        for p in range(K):                       for p in range(max(0, u - N + 1), min(K, u + 1)):
            x[i + p] += w[p] * y[i]    becomes       x[u] += w[p] * y[u - p]

Adjoints of convolutions are such nests. Iterations of the loop over `u` add to different elements, so that they may run
at the same time; those over `i` do not. The map of iterations is a bijection, and sums may run in any order (Wolfe,
"Loop skewing: the wavefront method revisited", IJPP 1986). On processors, elements that are added to stay in registers
then while the sums over windows run.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from loopdiff.analysis.contractions import Contraction, contraction, is_rectangular, is_uniform, nest_of_update
from loopdiff.analysis.privatization import span
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded, linear
from loopdiff.ir.build import add, extents_of, integer, is_unit_step, nested, shifted, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import (
    all_statements,
    indices_in,
    loops_in,
    map_blocks,
    map_expr,
    map_stmt_exprs,
    subexprs,
    substitute,
)
from loopdiff.model.register_tiles import choose_tile, loops_over_windows
from loopdiff.passes.loops.separate_sums import is_always_there, only_sums


def skew_sums(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with nests that sum into elements at `i + p` of arrays going over these places instead of `i`."""
    names = supply(ls)
    body = skewed_block(ls.body, names)
    return ls if body == ls.body else replace(ls, body=body)


def skew_windows(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with nests that add the elements of an image to others around them as sums over windows, where these are in
    register tiles."""
    names, types = supply(ls), type_env(ls)

    def block(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        return tuple(statement(s) for s in body)

    def statement(stmt: ir.Stmt) -> ir.Stmt:
        found = nest_of_update(stmt)
        return map_blocks(block, stmt) if found is None else gathered_windows(stmt, found, ls, types, names)

    body = block(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


def gathered_windows(stmt: ir.Stmt, found: Contraction, ls: ir.LoopSet, types: TypeEnv, names: NameSupply) -> ir.Stmt:
    """`stmt`, the nest `found`, over what it adds to, each element of which it then sums, if that makes a register tile
    and none is summed without."""
    if found.sums or found.start is not None or not is_rectangular(found.loops):
        return stmt
    short = loops_over_windows(ls, found)
    if not short or not is_uniform(found, types):
        return stmt
    windows = [p for p in found.loops if p.index in short]
    long = [p for p in found.loops if p.index not in short]
    nest: ir.Stmt = nested([*long, *windows], (replace(found.update, value=found.summand),))[0]
    for loop in long:
        nest = at_place(nest, loop.index, names)
    new = contraction(nest)
    return stmt if new is None or choose_tile(ls, new) is None else with_extents(nest, new, ls)


def at_place(nest: ir.Stmt, index: str, names: NameSupply) -> ir.Stmt:
    """`nest` with its loop over `index` skewed, if it can be."""
    assert isinstance(nest, ir.Loop)
    if nest.index == index:
        return skewed(nest, names)
    return replace(nest, body=(at_place(nest.body[0], index, names),)) if isinstance(nest.body[0], ir.Loop) else nest


def with_extents(nest: ir.Stmt, found: Contraction, ls: ir.LoopSet) -> ir.Stmt:
    """`nest` with loops that end at the extents of what it adds to ending there in the same words."""
    extents = dict(zip(found.update.target.subscripts, extents_of(ls.array(found.update.target.array)), strict=True))
    loop, loops = nest, list[ir.Loop]()
    while isinstance(loop, ir.Loop):
        extent = extents.get(ir.Index(loop.index))
        is_end = extent is not None and linear(sub(loop.upper, extent)) == ({}, 0)
        loops.append(replace(loop, upper=extent) if is_end and extent is not None else loop)
        loop = loop.body[0]
    return nested(loops, loops[-1].body)[0]


def skewed_block(body: tuple[ir.Stmt, ...], names: NameSupply) -> tuple[ir.Stmt, ...]:
    return tuple(skewed(map_blocks(partial(skewed_block, names=names), s), names) for s in body)


def skewed(stmt: ir.Stmt, names: NameSupply) -> ir.Stmt:
    """`stmt`, if it is a loop that can go over the places that it sums into, in that form."""
    if not isinstance(stmt, ir.Loop) or not is_unit_step(stmt) or not only_sums(stmt.body):
        return stmt
    found = next(partners(stmt), None)
    return stmt if found is None else Skew(stmt, *found, ir.Index(names.fresh(stmt.index))).loop()


def partners(loop: ir.Loop) -> Iterator[tuple[ir.Loop, int]]:
    """Loops right inside of `loop`, or inside of such, with which its index gives a place of all that is summed into,
    and what is added to both."""
    targets = [s.target for s in all_statements(loop.body) if isinstance(s, ir.Accumulate)]
    places = {e for t in targets for e in t.subscripts if loop.index in indices_in(e)}
    if len(places) != 1 or any(loop.index not in indices_in(*t.subscripts) for t in targets):
        return
    (place,) = places
    inner, between = loop, {loop.index}
    while len(inner.body) == 1 and isinstance(inner.body[0], ir.Loop):
        inner = inner.body[0]
        if loop.index in indices_in(inner.lower, inner.upper):
            return
        rest = folded(sub(place, add(ir.Index(loop.index), ir.Index(inner.index))), INT)
        is_sum = all(coefficient(place, p.index) == 1 for p in (loop, inner))
        if is_sum and isinstance(rest, ir.Const) and not bounds(inner.body, inner.index) and is_fixed(inner, between):
            yield inner, int(rest.value)
        between.add(inner.index)


def is_fixed(loop: ir.Loop, between: set[str]) -> bool:
    """Whether a loop begins and ends at numbers that are there before the loops `between`, whether these run or not."""
    return not between & indices_in(loop.lower, loop.upper) and all(map(is_always_there, (loop.lower, loop.upper)))


def bounds(body: tuple[ir.Stmt, ...], index: str) -> bool:
    """Whether the index bounds a loop."""
    return any(index in indices_in(p.lower, p.upper) for p in loops_in(body))


@immutable
class Skew:
    """The nest of `outer`, whose index and that of `inner` add up to the place of its sums, which is `offset` more."""

    outer: ir.Loop
    inner: ir.Loop
    offset: int
    place: ir.Index

    def loop(self) -> ir.Loop:
        (low, high), (first, end) = span(self.outer), span(self.inner)
        lower, upper = shifted(add(low, first), self.offset), shifted(add(high, end), self.offset - 1)
        around = shifted(self.place, -self.offset)
        least = ir.Apply(Op.MAX, (first, folded(shifted(sub(around, high), 1), INT)))
        most = ir.Apply(Op.MIN, (end, folded(shifted(sub(around, low), 1), INT)))
        inside = tuple(map_stmt_exprs(self.in_place, s) for s in self.inner.body)
        new = replace(self.inner, lower=least, upper=most, step=integer(1), body=inside)

        def within(stmt: ir.Stmt) -> ir.Stmt:
            if stmt is self.inner:
                return new
            assert isinstance(stmt, ir.Loop)
            return replace(stmt, body=(within(stmt.body[0]),))

        return replace(
            self.outer, index=self.place.name, lower=lower, upper=upper, step=integer(1),
            body=(within(self.outer.body[0]),),
        )  # fmt: skip

    def in_place(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with the place in terms of which the index of the outer loop is known, sums of it folded."""
        around = sub(shifted(self.place, -self.offset), ir.Index(self.inner.index))

        def fold(part: ir.Expr) -> ir.Expr:
            inside = list(subexprs(part))
            return folded(part, INT) if self.place in inside and all(map(is_whole, inside)) else part

        return map_expr(fold, substitute(expr, {ir.Index(self.outer.index): around}))


def is_whole(expr: ir.Expr) -> bool:
    """Whether an expression beside an index is part of a sum of integers."""
    if isinstance(expr, ir.Apply):
        return expr.op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG)
    return isinstance(expr, ir.Index | ir.Param | ir.Dim | ir.Const)
