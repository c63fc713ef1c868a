"""What rounding decides in a loop that runs again in segments: recorded as it was decided the first time.

Repeated arithmetic may round differently, so a branch, an element or a number of iterations that follows from it is not
decided again: the forward sweep leaves a byte for a condition, and a number for a subscript, a bound, or the iterations
of a loop that such a condition ends. Operations that are rounded one by one, and functions of the C library, come out
the same; what follows from nothing else is decided again, and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from loopdiff.ad.exits import Count, Passes
from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.needed import At, Needed
from loopdiff.ad.tape.plan import Guards, TapeStore, When, Why, tape_stem, trip_number
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, mul
from loopdiff.ir.ops import STRICT, Op
from loopdiff.ir.slicing import Names
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, exits, operands, statements, stmt_exprs, subexprs, substitute
from loopdiff.rules.printing import is_printing

Deciders = tuple[tuple[ir.Expr, Guards], ...]


@immutable
class Rounded:
    """What rounding may decide inside of a loop: the expressions of each statement, with the conditions under which it
    evaluates them, and the loops that end early by such a condition."""

    values: Mapping[Path, Deciders]
    loops: tuple[Path, ...]


def rounded(facts: Facts, path: Path) -> Rounded:
    """What rounding may decide in iterations of the loop at `path`, where operations rounded alone are none; when the
    loop itself ends is known."""
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    is_rounded = rounding(facts, loop, is_strict_exact=True)
    values: dict[Path, Deciders] = {}
    loops: list[Path] = []
    for site in statements(loop.body):
        at, stmt = (*path, *site.path), site.stmt
        if isinstance(stmt, ir.Loop) and any(is_rounded(e.cond) for e in exits(stmt)):
            loops.append(at)
        found = () if isinstance(stmt, ir.Exit) else tuple(deciders(stmt, is_rounded))
        if found:
            values[at] = found
    return Rounded(values, tuple(loops))


def repeats_exactly(facts: Facts, path: Path) -> bool:
    """Whether nothing that decides control flow or an address in the loop at `path` goes through float arithmetic, so
    that an iteration may run again alone. When the loop itself ended is known. What is called is called once; what is
    printed is left out.
    """
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    sites = list(statements(loop.body))
    if any(isinstance(s.stmt, ir.Call) and not is_printing(s.stmt.rule) for s in sites):
        return False
    is_rounded = rounding(facts, loop, is_strict_exact=False)
    return not any(any(deciders(s.stmt, is_rounded)) for s in sites if s.stmt not in exits(loop))


def deciders(stmt: ir.Stmt, is_rounded: Callable[[ir.Expr], bool]) -> Iterator[tuple[ir.Expr, Guards]]:
    """Conditions, bounds and subscripts that `stmt` evaluates itself and rounding may decide."""
    match stmt:
        case ir.Require():
            return
        case ir.Loop() | ir.If() | ir.Exit():
            whole, parts = stmt_exprs(stmt), ()
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            whole, parts = target.subscripts, (value,)
        case _:
            whole, parts = (), stmt_exprs(stmt)
    yield from ((e, ()) for e in whole if is_rounded(e))
    for part in parts:
        yield from deciders_in(part, (), is_rounded)


def deciders_in(
    expr: ir.Expr, guards: Guards, is_rounded: Callable[[ir.Expr], bool]
) -> Iterator[tuple[ir.Expr, Guards]]:
    """Those inside of an expression that is evaluated under conditions; where only a part of it may be evaluated, the
    whole truth value is one of them."""
    match expr:
        case ir.Select(cond=cond, then=then, orelse=orelse):
            if is_rounded(cond):
                yield cond, guards
            yield from deciders_in(then, (*guards, (cond, True)), is_rounded)
            yield from deciders_in(orelse, (*guards, (cond, False)), is_rounded)
        case ir.Load(access=access):
            yield from ((e, guards) for e in access.subscripts if is_rounded(e))
        case ir.Apply(op=Op.AND | Op.OR, args=args):
            if any(any(deciders_in(e, guards, is_rounded)) for e in args):
                yield expr, guards
        case _:
            for part in operands(expr):
                yield from deciders_in(part, guards, is_rounded)


# -- what comes out the same -------------------------------------------------------------------------------------
def rounding(facts: Facts, loop: ir.Loop, is_strict_exact: bool) -> Callable[[ir.Expr], bool]:
    """Tells of expressions in `loop` whether they may have other bits when it runs again."""
    made = [found for s in statements(loop.body) for found in definition(s.stmt)]
    inexact: Names = frozenset()
    while True:
        more = inexact | {name for name, value in made if is_inexact(value, inexact, facts, is_strict_exact)}
        if more == inexact:
            return lambda expr: is_inexact(expr, inexact, facts, is_strict_exact)
        inexact = more


def definition(stmt: ir.Stmt) -> list[tuple[str, ir.Expr]]:
    match stmt:
        case ir.Let(name=name, value=value):
            return [(name, value)]
        case ir.Accumulate(op="add", target=target, value=value):
            return [(target.array, ir.Apply(Op.ADD, (ir.Load(target), value)))]
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            return [(target.array, value)]
        case _:
            return []


def is_inexact(expr: ir.Expr, inexact: Names, facts: Facts, is_strict_exact: bool) -> bool:
    """Whether evaluating `expr` again may give another value: float arithmetic, sums, or names that hold such. What is
    rounded alone is none, if `is_strict_exact`."""
    for node in subexprs(expr):
        match node:
            case ir.Apply() if is_strict_exact and (node.is_strict or node.op in STRICT):
                pass
            case ir.Apply() if not facts.repeatable.is_operation(node):
                return True
            case ir.Load(access=ir.Access(array=name)) | ir.Var(name=name) if name in inexact:
                return True
            case ir.Var(name=name) if name in facts.lets:
                stmt = facts.lets[name].stmt
                assert isinstance(stmt, ir.Let)
                if is_inexact(stmt.value, inexact, facts, is_strict_exact):
                    return True
            case _:
                pass
    return False


# -- recording ---------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Decided:
    """Provides what rounding decided in iterations of the loop at `path` to the segments that run them again."""

    needed: Needed
    path: Path
    found: Rounded
    kept: dict[tuple[Path, ir.Expr], ir.Expr] = field(default_factory=dict)

    def value(self, expr: ir.Expr, at: Path) -> ir.Expr | None:
        """`expr` of the statement at `at` as it came out the first time; None if it comes out the same again."""
        strict = self.needed.tape.strict.get(at, {})
        for value, guards in self.found.values.get(at, ()):
            if expr in (value, substitute(value, strict)):
                return self.recorded(value, at, "before", guards, type_of(value, self.needed.facts.types))
        return None

    def recorded(self, value: ir.Expr, at: Path, when: When, guards: Guards = (), kind: ScalarType = INT) -> ir.Expr:
        """`value`, of this kind, as it was when the forward sweep came to the statement at `at`."""
        if (at, value) not in self.kept:
            tape, around = self.needed.tape, self.needed.facts.loops_around(at)
            why = Why(value.loc, "rounding decided it")
            name = tape.declare(f"{tape_stem(value)}_decided", kind, tape.extents(around, None), None, why)
            target = ir.Access(name, tape.coordinates(around, None, as_it_is))
            tape.stores.append(TapeStore(None, at, when, target, value, guards))
            self.kept[at, value] = ir.Load(replace(target, subscripts=self.place(at)))
        return self.kept[at, value]

    def place(self, at: Path) -> tuple[ir.Expr, ...]:
        """Where the segment that runs again finds what was recorded for the statement at `at`."""
        tape, depth = self.needed.tape, len(self.path)
        outer = self.needed.facts.loops_around(self.path)
        inside = [(p, s) for p, s in self.needed.facts.loops_around(at) if len(p) >= depth]
        counted, plain = tape.split(inside[1:], None)
        numbers = tuple(trip_number(s, p, as_it_is) for p, s in plain)
        if counted is None:
            held = tape.coordinates(outer, None, lambda e, path: self.needed.exact(e, At(path), closed=True))
            return (*held, trip_number(inside[0][1], self.path, as_it_is), *numbers)
        loop = self.needed.facts.sites[counted].stmt
        assert isinstance(loop, ir.Loop)
        start = self.recorded(ir.Load(ir.Access(tape.counter(None, counted).base)), counted, "before")
        return (add(start, trip_number(loop, counted, as_it_is)), *numbers)

    def loop(self, loop: ir.Loop, path: Path) -> ir.Loop:
        """`loop`, inside of the one that runs again, made to end when it did, if rounding decided that."""
        if path not in self.found.loops:
            return loop
        passes = self.needed.facts.passes[loop.index]
        upper = add(loop.lower, mul(self.count(passes.all), loop.step))
        number = trip_number(loop, path, as_it_is)
        body = as_far_as(passes, loop.body, lambda count: compare(Op.LT, number, self.count(count)))
        return replace(loop, upper=upper, body=body)

    def count(self, count: Count) -> ir.Expr:
        return self.recorded(ir.Var(count.let), self.needed.facts.lets[count.let].path, "after")


def as_it_is(expr: ir.Expr, _: Path) -> ir.Expr:
    return expr


def as_far_as(
    passes: Passes, body: tuple[ir.Stmt, ...], is_among: Callable[[Count], ir.Expr]
) -> tuple[ir.Stmt, ...]:  # fmt: skip
    """`body`, an iteration that runs again: what is behind an Exit if the iteration is among those that got past it."""
    left = list(passes.past)
    rest: tuple[ir.Stmt, ...] = ()
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Exit):
            rest = (stmt, *rest)
        elif (count := left.pop()) != passes.all:
            rest = (ir.If(is_among(count), rest, loc=stmt.loc),)
    return rest
