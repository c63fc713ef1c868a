"""The forward sweep of a scope: the primal's statements with the recordings of the tape plan inserted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import starmap, zip_longest

from loopdiff.ad.facts import Facts, is_open
from loopdiff.ad.tape.parts import Part, clamped
from loopdiff.ad.tape.plan import Scope, Tape, TapeCounter, TapeStore, short_first, tape_stem, trips
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import add, compare, extents_of, floordiv, integer, mul, neg, nested, over_elements, sub
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Path, map_blocks_at, map_expr, map_own_exprs, substitute
from loopdiff.rules.definitions import TAPE

ZERO, ONE = integer(0), integer(1)


def trips_made(loop: ir.Loop, facts: Facts) -> ir.Expr:
    """Number of iterations of `loop`: just after it if it may end early, else just before it."""
    passes = facts.passes.get(loop.index)
    return trips(loop.lower, loop.upper, loop.step) if passes is None else ir.Load(ir.Access(passes.all.cell))


def reversed_range(lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> tuple[ir.Expr, ir.Expr, ir.Expr]:
    """Bounds and step that visit range(lower, upper, step) backwards."""
    if isinstance(step, ir.Const):
        size = int(step.value)
        if size == 1:
            return sub(upper, ONE), sub(lower, ONE), integer(-1)
        towards = sub(upper, lower) if size > 0 else sub(lower, upper)
        whole = floordiv(sub(towards, ONE), integer(abs(size)))
        last = add(lower, mul(whole, integer(size)))
        stop = sub(lower, ONE) if size > 0 else add(lower, ONE)
        return last, stop, integer(-size)
    last = add(lower, mul(sub(trips(lower, upper, step), ONE), step))
    stop = ir.Select(compare(Op.GT, step, integer(0)), sub(lower, ONE), add(lower, ONE))
    return last, stop, neg(step)


def trips_before(loop: ir.Loop) -> ir.Expr:
    """How many iterations of `loop` came before the current one, in the forward sweep."""
    return floordiv(sub(ir.Index(loop.index), loop.lower), loop.step)


def segment_length(tape: Tape, path: Path, level: int = 1) -> ir.Expr:
    """How many iterations a segment of the loop at `path` has, at a `level` counted from the outermost: an innermost
    one those its tapes have room for, another one as many segments."""
    room = tape.segment_length(path)
    name = next(a.name for a in tape.arrays if tape.scopes[a.name] == path and (a.extents or ())[:1] == (room,))
    rows = ir.Apply(Op.MAX, (ONE, ir.Dim(name, 0)))
    return reduce(mul, [rows] * (tape.segments[path].levels + 1 - level))


@dataclass(slots=True)
class Recorder:
    """Rebuilds the body of one scope with the stores and counters of `tape` in place.

    `rewrite` is applied to every expression, with the path of its statement, before anything else. `is_guarded`: what
    does not fit into a tape of counted extent is left out, so that a run on empty tapes counts. Nor are the recordings
    `left_out` made.
    """

    tape: Tape
    names: NameSupply
    scope: Scope
    rewrite: Callable[[ir.Expr, Path], ir.Expr] = lambda expr, path: expr
    is_guarded: bool = False
    left_out: tuple[TapeStore, ...] = ()
    ended: Callable[[ir.Loop, Path], ir.Loop] = lambda loop, path: loop
    placed: dict[tuple[Path, str], list[TapeStore]] = field(default_factory=dict)
    seen: int = 0  # so many of the stores were looked at, and those of the scope are in `placed`

    def sweep(self, body: tuple[ir.Stmt, ...], prefix: Path) -> tuple[ir.Stmt, ...]:
        """The scope's body with counters started, recordings inserted and, for the function, totals kept."""
        counters = [c for c in self.tape.counters.values() if c.scope == self.scope]
        start = [] if self.scope in self.tape.segments else [ir.Assign(ir.Access(c.base), ZERO) for c in counters]
        inner = self.block(body, prefix)
        at_end = [s for store in self.stores(prefix, "end") for s in self.copy(store)]
        keep: list[ir.Stmt] = []
        if self.scope is None:
            start += [ir.Assign(ir.Access(c.count, (ZERO,)), ZERO) for c in self.tape.segment_counters()]
            keep = [ir.Assign(ir.Access(c.count, (ZERO,)), ir.Load(ir.Access(c.base))) for c in counters]
        return (*start, *inner, *at_end, *keep)

    def stores(self, path: Path, when: str) -> list[TapeStore]:
        for store in self.tape.stores[self.seen :]:  # to rewrite an expression may add some
            if store.scope == self.scope and store not in self.left_out:
                self.placed.setdefault((store.path, store.when), []).append(store)
        self.seen = len(self.tape.stores)
        found = self.placed.get((path, when), ())
        inside = (*path, 0) if when == "end" else path

        def here(expr: ir.Expr) -> ir.Expr:
            return self.rewrite(self.strictly(expr, path), inside)

        return [replace(s, value=here(s.value), guards=tuple((here(e), o) for e, o in s.guards)) for s in found]

    def strictly(self, expr: ir.Expr, path: Path) -> ir.Expr:
        """`expr` of the statement at `path` in the form in which both sweeps evaluate it."""
        return substitute(expr, self.tape.strict.get(path, {}))

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, offset: int = 0) -> tuple[ir.Stmt, ...]:
        return tuple(new for k, s in enumerate(body, offset) for new in self.statement(s, (*prefix, k)))

    def statement(self, stmt: ir.Stmt, path: Path) -> list[ir.Stmt]:
        before: list[ir.Stmt] = []
        after: list[ir.Stmt] = []
        stmt = map_own_exprs(lambda e: self.rewrite(self.strictly(e, path), path), stmt)
        for store in self.stores(path, "before"):
            stmt = self.record_before(store, stmt, before)
        match stmt:
            case ir.Loop(body=body):
                inner = self.block(body, path)
                if self.scope is None:
                    inner = (*(ir.Assign(ir.Access(c.base), ZERO) for c in self.tape.segment_counters(path)), *inner)
                if path != self.scope:
                    inner += tuple(s for store in self.stores(path, "end") for s in self.copy(store))
                starts = tuple(s for store in self.stores(path, "start") for s in self.copy(store))
                if starts:
                    length = self.tape.segments[path].length
                    before.append(ir.Let(length, segment_length(self.tape, path), loc=stmt.loc))
                    is_first = compare(Op.EQ, ir.Apply(Op.MOD, (trips_before(stmt), ir.Var(length))), ZERO)
                    inner = (ir.If(is_first, starts, loc=stmt.loc), *inner)
                counter = self.tape.counters.get((self.scope, path))
                if counter is not None:
                    before.append(ir.Let(counter.at, ir.Load(ir.Access(counter.base)), loc=stmt.loc))
                    (after if is_open(stmt) else before).append(self.advance(counter, stmt))
                if self.scope is None:
                    (after if is_open(stmt) else before).extend(self.most(stmt, path))
                stmt = self.ended(replace(stmt, body=inner), path)
            case ir.If():
                stmt = map_blocks_at(self.block, stmt, path)
            case ir.Call() if path in self.tape.kept:
                stmt = self.keeping(stmt, self.tape.kept[path])
            case _:
                pass
        for s in self.stores(path, "after"):
            after += self.copy(s) if s.whole else [self.fitting(ir.Assign(s.target, s.value, loc=stmt.loc))]
        return [*before, stmt, *after]

    def record_before(self, store: TapeStore, stmt: ir.Stmt, out: list[ir.Stmt]) -> ir.Stmt:
        """Record `store.value` ahead of `stmt`, computing it once where `stmt` evaluates it unconditionally."""
        value = store.value
        if store.whole:
            out += self.copy(store)
            return stmt
        if isinstance(value, ir.Apply | ir.Select) and not store.guards:
            held = ir.Var(self.names.fresh(f"{tape_stem(value)}_val"), loc=value.loc)
            sharing = map_own_exprs(lambda e: map_expr(lambda x: held if x == value else x, e), stmt)
            if sharing != stmt:
                out.append(ir.Let(held.name, value, loc=stmt.loc))
                out.append(self.fitting(ir.Assign(store.target, held, loc=stmt.loc)))
                return sharing
        out.append(guarded(self.fitting(ir.Assign(store.target, value, loc=stmt.loc)), store))
        return stmt

    def advance(self, counter: TapeCounter, loop: ir.Loop) -> ir.Stmt:
        """Move the running position past a counted loop; the place for it is that of `trips_made`."""
        return ir.Assign(
            ir.Access(counter.base), add(ir.Var(counter.at), trips_made(loop, self.tape.facts)), loc=loop.loc
        )

    def most(self, loop: ir.Loop, path: Path) -> Iterator[ir.Stmt]:
        """Keep how often `loop` runs in one iteration of a loop that runs again in segments, at most."""
        for counter in self.tape.segment_counters():
            if counter.path == path:
                base, most = ir.Access(counter.base), ir.Access(counter.count, (ZERO,))
                now = add(ir.Load(base), trips_made(loop, self.tape.facts))
                yield ir.Assign(base, now, loc=loop.loc)
                yield ir.Assign(most, ir.Apply(Op.MAX, (ir.Load(most), ir.Load(base))), loc=loop.loc)

    def keeping(self, call: ir.Call, tape: ir.Access) -> ir.Stmt:
        """`call` by the function that fills the `tape` too, where it is long enough."""
        given = {**dict(zip(call.rule.params, call.args, strict=True)), TAPE: ir.Load(tape)}
        forward = replace(call, form="forward", args=tuple(given[n] for n in call.rule.names("forward")), tape=())
        if not self.is_guarded or not self.tape.is_counted(tape.array):
            return forward
        return ir.If(compare(Op.LT, tape.subscripts[0], ir.Dim(tape.array, 0)), (forward,), (call,), loc=call.loc)

    def copy(self, store: TapeStore) -> list[ir.Stmt]:
        """A value, or a whole array, or a part of one, into its snapshot."""
        if not store.whole:
            return [guarded(self.fitting(ir.Assign(store.target, store.value, loc=store.value.loc)), store)]
        assert isinstance(store.value, ir.Load)
        source, first = store.value.access.array, store.value.access.subscripts
        extents = extents_of(self.tape.facts.ls.array(source))[len(first) :]
        if store.sizes is not None:
            extents = tuple(starmap(at_most, zip(store.sizes, extents, strict=True)))
        loops, place = over_elements(extents, self.names)
        loops = [self.part_of(loop, part, store) for loop, part in zip_longest(loops, store.parts)]
        there = place if store.sizes is None else short_first(store.sizes, place)
        target = replace(store.target, subscripts=(*store.target.subscripts, *there))
        (nest,) = nested(loops, (ir.Assign(target, ir.Load(ir.Access(source, (*first, *place)))),))
        return [self.fitting(nest, target)]

    def part_of(self, loop: ir.Loop, part: Part | None, store: TapeStore) -> ir.Loop:
        """`loop` over the elements that are read, of those along an axis."""
        if part is None:
            return loop
        lower, upper = clamped(self.tape.facts, store.path, part, loop.upper)
        return replace(loop, lower=lower, upper=upper)

    def fitting(self, record: ir.Stmt, target: ir.Access | None = None) -> ir.Stmt:
        """`record`, which writes `target`, guarded if the tape may be too short for it."""
        target = record.target if isinstance(record, ir.Assign) else target
        if not self.is_guarded or target is None or not self.tape.is_counted(target.array):
            return record
        return ir.If(compare(Op.LT, target.subscripts[0], ir.Dim(target.array, 0)), (record,), loc=record.loc)


def at_most(size: ir.Expr, extent: ir.Expr) -> ir.Expr:
    """`size`, or all elements of an axis that has fewer."""
    terms, less = linear(sub(size, extent))
    if not terms:
        return size if less <= 0 else extent
    return ir.Apply(Op.MIN, (size, extent))


def guarded(record: ir.Stmt, store: TapeStore) -> ir.Stmt:
    """`record`, which does what `store` asks for, under the conditions of its value."""
    for cond, outcome in reversed(store.guards):
        record = ir.If(cond if outcome else ir.Apply(Op.NOT, (cond,)), (record,), loc=record.loc)
    return record
