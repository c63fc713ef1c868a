"""Values of the primal in the reverse sweep: what is still there is loaded, what is cheap is recomputed, and the rest
is recorded on the tape.

This is to-be-recorded analysis on demand (Hascoet, Naumann and Pascual 2005): only a value that a partial, a
subscript, a condition or a loop bound of the reverse sweep asks for is ever considered. Memory of the caller is never
rolled back, so a value that is available in a scope is available everywhere in its reverse.

Anything that decides control flow or an address is provided *exactly*: reloaded, recorded as executed, or, a sum or
product or two, rounded one by one in both sweeps. Other floating arithmetic is never repeated for it, because a
compiler may contract it differently the second time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.ad.emitter import Head
from loopdiff.ad.exits import Count
from loopdiff.ad.rounded import strict_form
from loopdiff.ad.tape.origins import (
    ON_TAPE,
    At,
    AtUse,
    CopiedAt,
    InPlace,
    Itself,
    LoadedFrom,
    Made,
    Named,
    OnTape,
    Origin,
    Origins,
    Provider,
    Stored,
)
from loopdiff.ad.tape.plan import Loops, Scope, TapeStore, When, Why, short_first, tape_stem, trip_number, trips
from loopdiff.ad.tape.recordings import Recorded, Recordings, Slot
from loopdiff.ad.tape.stepwise import Steps, completed
from loopdiff.ad.tape.versions import ArrayVersion, never_with
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, extents_of, integer, mul, natural
from loopdiff.ir.ops import STRICT, Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, operands, rebuild, subexprs


@dataclass(slots=True)
class Needed(Origins):
    """Provides primal values to one reverse sweep; `heads` are Lets to restore at the start of their reverse block.
    `asked` is what was asked for up to rounding, and `exactly` the reads, or Lets, that were asked for as they were.
    `made` is what is worked out again of its parts. `handed_on` are local arrays that some outermost loops fill and
    others use, if these may run row by row, and `left` those of them that the reverse sweep reads."""

    asked: dict[Recorded, None] = field(default_factory=dict)
    exactly: dict[Recorded, None] = field(default_factory=dict)
    made: dict[Recorded, None] = field(default_factory=dict)
    handed_on: frozenset[str] = field(init=False)
    left: set[str] = field(default_factory=set)
    heads: dict[str, Head] = field(default_factory=dict)
    recorded: Recordings = field(init=False)
    recorded_lets: dict[str, Slot] = field(default_factory=dict)
    snapshots: dict[tuple[str, Path], Slot] = field(default_factory=dict)
    copied_versions: dict[ArrayVersion, Slot] = field(default_factory=dict)
    from_ends: dict[tuple[Path, ir.Access], Path] = field(default_factory=dict)
    parts: dict[tuple[Path, ir.Access, bool], Slot] = field(default_factory=dict)
    strict: set[ir.Expr] = field(default_factory=set)
    exact_lets: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        Origins.__post_init__(self)
        self.recorded = Recordings(self.facts)
        self.handed_on = self.facts.handed_on if self.policy in ("auto", "rows") else frozenset()

    # -- values ----------------------------------------------------------------------------------------------
    def value(self, expr: ir.Expr, at: At) -> ir.Expr:
        """`expr`, evaluated where the primal did, up to rounding."""
        self.asked.setdefault((at.path, expr, at.guards))
        return completed(self.find_value(expr, at))

    def find_value(self, expr: ir.Expr, at: At) -> Steps[ir.Expr]:
        return self.find_from(self.origin(expr, at), expr, at)

    def find_from(self, origin: Origin, expr: ir.Expr, at: At) -> Steps[ir.Expr]:
        match origin:
            case Itself():
                return expr
            case Named(name=name):
                return (yield self.find_let(name))
            case LoadedFrom(load=load, provider=provider):
                return (yield from self.find_load(load, provider, at))
            case Stored(target=target):
                self.left |= {target.array} & self.handed_on
                return ir.Load(self.exact_access(target, at), loc=expr.loc)
            case OnTape():
                return self.record_value(expr, at)
            case Made() if at.emitter is not None and at.emitter.ahead and (name := self.name_of(expr, at)):
                return ir.Var(name)  # restored ahead of the statement
            case Made(exact=exact, parts=parts):
                self.made.setdefault((at.path, expr, at.guards))
                found = list((yield from self.find_exacts(exact, at, False)))
                for part, place in parts:
                    found.append((yield from self.find_value(part, place)))
                out = rebuild(expr, tuple(found))
                return out if at.emitter is None else at.emitter.share(out)

    def find_let(self, name: str) -> Steps[ir.Expr]:
        """The Let `name`, restored at the start of the reverse of its block."""
        if name not in self.heads:
            stmt, at = self.let(name)
            origin = self.origin_of_let(name)
            if origin is ON_TAPE:
                restored: ir.Expr = ir.Load(self.record_let(name))
            else:
                restored = yield from self.find_from(origin, stmt.value, at)
            self.restore(stmt, restored)
        return ir.Var(name)

    def restore(self, stmt: ir.Let, value: ir.Expr) -> None:
        """Have the name of `stmt` stand for `value`; what holds parts of another value of it stays."""
        known = self.heads.get(stmt.name)
        self.heads[stmt.name] = Head(replace(stmt, value=value), [] if known is None else known.parts)

    def let(self, name: str) -> tuple[ir.Let, At]:
        """The Let `name`, and where its value is evaluated."""
        site = self.facts.lets[name]
        assert isinstance(site.stmt, ir.Let)
        return site.stmt, At(site.path)

    def origin_of_let(self, name: str) -> Origin:
        """Where the value of the Let `name` comes from; it is recorded behind the Let, what that reads as well."""
        stmt, at = self.let(name)
        if name in self.recorded_lets or self.is_decided(stmt.value, at):
            return ON_TAPE
        origin = self.origin(stmt.value, at)
        return ON_TAPE if isinstance(origin, LoadedFrom) and isinstance(origin.provider, AtUse) else origin

    def find_load(self, load: ir.Load, provider: Provider, at: At, closed: bool = False) -> Steps[ir.Expr]:
        """The value `load` saw, exactly."""
        access = load.access
        match provider:
            case InPlace():
                self.left |= {access.array} & self.handed_on
                return replace(load, access=(yield from self.find_access(access, at, closed)))
            case CopiedAt(path=path):
                return ir.Load(self.snapshot(access, path, at, closed))
            case ArrayVersion() as version:
                return ir.Load(self.copied_version(version, access, at, closed))
            case AtUse():
                return self.record(load, at)

    # -- exact values ----------------------------------------------------------------------------------------
    def exact(self, expr: ir.Expr, at: At, closed: bool = False) -> ir.Expr:
        """`expr` exactly as the primal evaluated it. `closed`: without reference to restored Lets."""
        return completed(self.find_exact(expr, at, closed))

    def find_exact(self, expr: ir.Expr, at: At, closed: bool = False) -> Steps[ir.Expr]:
        match expr:
            case ir.Const() | ir.Index() | ir.Param() | ir.Dim():
                return expr
            case ir.Var(name=name):
                return (yield self.find_exact_let(name, closed))
            case ir.Load():
                self.exactly.setdefault((at.path, expr, at.guards))
                return (yield from self.find_load(expr, self.provider(expr.access, at), at, closed))
            case ir.Select(cond=cond, then=then, orelse=orelse) if not self.is_decided(expr, at):
                is_true = yield from self.find_exact(cond, at, closed)
                chosen = yield from self.find_exact(then, at.under(cond, True), closed)
                other = yield from self.find_exact(orelse, at.under(cond, False), closed)
                return ir.Select(is_true, chosen, other)
            case _:
                if not self.is_repeatable(expr) or not self.is_cheaply_exact(expr, at):
                    form = self.made_strict(expr, at)
                    return self.record(expr, at) if form is None else (yield from self.find_exact(form, at, closed))
                return rebuild(expr, (yield from self.find_exacts(operands(expr), at, closed)))

    def find_exacts(self, exprs: tuple[ir.Expr, ...], at: At, closed: bool) -> Steps[tuple[ir.Expr, ...]]:
        found: list[ir.Expr] = []
        for expr in exprs:
            found.append((yield from self.find_exact(expr, at, closed)))
        return tuple(found)

    def exact_access(self, access: ir.Access, at: At, closed: bool = False) -> ir.Access:
        return completed(self.find_access(access, at, closed))

    def find_access(self, access: ir.Access, at: At, closed: bool) -> Steps[ir.Access]:
        return replace(access, subscripts=(yield from self.find_exacts(access.subscripts, at, closed)))

    def find_exact_let(self, name: str, closed: bool) -> Steps[ir.Expr]:
        stmt, here = self.let(name)
        if not self.is_let_known(name) and (self.is_exact(stmt.value, here) or self.made_strict(stmt.value, here)):
            if closed or isinstance(stmt.value, ir.Const | ir.Index | ir.Param | ir.Dim):
                return (yield from self.find_exact(stmt.value, here, closed))
            if name not in self.heads:
                restored = yield from self.find_exact(stmt.value, here)
                self.restore(stmt, restored)
            return ir.Var(name)
        self.exactly.setdefault((here.path, ir.Var(name), ()))
        stored = ir.Load(self.record_let(name))
        if not closed:
            self.restore(stmt, stored)
        return stored if closed else ir.Var(name)

    def is_let_known(self, name: str) -> bool:
        """Whether the Let `name` is on the tape, or will be."""
        if name in self.recorded_lets or not self.choice.values:
            return name in self.recorded_lets
        stmt, at = self.let(name)
        return (at.path, stmt.value, ()) in self.choice.values

    def made_strict(self, expr: ir.Expr, at: At) -> ir.Expr | None:
        """The form of `expr`, floating arithmetic, in which both sweeps evaluate it from now on; None, and nothing
        changes, if operands were to be recorded."""
        is_asked = at.path and self.policy != "store" and not self.is_decided(expr, at)
        if not is_asked or not type_of(expr, self.facts.types).is_float:
            return None
        form = strict_form(expr, self.facts.types)
        if form is None:
            return None
        parts = {e for e in subexprs(form) if isinstance(e, ir.Apply) and e.op in STRICT} - self.strict
        self.strict |= parts
        if not self.is_exact(form, at):
            self.strict -= parts
            return None
        self.tape.strict.setdefault(at.path, {})[expr] = form
        return form

    def is_repeatable(self, expr: ir.Expr) -> bool:
        """Whether the operation is one that both sweeps may evaluate, or has become one."""
        is_strict = isinstance(expr, ir.Apply) and expr.op in STRICT and expr in self.strict
        return is_strict or self.facts.repeatable.is_operation(expr)

    def is_cheaply_exact(self, expr: ir.Expr, at: At) -> bool:
        """False for a truth value that would need a wider recording than its own, and for what rounding decides."""
        return not self.is_decided(expr, at) and (type_of(expr, self.facts.types) != BOOL or self.is_exact(expr, at))

    def is_exact(self, expr: ir.Expr, at: At) -> bool:
        """Whether `expr` can be had exactly without recording anything at full depth: a Let of fewer loops may be."""
        depth = len(self.facts.loops_around(at.path))
        pending, lets = [(expr, at)], set[str]()
        while pending:
            e, at = pending.pop()
            if self.is_decided(e, at):
                return False
            match e:
                case ir.Var(name=name):
                    if not self.is_let_known(name) and name not in self.exact_lets and name not in lets:
                        stmt, here = self.let(name)
                        if len(self.facts.loops_around(here.path)) < depth:
                            continue
                        lets.add(name)
                        pending.append((stmt.value, here))
                    continue
                case ir.Load(access=access):
                    is_there = not isinstance(self.provider(access, at), AtUse)
                case _:
                    is_there = self.is_repeatable(e)
            if not is_there:
                return False
            pending += ((part, at) for part in operands(e))
        self.exact_lets |= lets
        return True

    # -- loops -----------------------------------------------------------------------------------------------
    def range_made(self, loop: ir.Loop, path: Path, closed: bool = False) -> tuple[ir.Expr, ir.Expr, ir.Expr, ir.Expr]:
        """Lower and upper bound and step of the iterations that `loop` made, and how many they are."""
        lower, upper, step = (self.exact(e, At(path), closed) for e in (loop.lower, loop.upper, loop.step))
        passes = self.facts.passes.get(loop.index)
        if passes is None:
            return lower, upper, step, trips(lower, upper, step)
        count = self.exact(ir.Var(passes.all.let), At(path), closed)
        return lower, add(lower, mul(count, step)), step, count

    def has_passed(self, loop: ir.Loop, path: Path, count: Count, closed: bool = False) -> ir.Expr:
        """Whether the current iteration of `loop` is among the first, as many as `count` says."""
        number = trip_number(loop, path, lambda bound, at: self.exact(bound, At(at), closed=True))
        return compare(Op.LT, number, self.exact(ir.Var(count.let), At(path), closed))

    # -- recording -------------------------------------------------------------------------------------------
    def slot_of(self, expr: ir.Expr, at: At) -> Slot | None:
        """Where `expr`, which the statement evaluates, is on the tape, if it is."""
        name = self.name_of(expr, at)
        slot = None if name is None else self.recorded_lets.get(name)
        return slot or self.recorded.slots.get((at.path, expr, at.guards))

    def name_of(self, expr: ir.Expr, at: At) -> str | None:
        """The Let that holds `expr`, if that is all that the statement evaluates."""
        stmt = self.facts.sites[at.path].stmt
        return stmt.name if isinstance(stmt, ir.Let) and stmt.value == expr and not at.guards else None

    def record(self, expr: ir.Expr, at: At, dtype: str | None = None) -> ir.Expr:
        """Record `expr` where the primal evaluates it: ahead of the statement, or for a result at the end."""
        key = (at.path, expr, at.guards)
        if key not in self.recorded.slots:
            scope = self.owner_of(expr.access.array, at.path) if isinstance(expr, ir.Load) else self.scope_of(at.path)
            if isinstance(expr, ir.Load) and at.path:
                same = None if scope in self.segmented else self.recorded.elsewhere(at.path, expr, scope)
                if same is not None:
                    self.recorded.slots[key] = same
                    return ir.Load(self.element(same))
            slot = self.slot(expr, at.path, scope, dtype)
            self.recorded.add(key, slot)
            when = "before" if at.path else "end"
            self.tape.stores.append(TapeStore(scope, at.path, when, self.element(slot, exactly=False), expr, at.guards))
        return ir.Load(self.element(self.recorded.slots[key]))

    def record_value(self, expr: ir.Expr, at: At) -> ir.Expr:
        """`expr`, an operation, from the tape; one recording serves a Let and what it names."""
        name = self.name_of(expr, at)
        return self.record(expr, at) if name is None else ir.Load(self.record_let(name))

    def record_let(self, name: str) -> ir.Access:
        if name not in self.recorded_lets:
            site = self.facts.lets[name]
            held = ir.Var(name, loc=site.stmt.loc)
            kind = "int8" if any(name == r.outcome for r in self.facts.regions) else None
            slot = self.slot(held, site.path, self.scope_of(site.path), kind)
            self.recorded_lets[name] = slot
            self.tape.stores.append(TapeStore(slot.scope, site.path, "after", self.element(slot, exactly=False), held))
        return self.element(self.recorded_lets[name])

    def slot(self, expr: ir.Expr, path: Path, scope: Scope, dtype: str | None = None) -> Slot:
        """A tape array with an element for each instance of the statement at `path`."""
        loops = self.tape.loops(path, scope)
        kind = dtype or type_of(expr, self.facts.types)
        why = Why(expr.loc, "needed by the reverse sweep, and overwritten or dear to recompute")
        return Slot(
            self.tape.declare(f"{tape_stem(expr)}_tape", kind, self.tape.extents(loops, scope), scope, why),
            loops,
            scope,
        )

    def snapshot(self, access: ir.Access, path: Path, at: At, closed: bool = False) -> ir.Access:
        """The element, in the snapshots of `access.array` at the loop `path`, that holds the value read."""
        key, self.from_ends[at.path, access] = (access.array, path), path
        if key not in self.snapshots:
            scope = self.owner_of(access.array, at.path) if path else None
            loops = self.tape.loops((*path, 0), scope) if path else ()
            reason = "its buffer is used again by the next iteration" if path else "final value"
            self.snapshots[key] = self.whole(access.array, loops, scope, (path, "end"), reason)
        return self.element(self.snapshots[key], rest=self.exact_access(access, at, closed).subscripts)

    def copied_version(self, version: ArrayVersion, access: ir.Access, at: At, closed: bool) -> ir.Access:
        """The element, in the copy of a `version`, that holds what was read in `access`."""
        if version not in self.copied_versions:
            scope = self.owner_of(access.array, at.path)
            self.copied_versions[version] = self.whole(
                access.array, self.tape.loops(version.path, scope), scope, (version.path, "before"),
                "what several reads see of it, and overwritten", version,
            )  # fmt: skip
        own = self.exact_access(access, at, closed).subscripts[len(version.row) :]
        rest = short_first(version.sizes, own)
        return self.element(self.copied_versions[version], rest=rest)

    def whole(
        self, name: str, loops: Loops, scope: Scope, place: tuple[Path, When], reason: str,
        version: ArrayVersion | None = None,
    ) -> Slot:  # fmt: skip
        """A tape of copies of the array `name`, one for each iteration of `loops`, made at a `place`."""
        array = self.facts.ls.array(name)
        assert array.type is not None
        dtype, has_rows = array.type.dtype, array.type.rank > 0
        sizes = None if version is None else version.sizes
        rows = map(natural, short_first(sizes, sizes)) if sizes else extents_of(array)
        shape = (*self.tape.extents(loops, scope), *rows)

        def is_alike(slot: Slot) -> bool:
            return (slot.loops, slot.scope) == (loops, scope) and self.tape.has_room(slot.name, dtype, shape)

        slot = None if version is None else never_with(self.facts, version, self.copied_versions, is_alike)
        if slot is None:
            slot = Slot(self.tape.declare(f"{name}_tape", dtype, shape, scope, Why(array.loc, reason)), loops, scope)
        if version is not None and version.carrier is not None:
            at, read = version.carrier
            rest = short_first(version.sizes, read.subscripts[len(version.row) :])
            target = self.element(slot, exactly=False, rest=rest)
            self.tape.stores.append(TapeStore(scope, at, "before", target, ir.Load(read)))
            return slot
        row, parts = ((), ()) if version is None else (version.row, version.parts)
        target, value = self.element(slot, exactly=False, is_part=has_rows), ir.Load(ir.Access(name, row))
        self.tape.stores.append(TapeStore(scope, *place, target, value, whole=has_rows, sizes=sizes, parts=parts))
        return slot

    def element(
        self, slot: Slot, exactly: bool = True, rest: tuple[ir.Expr, ...] = (), is_part: bool = False
    ) -> ir.Access:
        """The current iteration's element, or part, of `slot`: as the reverse sweep reads it, or as the forward sweep
        writes it."""

        def bound(expr: ir.Expr, path: Path) -> ir.Expr:
            return self.exact(expr, At(path), closed=True) if exactly else expr

        subscripts = (*self.tape.coordinates(slot.loops, slot.scope, bound), *rest)
        rank = self.tape.rank(slot.name)
        return ir.Access(slot.name, subscripts if subscripts or is_part else (integer(0),) * min(rank, 1))
