"""Names and times as reports give them: in the words of the user's program."""

from __future__ import annotations

import re
from collections.abc import Collection

NUMBERED = re.compile(r"\b([A-Za-z_]\w*?)((?:_\d+)+)\b")


CELL = re.compile(r"\b(\w+)\[\]")


def stem_of(name: str) -> str:
    """The name that `name` was made fresh from: `j` of `j_1`."""
    return NUMBERED.sub(r"\1", name)


def in_user_words(text: str, names: Collection[str]) -> str:
    """`text` in the `names` of the source: `j_1` is a second loop over `j`, `k[]` the variable `k`."""

    def own(found: re.Match[str]) -> str:
        return found[1] if found[0] not in names and found[1] in names else found[0]

    return CELL.sub(r"\1", NUMBERED.sub(own, text))


def in_units(nanoseconds: float) -> str:
    """A time with two digits that count."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.{1 if nanoseconds < 10 * size else 0}f} {unit}"
    return f"{nanoseconds:.0f} ns"


class Text(str):
    """A string that Python's prompt and notebooks show as it would be printed."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
