"""Postponed rows for threads: statements that need rows of another chunk run after a barrier.

    for i in range(N):                         for each chunk [first, last):
        for j: b[i, j] = a[i, j] + a[i + 1, j]     for i in range(first, last):
        if i >= 1:                     becomes         for j: b[i, j] = ...
            for j: a[i - 1, j] = b[i, j] - b[i - 1, j]     if i >= first + 1: for j: a[i - 1, j] = ...
                                               for each chunk but the first one:
                                                   for j: a[first - 1, j] = b[first, j] - b[first - 1, j]

A statement is late in the first iterations of a chunk, as many as dependences are long that end in it: those may begin
in the chunk before, or in a statement that is late itself (split tiling: Krishnamoorthy et al., "Effective automatic
parallelization of stencil computations", PLDI 2007). So none is late where a statement depends on itself, whatever the
chain in between. Sums into one element only must not run side by side: what is late may be added last.
"""

from __future__ import annotations

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import commute, conflicting_pairs, dependence_distance, within
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.walk import Path


@immutable
class Length:
    """From the statement `first` of a loop to `second`, how many iterations; `is_sum`: both add to one element."""

    first: int
    second: int
    iterations: int
    is_sum: bool


def find_late(
    model: Model, loop: ir.Loop, path: Path, own: frozenset[str], *, may_reassociate: bool
) -> tuple[tuple[int, ...], int] | None:  # fmt: skip
    """For each statement of the loop at `path` in how many first iterations of a chunk it is late, and how long chunks
    are at least; None if that does not make chunks independent. Iterations have the arrays `own` for themselves.
    """
    if (
        not is_constant(loop.step, 1)
        or len(loop.body) < 2
        or not all(isinstance(s, ir.Loop | ir.If) for s in loop.body)
    ):
        return None
    found = lengths(model, path, own, may_reassociate)
    if found is None:
        return None
    late = [0] * len(loop.body)
    for _ in range(len(late) + 1):
        before = tuple(late)
        for n in found:
            late[n.second] = max(late[n.second], n.iterations + (0 if n.is_sum else late[n.first]))
        if before == tuple(late):
            return before, max((late[n.first] + n.iterations for n in found), default=1)
    return None


def lengths(model: Model, path: Path, own: frozenset[str], may_reassociate: bool) -> list[Length] | None:
    """Of all dependences between statements of the loop at `path`; None if there are some without a bound."""
    found: list[Length] = []
    shared, place = depth_of(model, path) - 1, len(path)
    for a, b in conflicting_pairs(within(model, path)):
        if a.access.array in own:
            if a.path[place] != b.path[place]:
                return None  # what is late would not find there what its own iteration left
            continue
        is_sum = may_reassociate and commute(a, b)
        for first, second in ((a, b), (b, a)) if a is not b else ((a, a),):
            one, other = first.path[place], second.path[place]
            least = 0 if one < other and not is_sum else 1
            length = dependence_distance(model, first, second, shared, least)
            if length is None or (one == other and length > 0 and not is_sum):
                return None
            if length >= 0:
                found.append(Length(one, other, length, is_sum))
    return found
