"""Back-propagation of a cotangent through one expression, by the derivative table."""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.ad.choices import chosen_slopes
from loopdiff.ad.emitter import Emitter
from loopdiff.ad.partials import partials, with_squares
from loopdiff.ad.strength import Strength, is_always_finite
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.providers import At
from loopdiff.analysis.activity import is_active
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, is_constant, neg, strong_mul, times_slope
from loopdiff.ir.ops import HALVES, SUMS, Op
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import map_expr, subexprs

LINEAR = frozenset((*SUMS, Op.NEG, *HALVES.values()))
RESULT = ir.Var("$result")


@immutable
class Propagation:
    """Sends cotangents to the leaves of expressions; `adjoint_of` maps an active name to its adjoint's."""

    needed: Needed
    adjoint_of: Mapping[str, str]

    def through(self, expr: ir.Expr, bar: ir.Expr, at: At, emitter: Emitter, is_masked: bool = False) -> None:
        """Emit the contributions of `bar`, the cotangent of `expr`, to the adjoints of the leaves of `expr`.

        `is_masked`: the path to here chose among values, so `bar` may be a zero that stands for "not taken".
        """
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
                self.through(value, cast(bar, dtype, source), at, emitter, is_masked)
            case ir.Select():
                self.through_select(expr, bar, at, emitter)
            case ir.Apply():
                self.through_apply(expr, bar, at, emitter, is_masked)
            case _:
                return

    def through_select(self, expr: ir.Select, bar: ir.Expr, at: At, emitter: Emitter) -> None:
        held = emitter.hold(bar, "bar")
        cond = self.needed.exact(expr.cond, at)
        branches: list[tuple[ir.Stmt, ...]] = []
        for outcome, value in ((True, expr.then), (False, expr.orelse)):
            inner = emitter.nested()
            self.through(value, held, at.under(expr.cond, outcome, inner), inner)
            branches.append(tuple(inner.out))
        if any(branches):
            emitter.emit(ir.If(cond, *branches, loc=expr.loc))

    def through_apply(self, expr: ir.Apply, bar: ir.Expr, at: At, emitter: Emitter, is_masked: bool) -> None:
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
            if weighted is not None:
                contribution = weighted
            elif strength.is_needed(expr, position, partial) or (is_masked and not is_always_finite(partial)):
                contribution = strong_mul(emitter.hold(bar, "bar"), slope)
            else:
                contribution = times_slope(bar, slope)
            if not is_leaf(arg):
                contribution = contribution if is_linear_in(contribution, bar) else emitter.hold(contribution, "bar")
            self.through(arg, contribution, at, emitter, is_masked or weighted is not None)

    def provide(self, partial: ir.Expr, expr: ir.Apply, at: At) -> ir.Expr:
        """`partial` with its placeholders replaced by the primal values they stand for."""
        values: dict[str, ir.Expr] = {}
        for name in dict.fromkeys(e.name for e in subexprs(partial) if isinstance(e, ir.Var)):
            source = expr if name == RESULT.name else expr.args[int(name[1:])]
            values[name] = self.needed.value(source, at)
        return map_expr(lambda e: values[e.name] if isinstance(e, ir.Var) and e.name in values else e, partial)


def is_leaf(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load | ir.Var | ir.Param | ir.Const)


def is_linear_in(contribution: ir.Expr, bar: ir.Expr) -> bool:
    """Whether the contribution is the cotangent itself, or its negative, and so need not be held."""
    return contribution == bar or contribution == neg(bar)
