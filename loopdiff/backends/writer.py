"""Python source as text: a block builder, and the one place that renders syntax trees.

Emitters write statements as text, rendering goes through the syntax tree, so that generated files have one style and
cannot be malformed. Remarks travel through the tree as string statements and come out as comments.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from loopdiff.errors import Span
from loopdiff.settings.deferred import deferred_interrupts

REMARK = "#| "
MARKS = NEST, NEST_END = "a nest", "end of the nest"  # remarks that say where nests are, and are not shown


def render(text: str) -> str:
    """`text` in normal form: by astor, or by `ast.unparse` from Python 3.14 on, where astor no longer imports."""
    tree = ast.parse(text)
    if sys.version_info >= (3, 14):
        return as_comments(ast.unparse(tree))
    with warnings.catch_warnings():  # astor names node classes that Python 3.12 and 3.13 deprecate
        warnings.simplefilter("ignore", DeprecationWarning)
        with deferred_interrupts():  # half of it would stay, and it looks for the other half in vain
            import astor

        plain = astor.to_source(tree, pretty_string=lambda s, *_: repr(s), pretty_source="".join)
    return as_comments(plain)


def indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def remark_in(line: str) -> str | None:
    """The remark that `line` carries; None if it is another statement."""
    body = line.strip()
    return ast.literal_eval(body).removeprefix(REMARK) if body[1:].startswith(REMARK) else None


def is_remark(line: str) -> bool:
    return remark_in(line) is not None


def as_comments(text: str) -> str:
    """String statements that carry a remark become comments."""
    out: list[str] = []
    for line in text.splitlines():
        remark = remark_in(line)
        if remark is None:
            out.append(line)
        elif remark not in MARKS:
            out.append(f"{indentation(line)}# {remark}")
    return "\n".join(out).strip() + "\n"


@dataclass(slots=True)
class Writer:
    """Collects indented lines."""

    lines: list[str] = field(default_factory=list)
    depth: int = 0
    last: Span | None = None

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def remark(self, text: str) -> None:
        self.line(repr(REMARK + text))

    def quote(self, span: Span) -> None:
        """Remark the user's source line that the next statement comes from, once per change of line.

        Lines are counted from the start of functions: the same code serves the same text wherever it stands.
        """
        if span.line == 0 or (self.last is not None and (self.last.file, self.last.line) == (span.file, span.line)):
            return
        self.last = span
        text = linecache.getline(span.file, span.line).strip()
        if text:
            place = span.in_function
            self.remark(f"{place.partition(' of')[0] if span.root.home == span.home else place}: {text}")

    @contextmanager
    def nest(self) -> Iterator[None]:
        """Say where a nest begins and ends."""
        self.remark(NEST)
        yield
        self.remark(NEST_END)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        self.line(header)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start or all(map(is_remark, self.lines[start:])):
            self.line("pass")
        self.depth -= 1

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"
