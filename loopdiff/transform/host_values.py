"""What the host of a launch plan can know before it launches a kernel."""

from __future__ import annotations

from loopdiff.ir.nodes import Access, Apply, Expr, Index, Load, Loop, Stmt, Var
from loopdiff.ir.walk import statements, subexprs
from loopdiff.transform.grid import Grid
from loopdiff.transform.hoist import is_total
from loopdiff.transform.launch_plan import lets_of

Names = frozenset[str]


def names_inside(body: tuple[Stmt, ...], grid: Grid) -> Names:
    """Indices and Lets of a kernel, which the host does not know."""
    axes = {a.loop.index for a in grid.axes}
    return lets_of(body).union(axes, (s.stmt.index for s in statements(body) if isinstance(s.stmt, Loop)))


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
