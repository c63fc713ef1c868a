"""Results of reductions and products computed where they are stored: `C[:] = A @ B` needs no array in between."""

from __future__ import annotations

from dataclasses import replace

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import is_unit, require_fit
from loopdiff.frontend.arrays.integers import distance
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import map_body, map_expr, map_stmt_exprs, read_arrays, written_arrays

EXACT = "float64"


def redirected(state: State, target: View, value: View, span: Span) -> bool:
    """Let the statements that compute `value`, a fresh array, write `target` instead, if that is the same."""
    if value.array not in state.whole.fresh or value != state.all_of(value.array, span):
        return False
    places = [k for k, s in enumerate(state.out) if isinstance(s, ir.Allocate) and s.array == value.array]
    if not places or value.rank != target.rank or not has_extents(state, value, target):
        return False
    work = tuple(state.out[places[-1] + 1 :])
    read, written = read_arrays(work), written_arrays(work)
    if target.array in read | written or not all(map(lambda a: is_exact(state, a), {target.array, *read} - written)):
        return False
    with state.block() as checks:
        require_fit(state, value, target.extents, span)
    state.out[places[-1] :] = [*checks, *(moved(s, value.array, target) for s in work)]
    del state.arrays[value.array]
    return True


def has_extents(state: State, value: View, target: View) -> bool:
    """Whether no axis of `value` is repeated along one of `target`."""
    pairs = zip(value.extents, target.extents, strict=True)
    return all(distance(a, b) == 0 or not is_unit(state, a) for a, b in pairs)


def is_exact(state: State, array: str) -> bool:
    """Whether sums of elements of `array` can be kept in such an array: it holds float64, as the sums do."""
    decl = state.arrays[array]
    kind = state.need_types().get(array) if decl.role == "argument" else decl.type
    return isinstance(kind, ArrayType) and kind.dtype == EXACT


def moved(stmt: ir.Stmt, array: str, target: View) -> ir.Stmt:
    """`stmt` with elements of `target` in place of those of `array`."""

    def element(expr: ir.Expr) -> ir.Expr:
        is_old = isinstance(expr, ir.Load) and expr.access.array == array
        return ir.Load(target.access(expr.access.subscripts), loc=expr.loc) if is_old else expr  # type: ignore[union-attr]

    def store(one: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(one, ir.Assign | ir.Accumulate) and one.target.array == array:
            one = replace(one, target=replace(target.access(one.target.subscripts), loc=one.target.loc))
        return (one,)

    return map_body((map_stmt_exprs(lambda e: map_expr(element, e), stmt),), store)[0]
