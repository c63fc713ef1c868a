"""Edges: loops along rows or columns of arrays that have others, as those of boundary conditions.

    for i in range(1, n - 1):
        p[i, 0] = p[i, 1]

A long program has dozens of them beside a few nests that take all the time. What makes them faster makes it longer.
"""

from __future__ import annotations

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, accesses, all_statements, indices_in, loops_of, statements
from loopdiff.model import tuning


def edges_of(ls: ir.LoopSet) -> frozenset[Path]:
    """The innermost loops that are left as edges: where `ls` is so long that each counts when it is compiled, those
    along rows or columns of arrays that are in fewer loops than the deepest."""
    if not is_long(ls):
        return frozenset()
    sites = ((s, s.stmt) for s in statements(ls.body))
    innermost = [(s, p.body) for s, p in sites if isinstance(p, ir.Loop) and not loops_of(p)]
    deepest = max(len(s.loops) for s, _ in innermost)
    return frozenset(s.path for s, body in innermost if len(s.loops) < deepest and leaves_axes_out(body))


def is_long(ls: ir.LoopSet) -> bool:
    """Whether `ls` has so many innermost loops that what is looked for in each takes longer than it saves."""
    return sum(isinstance(s, ir.Loop) and not loops_of(s) for s in all_statements(ls.body)) >= tuning.LONG_PROGRAM


def leaves_axes_out(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether all arrays with several axes that the `body` of a loop touches have one along which it does not go."""
    places = [a.subscripts for s in all_statements(body) for a in accesses(s) if len(a.subscripts) > 1]
    return bool(places) and all(any(not indices_in(e) for e in place) for place in places)
