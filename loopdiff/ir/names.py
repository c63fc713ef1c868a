"""Fresh names, one `NameSupply` per compilation so that they never depend on history; the way back from them; and times
in words."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Sequence

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import all_statements


class NameSupply:
    """Hands out `stem`, `stem_1`, `stem_2`, ... never twice and never a Python keyword."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self.latest: dict[str, tuple[str, int]] = {}  # by stems, what was handed out last, and its number

    def fresh(self, stem: str) -> str:
        name, count = self.latest.get(stem, (stem, 0))
        if name not in self.taken:  # it is free again, and others may be
            name, count = stem, 0
        while name in self.taken or keyword.iskeyword(name):
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        self.latest[stem] = name, count
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


def supply(*loopsets: ir.LoopSet) -> NameSupply:
    """A NameSupply that knows every name of `loopsets`."""
    taken: set[str] = set()
    for ls in loopsets:
        taken |= {a.name for a in ls.arrays} | {s.name for s in ls.scalars} | set(ls.params)
        for stmt in all_statements(ls.body):
            match stmt:
                case ir.Let(name=name) | ir.Loop(index=name):
                    taken.add(name)
                case _:
                    pass
    return NameSupply(taken)
