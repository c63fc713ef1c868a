"""Places that arithmetic on floating numbers decides are worked out once, ahead of the loop that uses them.

    for i in range(n):                          for i in range(n):
        b = int((r[i] - lo) / width)    becomes     places[i] = int((r[i] - lo) / width)
        res[b] += x[i]                          for i in range(n):
                                                    res[places[i]] += x[i]

Worked out again, as checks ahead of the loop would have to, they might come out differently: a compiler may round in
another way in another place. The first loop has no scattered writes, and often makes vectors; its numbers are checked
as those of any index array are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loopdiff.analysis.bounds import Unchecked
from loopdiff.ir.build import is_constant, natural, sub
from loopdiff.ir.nodes import (
    Access,
    ArrayDecl,
    Assign,
    Call,
    Exit,
    Expr,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.typing import TypeEnv, is_repeatable, type_env, type_of
from loopdiff.ir.walk import map_stmt_exprs, read_arrays, statements, stmt_exprs, subexprs, substitute, written_arrays
from loopdiff.transform.eliminate import eliminate_dead
from loopdiff.transform.inspection import Group, earliest, is_cell, is_fixed
from loopdiff.transform.normalize import supply
from loopdiff.transform.rename import rename_everywhere, renamed_block


@dataclass(frozen=True, slots=True)
class Kept:
    """`ls` with a place worked out ahead: what was called `name` is now read from `element`."""

    ls: LoopSet
    name: str
    element: Load

    def in_words(self, message: str) -> str:
        """`message` with the place under its name."""
        return message.replace(print_expr(self.element), self.name)


def keep_place(ls: LoopSet, unchecked: Sequence[Unchecked]) -> Kept | None:
    """One place of the `unchecked` accesses in the outermost loops of `ls` worked out ahead; None if there is none."""
    types = type_env(ls)
    for found in unchecked:
        loop = ls.body[found.path[0]] if found.path else None
        if not isinstance(loop, Loop) or not is_suited(loop):
            continue
        for place in subexprs(found.access.subscripts[found.axis]):
            if not isinstance(place, Var | Load):
                continue
            last = last_definition(loop, place, ls)
            if last is None or found.path[1] <= last:
                continue
            ahead = worked_out(ls, loop, place, last, types)
            if ahead is not None:
                return with_place(ls, found.path[0], place, last, ahead)
    return None


def is_suited(loop: Loop) -> bool:
    """Whether shapes and integer arguments say how often `loop` runs, and nothing in it keeps it from running twice."""
    is_plain = not any(isinstance(s.stmt, Exit | Call | Require) for s in statements(loop.body))
    return is_plain and is_constant(loop.step, 1) and is_fixed(loop.lower) and is_fixed(loop.upper)


def last_definition(loop: Loop, place: Var | Load, ls: LoopSet) -> int | None:
    """The number of the last statement in the body of `loop` that gives the integer `place`, a Let or cell, a value."""
    match place:
        case Var(name=name):
            numbers = [k for k, s in enumerate(loop.body) if isinstance(s, Let) and s.name == name]
        case Load(access=Access(array=array, subscripts=())) if is_cell(ls.array(array)):
            numbers = [k for k, s in enumerate(loop.body) if array in written_arrays((s,))]
        case _:
            return None
    return numbers[-1] if numbers else None


def worked_out(ls: LoopSet, loop: Loop, place: Expr, last: int, types: TypeEnv) -> LoopSet | None:
    """The part of `loop` that works out `place`, as a program that leaves it in an array of rank 1; None if nothing is
    gained by that, or the rest of `loop` has to run along with it.
    """
    extent = natural(sub(loop.upper, loop.lower))
    array = ArrayDecl(supply(ls).fresh("places"), ArrayType("int64", 1), extents=(extent,), loc=loop.loc)
    target = Access(array.name, (sub(Index(loop.index), loop.lower),))
    body = (*loop.body[: last + 1], Assign(target, place, loc=loop.loc))
    alone = replace(ls, body=(replace(loop, body=body),), arrays=(*ls.arrays, array), results=())
    alone = eliminate_dead(alone, frozenset((array.name,)))
    own = written_arrays(alone.body)
    exprs = [e for s in statements(alone.body) for x in stmt_exprs(s.stmt) for e in subexprs(x)]
    is_own = all(a == array.name or is_cell(ls.array(a)) for a in own)
    is_apart = not (read_arrays(alone.body) - own) & written_arrays(loop.body)
    if type_of(place, types) is not INT or not is_own or not is_apart or all(is_repeatable(e, types) for e in exprs):
        return None
    return alone


def with_place(ls: LoopSet, number: int, place: Var | Load, last: int, ahead: LoopSet) -> Kept:
    """`ls` with the loop of `ahead` as early as it may run, and its statement `number` reading what that leaves."""
    loop, before = ls.body[number], ls.body[:number]
    assert isinstance(loop, Loop)
    position = earliest([Group((s,), (s,)) for s in before], ahead.body)
    names, own = supply(ls, ahead), written_arrays(ahead.body)
    (array,) = (a for a in own if not is_cell(ahead.array(a)))
    new = {cell: names.fresh(cell) for cell in sorted(own - {array})}
    renamed = rename_everywhere(ahead, new)
    starts = tuple(Assign(Access(n), Load(Access(old))) for old, n in new.items() if old in written_arrays(before))
    first = (*starts, *renamed_block(renamed.body, names))
    arrays = tuple(a for a in renamed.arrays if a.name in (array, *new.values()))
    kept = Load(Access(array, (sub(Index(loop.index), loop.lower),)))

    def reading(stmt: Stmt) -> Stmt:
        return map_stmt_exprs(lambda e: substitute(e, {place: kept}), stmt)

    rest = replace(loop, body=(*loop.body[: last + 1], *map(reading, loop.body[last + 1 :])))
    body = (*before[:position], *first, *before[position:], rest, *ls.body[number + 1 :])
    name = place.name if isinstance(place, Var) else place.access.array
    return Kept(replace(ls, body=body, arrays=(*ls.arrays, *arrays)), name, kept)
