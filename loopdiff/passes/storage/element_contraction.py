"""Contraction of arrays to numbers: what an iteration writes and reads itself, and nobody else reads, is a Let.

    for i:                               for i:
        t[i] = 2.0 * x[i]                    let t = 2.0 * x[i]
        y[i] = t[i] * t[i]    becomes        y[i] = t * t

The smallest case of array contraction (Lewis, Lin and Snyder, "The implementation and evaluation of fusion and
contraction in array languages", PLDI 1998): the array needs no memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import (
    Path,
    Site,
    accesses,
    expressions,
    has_values,
    loads,
    map_blocks_at,
    map_expr,
    map_own_exprs,
    read_arrays,
    statements,
    subexprs,
    without,
)
from loopdiff.passes.storage.workspace import private_arrays

UPDATES = {"add": Op.ADD, "max": Op.MAX, "min": Op.MIN}
HELD = ("float32", "float64", "int64", "bool")  # elements that are in registers what they are in memory


def hold_elements(ls: ir.LoopSet, reader: ir.LoopSet | None = None) -> ir.LoopSet:
    """`ls` with numbers in place of its own arrays whose elements live in one iteration of one loop.

    `reader` goes on with the arrays that `ls` leaves.
    """
    held = held_arrays(ls, private_arrays(ls, reader))
    if not held:
        return ls
    holder = Holder(held, supply(ls))
    body = without(holder.block(ls.body, (), 0), lambda s: isinstance(s, ir.Allocate) and s.array in held)
    gone = held.keys() - frozenset(ls.params)
    return replace(ls, body=body, arrays=tuple(a for a in ls.arrays if a.name not in gone))


def held_arrays(ls: ir.LoopSet, names: frozenset[str]) -> dict[str, Path]:
    """Those of the arrays that one loop alone touches, each element in one iteration that writes it first, and the path
    of that loop."""
    touched: dict[str, list[tuple[Site, ir.Access]]] = {}
    asked = (*expressions(ls), *(e for a in ls.arrays for e in a.extents or ()))
    excluded = {e.array for expr in asked for e in subexprs(expr) if isinstance(e, ir.Dim | ir.SizeOf)}
    for site in statements(ls.body):
        if isinstance(site.stmt, ir.Call):
            excluded |= read_arrays((site.stmt,)) | {a.array for a in accesses(site.stmt)}
        for access in accesses(site.stmt):
            if access.array in names and access.subscripts:
                touched.setdefault(access.array, []).append((site, access))
    found: dict[str, Path] = {}
    for name in sorted(touched.keys() - excluded):
        kind = ls.array(name).type
        if kind is not None and kind.dtype in HELD and is_held(touched[name]):
            found[name] = touched[name][0][0].path[:-1]
    return found


def is_held(uses: list[tuple[Site, ir.Access]]) -> bool:
    """Whether all of the uses are in one block, the body of a loop, of one element, which is written before it is
    read."""
    site, access = uses[0]
    first = site.stmt
    if has_values(*access.subscripts):
        return False  # they may have changed in between
    if not site.enclosing or not isinstance(site.enclosing[-1], ir.Loop) or not isinstance(first, ir.Assign):
        return False
    if first.target.array != access.array or any(e.access.array == access.array for e in loads(first.value)):
        return False
    return all(
        s.path[:-1] == site.path[:-1]
        and a.subscripts == access.subscripts
        and isinstance(s.stmt, ir.Let | ir.Assign | ir.Accumulate)
        for s, a in uses
    )


@immutable
class Holder:
    """Puts Lets in place of the elements of the arrays `held`, in the loops at their paths."""

    held: Mapping[str, Path]
    names: NameSupply

    def block(self, body: tuple[ir.Stmt, ...], path: Path, first: int) -> tuple[ir.Stmt, ...]:
        here = {name for name, place in self.held.items() if place == path}
        now: dict[str, ir.Var] = {}
        out: list[ir.Stmt] = []

        def read(expr: ir.Expr) -> ir.Expr:
            return now.get(expr.access.array, expr) if isinstance(expr, ir.Load) else expr

        for number, stmt in enumerate(body, start=first):
            target = stmt.target if isinstance(stmt, ir.Assign | ir.Accumulate) else None
            if target is None or target.array not in here:
                stmt = map_own_exprs(lambda e: map_expr(read, e), stmt) if now else stmt
                out.append(map_blocks_at(self.block, stmt, (*path, number)))
                continue
            assert isinstance(stmt, ir.Assign | ir.Accumulate)
            value = map_expr(read, stored(stmt))
            let = ir.Let(self.names.fresh(target.array), value, loc=stmt.loc)
            now[target.array] = ir.Var(let.name, loc=stmt.loc)
            out.append(let)
        return tuple(out)


def stored(stmt: ir.Assign | ir.Accumulate) -> ir.Expr:
    """What the element holds after `stmt`: values have the type of the array that they are stored in."""
    if isinstance(stmt, ir.Assign):
        return stmt.value
    return ir.Apply(UPDATES[stmt.op], (ir.Load(stmt.target, loc=stmt.loc), stmt.value), loc=stmt.loc)
