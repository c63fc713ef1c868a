"""Back-propagation of a cotangent through one expression, by the derivative table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from loopdiff.ad.choices import chosen_slopes
from loopdiff.ad.emitter import Emitter
from loopdiff.ad.partials import is_integer, partials, with_squares
from loopdiff.ad.strength import Strength, is_always_finite, is_power
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At
from loopdiff.analysis.activity import is_active
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, compare, is_constant, neg, strong_mul, times_slope, zero
from loopdiff.ir.ops import HALVES, PRODUCTS, SUMS, Op
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Site, map_expr, subexprs

STEEP = frozenset((Op.SQRT, Op.CBRT, Op.ASIN, Op.ACOS, Op.ACOSH))  # infinite slopes where values are finite
CHOOSING = frozenset((Op.MIN, Op.MAX, Op.ABS))
LINEAR = frozenset((*SUMS, Op.NEG, *HALVES.values()))
RESULT = ir.Var("$result")


@immutable
class Way:
    """What lies on the way from the root of a statement to a part of it.

    `is_masked`: a choice among values, so that a cotangent of zero may stand for "not taken". `is_steep`: a function
    with an infinite slope, so that a cotangent may be infinite where no value is.
    """

    is_masked: bool = False
    is_steep: bool = False


PLAIN = Way()


@immutable
class Propagation:
    """Sends cotangents to the leaves of expressions; `adjoint_of` maps an active name to its adjoint's."""

    needed: Needed
    adjoint_of: Mapping[str, str]

    def through(self, expr: ir.Expr, bar: ir.Expr, at: At, emitter: Emitter, way: Way = PLAIN) -> None:
        """Emit the contributions of `bar`, the cotangent of `expr`, to the adjoints of the leaves of `expr`; `way` is
        that from the root of the statement to here."""
        facts = self.needed.facts
        if not is_active(expr, facts.activity.active, facts.types):
            return
        match expr:
            case ir.Load(access=access):
                target = replace(self.needed.exact_access(access, at), array=self.adjoint_of[access.array])
                emitter.emit(ir.Accumulate("add", target, bar, loc=expr.loc))
            case ir.Var(name=name) | ir.Param(name=name):
                emitter.emit(ir.Accumulate("add", ir.Access(self.adjoint_of[name]), bar, loc=expr.loc))
            case ir.Cast(value=value, dtype=dtype):
                source = type_of(value, facts.types)
                self.through(value, cast(bar, dtype, source), at, emitter, way)
            case ir.Select():
                self.through_select(expr, bar, at, emitter, way)
            case ir.Apply():
                self.through_apply(expr, bar, at, emitter, way)
            case _:
                return

    def through_select(self, expr: ir.Select, bar: ir.Expr, at: At, emitter: Emitter, way: Way) -> None:
        held = emitter.hold(bar, "bar")
        cond = self.needed.exact(expr.cond, at)
        branches: list[tuple[ir.Stmt, ...]] = []
        for outcome, value in ((True, expr.then), (False, expr.orelse)):
            inner = emitter.nested()
            self.through(value, held, at.under(expr.cond, outcome, inner), inner, replace(way, is_masked=False))
            branches.append(tuple(inner.out))
        if any(branches):
            emitter.emit(ir.If(cond, *branches, loc=expr.loc))

    def through_apply(self, expr: ir.Apply, bar: ir.Expr, at: At, emitter: Emitter, way: Way) -> None:
        facts = self.needed.facts
        kind = type_of(expr, facts.types)
        expr = with_squares(expr)
        args = tuple(a if isinstance(a, ir.Const) else ir.Var(f"${k}") for k, a in enumerate(expr.args))
        table = partials(replace(expr, args=args), kind, RESULT)
        bar = emitter.hold(bar, "bar") if len(expr.args) > 1 or expr.op not in LINEAR else bar
        strength = Strength(facts.types)
        chosen = chosen_slopes(self.needed, expr, kind, at)
        for position, (arg, partial) in enumerate(zip(expr.args, table, strict=True)):
            if is_constant(partial, 0) or not is_active(arg, facts.activity.active, facts.types):
                continue
            slope = self.provide(partial, expr, at) if chosen is None else chosen[position]
            weighted = strength.times(expr, position, bar, slope)
            is_strong = strength.is_needed(expr, position, partial) or (way.is_masked and not is_always_finite(partial))
            if weighted is None and way.is_steep and is_of_two(expr):
                weighted = self.steep_product(expr, position, bar, slope, at, emitter if is_strong else None)
            if weighted is not None:
                contribution = weighted
            elif is_strong:
                contribution = strong_mul(emitter.hold(bar, "bar"), slope)
            else:
                contribution = times_slope(bar, slope)
            if not is_leaf(arg):
                contribution = contribution if is_linear_in(contribution, bar) else emitter.hold(contribution, "bar")
            below = Way(way.is_masked or weighted is not None, way.is_steep or is_steep(expr))
            self.through(arg, contribution, at, emitter, below)

    def steep_product(
        self, expr: ir.Apply, position: int, bar: ir.Expr, slope: ir.Expr, at: At, emitter: Emitter | None
    ) -> ir.Expr | None:
        """What the factor at `position` gets of the adjoint of a product that may be infinite: nothing where the other
        factor, its `slope`, is zero. Where both may be, by what they have in common, it takes more than partials to
        say what comes of it, and a test of both, for which elements of arrays have no time: only a choice gets one.
        None: what any factor gets. `emitter`: of a product of which nothing comes where the adjoint is zero, either."""
        facts, factor, other = self.needed.facts, expr.args[position], expr.args[1 - position]
        nothing, tests = zero(type_of(expr, facts.types)), list[ir.Expr]()
        if is_active(other, facts.activity.active, facts.types):
            is_outside, are_both = (self.is_outside(e, at) for e in (factor, other))
            if not is_outside and not has_choice(other, facts.lets):
                return None
            if are_both or not is_outside or is_power(expr):
                tests.append(compare(Op.EQ, self.needed.value(factor, at), nothing))
        plain = times_slope(bar, slope)
        if emitter is not None:
            slope = emitter.share(slope)
            plain = strong_mul(bar, slope)
            tests.append(compare(Op.EQ, bar, nothing))
        strong = strong_mul(slope, bar)
        return ir.Select(reduce(either, tests), plain, strong) if tests else strong

    def is_outside(self, factor: ir.Expr, at: At) -> bool:
        """Whether a factor of the statement is a number from outside of its loops, or there are none."""
        facts = self.needed.facts
        loops = facts.loops_around(at.path)
        match factor:
            case ir.Var(name=name):
                return not loops or len(facts.loops_around(facts.lets[name].path)) < len(loops)
            case _:
                return not loops or isinstance(factor, ir.Param)

    def provide(self, partial: ir.Expr, expr: ir.Apply, at: At) -> ir.Expr:
        """`partial` with its placeholders replaced by the primal values they stand for."""
        values: dict[str, ir.Expr] = {}
        for name in dict.fromkeys(e.name for e in subexprs(partial) if isinstance(e, ir.Var)):
            source = expr if name == RESULT.name else expr.args[int(name[1:])]
            values[name] = self.needed.value(source, at)
        return map_expr(lambda e: values[e.name] if isinstance(e, ir.Var) and e.name in values else e, partial)


def is_steep(expr: ir.Apply) -> bool:
    """Whether the slope of a function may be infinite where its value is finite: that of a power, between 0 and 1."""
    if expr.op is not Op.POW:
        return expr.op in STEEP
    match expr.args[1]:
        case ir.Const(value=value):
            return 0 < value < 1
        case exponent:
            return not is_integer(exponent)


def is_of_two(expr: ir.Apply) -> bool:
    """Whether two numbers are multiplied that are not in the text."""
    return expr.op in PRODUCTS and not any(isinstance(a, ir.Const) for a in expr.args)


def has_choice(expr: ir.Expr, lets: Mapping[str, Site]) -> bool:
    """Whether `expr`, or what a name in it is for, chooses among values."""
    parts = list(subexprs(expr))
    named = (lets[e.name].stmt for e in parts if isinstance(e, ir.Var) and e.name in lets)
    parts += [e for stmt in named if isinstance(stmt, ir.Let) for e in subexprs(stmt.value)]
    return any(isinstance(e, ir.Select) or (isinstance(e, ir.Apply) and e.op in CHOOSING) for e in parts)


def either(one: ir.Expr, other: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.OR, (one, other))


def is_leaf(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load | ir.Var | ir.Param | ir.Const)


def is_linear_in(contribution: ir.Expr, bar: ir.Expr) -> bool:
    """Whether the contribution is the cotangent itself, or its negative, and so need not be held."""
    return contribution == bar or contribution == neg(bar)
