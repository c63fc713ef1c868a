"""Where copies stand for arrays, and what is known of that once the whole function has been parsed."""

from __future__ import annotations

from dataclasses import dataclass

from loopdiff.frontend.arrays.values import ArrayValue


@dataclass(frozen=True, slots=True)
class JoinSite:
    """Where ways meet that give `name` different meanings, in the function that the calls `where` led to."""

    where: tuple[str, ...]
    name: str
    line: int
    column: int


def choice_site(value: ArrayValue) -> JoinSite:
    """The place of the conditional expression that `value` is."""
    return JoinSite((), "choice", value.element.loc.line, value.element.loc.column)


@dataclass(frozen=True, slots=True)
class ArrayEvent:
    """Something that happens to `array`; `number` is its place in the text, `loops` are around, outermost first."""

    array: str
    number: int
    loops: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Copy:
    """An array gets a copy of `source`, which has other names."""

    site: JoinSite
    event: ArrayEvent
    source: str


@dataclass(slots=True)
class Decisions:
    """What is known of a function when it is parsed again: the sites where no copy can stand for an array, those of
    calls whose returns give different arrays, and whether types of elements that were supposed turned out to be so."""

    shared: frozenset[JoinSite] = frozenset()
    joined: frozenset[JoinSite] = frozenset()
    supposes: bool = True


class ParseAgain(Exception):
    """What was assumed of the function does not hold: its `Decisions` are others now."""
