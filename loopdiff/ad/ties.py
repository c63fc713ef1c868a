"""Counting of ties in a max/min region: how many operands attain the extremum.

The pass repeats the region's loops, in the order of the reverse sweep so that running tape positions can be followed
backwards, with every reduction replaced by a comparison of its operand with the final value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.ad.regions import Region
from loopdiff.ad.tape.needed import At, Needed
from loopdiff.ad.tape.record import reversed_range
from loopdiff.ir.build import compare, sub
from loopdiff.ir.nodes import Access, Accumulate, Assign, Const, Exit, Expr, If, Index, Let, Load, Loop, Stmt, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.walk import Path, substitute

Renaming = Mapping[Expr, Expr]


@dataclass(slots=True)
class TieCount:
    """Builds the counting pass of `region` into the cell `ties`, comparing with `final`, of type `kind`.

    `positions` collects the scalar cells that follow running tape positions: (copy, original).
    """

    needed: Needed
    region: Region
    ties: Access
    final: Expr
    kind: ScalarType
    positions: list[tuple[str, str]] = field(default_factory=list)

    def statements(self) -> list[Stmt]:
        out: list[Stmt] = []
        for number in reversed(self.region.members):
            path = (*self.region.block, number)
            out += self.count(self.needed.facts.sites[path].stmt, path, {})
        start = [Assign(Access(copy), Load(Access(base))) for copy, base in self.positions]
        return [*start, *out]

    def cells(self) -> dict[str, ScalarType]:
        return {self.ties.array: self.kind, **{copy: INT for copy, _ in self.positions}}

    def exact(self, expr: Expr, path: Path, renamed: Renaming) -> Expr:
        return substitute(self.needed.exact(expr, At(path), closed=True), renamed)

    def count(self, stmt: Stmt, path: Path, renamed: Renaming) -> list[Stmt]:
        match stmt:
            case Accumulate(target=target, value=value) if target.array == self.region.target.array:
                tied = compare(Op.EQ, self.exact(value, path, renamed), self.final)
                one = Const(1.0, self.kind)
                return [If(tied, (Accumulate("add", self.ties, one, loc=stmt.loc),), loc=stmt.loc)]
            case Loop():
                return self.loop(stmt, path, renamed)
            case If(cond=cond, then=then, orelse=orelse):
                new_then = self.block(then, path, 0, renamed)
                new_else = self.block(orelse, path, len(then), renamed)
                if not (new_then or new_else):
                    return []
                return [If(self.exact(cond, path, renamed), new_then, new_else, loc=stmt.loc)]
            case _:
                return []

    def block(self, body: tuple[Stmt, ...], path: Path, offset: int, renamed: Renaming) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        exits_left = sum(1 for s in body if isinstance(s, Exit))
        for number in range(offset + len(body) - 1, offset - 1, -1):
            stmt = body[number - offset]
            if isinstance(stmt, Exit):
                exits_left -= 1
                out = self.past_exit(out, path, exits_left, renamed)
            else:
                out += self.count(stmt, (*path, number), renamed)
        return tuple(out)

    def past_exit(self, out: list[Stmt], path: Path, number: int, renamed: Renaming) -> list[Stmt]:
        """`out` for the iterations of the loop at `path` that got past its Exit `number`."""
        loop = self.needed.facts.sites[path].stmt
        assert isinstance(loop, Loop)
        passes = self.needed.facts.passes[loop.index]
        if not out or passes.past[number] == passes.all:
            return out
        cond = self.needed.has_passed(loop, path, passes.past[number], closed=True)
        return [If(substitute(cond, renamed), tuple(out), loc=loop.loc)]

    def loop(self, stmt: Loop, path: Path, renamed: Renaming) -> list[Stmt]:
        index = self.needed.names.fresh(stmt.index)
        at = self.needed.names.fresh(f"{stmt.index}_at")
        scope = self.needed.scope_of(path)
        inner: dict[Expr, Expr] = {**renamed, Index(stmt.index): Index(index)}
        # What the body asks for decides whether a running position is kept; if so it is translated again with it.
        body = self.block(stmt.body, path, 0, inner)
        if not body:
            return []
        made = self.needed.range_made(stmt, path, closed=True)
        lower, upper, step, count = (substitute(e, renamed) for e in made)
        out: list[Stmt] = []
        counter = self.needed.tape.counters.get((scope, path))
        if counter is not None:
            inner[Var(counter.at)] = Var(at)
            body = self.block(stmt.body, path, 0, inner)
            copy = self.needed.names.fresh(counter.base)
            self.positions.append((copy, counter.base))
            position = Access(copy)
            out.append(Assign(position, sub(Load(position), count), loc=stmt.loc))
            out.append(Let(at, Load(position), loc=stmt.loc))
        return [*out, Loop(index, *reversed_range(lower, upper, step), body, loc=stmt.loc)]
