"""What it takes to work out a value again, in place of keeping it."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import BITWISE, INFO, PLAIN, PRODUCTS, QUOTIENTS, SUMS, Op
from loopdiff.ir.walk import subexprs
from loopdiff.settings.options import PlanPolicy

SIMPLE = (Op.NEG, Op.ABS, Op.STOP, Op.MIN, Op.MAX, Op.SIGN, Op.COPYSIGN, Op.STRONG_MUL)
CHEAP = frozenset((*SUMS, *PRODUCTS, *SIMPLE, *BITWISE, *PLAIN))
MODERATE = frozenset((*QUOTIENTS, Op.SQRT, Op.FLOORDIV, Op.MOD))
EXPENSIVE = frozenset((Op.GAMMA, Op.LGAMMA, Op.DIGAMMA, Op.TRIGAMMA, Op.POW))
FUNCTION = 16


def cycles_again(node: ir.Expr, policy: PlanPolicy) -> float:
    """Rough cycles per element of evaluating the operation `node` in vector code once more; none where only memory
    counts. With `store` nothing is evaluated twice, with `rows` no function: recordings stay in the caches."""
    if not isinstance(node, ir.Apply):
        return 0.0
    known = cycles(node)
    match policy:
        case "store":
            return inf
        case "rows":
            return inf if known >= FUNCTION else known
        case "auto":
            return known
        case _:
            return 0.0


def cycles(node: ir.Apply) -> int:
    """Those of one operation."""
    if node.op in CHEAP or INFO[node.op].result == "bool":
        return 1
    if node.op in MODERATE:
        return 8
    if node.op == Op.POW and isinstance(node.args[1], ir.Const):
        return 1 if float(node.args[1].value) in (2.0, 3.0) else FUNCTION
    return 40 if node.op in EXPENSIVE else FUNCTION


def has_functions(exprs: Iterable[ir.Expr]) -> bool:
    """Whether anything in `exprs` is evaluated by more than a few instructions."""
    nodes = (e for expr in exprs for e in subexprs(expr) if isinstance(e, ir.Apply))
    return any(cycles(e) >= FUNCTION for e in nodes)
