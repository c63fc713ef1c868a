"""Merging of updates: what one iteration adds to an element in several places is added once.

    for i:                                     for i:
        x_adj[i, 0] += a                           x_adj[i, n - 1] += b
        x_adj[i, n - 1] += b                       x_adj[i, 0] += a + c
        x_adj[i, 0] += c         becomes

A reverse sweep adds to an adjoint for each read of the primal. Whether two places are one element need not be known,
for updates may be in any order; only reads and other writes of the array may not be between them.
"""

from __future__ import annotations

from typing import TypeGuard

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import loads_in, map_blocks, subexprs, written_arrays

Block = tuple[ir.Stmt, ...]


def merge_updates(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with updates of one place, in one block, as one update where the last of them is."""
    merger: Merger | None = None

    def block(body: Block) -> Block:
        nonlocal merger
        inner = tuple(map_blocks(block, s) for s in body)
        if not has_repeats(inner):
            return inner
        merger = merger or Merger(type_env(ls), supply(ls))
        return merger.merged(inner)

    body = block(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


def has_repeats(body: Block) -> bool:
    targets = [s.target for s in body if is_update(s)]
    return len(set(targets)) < len(targets)


def is_update(stmt: ir.Stmt) -> TypeGuard[ir.Accumulate]:
    """Whether `stmt` adds to a place that nothing in memory decides."""
    if not isinstance(stmt, ir.Accumulate) or stmt.op != "add":
        return False
    return not any(isinstance(e, ir.Load) for s in stmt.target.subscripts for e in subexprs(s))


@immutable
class Merger:
    types: TypeEnv
    names: NameSupply

    def merged(self, body: Block) -> Block:
        out: list[ir.Stmt | None] = []
        waiting: dict[ir.Access, tuple[int, ir.Expr]] = {}  # updates by place: where they stand, and what they add
        for stmt in body:
            is_own = is_update(stmt) and self.is_alike(stmt)
            lost = {e.access.array for e in loads_in((stmt,))} | (frozenset() if is_own else written_arrays((stmt,)))
            waiting = {place: found for place, found in waiting.items() if place.array not in lost}
            if is_update(stmt) and is_own:
                if stmt.target in waiting:
                    position, value = waiting[stmt.target]
                    out[position] = held = self.held(value, stmt)
                    value = value if held is None else ir.Var(held.name)
                    stmt = replace(stmt, value=add(value, stmt.value))
                waiting[stmt.target] = len(out), stmt.value
            out.append(stmt)
        return tuple(s for s in out if s is not None)

    def held(self, value: ir.Expr, stmt: ir.Accumulate) -> ir.Let | None:
        """A Let of `value` where it was added; None where it is a name, or a number, already."""
        if isinstance(value, ir.Var | ir.Const | ir.Param):
            return None
        return ir.Let(self.names.fresh(f"{stmt.target.array}_part"), value, loc=stmt.loc)

    def is_alike(self, stmt: ir.Accumulate) -> bool:
        """Whether it adds numbers of the type of the elements."""
        declared = self.types.arrays[stmt.target.array]
        return type_of(stmt.value, self.types) == declared.element
