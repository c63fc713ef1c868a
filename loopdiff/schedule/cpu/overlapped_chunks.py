"""Overlapped chunks for threads: a chunk of a fused loop begins early and recomputes rows of the one before.

    for i in range(N):                               for each chunk [first, last), with a `b` of its own:
        for j: b[i, j] = a[i, j] + a[i + 1, j]           for j: b[first - 1, j] = ...
        if i >= 1:                         becomes       for i in range(first, last):
            for j: y[i, j] = b[i, j] - b[i - 1, j]           for j: b[i, j] = ...
                                                             if i >= 1: for j: y[i, j] = ...

Rows that nests hand on to each other in arrays of the function's own are computed twice where chunks meet (overlapped
tiling: Krishnamoorthy et al., "Effective automatic parallelization of stencil computations", PLDI 2007), so that each
chunk keeps few of them at a time, as one thread does.
"""

from __future__ import annotations

from loopdiff.analysis.exposure import depth_of, is_exposed
from loopdiff.analysis.legality import dependence_distance, within
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.privatization import Names, conflicting
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.walk import Path, all_statements, read_arrays, written_arrays
from loopdiff.model import tuning


def find_early(model: Model, dead: Names, loop: ir.Loop, path: Path, own: Names) -> tuple[Names, int] | None:
    """Arrays that each chunk of the loop at `path` has for itself, and how many iterations it begins earlier to find in
    them what it needs; None if that does not make chunks independent. Iterations have the cells `own` for themselves,
    and nobody looks at the contents of the `dead` arrays before or after the function.
    """
    if not is_constant(loop.step, 1):
        return None
    arrays = conflicting(model, dead, path, own)
    if arrays is None or is_filled(model, arrays):
        return None
    shared = depth_of(model, path) - 1
    reads = [e for e in within(model, path) if not e.is_write and e.access.array in arrays]
    if any(is_exposed(model, e, shared) for e in reads) or not may_repeat(loop, arrays | own):
        return None
    count = beginning(model, path, arrays, own)
    return None if count is None else (arrays, count)


def may_repeat(loop: ir.Loop, arrays: Names) -> bool:
    """Whether what the loop writes to `arrays` can be computed again, from nothing else that the loop writes."""
    return not read_arrays(only_into((loop,), arrays)) & (written_arrays((loop,)) - arrays)


def is_filled(model: Model, arrays: Names) -> bool:
    """Whether any of the `arrays` begins with a value."""
    fills = (s for s in all_statements(model.ls.body) if isinstance(s, ir.Allocate) and s.fill is not None)
    return any(s.array in arrays for s in fills)


def beginning(model: Model, path: Path, arrays: Names, own: Names) -> int | None:
    """How many iterations before its own first one a chunk computes the `arrays`, so that it finds in them all that it
    needs, directly or for what it computes there; None if there is no telling.
    """
    edges: list[tuple[Path, Path, int]] = []
    events = [e for e in within(model, path) if e.access.array in arrays | own]
    for write in (e for e in events if e.is_write):
        for read in (e for e in events if not e.is_write and e.access.array == write.access.array):
            if read.combines is not None:  # what is added to is needed by what reads it in the end
                continue
            length = 0 if write.access.array in own else lag(model, write, read, path)
            if length is None:
                return None
            if length >= 0:
                edges.append((innermost(model, write.path), innermost(model, read.path), length))
    places = {place for edge in edges for place in edge[:2]}
    if not all(is_block(model, place) for place in places):
        return None
    needed = dict.fromkeys(places, 0)
    for _ in range(len(needed) + 1):
        before = dict(needed)
        for write, read, length in edges:
            needed[write] = max(needed[write], needed[read] + length)
        if needed == before:
            longest = max(needed.values(), default=0)
            return longest if longest <= tuning.OVERLAP else None
    return None


def lag(model: Model, write: Event, read: Event, path: Path) -> int | None:
    """How many iterations of the loop at `path` after `write` it may be that `read` comes to the same element."""
    least = 0 if write.path < read.path else 1
    return dependence_distance(model, write, read, depth_of(model, path) - 1, least)


def innermost(model: Model, path: Path) -> Path:
    """The path of the innermost loop around a statement."""
    return max(path[:k] for k in range(1, len(path)) if isinstance(model.sites[path[:k]].stmt, ir.Loop))


def is_block(model: Model, path: Path) -> bool:
    """Whether the loop at `path` has none inside, so that all that it computes on the way it needs itself."""
    return not any(isinstance(s, ir.Loop) for s in all_statements(model.loop(path).body))


def only_into(body: tuple[ir.Stmt, ...], arrays: Names) -> tuple[ir.Stmt, ...]:
    """Of `body` what writes to `arrays`."""
    found: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Loop(body=inside):
                inner = only_into(inside, arrays)
                if not all(isinstance(s, ir.Let) for s in inner):
                    found.append(replace(stmt, body=inner))
            case ir.If(then=then, orelse=orelse):
                yes, no = only_into(then, arrays), only_into(orelse, arrays)
                if not all(isinstance(s, ir.Let) for s in (*yes, *no)):
                    found.append(replace(stmt, then=yes, orelse=no))
            case ir.Let():
                found.append(stmt)
            case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in arrays:
                found.append(stmt)
            case _:
                pass
    return tuple(found)
