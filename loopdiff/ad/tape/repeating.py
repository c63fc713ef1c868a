"""Recomputation in the reverse sweep: its cost, and the strict form in which it gives the same bits.

Where bits matter, as in a comparison of each operand of a maximum with the largest, a sum or product that both sweeps
evaluate must be rounded by itself in both. That is much cheaper than a tape of its values.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.ir import nodes as ir
from loopdiff.ir.build import rounded_alone
from loopdiff.ir.ops import INFO, PLAIN, PRODUCTS, QUOTIENTS, STRICT, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_of
from loopdiff.ir.walk import map_expr, subexprs
from loopdiff.model import tuning

CHEAP = frozenset((*SUMS, *PRODUCTS, Op.NEG, Op.ABS, Op.STOP, Op.MIN, Op.MAX, Op.SIGN, Op.COPYSIGN, *PLAIN))
MODERATE = frozenset((*QUOTIENTS, Op.SQRT, Op.FLOORDIV, Op.MOD))
EXPENSIVE = frozenset((Op.GAMMA, Op.LGAMMA, Op.DIGAMMA, Op.TRIGAMMA, Op.POW))
FUNCTION, RECOMPUTE_LIMIT = 16, 48


def cost(expr: ir.Expr) -> int:
    """Rough cycles per element of evaluating `expr` once in vector code."""
    return sum(cycles(e) for e in subexprs(expr) if isinstance(e, ir.Apply))


def cycles(node: ir.Apply) -> int:
    """Those of one operation."""
    if node.op in CHEAP or INFO[node.op].result == "bool":
        return 1
    if node.op in MODERATE:
        return 8
    if node.op == Op.POW and isinstance(node.args[1], ir.Const):
        return 1 if float(node.args[1].value) in (2.0, 3.0) else FUNCTION
    return 40 if node.op in EXPENSIVE else FUNCTION


def is_dear(expr: ir.Expr, in_rows: bool) -> bool:
    """Whether `expr` is rather recorded than evaluated twice: where recordings stay in the caches (`in_rows`), because
    of any function."""
    return cost(expr) > RECOMPUTE_LIMIT or (in_rows and has_functions((expr,)))


def has_functions(exprs: Iterable[ir.Expr]) -> bool:
    """Whether anything in `exprs` is evaluated by more than a few instructions."""
    nodes = (e for expr in exprs for e in subexprs(expr) if isinstance(e, ir.Apply))
    return any(cycles(e) >= FUNCTION for e in nodes)


def strict_form(expr: ir.Expr, types: TypeEnv) -> ir.Expr | None:
    """`expr` with sums and products of floating numbers rounded one by one; None where these are too many, or none."""

    def strict(node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Apply) and node.op in (*SUMS, *PRODUCTS) and type_of(node, types).is_float:
            return rounded_alone(node)
        return node

    form = map_expr(strict, expr)
    count = sum(1 for e in subexprs(form) if isinstance(e, ir.Apply) and e.op in STRICT)
    return form if 0 < count <= tuning.STRICT_OPERATIONS else None
