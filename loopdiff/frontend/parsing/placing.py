"""Places in the text for what the parser makes without one: every node has the line it stands for."""

from __future__ import annotations

from loopdiff.errors import Span
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import map_expr, map_stmt_exprs


def located(expr: ir.Expr, span: Span) -> ir.Expr:
    """`expr` at `span` if it was made without a place."""
    if isinstance(expr, ir.Load) and not expr.access.loc.line:
        expr = replace(expr, access=replace(expr.access, loc=expr.loc if expr.loc.line else span))
    return expr if expr.loc.line else replace(expr, loc=span)


def with_place(expr: ir.Expr, span: Span) -> ir.Expr:
    return map_expr(lambda e: located(e, span), expr)


def placed_block(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Statements with every expression placed: where it was made without a place, at its statement."""
    return tuple(map(placed, body))


def placed(stmt: ir.Stmt) -> ir.Stmt:
    match stmt:
        case ir.Loop(lower=lower, upper=upper, step=step, body=body, loc=loc):
            lower, upper, step = (with_place(e, loc) for e in (lower, upper, step))
            return replace(stmt, lower=lower, upper=upper, step=step, body=placed_block(body))
        case ir.If(cond=cond, then=then, orelse=orelse, loc=loc):
            cond = with_place(cond, loc)
            return replace(stmt, cond=cond, then=placed_block(then), orelse=placed_block(orelse))
        case ir.Assign(target=target) | ir.Accumulate(target=target) if not target.loc.line:
            stmt = replace(stmt, target=replace(target, loc=stmt.loc))
        case _:
            pass
    return map_stmt_exprs(lambda e: with_place(e, stmt.loc), stmt)


def placed_declaration(decl: ir.ArrayDecl) -> ir.ArrayDecl:
    extents = None if decl.extents is None else tuple(with_place(e, decl.loc) for e in decl.extents)
    return replace(decl, extents=extents, values=tuple(with_place(e, decl.loc) for e in decl.values))
