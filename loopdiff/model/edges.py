"""Edges: loops along rows or columns of arrays that have others, as those of boundary conditions.

    for i in range(1, n - 1):
        p[i, 0] = p[i, 1]

A long program has dozens of them beside a few nests that take all the time. What makes them faster makes it longer.
"""

from __future__ import annotations

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import accesses, all_statements, indices_in, loops_of, statements
from loopdiff.model import tuning


def most_loops_of_edges(ls: ir.LoopSet) -> int:
    """How many loops an innermost loop of `ls`, itself included, may be in to be left as an edge: fewer than the
    deepest has. None where `ls` is not so long that each counts when it is compiled."""
    depths = [len(s.loops) + 1 for s in statements(ls.body) if isinstance(s.stmt, ir.Loop) and not loops_of(s.stmt)]
    return max(depths) - 1 if len(depths) >= tuning.LONG_PROGRAM else 0


def is_edge(loop: ir.Loop) -> bool:
    """Whether `loop`, with no loop inside of it, goes along rows or columns of arrays."""
    places = [a.subscripts for s in all_statements(loop.body) for a in accesses(s) if len(a.subscripts) > 1]
    return bool(places) and not loops_of(loop) and all(any(not indices_in(e) for e in place) for place in places)
