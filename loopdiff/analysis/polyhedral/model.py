"""The affine view of a normal LoopSet: which instance of which statement touches which element.

This is the entrance; `polyhedra_terms` makes affine terms of expressions, `polyhedra_events` finds the
accesses, `polyhedra_sets` turns both into isl's sets, and `polyhedra_exprs` turns sets back into expressions.
Reference: Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model" (ICMS 2010).
"""

from __future__ import annotations

from loopdiff.analysis.polyhedral.events import EVERYWHERE
from loopdiff.analysis.polyhedral.expressions import function_expr
from loopdiff.analysis.polyhedral.sets import Model, build_model, derived_once, largest, models_kept, translation
from loopdiff.analysis.polyhedral.terms import constant_terms
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, subexprs

__all__ = ["Model", "build_model", "derived_once", "index_hull", "models_kept", "trip_hull"]


def trip_hull(model: Model, path: Path) -> ir.Expr | None:
    """The greatest number of iterations of the loop at `path` over all its executions, over Dim, Param and
    Const only.

    Zero or negative if it never runs an iteration. None if the count depends on data.
    """
    return model.cached(("trips", path), lambda: compute_trip_hull(model, path))


def index_hull(model: Model, path: Path) -> tuple[ir.Expr, ir.Expr] | None:
    """`(first, last)`: the least and greatest index of the loop at `path` over all its executions, inclusive,
    over Dim, Param and Const only; any numbers if it never runs. None if they depend on data.
    """
    return model.cached(("indices", path), lambda: compute_index_hull(model, path))


def compute_trip_hull(model: Model, path: Path) -> ir.Expr | None:
    loop = model.loop(path)
    if all(is_known_at_entry(e) for e in (loop.lower, loop.upper, loop.step)):
        return tidy(model, trip_count(loop))
    frame = model.bodies[path]
    number = frame.dims[-1] if frame.dims[-1].kind == "loop" else None
    stride = constant_terms(model.terms.integer(loop.step, path, 0))
    if number is None or not stride:
        return None
    lower = model.terms.integer(loop.lower, path, number.level - 1)
    distance = (number.leaf, lower) if stride > 0 else (lower, number.leaf)
    trip = plus(ir.Apply(Op.FLOORDIV, (ir.Apply(Op.SUB, distance), ir.Const(abs(stride), INT))), 1)
    bound = largest(model, frame, trip)
    return None if bound is None else function_expr(model, bound)


def compute_index_hull(model: Model, path: Path) -> tuple[ir.Expr, ir.Expr] | None:
    frame = model.bodies[path]
    leaf = model.terms.integer(ir.Index(model.loop(path).index), path, 0)
    low, high = largest(model, frame, ir.Apply(Op.NEG, (leaf,))), largest(model, frame, leaf)
    if low is None or high is None:
        return None
    return function_expr(model, low.neg()), function_expr(model, high)


def is_known_at_entry(expr: ir.Expr) -> bool:
    return not any(isinstance(e, ir.Index | ir.Var | ir.Load) for e in subexprs(expr))


def trip_count(loop: ir.Loop) -> ir.Expr:
    """`ceil((upper - lower) / step)`, which is what it is for steps of either sign."""
    step, lower, upper = constant_terms(loop.step), loop.lower, loop.upper
    length = upper if constant_terms(lower) == 0 else ir.Apply(Op.SUB, (upper, lower))
    match step:
        case 1:
            return length
        case None:
            back = ir.Apply(Op.NEG, (upper,)) if constant_terms(lower) == 0 else ir.Apply(Op.SUB, (lower, upper))
            return ir.Apply(Op.NEG, (ir.Apply(Op.FLOORDIV, (back, loop.step)),))
        case _:
            length = length if step > 0 else ir.Apply(Op.SUB, (lower, upper))
            return ir.Apply(Op.FLOORDIV, (plus(length, abs(step) - 1), ir.Const(abs(step), INT)))


def tidy(model: Model, expr: ir.Expr) -> ir.Expr:
    """`expr`, known at entry, as one affine function if it is one."""
    term = model.terms.integer(expr, (), 0)
    if any(isinstance(e, ir.Var) for e in subexprs(term)):
        return expr
    found = function_expr(model, translation(model, EVERYWHERE).function(term))
    return expr if isinstance(found, ir.Select) else found


def plus(expr: ir.Expr, amount: int) -> ir.Expr:
    return ir.Apply(Op.ADD, (expr, ir.Const(amount, INT))) if amount else expr
