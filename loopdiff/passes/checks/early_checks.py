"""Checks of the parser that may be asked ahead: of subscripts of whole arrays, which Python evaluates once.

One that follows from shapes and integer arguments becomes a condition of the call, as exact as those of accesses. The
others are taken out, to be placed together with the checks of elements.
"""

from __future__ import annotations

from dataclasses import replace

from loopdiff.analysis.bounds import ALWAYS, NEVER, known_parameters, safely
from loopdiff.analysis.polyhedral.events import Frame, depth, extend
from loopdiff.analysis.polyhedral.expressions import fails
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.sets import domain, possible
from loopdiff.analysis.polyhedral.terms import has_opaque
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import any_of
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import Path, all_statements, exchanged, without


def with_early_conditions(model: Model) -> tuple[ir.LoopSet, tuple[ir.Require, ...]]:
    """The program with those of its early checks that shapes and integer arguments decide as conditions of the call,
    ahead of everything; and these."""
    conditions: dict[ir.Expr, ir.Require] = {}
    settled: dict[Path, tuple[ir.Stmt, ...]] = {}
    for path, site in model.sites.items():
        if not is_early(site.stmt):
            continue
        assert isinstance(site.stmt, ir.Require)
        cond, is_exact = condition_of(model, path, site.stmt)
        if not is_exact:
            settled[path] = (left(site.stmt, cond, bool(site.loops)),)
            continue
        settled[path] = ()
        if cond != ALWAYS:
            needed = "no shapes allow it" if isinstance(cond, ir.Const) else f"it needs {print_expr(cond)}"
            found = replace(site.stmt, cond=cond, message=f"{site.stmt.message}: {needed}", is_early=False)
            conditions.setdefault(cond, found)
    found = tuple(conditions.values())
    ls = model.ls
    return (replace(ls, body=(*found, *exchanged(ls.body, settled))) if settled else ls), found


def left(stmt: ir.Require, sufficient: ir.Expr, is_in_loops: bool) -> ir.Require:
    """A check that stays, by itself where that costs little: not in loops, or where something `sufficient` is known."""
    certain = safely(sufficient)
    if certain is not None and certain != NEVER:
        return replace(stmt, cond=any_of((certain, asked(stmt))))
    return stmt if is_in_loops else replace(stmt, cond=asked(stmt))


def asked(stmt: ir.Require) -> ir.Expr:
    """What is required of the subscript itself."""
    return stmt.cond.args[-1] if isinstance(stmt.cond, ir.Apply) and stmt.cond.op is Op.OR else stmt.cond


def is_early(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Require) and stmt.is_early


def condition_of(model: Model, path: Path, stmt: ir.Require) -> tuple[ir.Expr, bool]:
    """What shapes and integer arguments have to satisfy for the check to hold wherever it is reached, and whether it
    fails for all others."""
    frame = model.frames[path]
    term = model.terms.condition(asked(stmt), path, depth(frame))
    if has_opaque(term):
        return NEVER, False
    is_exact = not any(d.kind == "opaque" for d in frame.dims)
    return model.bounded(lambda: (compute_condition(model, frame, term), is_exact), (NEVER, False))


def compute_condition(model: Model, frame: Frame, term: ir.Expr) -> ir.Expr:
    wrong = extend(model.terms, frame, (ir.Apply(Op.NOT, (term,)),))
    where = domain(model, wrong).params()
    return fails(model, possible(model, frame, where).gist(known_parameters(model)))


def without_early(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body` without early checks, and what is around nothing else."""
    return without(body, is_early) if any(is_early(s) for s in all_statements(body)) else body
