"""Nests that are equal but for the names in them are written once, as functions that are called where they stood; and
so is all that is inside a call that was written out, where it is equal as a whole.

Helpers, and products and norms of NumPy's, are copied to where they are called, so that one program is differentiated
and scheduled. Of long programs LLVM would optimise each copy anew, which takes most of the time that they compile for:
a master equation of eight such copies has 1,150 nests of 83 kinds in its reverse sweep. Short programs stay as they
are: a call hides from LLVM what it could do across nests.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from loopdiff.backends.cpu.name_flow import NameFlow, Suite
from loopdiff.backends.writer import MARKS, NEST, NEST_END, REMARK, indentation, is_remark, remark_in

LONG = 500  # lines of a function from which on its nests are compared
LEAST = 120  # characters of a nest that is worth a call
# The part of a function that is spared if it is worth it: a pyramid of optical flow of which a third was compiled no
# sooner and ran a quarter slower, and where it was half or more, programs ran as fast, or faster.
SPARED = 0.4
# Texts as they are, and names that are not those of attributes.
TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<![\w.])[A-Za-z_]\w*""")


class Nest(NamedTuple):
    """Lines of a function, from the one that says that a nest begins to the one that says that it ends.

    `key` is equal for equal nests, but for the names, which are in the order in which they come; `given` are those that
    it gets from outside, `found` those that it leaves for later.
    """

    first: int
    last: int
    key: str
    given: tuple[str, ...]
    found: tuple[str, ...]


def nests_written_once(text: str, cells: frozenset[str], fresh: Callable[[str], str]) -> tuple[str, list[str]]:
    """The function `text` with calls of others, and these, whose names are `fresh` ones made of its own.

    Of what a nest sets, only the numbers `cells` are returned.
    """
    lines = text.splitlines()
    groups, spared = repeated(nests_in(lines, cells)) if len(lines) > LONG else ([], 0)
    if spared < SPARED * len(lines):
        groups = []
    names = {same[0].key: fresh(f"{stem(lines[0])}_nest") for same in groups}
    written = Written(lines, {nest.first: nest for same in groups for nest in same}, names)
    functions = [written.function(same[0]) for same in groups]
    return "\n".join(written.part(range(len(lines)))) + "\n", functions


def stem(header: str) -> str:
    """The name of the function that begins with the line `header`."""
    return header.removeprefix("def ").partition("(")[0]


def repeated(nests: Iterable[Nest]) -> tuple[list[list[Nest]], int]:
    """Groups of equal ones, the longest first, but for those inside of copies that are gone; and how many lines these
    have."""
    groups = defaultdict[str, list[Nest]](list)
    for nest in nests:
        groups[nest.key].append(nest)
    chosen: list[list[Nest]] = []
    gone: set[int] = set()
    for same in sorted(groups.values(), key=lambda same: -len(same[0].key)):
        left = [n for n in same if n.first not in gone]
        if len(left) > 1:
            chosen.append(left)
            gone.update(line for n in left[1:] for line in range(n.first, n.last + 1))
    return chosen, len(gone)


class Written(NamedTuple):
    """`lines` of a function, where some of its nests are `calls` of functions with `names`."""

    lines: Sequence[str]
    calls: dict[int, Nest]
    names: dict[str, str]

    def part(self, places: range) -> Iterator[str]:
        """The lines at `places`, without what says where nests are."""
        at = places.start
        while at < places.stop:
            line, nest = self.lines[at], self.calls.get(at)
            if nest is not None:
                yield from self.call(nest)
                at = nest.last + 1
                continue
            if remark_in(line) not in MARKS:
                yield line
            at += 1

    def call(self, nest: Nest) -> Iterator[str]:
        for line in self.lines[nest.first + 1 : nest.last]:
            if not is_remark(line):
                break
            if remark_in(line) not in MARKS:
                yield line
        left = f"{', '.join(nest.found)} = " if nest.found else ""
        yield f"{indentation(self.lines[nest.first])}{left}{self.names[nest.key]}({', '.join(nest.given)})"

    def function(self, nest: Nest) -> str:
        depth = len(indentation(self.lines[nest.first])) - 4
        inside = self.part(range(nest.first + 1, nest.last))
        header = f"def {self.names[nest.key]}({', '.join(nest.given)}):"
        returned = [f"    return {', '.join(nest.found)}"] if nest.found else []
        return "\n".join((header, *(line[depth:] for line in inside), *returned))


# -- finding nests -------------------------------------------------------------------------------------------
def nests_in(lines: Sequence[str], cells: frozenset[str]) -> Iterator[Nest]:
    """Nests of the function that are worth a call, and that can be one."""
    (function,) = ast.parse("\n".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    flow = NameFlow()
    suites = list(flow.suites(function))
    own = flow.effect_of_all(function.body).stored | suites[0].known[0]  # others are names of the module
    finder = Finder(lines, flow, own, own & flow.set_of(cells))
    for suite in suites:
        for start, end in marked(suite.body):
            found = finder.nest(suite, start, end)
            if found is not None:
                yield found


def marked(body: Sequence[ast.stmt]) -> Iterator[tuple[int, int]]:
    """Where in a suite nests begin and end."""
    begun: list[int] = []
    for place, stmt in enumerate(body):
        match stmt:
            case ast.Expr(value=ast.Constant(value=str() as text)) if text == REMARK + NEST:
                begun.append(place)
            case ast.Expr(value=ast.Constant(value=str() as text)) if text == REMARK + NEST_END:
                yield begun.pop(), place
            case _:
                pass


class Finder(NamedTuple):
    """Looks at nests among the `lines` of a function, whose `own` names are not those of its module; `numbers` are
    variables that hold numbers."""

    lines: Sequence[str]
    flow: NameFlow
    own: int
    numbers: int

    def nest(self, suite: Suite, start: int, end: int) -> Nest | None:
        """The nest between two places of `suite`; None if it is not worth a call, or cannot be one."""
        first, last = suite.body[start].lineno - 1, suite.body[end].lineno - 1
        text, names = self.spelled(range(first + 1, last))
        if len(text) < LEAST:
            return None
        effect = self.flow.effect_of_all(suite.body[start + 1 : end])
        found = effect.stored & suite.live[end]
        given = self.own & (effect.exposed | (found & ~effect.certain))
        if effect.jumps or effect.returns or found & ~self.numbers or given & ~suite.known[start]:
            return None
        left = [n for n in names if found & self.flow.bit(n)]
        key = f"{text}\n{[names[n] for n in left]}"
        return Nest(first, last, key, tuple(n for n in names if given & self.flow.bit(n)), tuple(left))

    def spelled(self, places: range) -> tuple[str, dict[str, int]]:
        """The lines with numbers for the function's own names, and these names, in the order in which they come."""
        names: dict[str, int] = {}

        def numbered(found: re.Match[str]) -> str:
            name = found[0]
            is_own = name in self.flow.bits and self.own & self.flow.bit(name)
            return f"${names.setdefault(name, len(names))}" if is_own else name

        lines = [self.lines[k] for k in places if not is_remark(self.lines[k])]
        depth = len(indentation(lines[0])) if lines else 0
        return TOKEN.sub(numbered, "\n".join(line[depth:] for line in lines)), names
