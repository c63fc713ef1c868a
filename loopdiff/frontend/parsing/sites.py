"""Where copies stand for arrays, and what is known of that once the whole function has been parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from loopdiff.errors import Span
from loopdiff.frontend.arrays.values import ArrayValue
from loopdiff.immutable import HashedOnce, immutable
from loopdiff.ir import nodes as ir

LoopName = tuple[tuple[str, ...], str]  # a name that a loop binds, and the functions whose calls led there
Place = tuple[tuple[Span, ...], int]  # in the text, with the calls that led to it; which of those that are there


@immutable
class JoinSite(HashedOnce):
    """Where ways meet that give `name` different meanings, in the function that the calls `where` led to."""

    where: tuple[str, ...]
    name: str
    line: int
    column: int


def choice_site(value: ArrayValue) -> JoinSite:
    """The place of the conditional expression that `value` is."""
    return JoinSite((), "choice", value.element.loc.line, value.element.loc.column)


def calls_to(span: Span | None) -> tuple[Span, ...]:
    """`span`, and the calls that it was written out for."""
    return () if span is None else (span, *calls_to(span.called_from))


def next_place(span: Span, known: Iterable[Place]) -> Place:
    """The place of what stands at `span`, where there are those that are `known`: a loop that is written out has all
    that is in it several times."""
    spans = calls_to(span)
    return spans, sum(place == spans for place, _ in known)


@immutable
class ArrayEvent(HashedOnce):
    """Something that happens to `array`; `number` is its place in the text, `loops` are around, outermost first.
    `is_item`: a list, which is kept in the array, gets another array or list for one of its items."""

    array: str
    number: int
    loops: tuple[int, ...]
    is_item: bool = False

    @staticmethod
    def items_since(events: Sequence[ArrayEvent], since: int) -> set[str]:
        """Lists that got other items after the time `since`; `events` are in their order."""
        return {e.array for e in takewhile(lambda e: e.number > since, reversed(events)) if e.is_item}


@immutable
class Copy(HashedOnce):
    """An array gets a copy of `source`, which has other names. `of_list`: a list gets one that may still grow;
    `is_item`: a list, which is kept in the array, gets `source` for one of its items."""

    site: JoinSite
    event: ArrayEvent
    source: str
    of_list: bool = False
    is_item: bool = False


@immutable
class Append:
    """A statement that a list grows by: it runs at most `limit` times while one list is made, None if that is not known
    at entry, and just as often if it `is_exact`."""

    limit: ir.Expr | None
    is_exact: bool


@immutable
class Growth:
    """A list that grows: how many elements it is made with, their shape, `()` for numbers, and where it grows; each
    None while that is not known. `kinds`: which lists elements are, the outermost first. `shrinks`: it gives elements
    away, too, and if it is a `queue`, the first ones. `truths`: its numbers are truth values."""

    first: int
    row: tuple[ir.Expr, ...] | None = None
    appends: Mapping[Place, Append] | None = None
    kinds: tuple[type, ...] = ()
    shrinks: bool = False
    truths: bool = False
    queue: bool = False


def with_more(known: Growth | None, seen: Growth) -> Growth:
    """What has been `seen` of a list, and what was `known` of it and has not been seen this time."""
    if known is None:
        return seen
    of = known if seen.row is None else seen
    shrinks, queue = known.shrinks or seen.shrinks, known.queue or seen.queue
    return Growth(seen.first, of.row, seen.appends or known.appends, of.kinds, shrinks, of.truths, queue)


def still_growing(known: Mapping[Place, Growth], seen: Mapping[Place, Growth]) -> Iterator[Place]:
    """Statements that were `seen` to run more often at most than was `known`."""
    for place, growth in seen.items():
        before = known[place].appends if place in known else None
        for at, append in (growth.appends or {}).items():
            if before is not None and at in before and append.limit not in (None, before[at].limit):
                yield at


@dataclass(slots=True)
class KnownLists:
    """Whether short lists of a length that is written out `are_taken`, too, and whether that `mattered`."""

    are_taken: bool = True
    mattered: bool = False

    def may_be_taken(self) -> bool:
        """Whether one is, now that it matters."""
        self.mattered = True
        return self.are_taken


@dataclass(slots=True)
class Decisions:
    """What is known of a function when it is parsed again: the sites where no copy can stand for an array, those of
    calls whose returns give different arrays, whether types of elements that were supposed turned out to be so, how the
    lists grow that are made in some places, and names whose arrays have `one_shape`, if the program may run at all; of
    those that are `required` to, it asks that itself. `known_lists` are those of a length that is written out.
    `endless` are statements by which lists grow that are made of one another: nothing says how often they run."""

    shared: frozenset[JoinSite] = frozenset()
    joined: frozenset[JoinSite] = frozenset()
    supposes: bool = True
    known_lists: KnownLists = field(default_factory=KnownLists)
    grown: Mapping[Place, Growth] = field(default_factory=dict)
    one_shape: frozenset[LoopName] = frozenset()
    required: frozenset[LoopName] = frozenset()
    endless: frozenset[Place] = frozenset()


class ParseAgain(Exception):
    """What was assumed of the function does not hold: its `Decisions` are others now."""
