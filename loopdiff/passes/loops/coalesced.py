"""Loops over several axes in one, taken apart: the inverse of loop coalescing.

    require n == p * q                          for i in range(p):
    for i in range(n):                 becomes      for j in range(q):
        y[i] = A[i // q, i % q]                         y[i * q + j] = A[i, j]

Reshaped arrays, and loops that people wrote over all elements, divide in each iteration. Where what the index is
divided by is known to go into the number of iterations, the quotient and the remainder are indices of loops of their
own. Iterations stay in their order. Coalescing: Polychronopoulos, "Loop coalescing: a compiler transformation for
parallel machines" (ICPP 1987).
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.known_sizes import KnownSizes
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import factors_of
from loopdiff.ir.build import add, integer, is_from_zero, mul
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import (
    all_statements,
    exits,
    lets_in,
    loops_in,
    map_blocks,
    map_stmt_exprs,
    nodes_of,
    subexprs,
    substitute,
)

Block = tuple[ir.Stmt, ...]
ONE = integer(1)


def without_coalescing(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with a loop for each digit of an index that is divided by something else than a constant."""
    if not any(True for loop in loops_in(ls.body) for _ in divisions(loop)):
        return ls
    body = Walk(supply(ls)).block(ls.body, KnownSizes(ls.params))
    return ls if body == ls.body else replace(ls, body=body)


@immutable
class Walk:
    names: NameSupply

    def block(self, body: Block, known: KnownSizes) -> Block:
        """`body`, of which checks say what is `known`."""
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Loop():
                    stmt = self.loop(stmt, known)
                case _:
                    known = known.after(stmt)
                    stmt = map_blocks(lambda inner, known=known: self.block(inner, known), stmt)
            out.append(stmt)
        return tuple(out)

    def loop(self, loop: ir.Loop, known: KnownSizes) -> ir.Loop:
        parts = axes(loop, known) if is_from_zero(loop) and not exits(loop) else None
        if parts is None:
            return replace(loop, body=self.block(loop.body, known.within(loop)))
        count, radix = parts
        first, last = ir.Index(loop.index), ir.Index(self.names.fresh("column"))
        index = add(mul(first, radix), last)
        values: dict[ir.Expr, ir.Expr] = {ir.Index(loop.index): index}
        for division in divisions(loop):
            rest = known.over(known.named(division.args[1]), radix)
            if rest is not None:
                values[division] = digit(division, rest, radix, first, last)
        body = tuple(map_stmt_exprs(lambda e: substitute(e, values), stmt) for stmt in loop.body)
        rows = replace(loop, index=last.name, upper=radix, body=body)
        return self.loop(replace(loop, upper=count, body=(rows,)), known)


def digit(division: ir.Apply, rest: ir.Expr, radix: ir.Expr, first: ir.Expr, last: ir.Expr) -> ir.Expr:
    """The quotient or the remainder of `first * radix + last` by `rest * radix`."""
    if division.op is Op.FLOORDIV:
        return first if rest == ONE else replace(division, args=(first, rest))
    return last if rest == ONE else add(mul(replace(division, args=(first, rest)), radix), last)


def axes(loop: ir.Loop, known: KnownSizes) -> tuple[ir.Expr, ir.Expr] | None:
    """How many rows there are among the iterations of `loop`, and how long: the index is divided by that."""
    sizes = dict.fromkeys(known.named(d.args[1]) for d in divisions(loop))
    for radix in sorted(sizes, key=lambda d: len([*factors_of(d)])):
        rests = [known.over(size, radix) for size in sizes]
        if known.is_natural(radix) and all(rest is not None and known.is_natural(rest) for rest in rests):
            counts = (known.over(size, radix) for size in known.same_as(known.named(loop.upper)))
            count = next((c for c in counts if c not in (None, ONE)), None)
            return None if count is None else (count, radix)
    return None


def divisions(loop: ir.Loop) -> Iterator[ir.Apply]:
    """Quotients and remainders of the index of `loop` by what is the same in all iterations and no constant."""
    inside = {*lets_in(loop.body), *(inner.index for inner in loops_in(loop.body)), loop.index}
    for stmt in all_statements(loop.body):
        for e in nodes_of(stmt):
            match e:
                case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(ir.Index(name=name), size)) if name == loop.index:
                    parts = [*subexprs(size)]
                    names = {p.name for p in parts if isinstance(p, ir.Var | ir.Index)}
                    is_open = names & inside or any(isinstance(p, ir.Load) for p in parts)
                    if not is_open and not isinstance(size, ir.Const):
                        yield e
                case _:
                    pass
