"""`print` as a call with a rule: it has no derivative, and runs as often as Python would, one after the other.

The rule's function is made of what is printed: the text of the call, with `v0`, `v1`, ... in the place of its numbers
and arrays. Python evaluates that text, so that all formats are its own. All calls of a program write the one array
`order`, which nothing else reads: what they do comes in the order of the program, and is there in every sweep that has
the program's own statements, in no other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from loopdiff.rules.definitions import KEYS, MAKERS, Rule, add_made

ORDER = "order"
MARK = "print "


@cache
def printing(text: str, count: int) -> Rule:
    """The rule of a call that prints `text`, an expression in the names of `count` values."""
    values = tuple(f"v{k}" for k in range(count))
    key, nothing = f"{MARK}{count} {text}", frozenset[str]()
    body = f"    {ORDER}[0] += 1\n    tell({key!r}, ({''.join(f'{v}, ' for v in values)}))"
    names: dict[str, Any] = {"tell": tell}
    exec(f"def told({', '.join((ORDER, *values))}):\n{body}", names)
    found = Rule(
        name="print", function=names["told"], params=(ORDER, *values), active=(), constant=nothing,
        overwrites=frozenset((ORDER,)), outputs=nothing, result=None, derived={},
    )  # fmt: skip
    add_made(found, key)
    return found


def is_printing(rule: Rule) -> bool:
    return KEYS.get(rule, "").startswith(MARK)


def text_of_key(key: str) -> tuple[str, int]:
    """What the rule with the name `key` prints, and of how many values."""
    count, text = key.removeprefix(MARK).split(" ", 1)
    return text, int(count)


def printing_of_key(key: str) -> Rule:
    return printing(*text_of_key(key))


MAKERS[MARK] = printing_of_key


@cache
def told_by(key: str) -> Callable[..., Any]:
    """The function that prints what `key` says."""
    text, count = text_of_key(key)
    names = ", ".join(f"v{k}" for k in range(count))
    return eval(f"lambda {names}: {text}", {"print": print, "paired": paired})


def paired(real: Any, imag: Any) -> Any:
    """Complex numbers of their parts, of the type that has these."""
    dtype = np.result_type(np.asarray(real).dtype, np.complex64)
    found = np.empty(np.shape(real), dtype)
    found.real, found.imag = real, imag
    return found if found.ndim else found[()]


class Silence(threading.local):
    """How many runs that this thread is in are not the caller's own: what they would print has been printed, or is
    going to be."""

    runs = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.runs += 1
        try:
            yield
        finally:
            self.runs -= 1


silent = Silence()


def tell(key: str, values: tuple[Any, ...]) -> None:
    """Print `values` as `key` says."""
    if not silent.runs:
        told_by(key)(*values)
