"""What is known of lists: of what they consist, how long they are, and how long they may become."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import ONE, ZERO, distance, plus
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import AnyList, ListName, meaning_of
from loopdiff.frontend.parsing.iterations import MadeList
from loopdiff.frontend.parsing.sites import Growth, ParseAgain, with_more
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs

Kinds = tuple[type, ...]  # of a list, and of the lists and tuples in it: `(list, tuple)` of a list of pairs


def kinds_of(state: State, found: AnyList) -> Kinds:
    """Which lists `found` is, and consists of."""
    kinds = (list, *state.whole.lists[found.array].kinds)
    return kinds if isinstance(found, ListName) else kinds[state.rank(found.array) - found.view.rank :]


def any_list_called(state: State, name: str) -> AnyList | None:
    """The list, or the list in a list, that the local `name` stands for, if it has a value; None for anything else."""
    meant = meaning_of(state.binding(name))
    return meant if isinstance(meant, AnyList) else None


def list_called(state: State, name: str) -> ListName | None:
    """The list that the local `name` stands for, which is in no other; None if it stands for something else."""
    found = any_list_called(state, name)
    return found if isinstance(found, ListName) else None


def spoken(state: State, name: str) -> str:
    """What reports call the list `name`, which may be one of those that another is kept in."""
    return dict(state.source.spoken).get(name, name)


def has_returned(state: State, made: MadeList) -> bool:
    """Whether the call that made the list, a comprehension perhaps, has returned."""
    return not any(made.owner is active for active in state.whole.active)


def capacity(growth: Growth) -> ir.Expr | None:
    """How many elements a list has at most; None if nothing says that."""
    if growth.appends is None:
        return ir.Const(growth.first + 1)
    limits = [a.limit for a in growth.appends.values()]
    known = [m for m in limits if m is not None]
    return reduce(plus, known, ir.Const(growth.first)) if len(known) == len(limits) else None


def least_length(growth: Growth) -> ir.Expr:
    """How many elements a list has at least, from where it is made on."""
    return ZERO if growth.shrinks else ir.Const(growth.first)


def is_exact_growth(growth: Growth) -> bool:
    return growth.appends is not None and not growth.shrinks and all(a.is_exact for a in growth.appends.values())


def is_known_at_entry(state: State, expr: ir.Expr) -> bool:
    """Whether `expr` is one of arguments alone, so that it means the same when the function is parsed again."""
    arrays = {e.array for e in subexprs(expr) if isinstance(e, ir.Dim)}
    return state.is_fixed(expr) and all(state.arrays[a].role == "argument" for a in arrays)


def length_of(state: State, found: ListName, span: Span) -> ir.Expr:
    """How many elements the list has here: a formula of arguments where it does not grow any more, and always grows so
    often."""
    made = state.whole.lists[found.array]
    seen = state.whole.grown[made.place]
    known = state.whole.decisions.grown.get(made.place) or (seen if has_returned(state, made) else Growth(0))
    has_grown = known.appends is not None and known.appends.keys() == (seen.appends or {}).keys()
    is_inside = set(state.whole.around) & (made.grown_in - set(made.around))
    room = capacity(known) if has_grown and is_exact_growth(known) else None
    if room is not None and not is_inside:
        return room
    end = ir.Load(ir.Access(found.count, loc=span), loc=span)
    return end if found.head is None else ir.Apply(Op.SUB, (end, first_of(found, span)), loc=span)


def first_of(found: ListName, span: Span) -> ir.Expr:
    """Where the first element of the list is in its array."""
    return ZERO if found.head is None else ir.Load(ir.Access(found.head, loc=span), loc=span)


def ask_how_they_grow(state: State, found: Iterable[object]) -> None:
    """Raises ParseAgain where it is not known yet how the lists in `found` grow, or other lists that these are made of,
    as far as has been seen."""
    places = {state.whole.lists[b.array].place for b in found if isinstance(b, ListName)}
    decisions = state.whole.decisions
    unknown = (p for p in state.whole.grown if p not in decisions.grown or decisions.grown[p].appends is None)
    seen = {p: with_more(decisions.grown.get(p), growth) for p in unknown if (growth := state.whole.grown[p]).appends}
    new = {p: growth for p, growth in seen.items() if p in places} or seen
    if new and places:
        decisions.grown = {**decisions.grown, **new}
        raise ParseAgain


def settled_elements(state: State, found: ListName, span: Span) -> View | None:
    """The elements of a list that is always so long, and as long as its array has room for; None for others."""
    whole = state.all_of(found.array, span)
    length = state.known(length_of(state, found, span))
    return whole if state.is_fixed(length) and distance(length, state.known(whole.extents[0])) == 0 else None


def note_length(state: State, found: ListName) -> None:
    """Remember how long the list that a call has made may be, as far as is known yet: it may still grow."""
    place = state.whole.lists[found.array].place
    growth = state.whole.grown[place]
    room = capacity(growth)
    if room is not None and growth.appends is not None and place not in state.whole.decisions.grown:
        state.whole.ranges[found.count] = (least_length(growth), plus(room, ONE))
