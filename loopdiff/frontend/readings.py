"""What came of readings of functions while one program is compiled, so that no reading is done a second time.

Ways to parse a function are tried one after the other, and many leave it, or what it was taken apart into, as it was in
a way before: what was refused once is refused again. Two functions are one if nothing tells them apart that reading
could see: their syntax trees with all places in the text, and the very objects that their names mean.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from loopdiff.errors import Diagnostic, UnsupportedLoopError
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.parsing.sites import KnownLists
from loopdiff.frontend.written import Attempt, Surface, parse_as_written
from loopdiff.immutable import immutable
from loopdiff.source.functions import SourceFunction

WRITTEN_OUT = (bool, int, float, complex, str, bytes)  # values of literals, which are equal where they are written so


@immutable
class Reading:
    """What came of `source`, read with `sources`: a surface, or what was said against it, all of it if that `is_all`.
    `takes_known`: as for it, None where it did not matter."""

    source: SourceFunction
    sources: Sources
    takes_known: bool | None
    came: Surface | tuple[Diagnostic, ...]
    is_all: bool


@dataclass(slots=True, eq=False)
class Readings:
    """Readings of functions for arguments of `types`, None while these are unknown."""

    types: Mapping[str, ArgumentType] | None
    past: list[Reading] = field(default_factory=list)

    def read(
        self, source: SourceFunction, sources: Sources, takes_known: bool = True, is_tried: bool = False
    ) -> Surface:
        """The surface of `source` as it is written. Raises UnsupportedLoopError, and TypesNeeded.

        `takes_known`: short lists of a length that is written out are taken, too. `is_tried`: what is wrong is not
        asked for, if anything is.
        """
        for reading in self.past:
            is_as_then = reading.takes_known in (None, takes_known) and reading.sources is sources
            if is_as_then and (is_tried or reading.is_all) and are_one(reading.source, source):
                return outcome(reading.came)
        attempt = Attempt(KnownLists(takes_known), stops=is_tried)
        try:
            came: Surface | tuple[Diagnostic, ...] = parse_as_written(source, sources, self.types, attempt)
        except UnsupportedLoopError as error:
            came = error.diagnostics
            if not came:
                raise
        self.past.append(
            Reading(source, sources, takes_known if attempt.lists.mattered else None, came, not attempt.has_stopped)
        )
        return outcome(came)


def outcome(came: Surface | tuple[Diagnostic, ...]) -> Surface:
    """The surface. Raises UnsupportedLoopError with what was said instead."""
    if isinstance(came, Surface):
        return came
    raise UnsupportedLoopError(*came)


def are_one(first: Any, second: Any) -> bool:
    """Whether nothing tells two functions, or parts of them, apart but that they were made twice."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    match first:
        case ast.AST():
            return are_one(vars(first), vars(second))
        case Mapping():
            return len(first) == len(second) and all(map(are_one, first.items(), second.items()))
        case list() | tuple():
            return len(first) == len(second) and all(map(are_one, first, second))
        case inspect.Signature():
            return are_one(first.parameters, second.parameters)
        case inspect.Parameter():
            return (first.name, first.kind) == (second.name, second.kind) and first.default is second.default
        case frozenset():
            return first == second
        case _ if isinstance(first, WRITTEN_OUT):
            return repr(first) == repr(second)
        case _ if type(first).__module__.startswith("loopdiff.") and is_dataclass(first):
            return all(are_one(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
        case _:
            return False
