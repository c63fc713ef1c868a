"""Names that stand for one of several arrays, depending on the way that the program took.

After `u, v = v, u` in a time loop, or where `z = a if c else b` is written to, a cell holds the number of the array
that a name stands for. A statement that uses such a name is written once for each of them, under the condition that it
is this one. At the head of a loop the numbers are those of the combinations that iterations can start with. Where a
copy is as good as the array, names get memory of their own instead (see `joins`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from loopdiff.errors import Span
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import (
    AnyList,
    ArrayName,
    Binding,
    Bindings,
    Cell,
    Given,
    Mixed,
    Varying,
    VaryingUsed,
    without_dead,
)
from loopdiff.frontend.parsing.iterations import Heads, LoopState
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.flow import meet
from loopdiff.frontend.parsing.ways.joins import Way, copy_all, join_ways, suppose_one_shape, view_of
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.frontend.parsing.ways.resized import change_of
from loopdiff.frontend.parsing.ways.snapshots import Snapshot
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, map_expr, subexprs

MOST_COMBINATIONS = 8
LONGEST_FORMULA = 200  # operations in where a view begins, and how long it is: of slices of slices, four deep
Part = tuple[Binding | None, ...]


def for_each_choice(state: State, parse: Callable[[], None], span: Span) -> None:
    """Do `parse` for every array that a name it uses may stand for."""
    found = {b.which for b in state.bindings.values() if isinstance(b, Varying)} - state.whole.catching
    if not found:
        parse()
        return
    before = Snapshot.of(state)
    state.whole.catching |= found
    try:
        parse()
        return
    except VaryingUsed as used:
        if used.which not in found:
            raise
        which = used.which
    finally:
        state.whole.catching -= found
    before.restore(state)
    split(state, which, lambda: for_each_choice(state, parse, span), span)


def split(state: State, which: str, parse: Callable[[], None], span: Span) -> None:
    """`parse` once for each value of the cell `which`. Where that is only possible if names hold arrays, a check says
    that they do not hold the numbers they began with."""
    before, earlier = Snapshot.of(state), frozenset(state.arrays)
    numbers = still_numbers(state.bindings, which)
    ways, is_refused = versions_of(state, which, parse, {}, span)
    if is_refused and numbers:
        before.restore(state)
        ways, _ = versions_of(state, which, parse, numbers, span)
    bound = differing([b for b, _ in ways if b is not None])
    # Arrays from before the statement that change places among names stay what they are.
    anew = [n for n in bound if not any(arrays_of(b[n]) & earlier for b, _ in ways if b is not None)]
    join_ways(state, ways, anew, earlier, span)
    for name in numbered_names(ways):
        first = next(b[name] for b, _ in ways if b is not None)
        options = tuple(first if b is None else b[name] for b, _ in ways)
        binding = first if all(o == first for o in options) else Varying(which, options)  # type: ignore[arg-type]
        for bindings, _ in ways:
            if bindings is not None:
                bindings[name] = binding
    join_options(state, ways, None, span)
    state.out += chosen(which, [out for _, out in ways], span)


def versions_of(
    state: State, which: str, parse: Callable[[], None], numbers: Mapping[int, str], span: Span
) -> tuple[list[Way], bool]:
    """What `parse` makes for each value of the cell `which`, and whether it rejects something. For those of `numbers`
    there is a check instead, that the name does not hold a number."""
    start, site, rejected = dict(state.bindings), state.whole.site, state.whole.rejected
    ways: list[Way] = []
    sites = [site]
    for number in range(number_of(start, which)):
        state.bindings, state.whole.site = resolved(start, which, number), site
        if number in numbers:
            message = f"`{numbers[number]}` is still a number here, and used as an array"
            ways.append((None, [ir.Require(ir.Const(False, loc=span), "LD331", message, loc=span)]))
            continue
        state.whole.versions += 1
        with state.block() as out:
            parse()
        state.whole.versions -= 1
        ways.append((None if state.is_dead else state.bindings, out))
        state.is_dead = False
        sites.append(state.whole.site)
    state.whole.site = max(sites)
    return ways, state.whole.rejected > rejected


def still_numbers(bindings: Bindings, which: str) -> dict[int, str]:
    """The values of the cell `which` with which a name holds a number, and that name, where it holds an array with
    others."""
    found: dict[int, str] = {}
    for name, binding in bindings.items():
        if isinstance(binding, Varying) and binding.which == which:
            are_numbers = [isinstance(option, Cell | Given) for option in binding.options]
            found |= {k: name for k, is_number in enumerate(are_numbers) if is_number and not all(are_numbers)}
    return {} if len(found) == number_of(bindings, which) else found


def number_of(bindings: Bindings, which: str) -> int:
    """How many values the cell `which` has."""
    return next(len(b.options) for b in bindings.values() if isinstance(b, Varying) and b.which == which)


def numbered_names(ways: Sequence[Way]) -> tuple[str, ...]:
    """Names that stand for one thing each at the end of every way: the cell of the split says which."""
    coming = [b for b, _ in ways if b is not None]
    names = differing(coming) if len(coming) > 1 else ()
    return tuple(n for n in names if all(isinstance(b[n], Choosable) for b in coming))


def resolved(bindings: Bindings, which: str, number: int) -> Bindings:
    """What names stand for if the cell `which` holds `number`."""
    return {n: b.options[number] if isinstance(b, Varying) and b.which == which else b for n, b in bindings.items()}


def chosen(which: str, blocks: Sequence[list[ir.Stmt]], span: Span) -> list[ir.Stmt]:
    """The block whose number the cell `which` holds."""
    first, *others = blocks
    if all(b == first for b in others):
        return first
    rest = chosen_from(which, 1, others, span)
    return [ir.If(is_up_to(which, 0, span), tuple(first), tuple(rest), loc=span)]


def chosen_from(which: str, number: int, blocks: Sequence[list[ir.Stmt]], span: Span) -> list[ir.Stmt]:
    first, *others = blocks
    if not others:
        return first
    return [
        ir.If(
            is_up_to(which, number, span), tuple(first), tuple(chosen_from(which, number + 1, others, span)), loc=span
        )
    ]


def is_up_to(which: str, number: int, span: Span) -> ir.Expr:
    """Whether `which` holds at most `number`: its complement, unlike that of equality, is one interval."""
    held = ir.Load(ir.Access(which, loc=span), loc=span)
    return ir.Apply(Op.LE, (held, ir.Const(number, loc=span)), loc=span)


# -- where ways meet -----------------------------------------------------------------------------------------
Choosable = Cell | Given | ArrayName | View


def join_options(state: State, ways: Sequence[Way], earlier: frozenset[str] | None, span: Span) -> None:
    """Go on after any of `ways`. Names that these bind to different arrays get memory of their own; for the others, a
    cell that is set at the ends tells the ways apart. `earlier` are the arrays from before the ways; None: no copies.
    """
    coming = [(b, out) for b, out in ways if b is not None]
    if earlier is not None:
        bound = [b for b, _ in coming]
        join_ways(state, ways, (*differing(bound), *differing_lists(bound)), earlier, span)
    names = differing([b for b, _ in coming])
    parts: list[Part] = []
    if names:
        which = state.temporary("which", span)
        for bindings, out in coming:
            out += numbering(bindings, names, which.array, parts, span)
    if are_too_many(state, parts):
        suppose_one_shape(state, names)
        names = ()
    rest = [None if b is None else {n: m for n, m in b.items() if n not in names} for b, _ in ways]
    meet(state, rest, span)
    for position, name in enumerate(names):
        state.bindings[name] = Varying(which.array, tuple(p[position] for p in parts))  # type: ignore[arg-type]


def are_too_many(state: State, parts: Sequence[Part]) -> bool:
    """Whether there are more combinations than statements are written for; parts of parts of arrays, or arrays made of
    such, taken again in each iteration, would make ever new ones, whose formulas are several times longer each time."""
    if len(parts) > MOST_COMBINATIONS:
        return True
    bindings = [b for part in parts for b in part]
    views = [b for b in bindings if isinstance(b, View)]
    extents = (state.arrays[b.array].extents or () for b in bindings if isinstance(b, ArrayName))
    formulas = (e for e in (*(e for v in views for e in (*v.subscripts, *v.extents)), *(e for x in extents for e in x)))
    return any(sum(1 for _ in subexprs(e)) > LONGEST_FORMULA for e in formulas)


def differing(ways: Sequence[Bindings]) -> tuple[str, ...]:
    """Names that stand for different things after the ways, one of them an array."""
    if len(ways) < 2:
        return ()
    return tuple(n for n in ways[0] if all(n in b for b in ways) and differs([b[n] for b in ways]))


def differing_lists(ways: Sequence[Bindings]) -> tuple[str, ...]:
    """Names that stand for different lists after the ways."""
    if len(ways) < 2:
        return ()
    return tuple(n for n, b in ways[0].items() if isinstance(b, AnyList) and are_other_lists([w.get(n) for w in ways]))


def are_other_lists(bindings: Sequence[Binding | None]) -> bool:
    return all(isinstance(b, AnyList) for b in bindings) and any(b != bindings[0] for b in bindings)


def differs(bindings: Sequence[Binding]) -> bool:
    if all(b == bindings[0] for b in bindings) or not all(isinstance(b, Choosable | Varying) for b in bindings):
        return False
    return any(isinstance(b, ArrayName | View | Varying) for b in bindings)


Handed = Callable[[Part], tuple[Part, list[ir.Stmt]]]


def numbering(
    bindings: Bindings, names: Sequence[str], which: str, parts: list[Part], span: Span,
    handed: Handed = lambda part: (part, []),
) -> list[ir.Stmt]:  # fmt: skip
    """Statements that set the cell `which` to the number of what `names` stand for, in `parts`, which grows. `handed`
    gives what they stand for afterwards, and the statements that this takes."""
    cells = [b.which for n in names if isinstance(b := bindings.get(n), Varying)]
    if not cells:
        part, settling = handed(tuple(bindings.get(n) for n in names))
        if part not in parts:
            parts.append(part)
        return [*settling, ir.Assign(ir.Access(which, loc=span), ir.Const(parts.index(part), loc=span), loc=span)]
    cell = cells[0]
    count = number_of(bindings, cell)
    blocks = [numbering(resolved(bindings, cell, k), names, which, parts, span, handed) for k in range(count)]
    same = [[ir.Assign(ir.Access(which), ir.Const(k))] for k in range(count)]
    return [] if cell == which and blocks == same else chosen(cell, blocks, span)


# -- loops ---------------------------------------------------------------------------------------------------
def at_end(state: State, loop: LoopState, span: Span) -> Bindings:
    """What names stand for where an iteration of `loop` ends or is left: some for memory that they have for that, which
    gets its copies here, and some for what is numbered."""
    bindings, heads = without_dead(state.bindings, loop.dead), loop.heads
    loop.ways.append(dict(bindings))
    note_changes(state, bindings, loop, span)
    loop.refused |= copy_all(state, bindings, loop.memory, span)
    if heads is None:
        return bindings
    which = heads.which.array
    handed = partial(handed_on, state, heads, span)
    state.out += numbering(bindings, heads.names, which, heads.parts, span, handed)

    def settled(binding: Binding) -> Binding:
        return Mixed(span) if isinstance(binding, Varying) and binding.which == which else binding

    return {n: settled(b) for n, b in bindings.items() if n not in heads.names}


def note_changes(state: State, bindings: Bindings, loop: LoopState, span: Span) -> None:
    """Remember by how much names are longer or shorter here than they were at the start of the iteration."""
    for name, array in loop.memory.items():
        view = view_of(state, bindings.get(name), span) if array in state.whole.resized else None
        if view is not None:
            loop.changes.setdefault(name, []).append(change_of(state, array, view, loop.memory, span))


def handed_on(state: State, heads: Heads, span: Span, part: Part) -> tuple[Part, list[ir.Stmt]]:
    """`part`, of the end of an iteration, as the next one finds it, and the statements that this takes: where a view
    begins is in cells that the next iteration sets anew, so it is copied to cells of the head, all at once."""
    copies: dict[str, ir.Expr] = {}

    def settled(position: int, binding: Binding | None) -> Binding | None:
        if not isinstance(binding, View):
            return binding
        places = dict.fromkeys(e for s in (*binding.subscripts, *binding.extents) for e in loads(s))
        moved = [e for e in places if e.access.array not in heads.earlier]
        cells = {e: ir.Load(head_cell(state, heads, (position, k), e.loc), loc=e.loc) for k, e in enumerate(moved)}
        copies.update((cell.access.array, e) for e, cell in cells.items())

        def renamed(expr: ir.Expr) -> ir.Expr:
            return map_expr(lambda e: cells.get(e, e) if isinstance(e, ir.Load) else e, expr)

        subscripts, extents = (tuple(map(renamed, part)) for part in (binding.subscripts, binding.extents))
        return replace(binding, subscripts=subscripts, extents=extents)

    found = tuple(settled(k, b) for k, b in enumerate(part))
    left = {cell: value for cell, value in copies.items() if value != ir.Load(ir.Access(cell))}
    held = {cell: state.temporary("held", value.loc) for cell, value in left.items()}
    settling: list[ir.Stmt] = [ir.Assign(held[cell], value, loc=span) for cell, value in left.items()]
    return found, settling + [ir.Assign(ir.Access(cell), ir.Load(access), loc=span) for cell, access in held.items()]


def head_cell(state: State, heads: Heads, key: tuple[int, int], span: Span) -> ir.Access:
    """The cell of the head for the place `key`: which name, and which of the numbers that its view depends on."""
    if key not in heads.cells:
        cell = state.temporary("at", span).array
        heads.cells[key] = cell
        heads.declared[cell] = state.arrays[cell]
    return ir.Access(heads.cells[key], loc=span)


def with_heads(bindings: Bindings, heads: Heads) -> Bindings:
    """`bindings`, of a way out of the loop, with the names that its combinations number."""
    found = dict(bindings)
    for position, name in enumerate(heads.names):
        options = tuple(p[position] for p in heads.parts)
        is_one = all(o == options[0] for o in options)
        found[name] = options[0] if is_one else Varying(heads.which.array, options)  # type: ignore[assignment, arg-type]
    return found
