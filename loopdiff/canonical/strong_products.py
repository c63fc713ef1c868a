"""Lowering of what only derivatives need: strong products, to selects between a product and zero, and slopes."""

from __future__ import annotations

from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.unused import drop_unused
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, is_atom, is_zero, times_slope, zero
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import TypeEnv, is_counted_truth, type_env, type_of
from loopdiff.ir.walk import map_expr, map_stmt_exprs, nodes_in


def choose_strong_products(ls: ir.LoopSet, with_choices_only: bool = False) -> ir.LoopSet:
    """`ls` with each `strong_mul(a, b)` as `a * b if a != 0 else 0`, and with what a choice multiplies in the choice:
    `strong_mul(1 if c else 0, b)` is `b if c else 0`. Of `sloped(v, x, p)` the value `v` is left.

    `with_choices_only`: of products only the latter, where `b` is there. Not before everything is derived: the
    derivative of a choice is that of the branch taken, which is wrong where a derivative happens to be zero.
    """
    types = type_env(ls)

    def rewrite(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Apply(op=Op.SLOPED, args=(value, _, _)):
                return value
            case ir.Apply(op=Op.STRONG_MUL, args=(factor, slope)):
                is_left = with_choices_only and not (is_atom(slope) and is_weight(factor, types))
                return expr if is_left else chosen_product(factor, slope, types)
            case ir.Select(cond=cond, then=then, orelse=ir.Select(cond=other, then=same, orelse=nothing)) if is_zero(
                nothing
            ) and is_same_product(then, same):
                return ir.Select(ir.Apply(Op.OR, (cond, other)), same, nothing, loc=expr.loc)
            case _:
                return expr

    def expression(expr: ir.Expr) -> ir.Expr:
        return map_expr(rewrite, expr)

    body = tuple(map_stmt_exprs(expression, s) for s in ls.body)
    results = tuple(ir.ScalarResult(expression(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    if body == ls.body and results == ls.results:
        return ls
    new = simplify(replace(ls, body=body, results=results))
    return drop_unused(new) if has_slopes(ls) else new


def has_slopes(ls: ir.LoopSet) -> bool:
    return any(isinstance(e, ir.Apply) and e.op is Op.SLOPED for e in nodes_in(ls.body))


def chosen_product(factor: ir.Expr, slope: ir.Expr, types: TypeEnv) -> ir.Expr:
    """`factor * slope`, and zero where `factor` is. Where the slope is a strong product itself, its factor is asked
    first: it is there already."""
    nothing = zero(type_of(factor, types))
    match factor, slope:
        case ir.Const(value=value), _:
            return times_slope(factor, slope) if value else nothing
        case _, ir.Select(cond=cond, then=then, orelse=orelse) if is_zero(orelse) and is_weight(factor, types):
            return ir.Select(cond, chosen_product(factor, then, types), nothing)
        case ir.Select(cond=cond, then=then, orelse=orelse), _ if is_atom(slope) or is_zero(then) or is_zero(orelse):
            return ir.Select(cond, chosen_product(then, slope, types), chosen_product(orelse, slope, types))
        case ir.Cast(value=cond), _ if is_weight(factor, types):
            return ir.Select(cond, slope, nothing)
        case _:
            return ir.Select(compare(Op.NE, factor, nothing), times_slope(factor, slope), nothing)


def is_weight(factor: ir.Expr, types: TypeEnv) -> bool:
    """Whether `factor` is chosen, or a truth value as a number."""
    return isinstance(factor, ir.Select) or is_counted_truth(factor, types)


def is_same_product(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether both multiply the same two numbers."""
    match one, other:
        case ir.Apply(op=Op.MUL, args=(a, b)), ir.Apply(op=Op.MUL, args=args):
            return args in ((a, b), (b, a))
        case _:
            return False
