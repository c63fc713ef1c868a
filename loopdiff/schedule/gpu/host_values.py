"""Host-evaluable expressions of a launch plan, and the names that are defined inside of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.ir import nodes as ir
from loopdiff.ir.slicing import names_in
from loopdiff.ir.walk import all_statements, indices_in, lets_in, subexprs

Names = frozenset[str]


def names_made(body: tuple[ir.Stmt, ...]) -> Names:
    """Lets and indices of loops."""
    return lets_in(body).union(s.index for s in all_statements(body) if isinstance(s, ir.Loop))


def names_used(exprs: Iterable[ir.Expr]) -> Names:
    """Arrays, Lets and indices that expressions read."""
    return Names().union(*(names_in(x) | indices_in(x) for x in exprs))


def is_on_host(expr: ir.Expr, unknown: Names) -> bool:
    """Whether the host can make the value, whenever it likes: nothing fails, nothing is an element."""
    for e in subexprs(expr):
        match e:
            case ir.Index(name=name) | ir.Var(name=name) if name in unknown:
                return False
            case ir.Load(access=ir.Access(array=array, subscripts=subscripts)) if subscripts or array in unknown:
                return False
            case ir.Apply() if not is_total(e):
                return False
            case _:
                pass
    return True


def is_extent(expr: ir.Expr) -> bool:
    """Whether the host knows it from the arguments alone, and nothing fails where it asks."""
    return all(
        isinstance(e, ir.Const | ir.Dim | ir.Param) or (isinstance(e, ir.Apply) and is_total(e)) for e in subexprs(expr)
    )
