"""Fusion of neighbouring loops over elements, so that what one hands to the next stays in registers.

    for i: t[i] = 2.0 * x[i]                for i:
    for i: y[i] = t[i] * t[i]    becomes        t[i] = 2.0 * x[i]
                                                y[i] = t[i] * t[i]

The iterations of each are independent but for sums, and what one loop writes the other meets in the same iteration, so
that no dependence is carried from one iteration to another (Kennedy and McKinley, "Maximizing loop parallelism and
improving data locality via loop fusion and distribution", LCPC 1993). Sums keep their order; a loop with sums that have
to is no vector, and none joins it.
"""

from __future__ import annotations

from loopdiff.analysis.strides import stride_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.renaming import body_at
from loopdiff.ir.walk import accesses, has_values, map_blocks, nodes_in, written_access
from loopdiff.model import tuning
from loopdiff.passes.loops.fusion import is_smooth, may_go_ahead


def fuse_elements(ls: ir.LoopSet, *, is_strict: bool = False) -> ir.LoopSet:
    """`ls` with neighbouring loops over the same elements fused where one hands elements to the next. `is_strict`: sums
    keep their order in generated code too.
    """

    def block(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        waiting: Elements | None = None
        between: list[ir.Stmt] = []  # behind the loop that waits, or ahead of it once another joins it
        for stmt in body:
            stmt = map_blocks(block, stmt)
            found = elements_of(stmt, ls)
            together = None if waiting is None or found is None else fused(waiting, found, ls, is_strict)
            if together is not None:
                out += between
                waiting, between = together, []
            elif found is None and waiting is not None and may_go_ahead(stmt, (waiting.loop,), ls):
                between.append(stmt)
            else:
                out += [] if waiting is None else [waiting.loop, *between]
                out += [stmt] if found is None else []
                waiting, between = found, []
        return tuple(out if waiting is None else [*out, waiting.loop, *between])

    body = block(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


@immutable
class Elements:
    """A loop with independent iterations: the one access of each array that it writes (of a sum, its target), and the
    names of all others that it reads."""

    loop: ir.Loop
    written: dict[str, ir.Access]
    sums: frozenset[str]
    read: frozenset[str]

    @property
    def touched(self) -> frozenset[str]:
        return self.read | self.written.keys()


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
    written = {a.array: a for _, a in targets}
    for name, access in written.items():
        own = touches[name]
        if any(a.subscripts != access.subscripts for a in own) or (len(own) > 1 and name in sums):
            return None
    return Elements(stmt, written, frozenset(sums), frozenset(touches) - written.keys())


def fused(first: Elements, second: Elements, ls: ir.LoopSet, is_strict: bool) -> Elements | None:
    """Both as one loop; None where dependences forbid it, or nothing is gained."""
    a, b = first.loop, second.loop
    if is_strict and bool(first.sums) != bool(second.sums):
        return None
    if (a.lower, a.upper) != (b.lower, b.upper) or len(first.touched | second.touched) > tuning.FUSION_STREAMS:
        return None
    handed = first.written.keys() & second.read - first.sums
    if not handed:
        return None
    both = replace(a, body=(*a.body, *body_at(b, ir.Index(a.index))))
    if sum(1 for _ in nodes_in(both.body)) > tuning.ELEMENTWISE_NODES:
        return None
    return elements_of(both, ls)
