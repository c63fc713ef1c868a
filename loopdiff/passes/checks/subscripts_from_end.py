"""Negative subscripts as Python has them, where that is asked for: they count from the end.

    for i in range(n):             for i in range(n):
        y[i] = x[i - 1]   becomes      require -n <= i - 1 < n
                                       y[i] = x[(i - 1) % n]

    s += x[idx[i]]                 s += x[idx[i] + n if idx[i] < 0 else idx[i]]

The check goes to where checks of subscripts go, and the remainder is split off at the ends of the loop where it can be.
What depends on data is checked for each element in any case, and costs no division.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopdiff.analysis.bounds import ALWAYS, is_counted, limits, negative_subscripts
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.polyhedral.terms import guarded_loads, has_opaque
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, all_of, any_of, compare, extents_of, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_element
from loopdiff.ir.walk import (
    Path,
    map_own_exprs,
    map_sites,
    operands,
    rebuild,
    stmt_exprs,
    without_children,
    written_access,
)

# The axes of elements that are counted from the end, and whether by a choice for each element.
Axes = Mapping[ir.Access, Mapping[int, bool]]


def with_subscripts_from_end(ls: ir.LoopSet) -> ir.LoopSet:
    """The normal LoopSet `ls` with subscripts that may be negative counted from the end, and checked (LD310)."""
    found = may_be_negative(build_model(ls))
    if not found:
        return ls

    def rewrite(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        if path not in found:
            return (stmt,)
        at, head = Counting(ls, found[path]), without_children(stmt)
        checks = [c for e in stmt_exprs(head) for c in at.checks_in(e)]
        target = written_access(head)
        if target is not None:
            checks += at.checks(target)
        match stmt:
            case ir.Assign(target=access) | ir.Accumulate(target=access):
                stmt = replace(stmt, target=at.moved(access))
            case _:
                pass
        return (*checks, map_own_exprs(at.counted, stmt))

    at_end = Counting(ls, found.get((), {}))
    checks = (c for r in ls.results if isinstance(r, ir.ScalarResult) for c in at_end.checks_in(r.value))
    body = (*map_sites(ls.body, rewrite), *checks)
    results = (ir.ScalarResult(at_end.counted(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    return replace(ls, body=body, results=tuple(results))


def may_be_negative(model: Model) -> dict[Path, dict[ir.Access, dict[int, bool]]]:
    """The axes of subscripts that may be negative, but not always, which `bounds_checks` sees to."""
    always = {(n.path, n.access, n.axis) for n in negative_subscripts(model)}
    found: dict[Path, dict[ir.Access, dict[int, bool]]] = {}
    for limit in limits(model):
        path, access, axis = limit.event.path, limit.event.access, limit.axis
        is_settled = (path, access, axis) in always or is_counted(model, access, axis)
        if limit.side == "low" and limit.cond != ALWAYS and not is_settled:
            by_choice = has_opaque(limit.event.subscripts[axis])
            found.setdefault(path, {}).setdefault(access, {})[axis] = by_choice
    return found


@immutable
class Counting:
    """Rewrites what one statement touches."""

    ls: ir.LoopSet
    axes: Axes

    def moved(self, access: ir.Access) -> ir.Access:
        """`access`, not what is in its subscripts, counted from the end."""
        if access not in self.axes:
            return access
        extents, subscripts = extents_of(self.ls.array(access.array)), list(access.subscripts)
        for axis, by_choice in self.axes[access].items():
            given, size = subscripts[axis], extents[axis]
            if by_choice:
                subscripts[axis] = ir.Select(compare(Op.LT, given, integer(0)), add(given, size), given, loc=access.loc)
            else:
                subscripts[axis] = ir.Apply(Op.MOD, (given, size), loc=access.loc)
        return replace(access, subscripts=tuple(subscripts))

    def counted(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with its elements counted from the end, those in subscripts as well."""
        if isinstance(expr, ir.Load):
            expr = replace(expr, access=self.moved(expr.access))
        parts = operands(expr)
        return rebuild(expr, tuple(map(self.counted, parts))) if parts else expr

    def checks_in(self, expr: ir.Expr) -> Iterator[ir.Require]:
        """What must hold of the elements in `expr`, unless a condition keeps them from being read."""
        for load, guards in guarded_loads(expr):
            conditions = ((self.counted(cond), outcome) for cond, outcome in guards)
            yield from self.checks(
                load.access, tuple(ir.Apply(Op.NOT, (cond,)) if outcome else cond for cond, outcome in conditions)
            )

    def checks(self, access: ir.Access, excuses: tuple[ir.Expr, ...] = ()) -> Iterator[ir.Require]:
        extents = extents_of(self.ls.array(access.array))
        for axis, by_choice in self.axes.get(access, {}).items():
            if by_choice:
                continue
            subscript, size = access.subscripts[axis], extents[axis]
            inside = all_of((compare(Op.GE, add(subscript, size), integer(0)), compare(Op.LT, subscript, size)))
            message = told_outside(self.ls, access, axis)
            yield ir.Require(any_of((*excuses, inside)), "LD310", message, loc=access.loc, is_early=True)


def told_outside(ls: ir.LoopSet, access: ir.Access, axis: int) -> str:
    """What is said of an element that is checked by itself."""
    return f"`{print_element(access, ls)}`: the subscript is outside axis {axis} of `{access.array}`"
