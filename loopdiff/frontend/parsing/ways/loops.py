"""Bodies of loops, parsed until it is known what iterations hand on and leave behind.

Names that iterations leave for other arrays than they began with have memory of their own, where a copy is as good as
the array (see `joins`); else the arrays are numbered (see `varying`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import reduce

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ZERO, distance, maximum, plus, times
from loopdiff.frontend.arrays.values import View, holes
from loopdiff.frontend.parsing.bindings import (
    AnyList,
    ArrayName,
    Binding,
    Bindings,
    Cell,
    Given,
    ListRow,
    Mixed,
    Rejected,
    Unsure,
    meaning_of,
    without_dead,
)
from loopdiff.frontend.parsing.iterations import Heads, LoopState, Resizing, Trips
from loopdiff.frontend.parsing.lists.lengths import ask_how_they_grow
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.equal_shapes import suppose_required
from loopdiff.frontend.parsing.ways.flow import meet
from loopdiff.frontend.parsing.ways.joins import (
    copy_all,
    copy_to,
    has_type_of,
    is_own,
    loop_name,
    make_memory,
    memory_for,
    suppose_one_shape,
    view_of,
)
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.frontend.parsing.ways.resized import (
    begin,
    finish,
    least_in_all,
    more_in_all,
    more_in_group,
    resized_view,
    room_for,
    with_held,
)
from loopdiff.frontend.parsing.ways.snapshots import Snapshot, keep_buffers
from loopdiff.frontend.parsing.ways.varying import are_too_many, at_end, differing, differing_lists, with_heads
from loopdiff.frontend.survey import becomes_part_of_itself, becomes_shorter
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, subexprs, touched_arrays


# -- memory of names -----------------------------------------------------------------------------------------
@immutable
class Memory:
    """An array like `decl`; it is the `array` for which the name stands before the loop, if that is given. Along axes
    that are `moving` cells count what is there: up to `more` elements more after each iteration than there, or for its
    `peers`, and never less than `least`."""

    decl: ir.ArrayDecl
    array: str | None
    moving: tuple[bool, ...] = ()
    more: tuple[ir.Expr, ...] = ()
    least: tuple[ir.Expr, ...] = ()
    peers: frozenset[str] = frozenset()


@immutable
class Plan:
    """What is done for names that iterations leave for something else: some have `memory`, to which every way out of an
    iteration copies, for some the arrays are `numbered`; for the `others`, which have a first value from the loop,
    nothing is done. What iterations find of those `lost` is not known."""

    memory: Mapping[str, Memory] = field(default_factory=dict)
    numbered: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()

    def without_memory(self, names: frozenset[str], given: Bindings) -> Plan:
        """The plan in which `names`, and their peers, have no memory; only arrays that are `given` before the loop can
        be numbered."""
        names |= {n for n, m in self.memory.items() if m.peers & names}
        left = {n: m for n, m in self.memory.items() if n not in names}
        lost = {n for n in names if isinstance(given.get(n), AnyList | Unsure)}
        numbered = (*self.numbered, *sorted(n for n in names - lost if n in given and n not in self.numbered))
        return Plan(left, numbered, self.others | {n for n in names if n not in given}, self.lost | lost)


def prepare(state: State, plan: Plan, span: Span) -> dict[str, str]:
    """The memory of each name, made before the loop, with what the name stands for there, if it does for anything."""
    memory: dict[str, str] = {}
    for name, place in plan.memory.items():
        memory[name] = place.array or make_memory(state, place.decl, name, [state.bindings], span)
        first = view_of(state, state.bindings.get(name), span)
        if place.moving and first is not None:
            before = dict(state.bindings)
            begin(state, memory[name], place.moving, first, place.more, place.least, span)
            copy_to(state, state.bindings, state.site(name, span), memory[name], span, before)
    for name, place in plan.memory.items():
        if place.peers:
            peers = tuple(memory[peer] for peer in sorted(place.peers))
            state.whole.resized[memory[name]] = replace(state.whole.resized[memory[name]], peers=peers)
    copy_all(state, state.bindings, memory, span)
    return memory


def completed(
    state: State, plan: Plan, given: Bindings, earlier: frozenset[str], loop: LoopState, span: Span
) -> Plan:  # fmt: skip
    """`plan`, or one that does more, now that the ways out of iterations of `loop` are known. Names stand for what is
    `given` before the loop, where the arrays are those from `earlier`, and what it does for them."""
    overwritten = frozenset(clobbered(state, plan, loop, span))
    refused = loop.refused - overwritten
    longer = together(plan, loop, refused) or {
        n: m for n in refused if (m := with_room(plan.memory[n], loop.changes.get(n, []), loop.trips))
    }
    longer |= of_resized(state, plan, given, loop, refused, earlier, span)
    if longer:
        return replace(plan, memory={**plan.memory, **longer})
    if overwritten | loop.refused:
        return plan.without_memory(overwritten | loop.refused, given)
    if known := dict(with_least(state, plan, given, loop, span)):
        return replace(plan, memory={**plan.memory, **known})
    memory, numbered, others, lost = dict(plan.memory), list(plan.numbered), set(plan.others), set(plan.lost)
    for name in unsettled(plan, given, earlier, loop):
        views = [view_of(state, meaning(b[name]), span) for b in (given, *loop.ways) if name in b]
        is_shared = state.site(name, span) in state.whole.decisions.shared
        is_list = isinstance(given.get(name), AnyList)
        is_unfit = is_shared or (is_list and becomes_shorter(state.source.node, name))
        decl = None if is_unfit else memory_for(state, name, views, is_list, span)
        if decl is not None:
            first = views[0]
            is_mine = first is not None and name in given and is_own(state, given, name, first, span)
            is_mine = is_mine and first is not None and has_type_of(state, first, decl)
            memory[name] = Memory(decl, first.array if is_mine and first is not None else None)
        elif not is_shared and (found := resized_memory(state, name, given, views, earlier, span)) is not None:
            memory[name] = found
        elif is_list:
            ask_how_they_grow(state, [meaning(b[name]) for b in (given, *loop.ways) if name in b])
            lost.add(name)
        elif isinstance(given.get(name), Unsure):
            lost.add(name)
        elif name in given:
            numbered.append(name)
        else:
            others.add(name)
    new = Plan(memory, tuple(numbered), frozenset(others), frozenset(lost))
    return replace(plan, lost=plan.lost | frozenset(losing(plan, given, loop))) if new == plan else new


def of_resized(
    state: State, plan: Plan, given: Bindings, loop: LoopState, refused: Iterable[str], earlier: frozenset[str],
    span: Span,
) -> dict[str, Memory]:  # fmt: skip
    """Memory for names that had some for arrays of one shape, and whose arrays are made of others that are resized."""
    counts = {c for a in loop.memory.values() if a in state.whole.resized for c in state.whole.resized[a].counts}
    found: dict[str, Memory] = {}
    for name in refused:
        if plan.memory[name].moving or name not in given:
            continue
        views = [view_of(state, meaning(b[name]), span) for b in (given, *loop.ways) if name in b]
        extents = [state.known(e) for v in views if v is not None for e in v.extents]
        is_moved = any(e.access.array in counts for extent in extents for e in loads(with_held(state, extent)))
        memory = resized_memory(state, name, given, views, earlier, span, is_moved) if is_moved else None
        found |= {} if memory is None else {name: memory}
    return found


def resized_memory(
    state: State, name: str, given: Bindings, views: Sequence[View | None], earlier: frozenset[str], span: Span,
    is_seen: bool = False,
) -> Memory | None:  # fmt: skip
    """Memory for a name whose arrays the loop makes shorter or longer, where nothing simpler is left."""
    first, decided = views[0], state.whole.decisions.one_shape
    is_seen |= any(v is not None and v.array in state.whole.resized for v in views)  # by an inner loop
    is_seen |= becomes_part_of_itself(state.source.node, name) or are_made_shorter(state, views, earlier)
    is_known = isinstance(given.get(name), ArrayName | View) and (is_seen or loop_name(state, name) in decided)
    found = room_for(state, views, views[:1], span) if is_known else None
    if found is None or first is None:
        return None
    decl, moving = found
    is_mine = is_own(state, given, name, first, span)
    return Memory(decl, first.array if is_mine else None, moving, (ZERO,) * len(moving), (ZERO,) * len(moving))


def are_made_shorter(state: State, views: Sequence[View | None], earlier: frozenset[str]) -> bool:
    """Whether each iteration makes an array that is shorter or longer than the first of `views`: there is no end of
    arrays that could be numbered."""
    first, *rest = views
    if first is None or any(v is None or v.array in earlier or v.rank != first.rank for v in rest):
        return False
    pairs = [p for v in rest if v is not None for p in zip(v.extents, first.extents, strict=True)]
    return any(distance(state.known(a), state.known(b)) not in (0, None) for a, b in pairs)


def with_room(memory: Memory, changes: Sequence[Resizing], trips: Trips) -> Memory | None:
    """`memory` with room for as much more as iterations were seen to need; None if it has had more already, or nothing
    says how much that is, or how often the loop runs."""
    more, limit = more_in_all(changes), trips.limit
    is_longer = more is not None and any(m != ZERO for m in more) and not any(m != ZERO for m in memory.more)
    if more is None or limit is None or not is_longer:
        return None
    room = tuple(plus(e, times(limit, m)) for e, m in zip(memory.decl.extents or (), more, strict=True))
    return replace(memory, decl=replace(memory.decl, extents=room), array=None, more=more)


def together(plan: Plan, loop: LoopState, refused: Iterable[str]) -> dict[str, Memory]:
    """Memory for names whose arrays are made of those of one another, as in `a, b = b, f(a, b)`: each with room for the
    longest, and as much more as iterations were seen to need. None if some have had more already."""
    found = more_in_group(loop.changes, refused)
    if found is None:
        return {}
    names, gaps = found
    places = [plan.memory[name] for name in sorted(names)]
    more = tuple(reduce(maximum, axis) for axis in zip(gaps, *(p.more for p in places if p.moving), strict=True))
    is_bounded = loop.trips.limit is not None or all(m == ZERO for m in more)
    if not is_bounded or any(p.peers or p.moving != places[0].moving for p in places):
        return {}
    sizes = [p.decl.extents or () for p in places]
    limit = loop.trips.limit or ZERO
    room = tuple(
        plus(reduce(maximum, axis), times(limit, m)) for axis, m in zip(zip(*sizes, strict=True), more, strict=True)
    )
    return {
        name: replace(p, decl=replace(p.decl, extents=room), array=None, more=more, peers=names - {name})
        for name, p in zip(sorted(names), places, strict=True)
    }


def with_least(
    state: State, plan: Plan, given: Bindings, loop: LoopState, span: Span
) -> Iterator[tuple[str, Memory]]:  # fmt: skip
    """Memory of names whose arrays are seen never to become empty, once that has been seen."""
    for name, memory in plan.memory.items():
        view = view_of(state, given.get(name), span)
        if view is None or name not in loop.changes or any(number != ZERO for number in memory.least):
            continue
        found = least_in_all(state, loop.changes[name], view.extents, loop.trips)
        if found is not None:
            yield name, replace(memory, least=found)


def losing(plan: Plan, given: Bindings, loop: LoopState) -> Iterator[str]:
    """Names for which nothing is planned, and which an iteration leaves for something else than it found, unless that
    was rejected: all has been said of it then."""
    planned = {*plan.memory, *plan.numbered, *plan.lost}
    for name, binding in given.items():
        ends = [way[name] for way in loop.ways if name in way]
        is_said = isinstance(binding, Mixed) or has_rejected((binding, *ends))
        if name not in planned and not is_said and any(meaning(e) != meaning(binding) for e in ends):
            is_number = all(isinstance(meaning_of(b), Cell | Given) for b in (binding, *ends))
            if not is_number:
                yield name


def has_rejected(bindings: Iterable[Binding]) -> bool:
    return any(isinstance(b, Rejected) for b in bindings)


def unsettled(plan: Plan, given: Bindings, earlier: frozenset[str], loop: LoopState) -> Iterator[str]:
    """Names for which nothing is planned, and which stand for different arrays on different ways, or for memory of
    others, which changes before the next iteration, or still for an array that an iteration before made."""
    planned = {*plan.memory, *plan.numbered, *plan.others, *plan.lost}
    ways = [{n: meaning(b) for n, b in way.items()} for way in (given, *loop.ways)]
    yield from (n for n in (*differing(ways), *differing_lists(ways)) if n not in planned)
    inside = dict.fromkeys(n for way in loop.ways for n in way if n not in given and n not in planned)
    for name in inside:
        bound = [way[name] for way in loop.ways if name in way]
        is_memory = any(arrays_of(b) & set(loop.memory.values()) for b in bound)
        is_kept = any(is_from_before(b) and arrays_of(b) - earlier for b in bound)
        is_other = is_memory or is_kept or any(b != bound[0] for b in bound)
        if is_other and any(map(arrays_of, bound)) and not has_rejected(bound):
            yield name


def is_from_before(binding: Binding) -> bool:
    """Whether an iteration that ends with this `binding` may have left the name as it was."""
    return isinstance(binding, Unsure) and binding.ran is not None


def meaning(binding: Binding) -> Binding:
    """What a name stands for if it stands for anything."""
    return binding.meant if isinstance(binding, Unsure) and binding.ran is not None else binding


def clobbered(state: State, plan: Plan, loop: LoopState, span: Span) -> Iterator[str]:
    """Names whose memory another name, without memory of its own, stands for at an end where it gets a copy."""
    for way in loop.ways:
        held = {a for n, b in way.items() if n in {*plan.numbered, *plan.others} for a in arrays_of(b)}
        for name, array in loop.memory.items():
            if array in held and name in way and not is_all_of(state, way[name], array, span):
                yield name


def is_all_of(state: State, binding: Binding, array: str, span: Span) -> bool:
    match binding:
        case View() if array in state.whole.resized:
            return binding == resized_view(state, array, span)
        case ListRow(view=View(array=own, subscripts=subscripts)):
            return own == array and subscripts == holes(len(subscripts))
        case _:
            return binding == ArrayName(array)


# -- bodies --------------------------------------------------------------------------------------------------
def parse_body(
    state: State, node: ast.For | ast.While, span: Span, parse: Callable[[], None], trips: Trips
) -> tuple[LoopState, Bindings, list[ir.Stmt]]:
    """The loop's state, the bindings before it, and the statements of its body, which `parse` parses.

    After it, `bindings` are those at the ends of iterations. Where iterations leave names for other arrays, the body is
    parsed again with memory for these names, or with numbers for all combinations with which iterations start.
    """
    broke = None
    if node.orelse and has_break(node.body):
        broke = state.temporary("broke", span)
        state.out.append(ir.Assign(broke, ir.Const(False, loc=span), loc=span))
    dead = state.live.dead_at_head(node)
    state.bindings = without_dead(state.bindings, dead)
    given, start, plan = dict(state.bindings), Snapshot.of(state), Plan()
    earlier = frozenset(start.whole["arrays"])
    while True:
        memory = prepare(state, plan, span)
        before = dict(state.bindings)
        state.bindings.update((n, Mixed.of([given[n]], span)) for n in plan.lost)
        loop, heads, body = parse_iterations(
            state, LoopState(broke, memory=memory, dead=dead, trips=trips), plan.numbered, parse, span
        )
        found = completed(state, plan, given, earlier, loop, span)
        if suppose_required(state, {*found.numbered} - {*plan.numbered}, (given, *loop.ways), body, span):
            found = completed(state, plan, given, earlier, loop, span)
        if found == plan:
            break
        start.restore(state)
        plan = found
    settled = {
        n: b
        for n, a in loop.memory.items()
        if a in state.whole.resized and (b := finish(state, a, loop, loop.changes.get(n, ()), span))
    }
    for bindings in (before, *loop.ends):
        bindings.update((n, b) for n, b in settled.items() if n in bindings)
    for bindings in (*loop.ends, *loop.breaks):
        bindings.update((n, Mixed(span)) for n in plan.others if n in bindings and is_from_before(bindings[n]))
    if heads is not None:
        finish_heads(state, heads, loop, body)
        return loop, before, body
    lost = {n: Mixed.of([given[n]], span) for n in (*plan.lost, *plan.numbered)}
    state.bindings = before | lost
    meet(state, loop.ends, span)
    state.bindings |= lost
    state.is_dead = False
    return loop, before, body


def parse_iterations(
    state: State, loop: LoopState, names: tuple[str, ...], parse: Callable[[], None], span: Span
) -> tuple[LoopState, Heads | None, list[ir.Stmt]]:
    """The body of the loop, with numbers for what `names` stand for where iterations start; where there are too many
    combinations, that is not known."""
    start, before = Snapshot.of(state), dict(state.bindings)
    if names:
        heads = Heads(ir.Access(""), names, [tuple(before[n] for n in names)], frozenset(state.arrays))
        found = parse_heads(state, heads, loop, before, start, parse, span)
        if found is not None:
            return found[0], heads, found[1]
        suppose_one_shape(state, names)
        state.bindings.update((n, Mixed(span)) for n in names)
    found_loop, body = parse_iteration(state, loop, parse, span)
    return found_loop, None, body


def parse_iteration(
    state: State, loop: LoopState, parse: Callable[[], None], span: Span
) -> tuple[LoopState, list[ir.Stmt]]:
    state.loops.append(loop)
    state.whole.clock += 1
    state.whole.around.append(state.whole.clock)
    with state.block() as body:
        parse()
        if not state.is_dead:
            loop.ends.append(at_end(state, loop, span))
    state.whole.around.pop()
    state.loops.pop()
    state.is_dead = False
    return loop, body


def parse_heads(
    state: State, heads: Heads, loop: LoopState, before: Bindings, start: Snapshot,
    parse: Callable[[], None], span: Span,
) -> tuple[LoopState, list[ir.Stmt]] | None:  # fmt: skip
    """The loop with all combinations in `heads.parts`; None if there are too many, or if one of the arrays is made
    anew, with another extent each time, while a name may still stand for the one before."""
    while True:
        heads.which = state.temporary("which", span)
        state.out.append(ir.Assign(heads.which, ir.Const(0, loc=span), loc=span))
        known = len(heads.parts)
        state.bindings = with_heads(before, heads)
        state.whole.heads.append(heads)
        found, body = parse_iteration(
            state,
            replace(loop, heads=heads, breaks=[], ends=[], ways=[], refused=set(), changes={}),
            parse,
            span,
        )
        state.whole.heads.pop()
        is_lost = bool(made_anew(state, heads))
        if len(heads.parts) == known and not is_lost:
            return found, body
        start.restore(state)
        keep_buffers(state, heads)
        if is_lost or are_too_many(state, heads.parts):
            return None


def made_anew(state: State, heads: Heads) -> frozenset[str]:
    """Arrays that iterations hand on though they are made where the next one makes its own: they are no buffers. Nor is
    one that is as large as such an array."""
    outermost = (*state.whole.heads, heads)[0]
    handed = frozenset(a for part in heads.parts for binding in part for a in arrays_of(binding))
    extents = (e for a in outermost.declared.values() for x in a.extents or () for e in subexprs(x))
    asked = frozenset(e.array for e in extents if isinstance(e, ir.Dim))
    return (handed | asked) - heads.earlier - outermost.declared.keys()


def finish_heads(state: State, heads: Heads, loop: LoopState, body: list[ir.Stmt]) -> None:
    """Make the arrays that iterations hand on before the loop, and number what names stand for after it."""
    used = touched_arrays(tuple(body))
    for name, decl in heads.declared.items():
        if name in used:
            zero = ir.Assign(ir.Access(name), ir.Const(0, loc=decl.loc), loc=decl.loc)
            state.out.append(zero if decl.extents == () else ir.Allocate(name, None, loc=decl.loc))
    meet(state, loop.ends, body[0].loc if body else heads.which.loc)
    state.is_dead = False
    state.bindings = with_heads(state.bindings, heads)
    loop.breaks = [with_heads(b, heads) for b in loop.breaks]


def has_break(body: list[ast.stmt]) -> bool:
    """Whether a `break` in `body` leaves the loop whose body it is."""
    for node in body:
        match node:
            case ast.Break():
                return True
            case ast.If(body=then, orelse=orelse) if has_break(then) or has_break(orelse):
                return True
            case ast.For(orelse=orelse) | ast.While(orelse=orelse) if has_break(orelse):
                return True
            case _:
                pass
    return False


# -- names with a first value from the loop ------------------------------------------------------------------
def run_flags(
    state: State, loop: LoopState, before: Bindings, body: list[ir.Stmt], span: Span, is_needed: bool = True
) -> dict[str, ir.Expr]:
    """For names that have their first value from the loop of `body`: that they have one after it, by cells that the
    body sets. `is_needed`: also for those that have one whenever an iteration ran."""
    new = {n: b for n, b in state.bindings.items() if n not in before}
    found: dict[str, ir.Expr] = {}
    sure = [n for n, b in new.items() if isinstance(b, Cell | ArrayName | View | AnyList)]
    if sure and is_needed:
        flag = new_flag(state, span)
        first = next((k for k, s in enumerate(body) if isinstance(s, ir.Exit)), -1)
        body.insert(first + 1, ir.Assign(flag, ir.Const(True, loc=span), loc=span))
        found |= dict.fromkeys(sure, ir.Load(flag, loc=span))
    conditions = {n: b.ran for n, b in new.items() if isinstance(b, Unsure) and b.ran is not None}
    for ran in dict.fromkeys(conditions.values()) if len(loop.ends) == 1 else ():
        flag = new_flag(state, span)
        body.append(ir.Assign(flag, ir.Apply(Op.OR, (ir.Load(flag, loc=span), ran), loc=span), loc=span))
        found |= {n: ir.Load(flag, loc=span) for n, r in conditions.items() if r == ran}
    return found


def new_flag(state: State, span: Span) -> ir.Access:
    """A cell that is false here."""
    flag = state.temporary("ran", span)
    state.whole.flags.add(flag.array)
    state.out.append(ir.Assign(flag, ir.Const(False, loc=span), loc=span))
    return flag
