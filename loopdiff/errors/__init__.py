"""Errors as part of the product: stable codes, source spans, carets and the rewrite that works.

Every rejection is a `Diagnostic`; an exception carries all diagnostics of a function in one report. The
catalogue of codes lives in `loopdiff.errors.codes`.
"""

from __future__ import annotations

import linecache
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from loopdiff.immutable import immutable


@immutable
class Home:
    """Where the text of the function `name` starts."""

    file: str
    first_line: int
    name: str


@immutable
class Span:
    """A half-open region of user source: `line` is 1-based, `column` 0-based as in `ast`.

    `called_from`: for a region of a helper, the call that it was written out for. `home` is its function.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    called_from: Span | None = field(default=None, compare=False, repr=False)
    home: Home | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}:{self.column + 1}"

    def holds(self, other: Span) -> bool:
        """Whether `other` is a part of this region."""
        is_inside = (self.line, self.column) <= (other.line, other.column)
        return self.file == other.file and is_inside and self.end >= other.end

    @property
    def end(self) -> tuple[int, int]:
        return self.end_line, self.end_column

    @property
    def in_words(self) -> str:
        """`line 3`, and of which file if that is not the one of the program."""
        root = self.root
        return f"line {self.line}" if root.file == self.file else f"line {self.line} of {Path(self.file).name}"

    @property
    def in_function(self) -> str:
        """ "line 3 of `f`", counted from the first of the function: the same wherever the text stands."""
        home = self.home
        return self.in_words if home is None else f"line {self.line - home.first_line + 1} of `{home.name}`"

    @property
    def root(self) -> Span:
        """The place in the program itself that leads here."""
        return self if self.called_from is None else self.called_from.root


NOWHERE = Span("<loopdiff>", 0, 0, 0, 0)


@immutable
class Diagnostic:
    """One rejection: code such as `LD103`, a sentence saying expected and found, where, and how to mend it."""

    code: str
    message: str
    span: Span = NOWHERE
    hint: str = ""
    related: tuple[tuple[str, Span], ...] = field(default=())

    def render(self) -> str:
        lines = [f"{self.code}: {self.message}"]
        lines += quote(self.span)
        for label, span in (*calls_around(self.span), *self.related):
            lines.append(f"  {label}:")
            lines += quote(span)
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


def calls_around(span: Span) -> Iterator[tuple[str, Span]]:
    """The calls that lead to `span`, the innermost first."""
    while span.called_from is not None:
        span = span.called_from
        yield "called from", span


def quote(span: Span) -> list[str]:
    """The source line of `span` with carets under it; empty when the position is unknown."""
    if span.line == 0:
        return []
    out = [f"  --> {span.file}:{span.line}:{span.column + 1}"]
    text = linecache.getline(span.file, span.line).rstrip("\n")
    if text:
        stop = span.end_column if span.end_line == span.line else len(text)
        width = max(1, min(stop, len(text)) - span.column)
        out.append(f"   | {text}")
        out.append(f"   | {' ' * span.column}{'^' * width}")
    return out


class LoopdiffError(Exception):
    """Base of every error loopdiff raises; `diagnostics` holds all findings of the report."""

    def __init__(self, *diagnostics: Diagnostic | str) -> None:
        self.diagnostics = tuple(d for d in diagnostics if isinstance(d, Diagnostic))
        super().__init__("\n\n".join(d.render() if isinstance(d, Diagnostic) else d for d in diagnostics))

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of all findings; compiled code raises with a text that starts with its code."""
        return tuple(d.code for d in self.diagnostics) or tuple(re.findall(r"^LD\d{3}", str(self)))


class UnsupportedLoopError(LoopdiffError):
    """The function is outside the accepted language (LD1xx, LD2xx)."""


def raise_if(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise UnsupportedLoopError with the `diagnostics` in the order of the text, if there are any."""
    found = sorted(diagnostics, key=lambda d: (d.span.line, d.span.column, d.code))
    if found:
        raise UnsupportedLoopError(*found)


class ArgumentError(LoopdiffError, ValueError):
    """A call's arguments do not fit: types, shapes, aliasing, bounds (LD3xx)."""


class DifferentiationError(LoopdiffError):
    """A derivative was asked for that does not exist or has no rule (LD4xx)."""


class ScheduleError(LoopdiffError):
    """A requested mapping is forbidden by a dependence (LD5xx)."""


class BackendError(LoopdiffError):
    """Numba could not compile the generated source (LD6xx); the message names the file."""


class OutOfMemoryError(BackendError, MemoryError):
    """There is not enough memory for the arrays of a call (LD606 on a GPU, LD610); the message has their bytes."""


class InternalError(LoopdiffError):
    """A broken invariant inside loopdiff (LD9xx); please report it with the dump."""


class LoopdiffWarning(UserWarning):
    """Base of loopdiff's warnings; every message starts with its id, e.g. `LW101`."""


def callers_level() -> int:
    """How many frames up the code is that is not loopdiff's own, for a warning from where this is called."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "loopdiff":
        level, frame = level + 1, frame.f_back
    return level
