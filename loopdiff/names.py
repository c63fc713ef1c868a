"""Fresh names, one `NameSupply` per compilation so that they never depend on history; the way back from them; and times
in words."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterable, Sequence

NUMBERED = re.compile(r"\b([A-Za-z_]\w*?)((?:_\d+)+)\b")
CELL = re.compile(r"\b(\w+)\[\]")


class NameSupply:
    """Hands out `stem`, `stem_1`, `stem_2`, ... never twice and never a Python keyword."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)

    def fresh(self, stem: str) -> str:
        name, count = stem, 0
        while name in self.taken or keyword.iskeyword(name):
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


def tail_names(names: Sequence[str], candidates: Sequence[str], suffix: str) -> dict[str, str]:
    """Which of `candidates`, in order, each buffer stands for: `X_adj`, or `X_adj_1` where that was taken."""
    found: dict[str, str] = {}
    remaining = list(candidates)
    for name in names:
        while remaining:
            candidate = remaining.pop(0)
            stem = f"{candidate}{suffix}"
            if name == stem or (name.startswith(f"{stem}_") and name[len(stem) + 1 :].isdigit()):
                found[candidate] = name
                break
    return found


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
