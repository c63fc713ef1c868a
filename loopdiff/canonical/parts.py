"""A function for a part of the elements along axes that may be split.

    for i in range(x.shape[0]): total += x[i]        for i in range(x.shape[0]): total += x[i]
    mean = total / x.shape[0]                  ->    mean = total / 8

Loops over such an axis go through what there is of it; wherever its length is a number among others, it is the whole's.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.analysis.privatization import span
from loopdiff.analysis.split_axes import SplitAxis
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, shifted
from loopdiff.ir.walk import map_blocks, map_own_exprs, substitute


def program_of_part(ls: ir.LoopSet, axes: Sequence[SplitAxis]) -> ir.LoopSet:
    """`ls` for a part of the elements along `axes`."""
    whole: dict[ir.Expr, ir.Expr] = {ir.Dim(*node): integer(axis.extent) for axis in axes for node in axis.apart}
    counted = {index: axis for axis in axes for index in axis.loops}
    own = {node: ir.Dim(*axis.length) for axis in axes for node in axis.apart}

    def fixed(expr: ir.Expr) -> ir.Expr:
        return substitute(expr, whole)

    def part(stmt: ir.Stmt) -> ir.Stmt:
        if isinstance(stmt, ir.Loop) and stmt.index in counted:
            found = over(stmt, counted[stmt.index])
        else:
            found = map_own_exprs(fixed, stmt)
        if isinstance(found, ir.Call):
            found = replace(found, results=tuple(map(placed, found.results)))
        return map_blocks(lambda body: tuple(map(part, body)), found)

    def placed(access: ir.Access) -> ir.Access:
        return replace(access, subscripts=tuple(map(fixed, access.subscripts)))

    def declared(decl: ir.ArrayDecl) -> ir.ArrayDecl:
        if decl.extents is None:
            return decl
        each = (own.get((decl.name, k)) or fixed(e) for k, e in enumerate(decl.extents))
        return replace(decl, extents=tuple(each))

    results = tuple(
        replace(r, value=fixed(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results
    )  # fmt: skip
    return replace(ls, arrays=tuple(map(declared, ls.arrays)), body=tuple(map(part, ls.body)), results=results)


def over(loop: ir.Loop, axis: SplitAxis) -> ir.Loop:
    """`loop` over the part of `axis` that there is, which is what it may say already."""
    low, high = span(loop)
    if low == integer(0) and isinstance(high, ir.Dim) and (high.array, high.axis) in axis.apart:
        return loop
    length = ir.Dim(*axis.length)
    if loop.upper == high:
        return replace(loop, lower=integer(0), upper=length)
    return replace(loop, lower=shifted(length, -1), upper=integer(-1))
