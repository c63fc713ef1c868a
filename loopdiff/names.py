"""Deterministic fresh names: one `NameSupply` per compilation, so that generated text never depends on history."""

from __future__ import annotations

import keyword
from collections.abc import Iterable


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
