"""First writes: where an array is certainly zero, `+=` is `=`, and zeros that nothing reads need not be written.

    for i: z_adj[i] += y_adj[i]                  for i: z_adj[i] = y_adj[i]
    for i:                             becomes   for i:
        x_adj[i] += 2.0 * z_adj[i]                   x_adj[i] += 2.0 * z_adj[i]
        z_adj[i] = 0.0

Reverse sweeps are full of both: every adjoint starts at zero, and goes back to it where its array was overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from loopdiff.analysis.exposure import visible
from loopdiff.analysis.polyhedra import Model, build_model
from loopdiff.analysis.polyhedra_events import Event
from loopdiff.analysis.polyhedra_sets import orders
from loopdiff.ir.nodes import Accumulate, Allocate, Assign, If, Loop, LoopSet, Stmt
from loopdiff.ir.walk import Path, statements
from loopdiff.transform.privates import Names, is_zero

Rewrite = Callable[[Stmt, Path], Stmt | None]


def drop_zeros(ls: LoopSet, dead: Names) -> LoopSet:
    """`ls` with first writes into zeros as assignments, and without zeros that nothing reads.

    Nobody looks at the contents of the `dead` arrays before or after the function.
    """
    own = frozenset(a.name for a in ls.arrays if a.name in dead and a.type is not None and a.type.rank > 0)
    started = {s.stmt.array for s in statements(ls.body) if isinstance(s.stmt, Allocate) and is_zero(s.stmt.fill)} & own
    updated = {s.stmt.target.array for s in statements(ls.body) if is_sum(s.stmt) and isinstance(s.stmt, Accumulate)}
    if not started & updated:
        return ls
    first = first_sums(build_model(ls), started & updated)
    if not first:
        return ls
    ls = rewritten(ls, lambda stmt, path: assigned(stmt) if path in first else stmt)
    return drop_unread_zeros(ls, started)


def drop_unread_zeros(ls: LoopSet, arrays: Names | set[str]) -> LoopSet:
    """`ls` without writes of zeros into `arrays` that nothing in it reads."""
    unread = unread_zeros(build_model(ls), arrays)
    return rewritten(ls, lambda stmt, path: without_zero(stmt) if path in unread else stmt)


def first_sums(model: Model, arrays: Names | set[str]) -> set[Path]:
    """Sums into `arrays` that only ever find zeros."""
    return {
        read.path
        for array in arrays
        for read in model.touching(array, False)
        if read.combines == "add" and all(is_zero_write(model, w) for w in seen(model, read))
    }


def unread_zeros(model: Model, arrays: Names | set[str]) -> set[Path]:
    """Statements that write zeros into `arrays` which nothing in the function reads."""
    zeros = {w.path for a in arrays for w in model.touching(a, True) if is_zero_write(model, w)}
    reads = [r for a in arrays for r in model.touching(a, False) if r.path]
    return zeros - {w.path for r in reads for w in seen(model, r)}


def seen(model: Model, read: Event) -> list[Event]:
    """Writes whose values `read` may find."""

    def reaches(write: Event) -> bool:
        return any(not visible(model, write, read, order).is_empty() for order in orders(write, read))

    return [w for w in model.touching(read.access.array, True) if model.bounded(lambda w=w: reaches(w), True)]


def is_zero_write(model: Model, write: Event) -> bool:
    match model.sites[write.path].stmt:
        case Allocate(fill=fill):
            return is_zero(fill)
        case Assign(value=value):
            return is_zero(value)
        case _:
            return False


def is_sum(stmt: Stmt) -> bool:
    return isinstance(stmt, Accumulate) and stmt.op == "add" and bool(stmt.target.subscripts)


def assigned(stmt: Stmt) -> Stmt:
    assert isinstance(stmt, Accumulate)
    return Assign(stmt.target, stmt.value, loc=stmt.loc)


def without_zero(stmt: Stmt) -> Stmt | None:
    return replace(stmt, fill=None) if isinstance(stmt, Allocate) else None


def rewritten(ls: LoopSet, rewrite: Rewrite) -> LoopSet:
    """`ls` with every statement but loops and conditions rewritten or left out; what is empty then goes too."""

    def block(body: tuple[Stmt, ...], prefix: Path, offset: int = 0) -> tuple[Stmt, ...]:
        found = (statement(s, (*prefix, k)) for k, s in enumerate(body, start=offset))
        return tuple(s for s in found if s is not None)

    def statement(stmt: Stmt, path: Path) -> Stmt | None:
        match stmt:
            case Loop(body=body):
                inner = block(body, path)
                return replace(stmt, body=inner) if inner or not body else None
            case If(then=then, orelse=orelse):
                yes, no = block(then, path), block(orelse, path, len(then))
                return replace(stmt, then=yes, orelse=no) if yes or no or not (then or orelse) else None
            case _:
                return rewrite(stmt, path)

    return replace(ls, body=block(ls.body, ()))
