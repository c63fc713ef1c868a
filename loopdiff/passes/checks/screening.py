"""Screening of data-dependent bounds checks: a reduction finds whether any check of a loop fails, before which one.

    for i in range(n):                              wrong = 0
        require 0 <= c[i] < x.shape[0]  becomes     for i in range(n):
                                                        wrong max= 0 if 0 <= c[i] < x.shape[0] else 1
                                                    if wrong != 0:
                                                        for i in range(n): require 0 <= c[i] < x.shape[0]

The first loop has no order and no way out, so that it can run in vectors. What follows a check runs under it: nothing
is read that the checks before it do not allow. Rows whose bounds are elements of arrays (those of sparse matrices) are
screened as one range where they are no shorter together; most are too short for vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from loopdiff.analysis.contractions import inlined
from loopdiff.analysis.repeatable import Repeatable, repeatable
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, conjuncts, integer, is_constant, natural, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import body_at, renamed_block
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    has_values,
    map_blocks,
    statements,
    stmt_exprs,
    subexprs,
    written_access,
)
from loopdiff.passes.checks.certainty import certain_if

Block = tuple[ir.Stmt, ...]
ONE = integer(1)
LARGEST, LEAST = integer((1 << 63) - 1), integer(-(1 << 63))


def screen(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with its loops of checks screened."""
    if not any(isinstance(s.stmt, ir.Require) and s.loops for s in statements(ls.body)):
        return ls
    screener = Screener(supply(ls), repeatable(ls))
    body = screener.block(ls.body)
    return replace(ls, body=body, arrays=(*ls.arrays, *screener.cells))


@dataclass(slots=True)
class Screener:
    """Puts screens ahead of loops of checks; `cells` collects the cells that they need."""

    names: NameSupply
    repeatable: Repeatable
    cells: list[ir.ArrayDecl] = field(default_factory=list)

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.If():
                    out.append(map_blocks(self.block, stmt))
                case ir.Loop() if self.is_inspection(stmt):
                    maker = out[-1] if out else None
                    if isinstance(maker, ir.Loop) and makes_what_is_checked(maker, stmt):
                        out.pop()
                    else:
                        maker = None
                    out += self.screened(stmt, maker)
                case _:
                    out.append(stmt)
        return tuple(out)

    def is_inspection(self, loop: ir.Loop) -> bool:
        """Whether the loop only checks, and finds the same when it is run again."""
        sites = list(statements((loop,)))
        if not all(isinstance(s.stmt, ir.Loop | ir.Let | ir.If | ir.Require) for s in sites):
            return False
        return has_checks((loop,)) and self.repeatable.is_block((loop,))

    def cell(self, stem: str) -> ir.Access:
        name = self.names.fresh(stem)
        self.cells.append(ir.ArrayDecl(name, ArrayType("int64", 0), extents=()))
        return ir.Access(name)

    def screened(self, loop: ir.Loop, maker: ir.Loop | None) -> list[ir.Stmt]:
        """`loop`, run only if a check in it is found to fail; `maker`, the loop before it, does the first round."""
        rows = rows_of(loop) if maker is None else None
        if rows is None and not all(is_known(s) for s in all_statements((loop,)) if isinstance(s, ir.Loop)):
            return [loop] if maker is None else [maker, loop]
        wrong = self.cell("wrong")
        if rows is not None:
            ahead = [*self.in_one_range(rows, wrong)]
        elif maker is None:
            ahead = [*self.copies(all_at_once(loop, wrong))]
        else:
            (copy,) = self.copies(all_at_once(loop, wrong))
            assert isinstance(copy, ir.Loop)
            ahead = [replace(maker, body=(*maker.body, *in_iterations_of(maker, copy)))]
        start = ir.Assign(wrong, integer(0 if rows is None else 1))
        return [start, *ahead, ir.If(compare(Op.NE, ir.Load(wrong), integer(0)), (loop,), loc=loop.loc)]

    def copies(self, loop: ir.Loop) -> tuple[ir.Stmt, ...]:
        """`loop` with names of its own."""
        return renamed_block((loop,), self.names)

    def in_one_range(self, rows: Rows, wrong: ir.Access) -> Iterator[ir.Stmt]:
        """Screens all rows from the least place of any to the last, if that is no more than they have together."""
        first, last, count = self.cell("first"), self.cell("last"), self.cell("count")
        lower, upper = rows.inner.lower, rows.inner.upper
        yield ir.Assign(first, LARGEST)
        yield ir.Assign(last, LEAST)
        yield ir.Assign(count, integer(0))
        sizes = (
            ir.Accumulate("min", first, lower),
            ir.Accumulate("max", last, upper),
            ir.Accumulate("add", count, natural(sub(upper, lower))),
        )
        yield from self.copies(replace(rows.outer, body=sizes))
        limits = [*rows.certain, *(compare(Op.GE, ir.Load(first), low) for low in rows.lows)]
        limits += [compare(Op.LE, ir.Load(last), high) for high in rows.highs]
        limits.append(compare(Op.LE, sub(ir.Load(last), ir.Load(first)), ir.Load(count)))
        body: list[ir.Stmt] = [ir.Assign(wrong, integer(0))]
        if rows.rest:
            flat = replace(rows.inner, lower=ir.Load(first), upper=ir.Load(last), body=rows.rest)
            body += self.copies(all_at_once(flat, wrong))
        yield ir.If(all_of(limits), tuple(body), loc=rows.outer.loc)


# -- loops that make what is checked --------------------------------------------------------------------------
def makes_what_is_checked(maker: ir.Loop, loop: ir.Loop) -> bool:
    """Whether iterations of `loop` check what the same ones of `maker` leave for good, and nothing else of it."""
    if (maker.lower, maker.upper, maker.step) != (loop.lower, loop.upper, loop.step):
        return False
    if any(isinstance(s, ir.Loop | ir.Exit | ir.Require) for s in all_statements(maker.body)):
        return False
    targets = [t for s in all_statements(maker.body) if (t := written_access(s)) is not None]
    often = Counter(t.array for t in targets)
    made = {s.target for s in maker.body if isinstance(s, ir.Assign) and often[s.target.array] == 1}
    own = {t for t in made if any(coefficient(s, maker.index) in (1, -1) for s in t.subscripts)}
    seen = [a for s in all_statements(in_iterations_of(maker, loop)) for a in accesses(s) if a.array in often]
    return bool(seen) and own.issuperset(seen)


def in_iterations_of(maker: ir.Loop, loop: ir.Loop) -> tuple[ir.Stmt, ...]:
    return body_at(loop, ir.Index(maker.index))


# -- checks without order ------------------------------------------------------------------------------------
def all_at_once(loop: ir.Loop, wrong: ir.Access) -> ir.Loop:
    """`loop` with `wrong` set where a check fails, and iterations going on."""
    return replace(loop, body=noted(loop.body, wrong))


def noted(body: tuple[ir.Stmt, ...], wrong: ir.Access) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    for number, stmt in enumerate(body):
        match stmt:
            case ir.Require():
                reads, checks, rest = asked_together(body[number:])
                out += reads
                holds = all_of(checks)
                rest = noted(rest, wrong)
                if rest:
                    out.append(ir.If(holds, rest, (ir.Accumulate("max", wrong, ONE),), loc=stmt.loc))
                else:
                    out.append(ir.Accumulate("max", wrong, ir.Select(holds, integer(0), ONE), loc=stmt.loc))
                return tuple(out)
            case ir.Loop():
                out.append(all_at_once(stmt, wrong))
            case _:
                out.append(map_blocks(partial(noted, wrong=wrong), stmt))
    return tuple(out)


def asked_together(body: Block) -> tuple[list[ir.Let], list[ir.Expr], Block]:
    """The conditions of the checks that `body` begins with, what is read for them at places that none of them is about,
    and what follows. A check of data says nothing of subscripts that are sums of indices."""
    reads, checks = list[ir.Let](), list[ir.Expr]()
    for number, stmt in enumerate(body):
        match stmt:
            case ir.Require(cond=cond):
                checks += conjuncts(cond)
            case ir.Let(value=value) if is_read_apart(value) and all(map(has_values, checks)):
                reads.append(stmt)
            case _:
                return reads, checks, body[number:]
    return reads, checks, ()


def is_read_apart(value: ir.Expr) -> bool:
    """Whether data have no part in which element `value` is."""
    return isinstance(value, ir.Load) and not has_values(*value.access.subscripts)


def is_known(loop: ir.Loop) -> bool:
    """Whether shapes say how often the loop runs at most: one that goes on after a failure has to end."""
    bounds = (loop.lower, loop.upper, loop.step)
    return not any(isinstance(e, ir.Load | ir.Var | ir.Param) for b in bounds for e in subexprs(b))


# -- rows ----------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Rows:
    """A nest whose rows check the same at any place, wherever they begin and end: `rest` at each of them.

    Where places are at least all `lows` and less than all `highs`, and what is `certain` holds, nothing else is left.
    """

    outer: ir.Loop
    inner: ir.Loop
    lows: list[ir.Expr] = field(default_factory=list)
    highs: list[ir.Expr] = field(default_factory=list)
    certain: list[ir.Expr] = field(default_factory=list)
    rest: tuple[ir.Stmt, ...] = ()

    def without_limits(self, body: tuple[ir.Stmt, ...], own: list[ir.Expr]) -> tuple[ir.Stmt, ...]:
        """`body` without checks of what is asked of all places, or (`own`) of each place alone."""
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Require(cond=cond):
                    kept = [p for p in conjuncts(cond) if not self.takes(p, own)]
                    out += [replace(stmt, cond=all_of(kept))] if kept else []
                case ir.Loop(body=inside):
                    inside = self.without_limits(inside, own)
                    out += [replace(stmt, body=inside)] if has_checks(inside) else []
                case _:
                    out.append(stmt)
        return tuple(out)

    def takes(self, part: ir.Expr, own: list[ir.Expr]) -> bool:
        """Whether the condition `part` of a check can be asked without the loops inside a row."""
        certain = certain_if(part)
        match part:
            case ir.Apply(op=Op.GE, args=(ir.Index(name=self.inner.index), ir.Const() as low)):
                self.lows.append(low)
            case ir.Apply(op=Op.LT, args=(ir.Index(name=self.inner.index), ir.Dim() as high)):
                self.highs.append(high)
            case _ if certain is not None:
                self.certain.append(certain)
            case _ if names_in((part,)) <= {self.inner.index}:
                own.append(part)
            case _:
                return False
        return True


def rows_of(loop: ir.Loop) -> Rows | None:
    """The rows that `loop` goes through, if they are bounded by elements of arrays."""
    lets = tuple(s for s in loop.body if isinstance(s, ir.Let))
    match [s for s in loop.body if not isinstance(s, ir.Let)]:
        case [ir.Loop() as inner] if is_constant(loop.step, 1) and is_constant(inner.step, 1):
            pass
        case _:
            return None
    if not all(is_known(s) for s in all_statements((*inner.body, replace(loop, body=()))) if isinstance(s, ir.Loop)):
        return None
    lower, upper = inlined(lets, (inner.lower, inner.upper))
    rows, own = Rows(loop, replace(inner, lower=lower, upper=upper)), list[ir.Expr]()
    left = rows.without_limits(inner.body, own)
    first = (ir.Require(all_of(own), "LD310", "", loc=loop.loc),) if own else ()
    rows.rest = (*first, *(left if has_checks(left) else ()))
    sites = all_statements(rows.rest)
    known = {
        inner.index,
        *(s.name if isinstance(s, ir.Let) else s.index for s in sites if isinstance(s, ir.Let | ir.Loop)),
    }
    used = names_in([x for s in sites for x in stmt_exprs(s)])
    return rows if rows.lows and rows.highs and used <= known else None


def names_in(exprs: Sequence[ir.Expr]) -> set[str]:
    return {e.name for x in exprs for e in subexprs(x) if isinstance(e, ir.Index | ir.Var)}


def has_checks(body: tuple[ir.Stmt, ...]) -> bool:
    return any(isinstance(s, ir.Require) for s in all_statements(body))
