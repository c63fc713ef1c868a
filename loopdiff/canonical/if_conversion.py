"""If-conversion of integers: a branch that only sets integer cells becomes selects (Allen, Kennedy, Porterfield and
Warren, 1983).

    if r <= t:                          h = x + r * y if r <= t else (x ^ y) % t
        h = x + r * y       becomes
    else:
        h = (x ^ y) % t

Set in two places, `h` is memory that a reverse sweep has to record before it is set again. One value can be worked out
once more, from integers that are still there. What decides, and what several values are made from, is worked out as
often as before: once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loopdiff.analysis.contractions import inlined
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import BOOL, INT, ScalarType
from loopdiff.ir.walk import subexprs, written_arrays

MOST_OPERATIONS = 16  # in each of the two values
Known = Mapping[str, ir.Expr]


def choices(stmt: ir.If, after_then: Known, after_else: Known, cells: Mapping[str, ScalarType]) -> dict[str, ir.Select]:
    """What `stmt` leaves in each cell, chosen by its condition, if all that it does is to give integers values that are
    known after each of its branches; else nothing.
    """
    written = sorted(written_arrays(stmt.then + stmt.orelse))
    if not written or not all(sets_integers(body, cells) for body in (stmt.then, stmt.orelse)):
        return {}
    then, orelse = values_of(written, stmt.then, after_then), values_of(written, stmt.orelse, after_else)
    if then is None or orelse is None:
        return {}
    return {cell: ir.Select(stmt.cond, *both, loc=stmt.loc) for cell, *both in zip(written, then, orelse, strict=True)}


def sets_integers(body: tuple[ir.Stmt, ...], cells: Mapping[str, ScalarType]) -> bool:
    return all(
        isinstance(s, ir.Let) or (isinstance(s, ir.Assign) and cells.get(s.target.array) in (INT, BOOL)) for s in body
    )


def values_of(written: Sequence[str], body: tuple[ir.Stmt, ...], known: Known) -> tuple[ir.Expr, ...] | None:
    """What the cells hold after `body`, without the names that only that knows; None if that is not known, or long, or
    would work something out more than once."""
    if not all(cell in known for cell in written):
        return None
    lets, values = tuple(s for s in body if isinstance(s, ir.Let)), tuple(known[cell] for cell in written)
    names, exprs = {s.name for s in lets}, (*values, *(s.value for s in lets))
    uses = Counter(e.name for x in exprs for e in subexprs(x) if isinstance(e, ir.Var) and e.name in names)
    if any(number > 1 for number in uses.values()):
        return None
    found = inlined(lets, values)
    sizes = (sum(isinstance(e, ir.Apply | ir.Select) for e in subexprs(x)) for x in found)
    return found if all(size <= MOST_OPERATIONS for size in sizes) else None
