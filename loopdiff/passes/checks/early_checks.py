"""Checks of the parser that may be asked ahead: of subscripts of whole arrays, which Python evaluates once.

One that follows from shapes and integer arguments becomes a condition of the call, as exact as those of accesses. The
others are taken out, to be placed together with the checks of elements.
"""

from __future__ import annotations

from dataclasses import replace

from loopdiff.analysis.bounds import known_parameters
from loopdiff.analysis.polyhedral.events import Frame, depth, extend
from loopdiff.analysis.polyhedral.expressions import fails
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.sets import domain, possible
from loopdiff.analysis.polyhedral.terms import has_opaque
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import Path, all_statements, exchanged, without

ALWAYS = ir.Const(True, BOOL)


def with_early_conditions(model: Model) -> tuple[ir.LoopSet, tuple[ir.Require, ...]]:
    """The program with those of its early checks that shapes and integer arguments decide as conditions of the call,
    ahead of everything; and these."""
    conditions: dict[ir.Expr, ir.Require] = {}
    settled: dict[Path, tuple[ir.Stmt, ...]] = {}
    for path, site in model.sites.items():
        if not is_early(site.stmt):
            continue
        assert isinstance(site.stmt, ir.Require)
        cond = exact_condition(model, path, site.stmt)
        if cond is None:
            continue
        settled[path] = ()
        if cond != ALWAYS:
            needed = "no shapes allow it" if isinstance(cond, ir.Const) else f"it needs {print_expr(cond)}"
            found = replace(site.stmt, cond=cond, message=f"{site.stmt.message}: {needed}", is_early=False)
            conditions.setdefault(cond, found)
    found = tuple(conditions.values())
    ls = model.ls
    return (replace(ls, body=(*found, *exchanged(ls.body, settled))) if settled else ls), found


def is_early(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Require) and stmt.is_early


def exact_condition(model: Model, path: Path, stmt: ir.Require) -> ir.Expr | None:
    """What shapes and integer arguments have to satisfy for the check to hold wherever it is reached; None if there is
    more to it."""
    frame = model.frames[path]
    asked = stmt.cond.args[-1] if isinstance(stmt.cond, ir.Apply) and stmt.cond.op is Op.OR else stmt.cond
    term = model.terms.condition(asked, path, depth(frame))
    if has_opaque(term) or any(d.kind == "opaque" for d in frame.dims):
        return None
    return model.bounded(lambda: compute_condition(model, frame, term), None)


def compute_condition(model: Model, frame: Frame, term: ir.Expr) -> ir.Expr:
    wrong = extend(model.terms, frame, (ir.Apply(Op.NOT, (term,)),))
    where = domain(model, wrong).params()
    return fails(model, possible(model, frame, where).gist(known_parameters(model)))


def without_early(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body` without early checks, and what is around nothing else."""
    return without(body, is_early) if any(is_early(s) for s in all_statements(body)) else body
