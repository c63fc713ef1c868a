"""Inspector loops: subscripts computed from floating numbers are evaluated once, ahead of the loops that use them.

    for i in range(n):                          for i in range(n):
        b = int((r[i] - lo) / width)    becomes     places[i] = int((r[i] - lo) / width)
        res[b] += x[i]                          for i in range(n):
                                                    res[places[i]] += x[i]

Worked out again, as checks ahead of the loop would have to, they might come out differently: a compiler may round in
another way in another place. The first loop has no scattered writes, and often makes vectors; its numbers are checked
as those of any index array are. Nests of loops leave theirs in an array with an axis for each loop, if an array that
they are made from has as many elements. Nothing that is decided on the way is decided once more in the second loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.analysis.bounds import Unchecked
from loopdiff.analysis.repeatable import Repeatable, repeatable
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant, natural, sub
from loopdiff.ir.names import supply
from loopdiff.ir.printer import print_expr
from loopdiff.ir.renaming import rename_everywhere, renamed_block
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import (
    Path,
    all_statements,
    loads_in,
    map_stmt_exprs,
    nodes_in,
    operands,
    read_arrays,
    subexprs,
    substitute,
    written_arrays,
)
from loopdiff.passes.checks.certainty import is_fixed
from loopdiff.passes.checks.check_placement import Block, Group, earliest, is_cell
from loopdiff.passes.checks.early_checks import is_early, without_early


@immutable
class Place:
    """`value`, a Let or a cell, as the statement at `path` leaves it, the last in the innermost of the `loops` around
    it that gives it a value."""

    value: ir.Var | ir.Load
    loops: tuple[ir.Loop, ...]
    path: Path


@immutable
class Kept:
    """`ls` with a place worked out ahead of the rest, `main`: what was called `name` is now read from `element`."""

    ls: ir.LoopSet
    main: Block
    name: str
    element: ir.Load

    def in_words(self, message: str) -> str:
        """`message` with the place under its name."""
        return message.replace(print_expr(self.element), self.name)


def keep_place(ls: ir.LoopSet, unchecked: Sequence[Unchecked]) -> Kept | None:
    """One place of the `unchecked` accesses worked out ahead of the loops around it; None if there is none."""
    known = repeatable(ls)
    for found in unchecked:
        for part in subexprs(found.access.subscripts[found.axis]):
            place = place_of(ls, part, found.path) if isinstance(part, ir.Var | ir.Load) else None
            ahead = None if place is None else worked_out(ls, place, known)
            if place is None or ahead is None:
                continue
            kept = with_place(ls, place, ahead)
            if not decides_again(kept, ahead, known):
                return kept
    return None


def place_of(ls: ir.LoopSet, value: ir.Var | ir.Load, path: Path) -> Place | None:
    """Where `value`, read at `path`, was made, if only loops are around that, which run as often as shapes and integer
    arguments say; None elsewhere."""
    body, loops, found = ls.body, (), None
    for depth, number in enumerate(path[:-1]):
        loop = body[number]
        if not isinstance(loop, ir.Loop) or not is_suited(loop):
            break
        body, loops = loop.body, (*loops, loop)
        last = last_definition(body, value, ls)
        if last is not None:
            is_before = last < path[depth + 1]
            found = Place(value, loops, (*path[: depth + 1], last)) if is_before else None
    return found


def is_suited(loop: ir.Loop) -> bool:
    """Whether shapes and integer arguments say how often `loop` runs, and nothing in it keeps it from running twice."""
    is_plain = not any(
        isinstance(s, ir.Exit | ir.Call | ir.Require) and not is_early(s) for s in all_statements(loop.body)
    )
    return is_plain and is_constant(loop.step, 1) and is_fixed(loop.lower) and is_fixed(loop.upper)


def last_definition(body: Block, value: ir.Var | ir.Load, ls: ir.LoopSet) -> int | None:
    """The number of the last statement in `body` that gives the integer `value`, a Let or cell, a value."""
    match value:
        case ir.Var(name=name):
            numbers = [k for k, s in enumerate(body) if isinstance(s, ir.Let) and s.name == name]
        case ir.Load(access=ir.Access(array=array, subscripts=())) if is_cell(ls.array(array)):
            numbers = [k for k, s in enumerate(body) if array in written_arrays((s,))]
        case _:
            return None
    return numbers[-1] if numbers else None


def worked_out(ls: ir.LoopSet, place: Place, known: Repeatable) -> ir.LoopSet | None:
    """The part of the loops that works out `place`, as a program that leaves it in an array with an axis for each loop;
    None if nothing is gained by that, or the rest of them has to run along with it.
    """
    if type_of(place.value, known.types) is not INT:
        return None
    extents = tuple(natural(sub(p.upper, p.lower)) for p in place.loops)
    kind, outer = ArrayType("int64", len(extents)), place.loops[0]
    array = ir.ArrayDecl(supply(ls).fresh("places"), kind, extents=extents, loc=outer.loc)
    target = ir.Access(array.name, numbers_of(place.loops))
    first, rest = split(place.loops, place.path[1:], ir.Assign(target, place.value, loc=place.loops[-1].loc))
    alone = replace(ls, body=without_early((first,)), arrays=(*ls.arrays, array), results=())
    alone = eliminate_dead(alone, frozenset((array.name,)))
    own = written_arrays(alone.body)
    is_own = all(a == array.name or is_cell(ls.array(a)) for a in own)
    is_carried = bool(own & written_arrays(rest) or (read_arrays(alone.body) - own) & written_arrays(outer.body))
    is_small = len(place.loops) == 1 or has_element_for_each(alone.body, place.loops)
    return alone if is_own and is_small and not is_carried and not known.is_block(alone.body) else None


def has_element_for_each(body: Block, loops: Sequence[ir.Loop]) -> bool:
    """Whether the statements read an array along an axis for each of the loops."""
    indices = {ir.Index(p.index) for p in loops}
    reads = (load.access.subscripts for load in loads_in(body))
    return any(indices <= set(subscripts) for subscripts in reads)


def decides_again(kept: Kept, ahead: ir.LoopSet, known: Repeatable) -> bool:
    """Whether what `ahead` decides by arithmetic on floating numbers is decided in the rest of the program, too."""
    rest = eliminate_dead(replace(kept.ls, body=kept.main), frozenset(kept.ls.params))
    decided = {e for e in nodes_in(ahead.body) if is_decision(e, known)}
    return any(e in decided for e in nodes_in(rest.body))


def is_decision(expr: ir.Expr, known: Repeatable) -> bool:
    """Whether an integer or a truth value is made from floating numbers that arithmetic has made."""
    parts = operands(expr)
    if not isinstance(expr, ir.Apply | ir.Cast) or type_of(expr, known.types).is_float:
        return False
    return any(type_of(e, known.types).is_float and not known.is_no_arithmetic(e) for e in parts)


def split(loops: Sequence[ir.Loop], path: Path, end: ir.Stmt) -> tuple[ir.Loop, Block]:
    """The nest up to the statement at `path`, with `end` behind that, and all that comes later in each of its loops."""
    loop, number = loops[0], path[0]
    before, rest = loop.body[:number], loop.body[number + 1 :]
    if len(loops) == 1:
        return replace(loop, body=(*before, loop.body[number], end)), rest
    inner, later = split(loops[1:], path[1:], end)
    return replace(loop, body=(*before, inner)), (*later, *rest)


def numbers_of(loops: Sequence[ir.Loop]) -> tuple[ir.Expr, ...]:
    return tuple(sub(ir.Index(p.index), p.lower) for p in loops)


def with_place(ls: ir.LoopSet, place: Place, ahead: ir.LoopSet) -> Kept:
    """`ls` with the loops of `ahead` as early as they may run, and what comes after `place` reading what they leave."""
    number = place.path[0]
    before = ls.body[:number]
    cells = frozenset(a.name for a in ls.arrays if is_cell(a))
    position = earliest([Group((s,), (s,)) for s in before], ahead.body, cells)
    names, own = supply(ls, ahead), written_arrays(ahead.body)
    (array,) = (a for a in own if not is_cell(ahead.array(a)))
    new = {cell: names.fresh(cell) for cell in sorted(own - {array})}
    renamed = rename_everywhere(ahead, new)
    starts = tuple(
        ir.Assign(ir.Access(n), ir.Load(ir.Access(old))) for old, n in new.items() if old in written_arrays(before)
    )
    first = (*starts, *renamed_block(renamed.body, names))
    arrays = tuple(a for a in renamed.arrays if a.name in (array, *new.values()))
    kept = ir.Load(ir.Access(array, numbers_of(place.loops)))
    rest = reading(ls.body[number], place, kept, place.path[1:])
    body = (*before[:position], *first, *before[position:], rest, *ls.body[number + 1 :])
    name = place.value.name if isinstance(place.value, ir.Var) else place.value.access.array
    main = (*before, rest, *ls.body[number + 1 :])
    return Kept(replace(ls, body=body, arrays=(*ls.arrays, *arrays)), main, name, kept)


def reading(stmt: ir.Stmt, place: Place, kept: ir.Load, path: Path) -> ir.Stmt:
    """The nest `stmt`, reading `kept` wherever what follows the statement at `path` in its block reads the place."""
    assert isinstance(stmt, ir.Loop)
    number, after = path[0], stmt.body[path[0] + 1 :]
    if len(path) > 1:
        return replace(stmt, body=(*stmt.body[:number], reading(stmt.body[number], place, kept, path[1:]), *after))
    rest = (map_stmt_exprs(lambda e: substitute(e, {place.value: kept}), s) for s in after)
    return replace(stmt, body=(*stmt.body[: number + 1], *rest))
