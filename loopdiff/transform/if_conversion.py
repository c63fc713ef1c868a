"""Integers that a branch chooses between, as one value (if-conversion: Allen, Kennedy, Porterfield and Warren, 1983).

    if r <= t:                          h = x + r * y if r <= t else (x ^ y) % t
        h = x + r * y       becomes
    else:
        h = (x ^ y) % t

Set in two places, `h` is memory that a reverse sweep has to record before it is set again. One value can be worked out
once more, from integers that are still there.
"""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.ir.nodes import Access, Apply, Assign, Expr, If, Let, Select, Stmt, Var
from loopdiff.ir.types import BOOL, INT, ScalarType
from loopdiff.ir.walk import subexprs, substitute, written_arrays

MOST_OPERATIONS = 16  # in each of the two values
Known = Mapping[str, Expr]


def choices(stmt: If, after_then: Known, after_else: Known, cells: Mapping[str, ScalarType]) -> dict[str, Select]:
    """What `stmt` leaves in each cell, if all that it does is to give integers values that are known after each of its
    branches; else nothing.
    """
    branches = ((stmt.then, after_then), (stmt.orelse, after_else))
    if not all(sets_integers(body, cells) for body, _ in branches):
        return {}
    found: dict[str, Select] = {}
    for cell in sorted(written_arrays(stmt.then + stmt.orelse)):
        then, orelse = (value_of(cell, body, known) for body, known in branches)
        if then is None or orelse is None:
            return {}
        found[cell] = Select(stmt.cond, then, orelse, loc=stmt.loc)
    return found


def sets_integers(body: tuple[Stmt, ...], cells: Mapping[str, ScalarType]) -> bool:
    return all(
        isinstance(s, Let)
        or (isinstance(s, Assign) and isinstance(s.target, Access) and cells.get(s.target.array) in (INT, BOOL))
        for s in body
    )


def value_of(cell: str, body: tuple[Stmt, ...], known: Known) -> Expr | None:
    """What `cell` holds after `body`, without the names that only that knows; None if that is not known, or long."""
    if cell not in known:
        return None
    inside: dict[Expr, Expr] = {}
    for stmt in body:
        if isinstance(stmt, Let):
            inside[Var(stmt.name)] = substitute(stmt.value, inside)
    value = substitute(known[cell], inside)
    return value if sum(isinstance(e, Apply) for e in subexprs(value)) <= MOST_OPERATIONS else None
