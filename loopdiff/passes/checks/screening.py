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
from dataclasses import dataclass, field, replace
from itertools import takewhile

from loopdiff.analysis.contractions import inlined
from loopdiff.analysis.repeatable import Repeatable, repeatable
from loopdiff.analysis.strides import coefficient
from loopdiff.ir.build import all_of, compare, conjuncts, integer, is_constant, natural, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Apply,
    ArrayDecl,
    Assign,
    Const,
    Dim,
    Exit,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Param,
    Require,
    Select,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed, renamed_block
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import accesses, statements, stmt_exprs, subexprs, written_access
from loopdiff.passes.checks.certainty import certain_if

ONE = integer(1)
LARGEST, LEAST = integer((1 << 63) - 1), integer(-(1 << 63))


def screen(ls: LoopSet) -> LoopSet:
    """`ls` with its loops of checks screened."""
    if not any(isinstance(s.stmt, Require) and s.loops for s in statements(ls.body)):
        return ls
    screener = Screener(supply(ls), repeatable(ls))
    body = screener.block(ls.body)
    return replace(ls, body=body, arrays=(*ls.arrays, *screener.cells))


@dataclass(slots=True)
class Screener:
    """Puts screens ahead of loops of checks; `cells` collects the cells that they need."""

    names: NameSupply
    repeatable: Repeatable
    cells: list[ArrayDecl] = field(default_factory=list)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            match stmt:
                case If(then=then, orelse=orelse):
                    out.append(replace(stmt, then=self.block(then), orelse=self.block(orelse)))
                case Loop() if self.is_inspection(stmt):
                    maker = out[-1] if out else None
                    if isinstance(maker, Loop) and makes_what_is_checked(maker, stmt):
                        out.pop()
                    else:
                        maker = None
                    out += self.screened(stmt, maker)
                case _:
                    out.append(stmt)
        return tuple(out)

    def is_inspection(self, loop: Loop) -> bool:
        """Whether the loop only checks, and finds the same when it is run again."""
        sites = list(statements((loop,)))
        if not all(isinstance(s.stmt, Loop | Let | If | Require) for s in sites):
            return False
        return has_checks((loop,)) and self.repeatable.is_block((loop,))

    def cell(self, stem: str) -> Access:
        name = self.names.fresh(stem)
        self.cells.append(ArrayDecl(name, ArrayType("int64", 0), extents=()))
        return Access(name)

    def screened(self, loop: Loop, maker: Loop | None) -> list[Stmt]:
        """`loop`, run only if a check in it is found to fail; `maker`, the loop before it, does the first round."""
        rows = rows_of(loop) if maker is None else None
        if rows is None and not all(is_known(s.stmt) for s in statements((loop,)) if isinstance(s.stmt, Loop)):
            return [loop] if maker is None else [maker, loop]
        wrong = self.cell("wrong")
        if rows is not None:
            ahead = [*self.in_one_range(rows, wrong)]
        elif maker is None:
            ahead = [*self.copies(all_at_once(loop, wrong))]
        else:
            (copy,) = self.copies(all_at_once(loop, wrong))
            assert isinstance(copy, Loop)
            ahead = [replace(maker, body=(*maker.body, *in_iterations_of(maker, copy)))]
        start = Assign(wrong, integer(0 if rows is None else 1))
        return [start, *ahead, If(compare(Op.NE, Load(wrong), integer(0)), (loop,), loc=loop.loc)]

    def copies(self, loop: Loop) -> tuple[Stmt, ...]:
        """`loop` with names of its own."""
        return renamed_block((loop,), self.names)

    def in_one_range(self, rows: Rows, wrong: Access) -> Iterator[Stmt]:
        """Screens all rows from the least place of any to the last, if that is no more than they have together."""
        first, last, count = self.cell("first"), self.cell("last"), self.cell("count")
        lower, upper = rows.inner.lower, rows.inner.upper
        yield Assign(first, LARGEST)
        yield Assign(last, LEAST)
        yield Assign(count, integer(0))
        sizes = (
            Accumulate("min", first, lower),
            Accumulate("max", last, upper),
            Accumulate("add", count, natural(sub(upper, lower))),
        )
        yield from self.copies(replace(rows.outer, body=sizes))
        limits = [*rows.certain, *(compare(Op.GE, Load(first), low) for low in rows.lows)]
        limits += [compare(Op.LE, Load(last), high) for high in rows.highs]
        limits.append(compare(Op.LE, sub(Load(last), Load(first)), Load(count)))
        body: list[Stmt] = [Assign(wrong, integer(0))]
        if rows.rest:
            flat = replace(rows.inner, lower=Load(first), upper=Load(last), body=rows.rest)
            body += self.copies(all_at_once(flat, wrong))
        yield If(all_of(limits), tuple(body), loc=rows.outer.loc)


# -- loops that make what is checked --------------------------------------------------------------------------
def makes_what_is_checked(maker: Loop, loop: Loop) -> bool:
    """Whether iterations of `loop` check what the same ones of `maker` leave for good, and nothing else of it."""
    if (maker.lower, maker.upper, maker.step) != (loop.lower, loop.upper, loop.step):
        return False
    if any(isinstance(s.stmt, Loop | Exit | Require) for s in statements(maker.body)):
        return False
    targets = [t for s in statements(maker.body) if (t := written_access(s.stmt)) is not None]
    often = Counter(t.array for t in targets)
    made = {s.target for s in maker.body if isinstance(s, Assign) and often[s.target.array] == 1}
    own = {t for t in made if any(coefficient(s, maker.index) in (1, -1) for s in t.subscripts)}
    seen = [a for s in statements(in_iterations_of(maker, loop)) for a in accesses(s.stmt) if a.array in often]
    return bool(seen) and own.issuperset(seen)


def in_iterations_of(maker: Loop, loop: Loop) -> tuple[Stmt, ...]:
    return tuple(renamed(s, {Index(loop.index): Index(maker.index)}) for s in loop.body)


# -- checks without order ------------------------------------------------------------------------------------
def all_at_once(loop: Loop, wrong: Access) -> Loop:
    """`loop` with `wrong` set where a check fails, and iterations going on."""
    return replace(loop, body=noted(loop.body, wrong))


def noted(body: tuple[Stmt, ...], wrong: Access) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for number, stmt in enumerate(body):
        match stmt:
            case Require():
                checks = list(takewhile(lambda s: isinstance(s, Require), body[number:]))
                holds = all_of([part for c in checks if isinstance(c, Require) for part in conjuncts(c.cond)])
                rest = noted(body[number + len(checks) :], wrong)
                if rest:
                    out.append(If(holds, rest, (Accumulate("max", wrong, ONE),), loc=stmt.loc))
                else:
                    out.append(Accumulate("max", wrong, Select(holds, integer(0), ONE), loc=stmt.loc))
                return tuple(out)
            case Loop():
                out.append(all_at_once(stmt, wrong))
            case If(then=then, orelse=orelse):
                out.append(replace(stmt, then=noted(then, wrong), orelse=noted(orelse, wrong)))
            case _:
                out.append(stmt)
    return tuple(out)


def is_known(loop: Loop) -> bool:
    """Whether shapes say how often the loop runs at most: one that goes on after a failure has to end."""
    bounds = (loop.lower, loop.upper, loop.step)
    return not any(isinstance(e, Load | Var | Param) for b in bounds for e in subexprs(b))


# -- rows ----------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Rows:
    """A nest whose rows check the same at any place, wherever they begin and end: `rest` at each of them.

    Where places are at least all `lows` and less than all `highs`, and what is `certain` holds, nothing else is left.
    """

    outer: Loop
    inner: Loop
    lows: list[Expr] = field(default_factory=list)
    highs: list[Expr] = field(default_factory=list)
    certain: list[Expr] = field(default_factory=list)
    rest: tuple[Stmt, ...] = ()

    def without_limits(self, body: tuple[Stmt, ...], own: list[Expr]) -> tuple[Stmt, ...]:
        """`body` without checks of what is asked of all places, or (`own`) of each place alone."""
        out: list[Stmt] = []
        for stmt in body:
            match stmt:
                case Require(cond=cond):
                    kept = [p for p in conjuncts(cond) if not self.takes(p, own)]
                    out += [replace(stmt, cond=all_of(kept))] if kept else []
                case Loop(body=inside):
                    inside = self.without_limits(inside, own)
                    out += [replace(stmt, body=inside)] if has_checks(inside) else []
                case _:
                    out.append(stmt)
        return tuple(out)

    def takes(self, part: Expr, own: list[Expr]) -> bool:
        """Whether the condition `part` of a check can be asked without the loops inside a row."""
        certain = certain_if(part)
        match part:
            case Apply(op=Op.GE, args=(Index(name=self.inner.index), Const() as low)):
                self.lows.append(low)
            case Apply(op=Op.LT, args=(Index(name=self.inner.index), Dim() as high)):
                self.highs.append(high)
            case _ if certain is not None:
                self.certain.append(certain)
            case _ if names_in((part,)) <= {self.inner.index}:
                own.append(part)
            case _:
                return False
        return True


def rows_of(loop: Loop) -> Rows | None:
    """The rows that `loop` goes through, if they are bounded by elements of arrays."""
    lets = tuple(s for s in loop.body if isinstance(s, Let))
    match [s for s in loop.body if not isinstance(s, Let)]:
        case [Loop() as inner] if is_constant(loop.step, 1) and is_constant(inner.step, 1):
            pass
        case _:
            return None
    if not all(is_known(s.stmt) for s in statements((*inner.body, replace(loop, body=()))) if isinstance(s.stmt, Loop)):
        return None
    lower, upper = inlined(lets, (inner.lower, inner.upper))
    rows, own = Rows(loop, replace(inner, lower=lower, upper=upper)), list[Expr]()
    left = rows.without_limits(inner.body, own)
    first = (Require(all_of(own), "LD310", "", loc=loop.loc),) if own else ()
    rows.rest = (*first, *(left if has_checks(left) else ()))
    sites = [s.stmt for s in statements(rows.rest)]
    known = {inner.index, *(s.name if isinstance(s, Let) else s.index for s in sites if isinstance(s, Let | Loop))}
    used = names_in([x for s in sites for x in stmt_exprs(s)])
    return rows if rows.lows and rows.highs and used <= known else None


def names_in(exprs: Sequence[Expr]) -> set[str]:
    return {e.name for x in exprs for e in subexprs(x) if isinstance(e, Index | Var)}


def has_checks(body: tuple[Stmt, ...]) -> bool:
    return any(isinstance(s.stmt, Require) for s in statements(body))
