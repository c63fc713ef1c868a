"""Host-evaluable expressions of a launch plan, and the names that are defined inside of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.ir.nodes import Access, Apply, Expr, Index, Load, Loop, Stmt, Var
from loopdiff.ir.slicing import names_in
from loopdiff.ir.walk import lets_in, statements, subexprs
from loopdiff.schedule.gpu.grid_mapper import indices_of

Names = frozenset[str]


def names_made(body: tuple[Stmt, ...]) -> Names:
    """Lets and indices of loops."""
    return lets_in(body).union(s.stmt.index for s in statements(body) if isinstance(s.stmt, Loop))


def names_used(exprs: Iterable[Expr]) -> Names:
    """Arrays, Lets and indices that expressions read."""
    return Names().union(*(names_in(x) | indices_of(x) for x in exprs))


def is_on_host(expr: Expr, unknown: Names) -> bool:
    """Whether the host can make the value, whenever it likes: nothing fails, nothing is an element."""
    for e in subexprs(expr):
        match e:
            case Index(name=name) | Var(name=name) if name in unknown:
                return False
            case Load(access=Access(array=array, subscripts=subscripts)) if subscripts or array in unknown:
                return False
            case Apply() if not is_total(e):
                return False
            case _:
                pass
    return True
