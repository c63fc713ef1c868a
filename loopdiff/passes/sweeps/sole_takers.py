"""Recognition of loops in which one iteration moves an adjoint on, and all others contribute nothing.

    for k in ...:
        s_adj = 0.0
        if is_new_best[k]:
            s_adj, best_adj = best_adj, 0.0
        for a in ...: x_adj[k, a] += s_adj * d

What was overwritten has no adjoint before that: only the last iteration that `is_new_best` adds anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from loopdiff.analysis.privatization import is_zero
from loopdiff.ir import nodes as ir
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import accesses, children, statements, written_access
from loopdiff.passes.sweeps.zero_adjoints import additions
from loopdiff.passes.sweeps.zero_implication import vanishes


def sole_taker(loop: ir.Loop, ls: ir.LoopSet) -> ir.If | None:
    """The choice by which an iteration of `loop` takes an adjoint, if nothing happens in the others."""
    for taken in all_taken(loop.body, frozenset(cell_types(ls))):
        choice = loop.body[taken.number]
        if isinstance(choice, ir.If) and taken.is_all_of(loop.body, ls):
            return choice
    return None


@dataclass(frozen=True, slots=True)
class Taken:
    """Statement `number` of a loop's body moves what the cell `out_of` holds `into` another, in one iteration only."""

    number: int
    into: ir.Access
    out_of: ir.Access

    def is_all_of(self, body: tuple[ir.Stmt, ...], ls: ir.LoopSet) -> bool:
        """Whether an iteration that does not take it does nothing."""
        before, choice, after = body[: self.number], body[self.number], body[self.number + 1 :]
        own = [s for s in (*before, *children(choice)) if not isinstance(s, ir.Let)]
        is_only_taking = all(isinstance(s, ir.Assign) and s.target in (self.into, self.out_of) for s in own)
        is_rest_idle = bool(after) and all(idles_at(s, self.into.array) for s in after)
        return is_only_taking and is_rest_idle and uses(self.into, ls.body) == uses(self.into, body)


def uses(cell: ir.Access, body: tuple[ir.Stmt, ...]) -> int:
    """How many statements have to do with `cell`."""
    return sum(cell in accesses(s.stmt) for s in statements(body))


def all_taken(body: tuple[ir.Stmt, ...], cells: frozenset[str]) -> Iterator[Taken]:
    """What choices in a loop's `body` take out of cells."""
    return (taken for number in range(len(body)) for taken in taken_in(body, number, cells))


def taken_in(body: tuple[ir.Stmt, ...], number: int, cells: frozenset[str]) -> Iterator[Taken]:
    """What statement `number` of a loop's `body`, a choice, takes out of a cell in one iteration of the loop.

    The cell is written nowhere else in the loop, and what it goes into is zero else.
    """
    choice = body[number]
    writes = Counter(t.array for s in statements(body) if (t := written_access(s.stmt)) is not None)
    starts = [s.target for s in body[:number] if isinstance(s, ir.Assign) and is_zero(s.value)]
    held: dict[str, ir.Access] = {}
    cleared: list[ir.Access] = []
    for stmt in choice.then if isinstance(choice, ir.If) and not choice.orelse else ():
        match stmt:
            case ir.Let(name=name, value=ir.Load(access=ir.Access(subscripts=()) as cell)) if cell.array in cells:
                held[name] = cell
            case ir.Assign(target=ir.Access(subscripts=()) as cell, value=value) if is_zero(value):
                cleared.append(cell)
            case ir.Assign(target=ir.Access(subscripts=()) as cell, value=ir.Var(name=name)) if cell.array in cells:
                is_taken = held.get(name) in cleared and writes[held[name].array] == 1
                if is_taken and cell in starts and writes[cell.array] == 2:
                    yield Taken(number, cell, held[name])
            case _:
                pass


def idles_at(loop: ir.Stmt, cell: str) -> bool:
    """Whether `loop` is one, and adds nothing where `cell` is zero."""
    if not isinstance(loop, ir.Loop):
        return False
    zeros = {cell}
    for site in statements(loop.body):
        if isinstance(site.stmt, ir.Let) and vanishes(site.stmt.value, zeros):
            zeros.add(site.stmt.name)
    added = additions(loop)
    return bool(added) and all(a.target.array != cell and vanishes(a.value, zeros) for a in added)
