"""Adjoints that one iteration of a loop takes for itself: the others have no part in them.

    for k in ...:                                 for k in ...:
        s_adj = 0.0                                   s_adj = 0.0
        if is_new_best[k]:                            if is_new_best[k]:
            s_adj, best_adj = best_adj, 0.0  becomes      s_adj, best_adj = best_adj, 0.0
        for a in ...: x_adj[k, a] += s_adj * d        if s_adj != 0.0:
                                                          for a in ...: x_adj[k, a] += s_adj * d
                                                      if best_adj == 0.0: break

What was overwritten has no adjoint before that; blocks of rows would multiply a matrix with one number in each row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from loopdiff.ir.build import compare, zero
from loopdiff.ir.nodes import Access, Assign, Exit, If, Let, Load, Loop, LoopSet, Stmt, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import accesses, children, statements, written_access
from loopdiff.transform.idle import additions
from loopdiff.transform.normalize import cell_types
from loopdiff.transform.privates import is_zero
from loopdiff.transform.vanishing import vanishes


def leave_out_others(ls: LoopSet) -> LoopSet:
    """`ls` with loops left out in iterations that have no part in an adjoint which one of them takes for itself."""
    body = tuple(without_others(s, ls) for s in ls.body)
    return ls if body == ls.body else replace(ls, body=body)


def without_others(stmt: Stmt, ls: LoopSet) -> Stmt:
    match stmt:
        case Loop(body=body):
            cells = frozenset(cell_types(ls))
            taken = next(all_taken(body, cells), None)
            inner = tuple(without_others(s, ls) for s in body)
            return replace(stmt, body=inner if taken is None else taken.applied(inner, ls))
        case If(then=then, orelse=orelse):
            then, orelse = (tuple(without_others(s, ls) for s in branch) for branch in (then, orelse))
            return replace(stmt, then=then, orelse=orelse)
        case _:
            return stmt


def ends_with_taken(loop: Loop, ls: LoopSet) -> If | None:
    """The choice by which an iteration of `loop` takes an adjoint, if nothing happens in the others."""
    for taken in all_taken(loop.body, frozenset(cell_types(ls))):
        choice = loop.body[taken.number]
        if isinstance(choice, If) and isinstance(taken.applied(loop.body, ls)[-1], Exit):
            return choice
    return None


@dataclass(frozen=True, slots=True)
class Taken:
    """Statement `number` of a loop's body moves what the cell `out_of` holds `into` another, in one iteration only."""

    number: int
    into: Access
    out_of: Access

    def applied(self, body: tuple[Stmt, ...], ls: LoopSet) -> tuple[Stmt, ...]:
        """`body` with loops that do nothing left out, and an end to it all if nothing else is in it."""
        before, choice, after = body[: self.number], body[self.number], body[self.number + 1 :]
        nothing = zero(cell_types(ls)[self.into.array])
        cond = compare(Op.NE, Load(self.into), nothing)
        left = tuple(If(cond, (s,), loc=s.loc) if idles_at(s, self.into.array) else s for s in after)
        if left == after:
            return body
        own = [s for s in (*before, *children(choice)) if not isinstance(s, Let)]
        is_all = all(isinstance(s, Assign) and s.target in (self.into, self.out_of) for s in own)
        has_left_all = all(a != b for a, b in zip(left, after, strict=True))
        is_inside = uses(self.into, ls.body) == uses(self.into, body)
        end = (Exit(compare(Op.EQ, Load(self.out_of), nothing)),)
        return (*before, choice, *left, *(end if is_all and has_left_all and is_inside else ()))


def uses(cell: Access, body: tuple[Stmt, ...]) -> int:
    """How many statements have to do with `cell`."""
    return sum(cell in accesses(s.stmt) for s in statements(body))


def all_taken(body: tuple[Stmt, ...], cells: frozenset[str]) -> Iterator[Taken]:
    """What choices in a loop's `body` take out of cells."""
    return (taken for number in range(len(body)) for taken in taken_in(body, number, cells))


def taken_in(body: tuple[Stmt, ...], number: int, cells: frozenset[str]) -> Iterator[Taken]:
    """What statement `number` of a loop's `body`, a choice, takes out of a cell in one iteration of the loop.

    The cell is written nowhere else in the loop, and what it goes into is zero else.
    """
    choice = body[number]
    writes = Counter(t.array for s in statements(body) if (t := written_access(s.stmt)) is not None)
    starts = [s.target for s in body[:number] if isinstance(s, Assign) and is_zero(s.value)]
    held: dict[str, Access] = {}
    cleared: list[Access] = []
    for stmt in choice.then if isinstance(choice, If) and not choice.orelse else ():
        match stmt:
            case Let(name=name, value=Load(access=Access(subscripts=()) as cell)) if cell.array in cells:
                held[name] = cell
            case Assign(target=Access(subscripts=()) as cell, value=value) if is_zero(value):
                cleared.append(cell)
            case Assign(target=Access(subscripts=()) as cell, value=Var(name=name)) if cell.array in cells:
                is_taken = held.get(name) in cleared and writes[held[name].array] == 1
                if is_taken and cell in starts and writes[cell.array] == 2:
                    yield Taken(number, cell, held[name])
            case _:
                pass


def idles_at(loop: Stmt, cell: str) -> bool:
    """Whether `loop` is one, and adds nothing where `cell` is zero."""
    if not isinstance(loop, Loop):
        return False
    zeros = {cell}
    for site in statements(loop.body):
        if isinstance(site.stmt, Let) and vanishes(site.stmt.value, zeros):
            zeros.add(site.stmt.name)
    added = additions(loop)
    return bool(added) and all(a.target.array != cell and vanishes(a.value, zeros) for a in added)
