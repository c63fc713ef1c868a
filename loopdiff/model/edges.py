"""Edges: loops along rows or columns of arrays that have others, as those of boundary conditions.

    for i in range(1, n - 1):
        p[i, 0] = p[i, 1]

A long program has dozens of them beside a few nests that take all the time. What makes them faster makes it longer.
"""

from __future__ import annotations

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import accesses, all_statements, indices_in, loops_of, statements
from loopdiff.model import tuning


def is_long(ls: ir.LoopSet) -> bool:
    """Whether `ls` has so many innermost loops that each counts when it is compiled."""
    loops = (s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Loop))
    return sum(not loops_of(p) for p in loops) >= tuning.LONG_PROGRAM


def is_edge(loop: ir.Loop) -> bool:
    """Whether `loop`, with no loop inside of it, goes along rows or columns of arrays."""
    places = [a.subscripts for s in all_statements(loop.body) for a in accesses(s) if len(a.subscripts) > 1]
    return bool(places) and not loops_of(loop) and all(any(not indices_in(e) for e in place) for place in places)
