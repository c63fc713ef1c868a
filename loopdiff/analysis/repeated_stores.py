"""What the text of a loop says about its iterations: a look ahead of any dependence test.

    for t in range(n):                          for r in range(n):
        for i in range(1, m - 1):                   for i in range(m):
            u[i] = ...                                  u[r, i] = ...

All iterations on the left store to the same elements of `u`: they are independent only where each may have an array of
its own. Those on the right have their own elements, and need no other array.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from loopdiff.analysis.ownership import cell_owners, is_part_of, touches_of
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Site, accesses, all_statements, indices_in, lets_in, statements, subexprs, written_arrays


def conflicts(loop: ir.Loop, others: Collection[str]) -> bool:
    """Whether any two iterations of `loop` store to one element of an array that is none of the `others`."""
    return not all(array in others for array in stored_by_all(loop))


def stored_by_all(loop: ir.Loop) -> Iterator[str]:
    """Arrays that any two iterations of `loop` store to one element of, where they store anything."""
    lets = lets_in(loop.body)

    def is_same(exprs: tuple[ir.Expr, ...], moving: frozenset[str]) -> bool:
        """Whether expressions have the same values in all iterations, whatever inner indices are not `moving`."""
        nodes = [e for expr in exprs for e in subexprs(expr)]
        is_plain = not any(isinstance(e, ir.Load) or (isinstance(e, ir.Var) and e.name in lets) for e in nodes)
        return is_plain and not indices_in(*exprs) & moving

    for site in statements(loop.body):
        if not isinstance(site.stmt, ir.Assign) or not site.stmt.target.subscripts or site.is_conditional:
            continue
        moving = frozenset((loop.index,))
        for inner in site.loops:
            if not is_same((inner.lower, inner.upper, inner.step), moving):
                moving |= {inner.index}
        if is_same(site.stmt.target.subscripts, moving):
            yield site.stmt.target.array


def owners(ls: ir.LoopSet, dead: Collection[str]) -> Callable[[Site], bool]:
    """Whether the iterations of a loop of `ls` may have cells or `dead` arrays for themselves that they would share."""
    sites = list(statements(ls.body))
    cells, touches = cell_owners(ls), touches_of(s for s in sites if not isinstance(s.stmt, ir.Allocate))

    def may_own(site: Site) -> bool:
        assert isinstance(site.stmt, ir.Loop)
        inside = [s.path for s in sites if isinstance(s.stmt, ir.Loop) and s.path[: len(site.path)] == site.path]
        shared = may_be_shared(site.stmt).intersection(dead)
        return any(map(cells, inside)) or any(all(is_part_of(p, site.path) for p in touches[a]) for a in shared)

    return may_own


def may_be_shared(loop: ir.Loop) -> frozenset[str]:
    """The arrays that `loop` stores to, but for those of which each iteration touches elements of its own."""
    body = all_statements(loop.body)
    own, axes = ir.Index(loop.index), dict[str, set[int]]()
    for access in (a for s in body for a in accesses(s)):
        found = {axis for axis, subscript in enumerate(access.subscripts) if subscript == own}
        axes[access.array] = axes.get(access.array, found) & found
    begun = {s.array for s in body if isinstance(s, ir.Allocate)}
    return frozenset(array for array in written_arrays(loop.body) if array in begun or not axes.get(array))
