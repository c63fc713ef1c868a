"""Lowering of strong products to selects between a product and zero, which every target has."""

from __future__ import annotations

from loopdiff.canonical.simplify import simplify
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, times_slope, zero
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import map_expr, map_stmt_exprs


def choose_strong_products(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with each `strong_mul(a, b)` as `a * b if a != 0 else 0`.

    Not before everything is derived: the derivative of a choice is that of the branch taken, which is wrong where a
    derivative happens to be zero.
    """
    types = type_env(ls)

    def rewrite(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Apply(op=Op.STRONG_MUL, args=(factor, slope)):
                nothing = zero(type_of(expr, types))
                return ir.Select(compare(Op.NE, factor, nothing), times_slope(factor, slope), nothing, loc=expr.loc)
            case _:
                return expr

    def expression(expr: ir.Expr) -> ir.Expr:
        return map_expr(rewrite, expr)

    body = tuple(map_stmt_exprs(expression, s) for s in ls.body)
    results = tuple(ir.ScalarResult(expression(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    return ls if body == ls.body and results == ls.results else simplify(replace(ls, body=body, results=results))
