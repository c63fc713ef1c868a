"""Sharing of recordings between reads that see the same value.

for i in range(k): s += r[i] * y[i]                   records y[i]
for i in range(k): z[i] = y[i] + a * y[k - i - 1]     needs y[k - i - 1], which is y[j] at j = k - i - 1
"""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.ad.facts import Facts
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, sub
from loopdiff.ir.walk import Path, all_statements, common_prefix, indices_in, subexprs, substitute

PLAIN = (ir.Const, ir.Index, ir.Param, ir.Dim, ir.Apply)


@immutable
class KnownReads:
    """What the statement at `path` reads in `access`, told apart by `loops` of those around it."""

    path: Path
    access: ir.Access
    loops: tuple[tuple[Path, ir.Loop], ...]


def same_read(facts: Facts, path: Path, access: ir.Access, known: KnownReads) -> Mapping[ir.Expr, ir.Expr] | None:
    """In which iterations of its loops `known` is what the statement at `path` sees in `access`.

    In none, if any statement writes the array from the first of the two on, but before the second.

    The values, in terms of the loops around `path`, of the indices around `known` only. None where there are no such
    iterations, or that cannot be told.
    """
    other, read = known.path, known.access
    if access.array != read.array or not (has_plain_subscripts(access) and has_plain_subscripts(read)):
        return None
    if access == read and run_together(facts, path, other, access.array):
        return {}
    shared = len(common_prefix(path, other))
    for level in range(min(shared, len(path) - 1, len(other) - 1), -1, -1):
        found = at_level(facts, path, access, known, level)
        if found is not None:
            return found
    return None


def run_together(facts: Facts, path: Path, other: Path, array: str) -> bool:
    """Whether both statements are in one branch of a condition, and nothing between their reads writes `array` or
    leaves it."""
    around = facts.sites.get(path[:-1])
    if path[:-1] != other[:-1] or around is None or not isinstance(around.stmt, ir.If):
        return False
    block = around.stmt
    (first, last), body = sorted((path, other)), (*block.then, *block.orelse)
    return (
        (first[-1] < len(block.then)) == (last[-1] < len(block.then))
        and facts.state_of(array, first) == facts.state_of(array, last)
        and not any(isinstance(s, ir.Exit) for s in all_statements(body[first[-1] : last[-1]]))
    )


def at_level(
    facts: Facts, path: Path, access: ir.Access, known: KnownReads, level: int
) -> Mapping[ir.Expr, ir.Expr] | None:
    """Like `same_read`, of iterations that share the loops around statements of that level only."""
    other, read = known.path, known.access
    if any(isinstance(facts.sites[other[:k]].stmt, ir.If) for k in range(max(level, 1), len(other))):
        return None
    first, last = sorted((path[level], other[level]))
    own = [loop.index for p, loop in known.loops if len(p) > level]
    found = solved(own, read, access)
    begin, end = ((*path[:level], k) for k in (first, last + 1))
    if found is None or facts.state_of(access.array, begin) != facts.state_of(access.array, end):
        return None
    return found if facts.covers(path, access, other, read, level) else None


def has_plain_subscripts(access: ir.Access) -> bool:
    return all(isinstance(e, PLAIN) for s in access.subscripts for e in subexprs(s))


def solved(own: list[str], read: ir.Access, access: ir.Access) -> Mapping[ir.Expr, ir.Expr] | None:
    """Values of the indices `own` for which `read` is `access`, each from a subscript that has no other of them."""
    found: dict[ir.Expr, ir.Expr] = {}
    for mine, wanted in zip(read.subscripts, access.subscripts, strict=True):
        used = [i for i in own if i in indices_in(mine)]
        match used, [coefficient(mine, i) for i in used]:
            case [], _ if mine == wanted:
                pass
            case [index], [1 | -1 as sign] if ir.Index(index) not in found:
                rest = substitute(mine, {ir.Index(index): integer(0)})
                found[ir.Index(index)] = sub(wanted, rest) if sign == 1 else sub(rest, wanted)
            case _:
                return None
    return found if len(found) == len(own) else None
