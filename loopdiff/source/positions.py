"""Places in user code, in what is kept on disk: counted from the start of functions, whose text may stand in another
file, or further down, when it is read again."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from loopdiff.errors import NOWHERE, Home, Span
from loopdiff.immutable import immutable


class UnknownPlaceError(Exception):
    """A place in a function that the program is not known to have."""


@immutable
class Homes:
    """Where the functions of a program stand: `known`, in an order that only depends on their text."""

    known: tuple[Home, ...] = ()
    spans: dict[Any, Span] = field(default_factory=dict, compare=False, repr=False)

    def relative(self, span: Span) -> tuple[Any, ...]:
        """`span` without what depends on where the text stands. Raises UnknownPlaceError for one of another program."""
        around, home = span.called_from, span.home
        if home not in self.known and (home is not None or span.line):
            raise UnknownPlaceError(str(span))
        place, start = (-1, 0) if home is None else (self.known.index(home), span.line - home.first_line)
        size, outer = span.end_line - span.line, None if around is None else self.relative(around)
        return place, start, span.column, size, span.end_column, outer

    def absolute(self, given: tuple[Any, ...]) -> Span:
        """The span that `relative` gave this for, where the text stands now."""
        found = self.spans.get(given)
        if found is None:
            place, start, column, size, end_column, around = given
            home = None if place < 0 else self.known[place]
            line = 0 if home is None else home.first_line + start
            file = NOWHERE.file if home is None else home.file
            called_from = None if around is None else self.absolute(around)
            found = Span(file, line, column, line + size, end_column, called_from, home)
            self.spans[given] = found
        return found
