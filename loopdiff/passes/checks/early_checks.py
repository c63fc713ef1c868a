"""Checks of the parser that may be asked ahead: of subscripts of whole arrays, which Python evaluates once, and in
loops of extents that meet, and of subscripts of views.

One that follows from shapes and integer arguments becomes a condition of the call, as exact as those of accesses. The
others are taken out, to be placed together with the checks of elements.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from loopdiff.analysis.bounds import ALWAYS, NEVER, known_parameters, safely
from loopdiff.analysis.polyhedral.events import EVERYWHERE, Frame, depth, extend
from loopdiff.analysis.polyhedral.expressions import fails
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.sets import domain, less, possible
from loopdiff.analysis.polyhedral.terms import has_opaque
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import any_of
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import Path, Site, all_statements, exchanged, indices_in, subexprs, without

IN_LOOPS = ("LD310", "LD320")


@immutable
class Found:
    """Where a check fails: the `parameters` as a set of isl's, None if they do not say, and the condition that they are
    others. `is_exact`: it does fail there."""

    parameters: Any
    cond: ir.Expr
    is_exact: bool


UNKNOWN = Found(None, NEVER, False)


def with_early_conditions(model: Model) -> tuple[ir.LoopSet, tuple[ir.Require, ...]]:
    """The program with those of these checks that shapes and integer arguments decide as conditions of the call,
    ahead of everything but such; and these."""
    conditions: list[ir.Require] = []
    settled: dict[Path, tuple[ir.Stmt, ...]] = {}
    seen: Any = None
    for path, site in model.sites.items():
        if not isinstance(site.stmt, ir.Require) or not (site.stmt.is_early or is_of_shapes(site)):
            continue
        found = model.bounded(partial(failing, model, path, site.stmt.cond), UNKNOWN)
        if not found.is_exact:
            if site.stmt.is_early or found.cond == ALWAYS:
                settled[path] = left(site.stmt, found.cond)
            continue
        settled[path] = ()
        if found.cond != ALWAYS and not (
            seen is not None and less(model, in_front(model), found.parameters, seen).is_empty()
        ):
            seen = seen.union(found.parameters) if seen is not None else found.parameters
            needed = "no shapes allow it" if isinstance(found.cond, ir.Const) else f"it needs {print_expr(found.cond)}"
            message = f"{site.stmt.message}: {needed}"
            conditions.append(replace(site.stmt, cond=found.cond, message=message, is_early=False))
    if not settled:
        return model.ls, ()
    body, front = exchanged(model.ls.body, settled), first_place(model)
    return replace(model.ls, body=(*body[:front], *conditions, *body[front:])), tuple(conditions)


def first_place(model: Model) -> int:
    """Behind the other checks that the program begins with, which say more of shapes."""
    body = model.ls.body
    return next((k for k, s in enumerate(body) if is_early(s) or not isinstance(s, ir.Require)), len(body))


def in_front(model: Model) -> Frame:
    """What is known behind the other checks that the program begins with."""
    return model.frames.get((first_place(model),), EVERYWHERE)


def left(stmt: ir.Require, sufficient: ir.Expr) -> tuple[ir.Require, ...]:
    """What is left of a check where something `sufficient` is known: it stays where it is, at little cost."""
    certain = safely(sufficient)
    if certain == ALWAYS:
        return ()
    if certain is None or certain == NEVER:
        return (stmt,)
    return (replace(stmt, cond=any_of((certain, stmt.cond))),)


def is_early(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Require) and stmt.is_early


def is_of_shapes(site: Site) -> bool:
    """Whether a check in loops compares numbers that depend on nothing but shapes, integer arguments and indices."""
    stmt = site.stmt
    if not (isinstance(stmt, ir.Require) and stmt.code in IN_LOOPS and indices_in(stmt.cond)):
        return False
    return bool(site.loops) and not any(isinstance(e, ir.Load | ir.Var) for e in subexprs(stmt.cond))


def failing(model: Model, path: Path, cond: ir.Expr) -> Found:
    """For which shapes and integer arguments the condition of the check at `path` fails somewhere."""
    frame = model.frames[path]
    term = model.terms.condition(cond, path, depth(frame))
    if has_opaque(term) and not any(d in model.terms.ranges for d in model.terms.opaques_in((term,))):
        return UNKNOWN
    wrong = extend(model.terms, frame, (ir.Apply(Op.NOT, (term,)),))
    where = possible(model, frame, domain(model, wrong).params())
    if (
        has_opaque(term)
        and not where.is_empty()
        and any(d in model.terms.stored for d in model.terms.opaques_in((term,)))
    ):
        return UNKNOWN
    known = possible(model, in_front(model), known_parameters(model, where))
    is_exact = not any(d.kind == "opaque" for d in wrong.dims)
    return Found(where.intersect(known), fails(model, where.gist(known)), is_exact)


def without_early(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`body` without early checks, and what is around nothing else."""
    return without(body, is_early) if any(is_early(s) for s in all_statements(body)) else body
