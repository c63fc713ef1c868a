"""The reverse of statements and blocks (Griewank and Walther 2008, chapter 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.ad.adjoint import Propagation, Way
from loopdiff.ad.emitter import Emitter
from loopdiff.ad.facts import Facts
from loopdiff.ad.regions import INITIAL, OPERAND, Region, region_of, where
from loopdiff.ad.ruled import ReverseCall, cleared, constant_parts, given, is_asked, partial_calls, unless_zero
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.ad.tape.record import reversed_range
from loopdiff.ad.tape.replay import slice_of
from loopdiff.ad.tape.segments import SegmentedLoop
from loopdiff.ad.ties import TieCount
from loopdiff.analysis.decisions import addend
from loopdiff.errors import Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, divide, integer, mul, strong_mul, sub, zero
from loopdiff.ir.names import NameSupply
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
    shares: dict[str, ir.Expr] = field(default_factory=dict)
    cells: dict[str, ScalarType] = field(default_factory=dict)

    @property
    def propagation(self) -> Propagation:
        return Propagation(self.needed, self.adjoint_of)

    def block(
        self, body: tuple[ir.Stmt, ...], prefix: Path, offset: int = 0, seed: tuple[ir.Stmt, ...] = ()
    ) -> tuple[ir.Stmt, ...]:
        """The reverse of a block: restored Lets, zeroed adjoints, `seed`, then the statements' adjoints backwards."""
        reverse: list[ir.Stmt] = [*seed]
        end = len(body)
        exits_left = sum(1 for s in body if isinstance(s, ir.Exit))
        regions = [r for r in self.facts.regions if r.block == prefix and r.target.array in self.adjoint_of]
        for number in range(offset + len(body) - 1, offset - 1, -1):
            for region in regions:
                if region.members[-1] == number:
                    reverse += self.share_among(region)
            if isinstance(body[number - offset], ir.Exit):
                exits_left -= 1
                reverse = self.past_exit(body[number - offset + 1 : end], reverse, prefix, exits_left)
                end = number - offset
                continue
            reverse += self.statement(body[number - offset], (*prefix, number))
        return (*self.head(body[:end], prefix), *self.fresh_cells(prefix), *reverse) if reverse else ()

    def past_exit(self, body: tuple[ir.Stmt, ...], reverse: list[ir.Stmt], prefix: Path, number: int) -> list[ir.Stmt]:
        """`reverse`, that of the statements `body` between Exit `number` of the loop at `prefix` and the next, for the
        iterations that got past it."""
        loop = self.facts.sites[prefix].stmt
        assert isinstance(loop, ir.Loop)
        if not reverse:
            return []
        passes = self.facts.passes[loop.index]
        inner = [*self.head(body, prefix), *reverse]
        if passes.past[number] == passes.all:
            return inner
        return [ir.If(self.needed.has_passed(loop, prefix, passes.past[number]), tuple(inner), loc=loop.loc)]

    def head(self, body: tuple[ir.Stmt, ...], prefix: Path) -> list[ir.Stmt]:
        """What the reverse of a run of statements starts with: Lets restored, and adjoints that begin at zero, of its
        Lets and of arrays that nothing outside of the block touches."""
        heads = [self.needed.heads[s.name] for s in body if isinstance(s, ir.Let) and s.name in self.needed.heads]
        restored: list[ir.Stmt] = [let for head in heads for let in (*head.parts, head.let)]
        fresh: list[ir.Stmt] = []
        for stmt in body:
            if isinstance(stmt, ir.Let) and stmt.name in self.adjoint_of:
                fresh.append(ir.Assign(ir.Access(self.adjoint_of[stmt.name]), zero(self.facts.types.lets[stmt.name])))
            if isinstance(stmt, ir.Allocate) and prefix and stmt.array in self.adjoint_of.keys() & self.facts.inner:
                fresh.append(ir.Allocate(self.adjoint_of[stmt.array], zero(self.kind(stmt.array)), loc=stmt.loc))
        return [*restored, *fresh]

    def fresh_cells(self, prefix: Path) -> list[ir.Stmt]:
        """Zeroed adjoints of the cells that the loop at `prefix` owns."""
        owned = sorted(cell for cell, home in self.facts.homes.items() if home == prefix)
        return [ir.Assign(ir.Access(self.adjoint_of[cell]), zero(self.kind(cell))) for cell in owned]

    def kind(self, array: str) -> ScalarType:
        return self.facts.types.arrays[array].element

    def statement(self, stmt: ir.Stmt, path: Path) -> list[ir.Stmt]:
        """The adjoint of one statement."""
        match stmt:
            case ir.Let(name=name, value=value) if name in self.adjoint_of:
                return self.consume(ir.Access(self.adjoint_of[name]), value, stmt, path, is_cleared=False)
            case ir.Assign(target=target, value=value) | ir.Accumulate(op="add", target=target, value=value) if (
                target.array in self.adjoint_of
            ):
                rest = addend(stmt)
                return self.consume(self.adjoint(target, path), rest or value, stmt, path, is_cleared=rest is None)
            case ir.Accumulate(target=target, value=value) if target.array in self.adjoint_of:
                return self.extremum(stmt, value, path)
            case ir.Call():
                return self.call(stmt, path)
            case ir.Loop():
                return self.loop(stmt, path)
            case ir.If(cond=cond, then=then, orelse=orelse):
                new_then = self.block(then, path)
                new_else = self.block(orelse, path, len(then))
                if not (new_then or new_else):
                    return []
                return [ir.If(self.needed.exact(cond, At(path)), new_then, new_else, loc=stmt.loc)]
            case ir.Allocate(array=array) if array in self.adjoint_of and array not in self.facts.inner:
                return self.birth(stmt, path)
            case _:
                return []

    def birth(self, stmt: ir.Allocate, path: Path) -> list[ir.Stmt]:
        """Past the birth of an array, its adjoint is that of what had its memory before: zero, if anything had."""
        is_first = self.facts.births[stmt.array] == 1 and not self.facts.loops_around(path)
        return [] if is_first else [ir.Allocate(self.adjoint_of[stmt.array], zero(self.kind(stmt.array)), loc=stmt.loc)]

    def adjoint(self, target: ir.Access, path: Path) -> ir.Access:
        exact = self.needed.exact_access(target, At(path))
        return ir.Access(self.adjoint_of[target.array], exact.subscripts, loc=target.loc)

    def consume(self, bar: ir.Access, value: ir.Expr, stmt: ir.Stmt, path: Path, is_cleared: bool) -> list[ir.Stmt]:
        """Send the cotangent at `bar` through `value`; an overwritten location's own adjoint starts again at zero."""
        ahead = self.needed.heads.get(stmt.name) if isinstance(stmt, ir.Let) else None
        emitter = Emitter(self.names, stmt.loc, ahead=ahead)
        held = ir.Var(self.names.fresh("bar"), loc=stmt.loc)
        at = At(path, (), emitter)
        self.propagation.through(value, held, at, emitter)
        clear = [ir.Assign(bar, zero(self.element(bar)), loc=stmt.loc)] if is_cleared else []
        if not emitter.out:
            return list(clear)
        return [ir.Let(held.name, ir.Load(bar, loc=stmt.loc), loc=stmt.loc), *clear, *emitter.out]

    def call(self, stmt: ir.Call, path: Path) -> list[ir.Stmt]:
        """The adjoints of what a rule computes go to what it was computed from, by the rule's own function."""
        facts = self.facts
        asked = is_asked(stmt, "reverse", facts.activity.active, self.adjoint_of, facts.types)
        clear: list[ir.Stmt] = [
            cleared(self.exact_part(part, path), self.adjoint_of[part.array], facts.ls, self.names)
            for part in constant_parts(stmt, asked)
            if part.array in self.adjoint_of
        ]
        ends = [r for r in stmt.results if r.array in self.adjoint_of]
        clear += [ir.Assign(ir.Access(self.adjoint_of[r.array]), zero(self.kind(r.array)), loc=stmt.loc) for r in ends]
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
            self.propagation.through(args[number], ir.Load(ir.Access(cell)), At(path, (), emitter), emitter)
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

    def exact_part(self, part: ir.Access, path: Path) -> ir.Access:
        return self.needed.exact_access(part, At(path))

    def element(self, bar: ir.Access) -> ScalarType:
        primal = next(p for p, a in self.adjoint_of.items() if a == bar.array)
        types = self.facts.types
        return types.arrays[primal].element if primal in types.arrays else types.lets[primal]

    # -- loops -----------------------------------------------------------------------------------------------
    def loop(self, stmt: ir.Loop, path: Path) -> list[ir.Stmt]:
        """The loop with its iterations in reverse order."""
        body = self.block(stmt.body, path)
        if not body:
            return []
        if path in self.needed.segmented:
            return SegmentedLoop(self.needed, stmt, path, body).statements()
        if path in self.needed.replayed:
            body = (*renamed_block(slice_of(self.needed, stmt, path, body), self.names), *body)
        lower, upper, step, count = self.needed.range_made(stmt, path)
        out: list[ir.Stmt] = []
        counter = self.needed.tape.counters.get((self.needed.scope_of(path), path))
        if counter is not None:
            base = ir.Access(counter.base)
            out.append(ir.Assign(base, sub(ir.Load(base), count), loc=stmt.loc))
            out.append(ir.Let(counter.at, ir.Load(base), loc=stmt.loc))
        first, stop, stride = reversed_range(lower, upper, step)
        return [*out, ir.Loop(stmt.index, first, stop, stride, body, loc=stmt.loc)]

    # -- max / min reductions ---------------------------------------------------------------------------------
    def share_among(self, region: Region) -> list[ir.Stmt]:
        """Before the reverse of a region: count who attains the extremum, and give the initial value its share."""
        path = (*region.block, region.members[-1])
        kind = self.kind(region.target.array)
        loc = self.facts.sites[path].stmt.loc
        bar = self.adjoint(region.target, path)
        if (outcome := self.outcome(region, path)) is not None:
            return self.share_of_two(region, bar, outcome, loc)
        final = self.needed.exact(ir.Var(region.after), At(path))
        has_initial = compare(Op.EQ, self.needed.exact(ir.Var(region.before), At(path)), final)
        ties = ir.Access(self.names.fresh(f"{region.target.array}_ties"))
        held, share = self.names.fresh("bar"), self.names.fresh("share")
        counting = TieCount(self.needed, region, ties, final, kind)
        count = counting.statements()
        self.cells |= counting.cells()
        reach = None if region.reach is None else self.needed.exact(region.reach, At(path))
        initial = ir.Assign(bar, ir.Select(has_initial, ir.Var(share), zero(kind)), loc=loc)
        split = strong_mul(ir.Var(held), divide(ir.Const(1.0, kind), ir.Load(ties)))
        self.shares[region.after] = ir.Var(share)
        return [
            ir.Assign(ties, ir.Select(has_initial, ir.Const(1.0, kind), zero(kind)), loc=loc),
            *count,
            ir.Let(held, where(reach, ir.Load(bar), kind), loc=loc),
            ir.Let(share, split, loc=loc),
            initial if reach is None else ir.If(reach, (initial,), loc=loc),
        ]

    def extremum(self, stmt: ir.Accumulate, value: ir.Expr, path: Path) -> list[ir.Stmt]:
        """An operand that attains its region's extremum receives a share; the others receive nothing."""
        region = region_of(self.facts.regions, path, stmt.target.array)
        emitter = Emitter(self.names, stmt.loc)
        self.propagation.through(value, self.shares[region.after], At(path, (), emitter), emitter, Way(is_masked=True))
        if not emitter.out:
            return []
        outcome = self.outcome(region, path)
        if outcome is None:
            final = self.needed.exact(ir.Var(region.after), At(path))
            tied = compare(Op.EQ, self.needed.exact(value, At(path)), final)
        else:
            tied = compare(Op.GE, outcome, integer(OPERAND))
        return [ir.If(tied, tuple(emitter.out), loc=stmt.loc)]

    def share_of_two(self, region: Region, bar: ir.Access, outcome: ir.Expr, loc: Span) -> list[ir.Stmt]:
        """The like for one operand beside the initial value, by who attained the extremum."""
        kind = self.kind(region.target.array)
        held, share = ir.Var(self.names.fresh("bar")), ir.Var(self.names.fresh("share"))
        self.shares[region.after] = share
        both = compare(Op.EQ, outcome, integer(INITIAL + OPERAND))
        stayed = ir.Apply(Op.OR, (both, compare(Op.EQ, outcome, integer(INITIAL))))
        return [
            ir.Let(held.name, ir.Load(bar), loc=loc),
            ir.Let(share.name, ir.Select(both, mul(ir.Const(0.5, kind), held), held), loc=loc),
            ir.Assign(bar, ir.Select(stayed, share, zero(kind)), loc=loc),
        ]

    def outcome(self, region: Region, path: Path) -> ir.Expr | None:
        """Who attained the extremum of `region`, where values to compare would have to be recorded for that."""
        if region.outcome is None:
            return None
        if region.outcome not in self.needed.recorded_lets:
            (operand,) = (self.facts.sites[(*region.block, k)].stmt for k in region.members)
            assert isinstance(operand, ir.Accumulate)
            assert isinstance(operand.value, ir.Var)
            if all(map(self.is_free, (region.before, region.after, operand.value.name))):
                return None
        return self.needed.exact(ir.Var(region.outcome), At(path))

    def is_free(self, name: str) -> bool:
        """Whether the Let `name` can be had exactly without recording anything for as many loops as are around it."""
        if name in self.needed.recorded_lets:
            return True
        site = self.facts.lets[name]
        assert isinstance(site.stmt, ir.Let)
        value, here = site.stmt.value, At(site.path)
        return self.needed.is_exact(value, here) or self.needed.made_strict(value, here) is not None
