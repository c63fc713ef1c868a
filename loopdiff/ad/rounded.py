"""What rounding decides in a loop that runs again.

Repeated arithmetic may round differently, so what it decides is not decided again: conditions, bounds, subscripts, and
whatever has no fraction. Operations that are rounded one by one, and functions of the C library, come out the same;
what follows from nothing else is decided again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopdiff.ad.facts import Facts
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import rounded_alone
from loopdiff.ir.ops import PRODUCTS, STRICT, SUMS, Op
from loopdiff.ir.slicing import Names
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import Path, exits, map_expr, operands, statements, stmt_exprs, subexprs
from loopdiff.model import tuning
from loopdiff.rules.printing import is_printing

Conditions = tuple[tuple[ir.Expr, bool], ...]
Deciders = tuple[tuple[ir.Expr, Conditions], ...]


@immutable
class Rounded:
    """What rounding may decide inside of a loop: the expressions of each statement, with the conditions under which it
    evaluates them, and the loops that end early by such a condition."""

    values: Mapping[Path, Deciders]
    loops: tuple[Path, ...]


def rounded(facts: Facts, path: Path) -> Rounded:
    """What rounding may decide in iterations of the loop at `path`, which run again and find what it decided. When the
    loop itself ends is known."""
    loop = facts.sites[path].stmt
    assert isinstance(loop, ir.Loop)
    rounding = rounding_in(facts, loop, is_recorded=True)
    values: dict[Path, Deciders] = {}
    loops: list[Path] = []
    for site in statements(loop.body):
        at, stmt = (*path, *site.path), site.stmt
        if isinstance(stmt, ir.Loop) and any(rounding.may_change(e.cond) for e in exits(stmt)):
            loops.append(at)
        found = () if isinstance(stmt, ir.Exit) else tuple(rounding.deciders(stmt))
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
    rounding = rounding_in(facts, loop, is_recorded=False)
    return not any(any(rounding.deciders(s.stmt)) for s in sites if s.stmt not in exits(loop))


def rounding_in(facts: Facts, loop: ir.Loop, is_recorded: bool) -> Rounding:
    """What `Rounding` is for an iteration of `loop`."""
    made = [found for s in statements(loop.body) for found in definition(s.stmt)]
    whole = frozenset(name for name, _ in made if is_recorded and not kind_of(name, facts).is_float)
    inexact: Names = frozenset()
    while True:
        rounding = Rounding(facts, whole, inexact, is_recorded)
        more = inexact | {name for name, value in made if name not in whole and rounding.may_change(value)}
        if more == inexact:
            return rounding
        inexact = more


def kind_of(name: str, facts: Facts) -> ScalarType:
    return facts.types.lets[name] if name in facts.types.lets else facts.types.arrays[name].element


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


@immutable
class Rounding:
    """Names that may have other bits when an iteration runs again (`inexact`), and names that have not, as they have no
    fraction and are recorded (`whole`). `is_recorded`: what decides is found again where it may have changed, and
    operations that are rounded alone come out the same."""

    facts: Facts
    whole: Names
    inexact: Names
    is_recorded: bool

    def may_change(self, expr: ir.Expr) -> bool:
        """Whether evaluating `expr` again may give another value: float arithmetic, sums, or names that hold such."""
        for node in subexprs(expr):
            match node:
                case ir.Apply() if self.is_recorded and (node.is_strict or node.op in STRICT):
                    pass
                case ir.Apply() if not self.facts.repeatable.is_operation(node):
                    return True
                case ir.Load(access=ir.Access(array=name)) | ir.Var(name=name) if name in self.inexact:
                    return True
                case ir.Var(name=name) if name in self.facts.lets and name not in self.whole:
                    stmt = self.facts.lets[name].stmt
                    assert isinstance(stmt, ir.Let)
                    if self.may_change(stmt.value):
                        return True
                case _:
                    pass
        return False

    def deciders(self, stmt: ir.Stmt) -> Iterator[tuple[ir.Expr, Conditions]]:
        """Conditions, bounds and subscripts that `stmt` evaluates itself and rounding may decide; and what it makes
        that has no fraction, if that is recorded."""
        match stmt:
            case ir.Require():
                return
            case ir.Loop() | ir.If() | ir.Exit():
                whole, parts = stmt_exprs(stmt), ()
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                whole, parts = target.subscripts, (value,)
            case _:
                whole, parts = (), stmt_exprs(stmt)
        yield from ((e, ()) for e in whole if self.may_change(e))
        for part in parts:
            if self.is_recorded and not type_of(part, self.facts.types).is_float:
                yield from ((e, ()) for e in (part,) if self.may_change(e))
            else:
                yield from self.deciders_in(part, ())

    def deciders_in(self, expr: ir.Expr, guards: Conditions) -> Iterator[tuple[ir.Expr, Conditions]]:
        """Those inside of an expression that is evaluated under conditions; where only a part of it may be evaluated,
        the whole truth value is one of them."""
        match expr:
            case ir.Select(cond=cond, then=then, orelse=orelse):
                if self.may_change(cond):
                    yield cond, guards
                yield from self.deciders_in(then, (*guards, (cond, True)))
                yield from self.deciders_in(orelse, (*guards, (cond, False)))
            case ir.Load(access=access):
                yield from ((e, guards) for e in access.subscripts if self.may_change(e))
            case ir.Apply(op=Op.AND | Op.OR, args=args):
                if any(any(self.deciders_in(e, guards)) for e in args):
                    yield expr, guards
            case _:
                for part in operands(expr):
                    yield from self.deciders_in(part, guards)


def strict_form(expr: ir.Expr, types: TypeEnv) -> ir.Expr | None:
    """`expr` with sums and products of floating numbers rounded one by one; None where these are too many, or none."""

    def strict(node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Apply) and node.op in (*SUMS, *PRODUCTS) and type_of(node, types).is_float:
            return rounded_alone(node)
        return node

    form = map_expr(strict, expr)
    count = sum(1 for e in subexprs(form) if isinstance(e, ir.Apply) and e.op in STRICT)
    return form if 0 < count <= tuning.STRICT_OPERATIONS else None
