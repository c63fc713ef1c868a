"""Counting of ties in a max/min region: how many operands attain the extremum.

The pass repeats the region's loops, in the order of the reverse sweep so that running tape positions can be followed
backwards, with every reduction replaced by a comparison of its operand with the final value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.ad.regions import Region
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.ad.tape.record import reversed_range
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.walk import Path, substitute

Renaming = Mapping[ir.Expr, ir.Expr]


@dataclass(slots=True)
class TieCount:
    """Builds the counting pass of `region` into the cell `ties`, comparing with `final`, of type `kind`.

    `positions` collects the scalar cells that follow running tape positions: (copy, original).
    """

    needed: Needed
    region: Region
    ties: ir.Access
    final: ir.Expr
    kind: ScalarType
    positions: list[tuple[str, str]] = field(default_factory=list)

    def statements(self) -> list[ir.Stmt]:
        out: list[ir.Stmt] = []
        for number in reversed(self.region.members):
            path = (*self.region.block, number)
            out += self.count(self.needed.facts.sites[path].stmt, path, {})
        start = [ir.Assign(ir.Access(copy), ir.Load(ir.Access(base))) for copy, base in self.positions]
        return [*start, *out]

    def cells(self) -> dict[str, ScalarType]:
        return {self.ties.array: self.kind, **{copy: INT for copy, _ in self.positions}}

    def exact(self, expr: ir.Expr, path: Path, renamed: Renaming) -> ir.Expr:
        return substitute(self.needed.exact(expr, At(path), closed=True), renamed)

    def count(self, stmt: ir.Stmt, path: Path, renamed: Renaming) -> list[ir.Stmt]:
        match stmt:
            case ir.Accumulate(target=target, value=value) if target.array == self.region.target.array:
                tied = compare(Op.EQ, self.exact(value, path, renamed), self.final)
                one = ir.Const(1.0, self.kind)
                return [ir.If(tied, (ir.Accumulate("add", self.ties, one, loc=stmt.loc),), loc=stmt.loc)]
            case ir.Loop():
                return self.loop(stmt, path, renamed)
            case ir.If(cond=cond, then=then, orelse=orelse):
                new_then = self.block(then, path, 0, renamed)
                new_else = self.block(orelse, path, len(then), renamed)
                if not (new_then or new_else):
                    return []
                return [ir.If(self.exact(cond, path, renamed), new_then, new_else, loc=stmt.loc)]
            case _:
                return []

    def block(self, body: tuple[ir.Stmt, ...], path: Path, offset: int, renamed: Renaming) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        exits_left = sum(1 for s in body if isinstance(s, ir.Exit))
        for number in range(offset + len(body) - 1, offset - 1, -1):
            stmt = body[number - offset]
            if isinstance(stmt, ir.Exit):
                exits_left -= 1
                out = self.past_exit(out, path, exits_left, renamed)
            else:
                out += self.count(stmt, (*path, number), renamed)
        return tuple(out)

    def past_exit(self, out: list[ir.Stmt], path: Path, number: int, renamed: Renaming) -> list[ir.Stmt]:
        """`out` for the iterations of the loop at `path` that got past its Exit `number`."""
        loop = self.needed.facts.sites[path].stmt
        assert isinstance(loop, ir.Loop)
        passes = self.needed.facts.passes[loop.index]
        if not out or passes.past[number] == passes.all:
            return out
        cond = self.needed.has_passed(loop, path, passes.past[number], closed=True)
        return [ir.If(substitute(cond, renamed), tuple(out), loc=loop.loc)]

    def loop(self, stmt: ir.Loop, path: Path, renamed: Renaming) -> list[ir.Stmt]:
        index = self.needed.names.fresh(stmt.index)
        at = self.needed.names.fresh(f"{stmt.index}_at")
        scope = self.needed.scope_of(path)
        inner: dict[ir.Expr, ir.Expr] = {**renamed, ir.Index(stmt.index): ir.Index(index)}
        # What the body asks for decides whether a running position is kept; if so it is translated again with it.
        body = self.block(stmt.body, path, 0, inner)
        if not body:
            return []
        made = self.needed.range_made(stmt, path, closed=True)
        lower, upper, step, count = (substitute(e, renamed) for e in made)
        out: list[ir.Stmt] = []
        counter = self.needed.tape.counters.get((scope, path))
        if counter is not None:
            inner[ir.Var(counter.at)] = ir.Var(at)
            body = self.block(stmt.body, path, 0, inner)
            copy = self.needed.names.fresh(counter.base)
            self.positions.append((copy, counter.base))
            position = ir.Access(copy)
            out.append(ir.Assign(position, sub(ir.Load(position), count), loc=stmt.loc))
            out.append(ir.Let(at, ir.Load(position), loc=stmt.loc))
        return [*out, ir.Loop(index, *reversed_range(lower, upper, step), body, loc=stmt.loc)]
