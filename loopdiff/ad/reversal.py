"""The reverse of statements and blocks (Griewank and Walther 2008, chapter 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.ad.adjoint import Propagation
from loopdiff.ad.emitter import Emitter
from loopdiff.ad.facts import Facts
from loopdiff.ad.regions import Region, region_of, where
from loopdiff.ad.ruled import ReverseCall, cleared, constant_parts, given, is_asked, partial_calls, unless_zero
from loopdiff.ad.tape.needed import At, Needed
from loopdiff.ad.tape.record import reversed_range
from loopdiff.ad.tape.replay import slice_of
from loopdiff.ad.tape.segments import SegmentedLoop
from loopdiff.ad.ties import TieCount
from loopdiff.analysis.decisions import addend
from loopdiff.ir.build import compare, divide, strong_mul, sub, zero
from loopdiff.ir.names import NameSupply
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    Assign,
    Call,
    Const,
    Exit,
    Expr,
    If,
    Let,
    Load,
    Loop,
    Select,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path


@dataclass(slots=True)
class Reversal:
    """Reverses the statements of one primal.

    `adjoint_of`: adjoint name of each tracked array, active cell, Let and scalar argument. `cells` are the scalar
    cells that the reverse sweep itself works with.
    """

    facts: Facts
    needed: Needed
    names: NameSupply
    adjoint_of: Mapping[str, str]
    shares: dict[str, Expr] = field(default_factory=dict)
    cells: dict[str, ScalarType] = field(default_factory=dict)

    @property
    def propagation(self) -> Propagation:
        return Propagation(self.needed, self.adjoint_of)

    def block(
        self, body: tuple[Stmt, ...], prefix: Path, offset: int = 0, seed: tuple[Stmt, ...] = ()
    ) -> tuple[Stmt, ...]:
        """The reverse of a block: restored Lets, zeroed adjoints, `seed`, then the statements' adjoints backwards."""
        reverse: list[Stmt] = [*seed]
        end = len(body)
        exits_left = sum(1 for s in body if isinstance(s, Exit))
        regions = [r for r in self.facts.regions if r.block == prefix and r.target.array in self.adjoint_of]
        for number in range(offset + len(body) - 1, offset - 1, -1):
            for region in regions:
                if region.members[-1] == number:
                    reverse += self.share_among(region)
            if isinstance(body[number - offset], Exit):
                exits_left -= 1
                reverse = self.past_exit(body[number - offset + 1 : end], reverse, prefix, exits_left)
                end = number - offset
                continue
            reverse += self.statement(body[number - offset], (*prefix, number))
        return (*self.head(body[:end], prefix), *self.fresh_cells(prefix), *reverse) if reverse else ()

    def past_exit(self, body: tuple[Stmt, ...], reverse: list[Stmt], prefix: Path, number: int) -> list[Stmt]:
        """`reverse`, that of the statements `body` between Exit `number` of the loop at `prefix` and the next, for the
        iterations that got past it."""
        loop = self.facts.sites[prefix].stmt
        assert isinstance(loop, Loop)
        if not reverse:
            return []
        passes = self.facts.passes[loop.index]
        inner = [*self.head(body, prefix), *reverse]
        if passes.past[number] == passes.all:
            return inner
        return [If(self.needed.has_passed(loop, prefix, passes.past[number]), tuple(inner), loc=loop.loc)]

    def head(self, body: tuple[Stmt, ...], prefix: Path) -> list[Stmt]:
        """What the reverse of a run of statements starts with: Lets restored, and adjoints that begin at zero, of its
        Lets and of arrays that nothing outside of the block touches."""
        restored: list[Stmt] = [
            self.needed.heads[s.name] for s in body if isinstance(s, Let) and s.name in self.needed.heads
        ]
        fresh: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Let) and stmt.name in self.adjoint_of:
                fresh.append(Assign(Access(self.adjoint_of[stmt.name]), zero(self.facts.types.lets[stmt.name])))
            if isinstance(stmt, Allocate) and prefix and stmt.array in self.adjoint_of.keys() & self.facts.inner:
                fresh.append(Allocate(self.adjoint_of[stmt.array], zero(self.kind(stmt.array)), loc=stmt.loc))
        return [*restored, *fresh]

    def fresh_cells(self, prefix: Path) -> list[Stmt]:
        """Zeroed adjoints of the cells that the loop at `prefix` owns."""
        owned = sorted(cell for cell, home in self.facts.homes.items() if home == prefix)
        return [Assign(Access(self.adjoint_of[cell]), zero(self.kind(cell))) for cell in owned]

    def kind(self, array: str) -> ScalarType:
        return self.facts.types.arrays[array].element

    def statement(self, stmt: Stmt, path: Path) -> list[Stmt]:
        """The adjoint of one statement."""
        match stmt:
            case Let(name=name, value=value) if name in self.adjoint_of:
                return self.consume(Access(self.adjoint_of[name]), value, stmt, path, is_cleared=False)
            case Assign(target=target, value=value) | Accumulate(op="add", target=target, value=value) if (
                target.array in self.adjoint_of
            ):
                rest = addend(stmt)
                return self.consume(self.adjoint(target, path), rest or value, stmt, path, is_cleared=rest is None)
            case Accumulate(target=target, value=value) if target.array in self.adjoint_of:
                return self.extremum(stmt, value, path)
            case Call():
                return self.call(stmt, path)
            case Loop():
                return self.loop(stmt, path)
            case If(cond=cond, then=then, orelse=orelse):
                new_then = self.block(then, path)
                new_else = self.block(orelse, path, len(then))
                if not (new_then or new_else):
                    return []
                return [If(self.needed.exact(cond, At(path)), new_then, new_else, loc=stmt.loc)]
            case Allocate(array=array) if array in self.adjoint_of and array not in self.facts.inner:
                return self.birth(stmt, path)
            case _:
                return []

    def birth(self, stmt: Allocate, path: Path) -> list[Stmt]:
        """Past the birth of an array, its adjoint is that of what had its memory before: zero, if anything had."""
        is_first = self.facts.births[stmt.array] == 1 and not self.facts.loops_around(path)
        return [] if is_first else [Allocate(self.adjoint_of[stmt.array], zero(self.kind(stmt.array)), loc=stmt.loc)]

    def adjoint(self, target: Access, path: Path) -> Access:
        exact = self.needed.exact_access(target, At(path))
        return Access(self.adjoint_of[target.array], exact.subscripts, loc=target.loc)

    def consume(self, bar: Access, value: Expr, stmt: Stmt, path: Path, is_cleared: bool) -> list[Stmt]:
        """Send the cotangent at `bar` through `value`; an overwritten location's own adjoint starts again at zero."""
        emitter = Emitter(self.names, stmt.loc)
        held = Var(self.names.fresh("bar"), loc=stmt.loc)
        at = At(path, (), emitter)
        self.propagation.through(value, held, at, emitter)
        clear = [Assign(bar, zero(self.element(bar)), loc=stmt.loc)] if is_cleared else []
        if not emitter.out:
            return list(clear)
        return [Let(held.name, Load(bar, loc=stmt.loc), loc=stmt.loc), *clear, *emitter.out]

    def call(self, stmt: Call, path: Path) -> list[Stmt]:
        """The adjoints of what a rule computes go to what it was computed from, by the rule's own function."""
        facts = self.facts
        asked = is_asked(stmt, "reverse", facts.activity.active, self.adjoint_of, facts.types)
        clear: list[Stmt] = [
            cleared(self.exact_part(part, path), self.adjoint_of[part.array], facts.ls, self.names)
            for part in constant_parts(stmt, asked)
            if part.array in self.adjoint_of
        ]
        ends = [r for r in stmt.results if r.array in self.adjoint_of]
        clear += [Assign(Access(self.adjoint_of[r.array]), zero(self.kind(r.array)), loc=stmt.loc) for r in ends]
        if not asked:
            return clear
        emitter = Emitter(self.names, stmt.loc)
        reverse = ReverseCall(self.needed, self.adjoint_of, stmt, path)
        if stmt.rule.partials:
            self.through_partials(reverse, emitter)
            return [*emitter.out, *clear]
        slopes = reverse.slopes(self.names)
        self.cells |= dict(slopes.values())
        emitter.emit(reverse.statement([name for name, _ in slopes.values()], emitter))
        args = given(stmt)
        for number, (cell, _) in slopes.items():
            self.propagation.through(args[number], Load(Access(cell)), At(path, (), emitter), emitter)
        out = unless_zero([reverse.seed], emitter.out) if reverse.is_of_numbers else emitter.out
        return [*out, *clear]

    def through_partials(self, reverse: ReverseCall, emitter: Emitter) -> None:
        """Send the adjoint of the result to each number, multiplied by the derivative by that."""
        facts, stmt = self.facts, reverse.call
        args = given(stmt)
        for partial in partial_calls(stmt, facts.types, facts.activity.active, self.names):
            self.cells[partial.cell] = partial.own_kind
            emitter.emit(partial.statement(reverse.again(emitter)))
            kind = type_of(args[partial.name], facts.types)
            bar = partial.scaled(reverse.seed, partial.kind, kind)
            self.propagation.through(args[partial.name], bar, At(reverse.path, (), emitter), emitter)

    def exact_part(self, part: Access, path: Path) -> Access:
        return self.needed.exact_access(part, At(path))

    def element(self, bar: Access) -> ScalarType:
        primal = next(p for p, a in self.adjoint_of.items() if a == bar.array)
        types = self.facts.types
        return types.arrays[primal].element if primal in types.arrays else types.lets[primal]

    # -- loops -----------------------------------------------------------------------------------------------
    def loop(self, stmt: Loop, path: Path) -> list[Stmt]:
        """The loop with its iterations in reverse order."""
        body = self.block(stmt.body, path)
        if not body:
            return []
        if path in self.needed.segmented:
            return SegmentedLoop(self.needed, stmt, path, body).statements()
        if path in self.needed.replayed:
            body = (*renamed_block(slice_of(self.needed, stmt, path, body), self.names), *body)
        lower, upper, step, count = self.needed.range_made(stmt, path)
        out: list[Stmt] = []
        counter = self.needed.tape.counters.get((self.needed.scope_of(path), path))
        if counter is not None:
            base = Access(counter.base)
            out.append(Assign(base, sub(Load(base), count), loc=stmt.loc))
            out.append(Let(counter.at, Load(base), loc=stmt.loc))
        first, stop, stride = reversed_range(lower, upper, step)
        return [*out, Loop(stmt.index, first, stop, stride, body, loc=stmt.loc)]

    # -- max / min reductions ---------------------------------------------------------------------------------
    def share_among(self, region: Region) -> list[Stmt]:
        """Before the reverse of a region: count who attains the extremum, and give the initial value its share."""
        path = (*region.block, region.members[-1])
        kind = self.kind(region.target.array)
        loc = self.facts.sites[path].stmt.loc
        bar = self.adjoint(region.target, path)
        final = self.needed.exact(Var(region.after), At(path))
        has_initial = compare(Op.EQ, self.needed.exact(Var(region.before), At(path)), final)
        ties = Access(self.names.fresh(f"{region.target.array}_ties"))
        held, share = self.names.fresh("bar"), self.names.fresh("share")
        counting = TieCount(self.needed, region, ties, final, kind)
        count = counting.statements()
        self.cells |= counting.cells()
        reach = None if region.reach is None else self.needed.exact(region.reach, At(path))
        initial = Assign(bar, Select(has_initial, Var(share), zero(kind)), loc=loc)
        split = strong_mul(Var(held), divide(Const(1.0, kind), Load(ties)))
        self.shares[region.after] = Var(share)
        return [
            Assign(ties, Select(has_initial, Const(1.0, kind), zero(kind)), loc=loc),
            *count,
            Let(held, where(reach, Load(bar), kind), loc=loc),
            Let(share, split, loc=loc),
            initial if reach is None else If(reach, (initial,), loc=loc),
        ]

    def extremum(self, stmt: Accumulate, value: Expr, path: Path) -> list[Stmt]:
        """An operand that attains its region's extremum receives a share; the others receive nothing."""
        region = region_of(self.facts.regions, path, stmt.target.array)
        emitter = Emitter(self.names, stmt.loc)
        self.propagation.through(value, self.shares[region.after], At(path, (), emitter), emitter, is_masked=True)
        if not emitter.out:
            return []
        final = self.needed.exact(Var(region.after), At(path))
        tied = compare(Op.EQ, self.needed.exact(value, At(path)), final)
        return [If(tied, tuple(emitter.out), loc=stmt.loc)]
