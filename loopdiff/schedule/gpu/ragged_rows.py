"""Ragged rows: arrays of which each iteration touches a row with data-dependent bounds, disjoint if the bounds ascend.

    for i in range(n):
        for p in range(begin[i], begin[i + 1]):
            y[p] = f(x[p], i)

Whether rows overlap is only known when the function runs: they do not if `begin[i] <= begin[i + 1]` for all `i`.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.privatization import span
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, parted
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Site, accesses, statements, written_arrays
from loopdiff.schedule.gpu.grid_mapper import is_unit_step

Names = frozenset[str]


@immutable
class RaggedRows:
    """Arrays that iterations of a loop touch apart from each other if all `conditions` hold in every iteration."""

    arrays: Names
    conditions: tuple[ir.Expr, ...]


def ragged_rows(loop: ir.Loop) -> RaggedRows | None:
    """The rows that iterations of `loop` have for themselves; None if it has none."""
    if not is_unit_step(loop):
        return None
    written = written_arrays(loop.body)
    bounds = dict(bounds_of_rows(loop, written))
    if not bounds:
        return None
    places: dict[str, set[tuple[int, int, tuple[ir.Expr, ir.Expr]] | None]] = {}
    for site in statements(loop.body):
        for access in accesses(site.stmt):
            places.setdefault(access.array, set()).add(place_in_row(access, site, bounds))
    apart = {name: place for name, (place, *rest) in places.items() if name in written and place and not rest}
    if not apart:
        return None
    conditions = {compare(Op.LE, *bounds) for _, _, bounds in apart.values()}
    return RaggedRows(frozenset(apart), tuple(sorted(conditions, key=repr)))


def bounds_of_rows(loop: ir.Loop, written: Names) -> Iterator[tuple[str, tuple[ir.Expr, ir.Expr]]]:
    """Loops of every iteration of `loop`, by index, that go from an element of an array which nothing changes to the
    next one."""
    for stmt in loop.body:
        if isinstance(stmt, ir.Loop) and is_unit_step(stmt):
            lower, upper = span(stmt)
            if are_neighbours(lower, upper, loop.index, written):
                yield stmt.index, (lower, upper)


def are_neighbours(lower: ir.Expr, upper: ir.Expr, index: str, written: Names) -> bool:
    """Whether these are `begin[index + c]` and `begin[index + c + 1]`."""
    match lower, upper:
        case ir.Load(access=ir.Access(array=a, subscripts=(one,))), ir.Load(
            access=ir.Access(array=b, subscripts=(other,))
        ):
            (base, first), (base_after, second) = parted(one), parted(other)
            return a == b and a not in written and base == base_after == ir.Index(index) and second == first + 1
        case _:
            return False


def place_in_row(
    access: ir.Access, site: Site, bounds: dict[str, tuple[ir.Expr, ir.Expr]]
) -> tuple[int, int, tuple[ir.Expr, ir.Expr]] | None:  # fmt: skip
    """Along which axis an access goes with its row, how far from there, and the bounds of the row."""
    for axis, subscript in enumerate(access.subscripts):
        base, offset = parted(subscript)
        for loop in site.loops:
            if base == ir.Index(loop.index) and loop.index in bounds:
                return axis, offset, bounds[loop.index]
    return None
