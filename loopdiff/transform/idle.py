"""Loops of the reverse sweep that do nothing where an adjoint is zero are left out there.

    ties = 1.0 if x0 == top else 0.0             ties = 1.0 if x0 == top else 0.0
    for k in range(i, j):                        if bar != 0.0:
        if x[k] == top: ties += 1.0                  for k in range(i, j):
    share = bar / ties if bar != 0.0 else 0.0  becomes   if x[k] == top: ties += 1.0
    for k in range(i, j):                        share = bar / ties if bar != 0.0 else 0.0
        if x[k] == top: x_adj[k] += share        if share != 0.0:
                                                     for k in range(i, j):
                                                         if x[k] == top: x_adj[k] += share

Of the entries of a table of maxima only those on the way to the result have an adjoint. Only loops whose ranges differ
between the iterations of the loop around them: that one cannot become a vector anyway, which a condition would prevent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from loopdiff.ir.build import compare, zero
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Apply,
    Assign,
    Const,
    Exit,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Select,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import accesses, children, expressions, operands, statements, stmt_exprs, subexprs, written_access
from loopdiff.transform.normalize import cell_types
from loopdiff.transform.privates import is_zero


def leave_out_idle(ls: LoopSet) -> LoopSet:
    """`ls` with loops under the condition that what they add is not zero, or is asked for."""
    if not any(varies_inside(s.stmt) for s in statements(ls.body)):
        return ls
    idler = Idler(ls, type_env(ls), frozenset(cell_types(ls)))
    return replace(ls, body=tuple(idler.visited(s) for s in ls.body))


def varies_inside(stmt: Stmt) -> bool:
    return isinstance(stmt, Loop) and any(isinstance(s, Loop) and has_range_of(s, stmt) for s in stmt.body)


def has_range_of(loop: Loop, around: Loop) -> bool:
    """Whether the range of `loop` depends on the iteration of the loop `around` it."""
    return any(e == Index(around.index) for b in (loop.lower, loop.upper) for e in subexprs(b))


@dataclass(frozen=True, slots=True)
class Idler:
    ls: LoopSet
    types: TypeEnv
    cells: frozenset[str]

    def visited(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Loop(body=body):
                return replace(stmt, body=tuple(self.inside(s, k, stmt) for k, s in enumerate(body)))
            case If(then=then, orelse=orelse):
                then, orelse = (tuple(map(self.visited, branch)) for branch in (then, orelse))
                return replace(stmt, then=then, orelse=orelse)
            case _:
                return stmt

    def inside(self, stmt: Stmt, number: int, around: Loop) -> Stmt:
        """Statement `number` of the body of `around`, under the condition that it does something."""
        if not isinstance(stmt, Loop) or not has_range_of(stmt, around):
            return self.visited(stmt)
        cond = self.adds_something(stmt) or self.is_asked_for(stmt, around.body[:number], around.body[number + 1 :])
        return self.visited(stmt) if cond is None else If(cond, (stmt,), loc=stmt.loc)

    def adds_something(self, loop: Loop) -> Expr | None:
        """The condition that `loop` adds anything, if all that it adds is one value from outside."""
        added = {a.value for a in additions(loop)}
        if len(added) != 1:
            return None
        (value,) = added
        inside = {s.stmt.name for s in statements((loop,)) if isinstance(s.stmt, Let)}
        kind = type_of(value, self.types)
        is_outside = isinstance(value, Var) and value.name not in inside and kind.is_float
        return compare(Op.NE, value, zero(kind)) if is_outside else None

    def is_asked_for(self, loop: Loop, before: tuple[Stmt, ...], after: tuple[Stmt, ...]) -> Expr | None:
        """The condition under which alone the cell that `loop` adds to is read, if it is known ahead of the loop.

        The cell has a new value in each iteration of the loop around, which has the statements `before` and `after`.
        """
        targets = {a.target for a in additions(loop)}
        if len(targets) != 1:
            return None
        (target,) = targets
        is_new = target.array in self.cells and any(isinstance(s, Assign) and s.target == target for s in before)
        exprs = [x for s in statements(after) for x in stmt_exprs(s.stmt)]
        found = [c for x in exprs for c in conditions_of(target.array, x, None)]
        reads = sum(1 for x in expressions(self.ls) for _ in conditions_of(target.array, x, None))
        later = {s.stmt.name for s in statements((loop, *after)) if isinstance(s.stmt, Let)}
        match list(dict.fromkeys(found)):
            case [Apply(op=Op.NE, args=(Var(name=name), Const())) as cond] if name not in later:
                return cond if is_new and reads == len(found) else None
            case _:
                return None


def additions(loop: Loop) -> list[Accumulate]:
    """All that the loop does, if it only adds; else nothing."""
    inside = [s.stmt for s in statements(loop.body)]
    if not all(isinstance(s, Loop | If | Let) or (isinstance(s, Accumulate) and s.op == "add") for s in inside):
        return []
    return [s for s in inside if isinstance(s, Accumulate)]


def conditions_of(cell: str, expr: Expr, under: Expr | None) -> Iterator[Expr | None]:
    """The innermost condition around each read of `cell` in `expr`."""
    match expr:
        case Load(access=access) if access.array == cell:
            yield under
        case Select(cond=cond, then=then, orelse=orelse):
            yield from conditions_of(cell, cond, under)
            yield from conditions_of(cell, then, cond)
            yield from conditions_of(cell, orelse, None)
        case _:
            for part in operands(expr):
                yield from conditions_of(cell, part, under)


# -- adjoints that one iteration takes -----------------------------------------------------------------------
def leave_out_others(ls: LoopSet) -> LoopSet:
    """`ls` with loops left out in iterations that have no part in an adjoint which one of them takes for itself.

        for k in ...:                                 for k in ...:
            s_adj = 0.0                                   s_adj = 0.0
            if is_new_best[k]:                            if is_new_best[k]:
                s_adj, best_adj = best_adj, 0.0  becomes      s_adj, best_adj = best_adj, 0.0
            for a in ...: x_adj[k, a] += s_adj * d        if s_adj != 0.0:
                                                              for a in ...: x_adj[k, a] += s_adj * d
                                                          if best_adj == 0.0: break

    What was overwritten has no adjoint before that; blocks of rows would multiply a matrix with one number in each row.
    """
    body = tuple(without_others(s, ls) for s in ls.body)
    return ls if body == ls.body else replace(ls, body=body)


def without_others(stmt: Stmt, ls: LoopSet) -> Stmt:
    match stmt:
        case Loop(body=body):
            cells = frozenset(cell_types(ls))
            taken = next((t for k in range(len(body)) for t in taken_in(body, k, cells)), None)
            inner = tuple(without_others(s, ls) for s in body)
            return replace(stmt, body=inner if taken is None else taken.applied(inner, ls))
        case If(then=then, orelse=orelse):
            then, orelse = (tuple(without_others(s, ls) for s in branch) for branch in (then, orelse))
            return replace(stmt, then=then, orelse=orelse)
        case _:
            return stmt


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
    lets: set[str] = set()
    for site in statements(loop.body):
        if isinstance(site.stmt, Let) and vanishes(site.stmt.value, cell, lets):
            lets.add(site.stmt.name)
    added = additions(loop)
    return bool(added) and all(a.target.array != cell and vanishes(a.value, cell, lets) for a in added)


def vanishes(expr: Expr, cell: str, lets: set[str]) -> bool:
    """Whether `expr`, linear in it, is zero where `cell` and the `lets` are."""
    match expr:
        case Load(access=Access(array=array, subscripts=())):
            return array == cell
        case Var(name=name):
            return name in lets
        case Apply(op=Op.MUL, args=args):
            return any(vanishes(a, cell, lets) for a in args)
        case Apply(op=Op.DIV | Op.STRONG_MUL, args=(value, _)):
            return vanishes(value, cell, lets)
        case Apply(op=Op.ADD | Op.SUB | Op.NEG, args=args):
            return all(vanishes(a, cell, lets) for a in args)
        case _:
            return False
