"""From isl's sets and functions of parameters back to expressions that a program can evaluate."""

from __future__ import annotations

from functools import reduce
from typing import Any

from loopdiff.analysis.polyhedral.sets import Model, pieces, places_of_parameters, with_sorted_parameters
from loopdiff.analysis.polyhedral.translation import DIV, PARAM
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT

Weights = list[tuple[int, ir.Expr]]


def affine_expr(model: Model, affine: Any) -> ir.Expr:
    """An affine function of the parameters, floor divisions included."""
    scale = affine.get_denominator_val().to_python()
    weights, constant = weighted(model, affine, scale)
    total = sum_of(weights, constant)
    return total if scale == 1 else ir.Apply(Op.FLOORDIV, (total, ir.Const(scale, INT)))


def weighted(model: Model, affine: Any, scale: int) -> tuple[Weights, int]:
    """`scale` times `affine` as integer multiples of expressions, and a constant."""
    weights: Weights = []
    for place, expr in places_of_parameters(model, affine):
        weights.append((multiple(affine.get_coefficient_val(PARAM, place), scale), expr))
    for place in range(affine.dim(DIV)):
        weight = multiple(affine.get_coefficient_val(DIV, place), scale)
        if weight:
            weights.append((weight, affine_expr(model, affine.get_div(place))))
    return [(w, e) for w, e in weights if w], multiple(affine.get_constant_val(), scale)


def multiple(value: Any, scale: int) -> int:
    return value.get_num_si() * scale // value.get_den_val().to_python()


def sum_of(weights: Weights, constant: int) -> ir.Expr:
    """Positive parts first, so that it reads well: `n - 1`, `2 * n + m`."""
    total: ir.Expr | None = None
    for weight, expr in sorted(weights, key=lambda pair: pair[0] < 0):
        part = expr if abs(weight) == 1 else ir.Apply(Op.MUL, (ir.Const(abs(weight), INT), expr))
        if total is None:
            total = part if weight > 0 else ir.Apply(Op.NEG, (part,))
        else:
            total = ir.Apply(Op.ADD if weight > 0 else Op.SUB, (total, part))
    if total is None:
        return ir.Const(constant, INT)
    if constant:
        total = ir.Apply(Op.ADD if constant > 0 else Op.SUB, (total, ir.Const(abs(constant), INT)))
    return total


def comparison(weights: Weights, constant: int, op: Op) -> ir.Expr:
    """`sum op 0`, for GE, EQ or NE, with everything on the side where it is positive."""
    left = [(w, e) for w, e in weights if w > 0]
    right = [(-w, e) for w, e in weights if w < 0]
    if not left:
        flipped = {Op.GE: Op.LE, Op.EQ: Op.EQ, Op.NE: Op.NE}[op]
        return ir.Apply(flipped, (sum_of(right, 0), ir.Const(constant, INT)))
    if op == Op.GE and constant == -1:
        return ir.Apply(Op.GT, (sum_of(left, 0), sum_of(right, 0)))
    return ir.Apply(op, (sum_of(left, 0), sum_of(right, -constant)))


def holds(model: Model, where: Any) -> ir.Expr:
    """The truth of lying in `where`, a set of parameters."""
    return any_of(all_of(constraint(model, c, False) for c in rows(b)) for b in basic_sets(where))


def fails(model: Model, where: Any) -> ir.Expr:
    """The truth of not lying in `where`."""
    return all_of(any_of(constraint(model, c, True) for c in rows(b)) for b in basic_sets(where))


def basic_sets(where: Any) -> list[Any]:
    return with_sorted_parameters(where).coalesce().compute_divs().get_basic_sets()


def rows(basic: Any) -> list[Any]:
    """Constraints of `basic`, those on most parameters first, without the definitions of floor divisions."""
    found = [c for c in basic.remove_redundancies().get_constraints() if not c.is_div_constraint()]
    return sorted(found, key=lambda c: -sum(c.involves_dims(PARAM, k, 1) for k in range(c.dim(PARAM))))


def constraint(model: Model, row: Any, is_negated: bool) -> ir.Expr:
    affine = row.get_aff()
    weights, constant = weighted(model, affine, affine.get_denominator_val().to_python())
    if row.is_equality():
        return comparison(weights, constant, Op.NE if is_negated else Op.EQ)
    if is_negated:
        return comparison([(-w, e) for w, e in weights], -constant - 1, Op.GE)
    return comparison(weights, constant, Op.GE)


def function_expr(model: Model, function: Any) -> ir.Expr:
    """A piecewise affine function of the parameters; anything where it is not defined, zero if it nowhere is.

    Written with max or min where that gives the function, else with conditions.
    """
    parts = pieces(function)
    values = list(dict.fromkeys(affine_expr(model, a) for _, a in parts))
    if len(values) < 2:
        return values[0] if values else ir.Const(0, INT)
    for op, name in ((Op.MAX, "max"), (Op.MIN, "min")):
        whole = reduce(lambda a, b, n=name: getattr(a, n)(b), (a.to_pw_aff() for _, a in parts))
        if whole.intersect_domain(function.domain()).is_equal(function):
            return ir.Apply(op, tuple(values))
    found = affine_expr(model, parts[-1][1])
    for where, affine in reversed(parts[:-1]):
        found = ir.Select(holds(model, where), affine_expr(model, affine), found)
    return found
