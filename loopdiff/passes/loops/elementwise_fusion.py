"""Fusion of neighbouring loops over elements, so that what one hands to the next stays in registers.

    for i: t[i] = 2.0 * x[i]                for i:
    for i: y[i] = t[i] * t[i]    becomes        t[i] = 2.0 * x[i]
                                                y[i] = t[i] * t[i]

What is between them goes ahead of both or behind them. Loops that add to the same rows are fused as well, as those over
the corners of a cell, each with a weight of its own.

The iterations of each are independent but for sums, and what one loop writes the other meets in the same iteration, so
that no dependence is carried from one iteration to another (Kennedy and McKinley, "Maximizing loop parallelism and
improving data locality via loop fusion and distribution", LCPC 1993). Sums keep their order; a loop with sums that have
to is no vector, and none joins it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from loopdiff.analysis.strides import stride_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.renaming import body_at
from loopdiff.ir.walk import (
    accesses,
    are_independent,
    has_values,
    map_blocks,
    nodes_in,
    subexprs,
    touched_arrays,
    written_access,
)
from loopdiff.model import tuning
from loopdiff.passes.loops.fusion import is_smooth, may_go_ahead


def fuse_elements(ls: ir.LoopSet, *, is_strict: bool = False) -> ir.LoopSet:
    """`ls` with neighbouring loops over the same elements fused where one hands elements to the next, or both add to
    them. `is_strict`: sums keep their order in generated code too.
    """

    def block(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        waiting: Waiting | None = None
        for stmt in body:
            stmt = map_blocks(block, stmt)
            found = elements_of(stmt, ls)
            if waiting is not None and found is None and waiting.takes(stmt, ls):
                continue
            together = None if waiting is None or found is None else waiting.joined(found, ls, is_strict)
            if together is not None and waiting is not None:
                out += waiting.ahead
                waiting = Waiting(together, behind=waiting.behind, since=[*waiting.behind])
                continue
            out += [] if waiting is None else waiting.apart
            out += [stmt] if found is None else []
            waiting = None if found is None else Waiting(found)
        return tuple(out if waiting is None else [*out, *waiting.apart])

    body = block(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


@immutable
class Elements:
    """A loop with independent iterations: the arrays that it writes, those of `sums` in one place, and the names of all
    others that it reads. `added` are those to whose elements it adds."""

    loop: ir.Loop
    written: frozenset[str]
    added: frozenset[str]
    sums: frozenset[str]
    read: frozenset[str]

    @property
    def touched(self) -> frozenset[str]:
        return self.read | self.written

    def lets_ahead(self, stmt: ir.Stmt, ls: ir.LoopSet) -> bool:
        """Whether `stmt`, which begins something or names a value, may run before the loop."""
        if isinstance(stmt, ir.Let):
            return not touched_arrays((stmt,)) & self.written
        return may_go_ahead(stmt, (self.loop,), ls)


@dataclass(slots=True)
class Waiting:
    """A loop that another may join, and the statements `since`: then some run `ahead` of both, others `behind` them."""

    elements: Elements
    ahead: list[ir.Stmt] = field(default_factory=list)
    behind: list[ir.Stmt] = field(default_factory=list)
    since: list[ir.Stmt] = field(default_factory=list)

    @property
    def apart(self) -> list[ir.Stmt]:
        return [self.elements.loop, *self.since]

    def takes(self, stmt: ir.Stmt, ls: ir.LoopSet) -> bool:
        """Find `stmt` a place ahead or behind, if it has one."""
        if self.elements.lets_ahead(stmt, ls) and are_independent((stmt,), tuple(self.behind)):
            self.ahead.append(stmt)
        elif isinstance(stmt, ir.Let | ir.Assign | ir.Accumulate):
            self.behind.append(stmt)
        else:
            return False
        self.since.append(stmt)
        return True

    def joined(self, found: Elements, ls: ir.LoopSet, is_strict: bool) -> Elements | None:
        """The loop with another one, if that may run before what is behind."""
        return (
            fused(self.elements, found, ls, is_strict) if are_independent((found.loop,), tuple(self.behind)) else None
        )


def elements_of(stmt: ir.Stmt, ls: ir.LoopSet) -> Elements | None:
    """`stmt` as a loop whose iterations are independent but for sums; None if it cannot be seen to be one."""
    if not isinstance(stmt, ir.Loop) or not is_constant(stmt.step, 1) or has_values(stmt.lower, stmt.upper):
        return None
    if not all(isinstance(s, ir.Let | ir.Assign | ir.Accumulate) for s in stmt.body) or not is_smooth(stmt, ls):
        return None
    targets = [(s, access) for s in stmt.body if (access := written_access(s)) is not None]
    moving = {a.array for _, a in targets if stride_of(a, stmt.index, frozenset(), ls) == "unit"}
    sums = [a.array for s, a in targets if isinstance(s, ir.Accumulate) and a.array not in moving]
    if len(sums) + len([a for _, a in targets if a.array in moving]) < len(targets):
        return None  # the last iteration says what is left in it
    touches: dict[str, list[ir.Access]] = {}
    for access in (a for s in stmt.body for a in accesses(s)):
        touches.setdefault(access.array, []).append(access)
    written = frozenset(a.array for _, a in targets)
    if any(len(touches[name]) > 1 for name in sums):
        return None
    if any(not is_column(touches[name], stmt.index, ls) for name in written.difference(sums)):
        return None
    added = written.difference(sums, (a.array for s, a in targets if not isinstance(s, ir.Accumulate)))
    return Elements(stmt, written, added, frozenset(sums), frozenset(touches) - written)


def is_column(found: Sequence[ir.Access], index: str, ls: ir.LoopSet) -> bool:
    """Whether no two iterations over `index` meet in an element of an array, whichever rows they are in: all accesses
    move along one axis, in the same way."""
    moved = {tuple(s if ir.Index(index) in subexprs(s) else None for s in access.subscripts) for access in found}
    return len(moved) == 1 and all(stride_of(a, index, frozenset(), ls) == "unit" for a in found)


def fused(first: Elements, second: Elements, ls: ir.LoopSet, is_strict: bool) -> Elements | None:
    """Both as one loop; None where dependences forbid it, or nothing is gained."""
    a, b = first.loop, second.loop
    if is_strict and bool(first.sums) != bool(second.sums):
        return None
    if (a.lower, a.upper) != (b.lower, b.upper) or len(first.touched | second.touched) > tuning.FUSION_STREAMS:
        return None
    is_gain = first.written & second.read - first.sums or first.added & second.added
    if not is_gain:
        return None
    both = replace(a, body=(*a.body, *body_at(b, ir.Index(a.index))))
    if sum(1 for _ in nodes_in(both.body)) > tuning.ELEMENTWISE_NODES:
        return None
    return elements_of(both, ls)
