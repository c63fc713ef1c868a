"""Passes as text: loops in, loops out, and what they compute the same.

A file of `tests/pipeline/passes` is named after a pass and holds cases:

    == What becomes of these loops
    dead: t                               a set of names of the Context, if the pass asks for it
    loopset f(x)
        ...
    -- becomes
    loopset f(x)
        ...

or `-- stays`. The text after `-- becomes` is the pass's own, looked over by whoever wrote the case (`--update-golden`
writes it); that it means the same is found out by running both, on arguments made for the declarations.

A pass over both sweeps has two functions on each side. Where a pass works on a launch plan, the loops that are planned
are before it, and the plan that it makes is after it. `of: CUDA_LOOPS` tells passes apart that share a name: the first
is meant otherwise. `lanes: a, b` are those of both sweeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from loopdiff.model.machine import Machine
from loopdiff.pipeline.passes import Context, Pass
from loopdiff.pipeline.runner import PIPELINES

from .forms import Loops, read

FOLDER = Path(__file__).parent / "passes"
SETTING = re.compile(r"(\w+): (.*)")
ASKED = {f.name for f in fields(Context)}


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the pass `name`; `after` is None where the loops stay as they are."""

    name: str
    title: str
    settings: tuple[tuple[str, str], ...]
    before: str
    after: str | None

    def __str__(self) -> str:
        return f"{self.name}-{self.title.lower().replace(' ', '-')}"

    @property
    def context(self) -> Context:
        """For a processor, or for a GPU if the pipeline is one for these."""
        found = Context(machine=None if self.pipeline.startswith("CUDA") else Machine())
        for name, value in self.settings:
            if name in ASKED:
                found = replace(found, **{name: value == "True" if name == "fastmath" else names_in(value)})
        return found

    @property
    def pipeline(self) -> str:
        """The pipeline that the pass is of."""
        first = next(n for n, pipeline in PIPELINES.items() if any(p.name == self.name for p in pipeline))
        return dict(self.settings).get("of", first)

    @property
    def found(self) -> Pass:
        """The pass itself."""
        return next(p for p in PIPELINES[self.pipeline] if p.name == self.name)

    @property
    def loops(self) -> Loops:
        """What the pass works on."""
        return read(self.before, self.pipeline, self.context, names_in(dict(self.settings).get("lanes", "")))

    def applied(self, loops: Loops) -> Loops:
        """What the pass makes of `loops`."""
        return self.found.run(loops, **self.found.asks(self.context))

    @property
    def written(self) -> str:
        settings = "".join(f"{name}: {value}\n" for name, value in self.settings)
        end = "-- stays\n" if self.after is None else f"-- becomes\n{self.after}"
        return f"== {self.title}\n{settings}{self.before}{end}"


def names_in(value: str) -> frozenset[str]:
    return frozenset(value.replace(",", " ").split())


def cases_in(path: Path) -> Iterator[Case]:
    for part in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, rest = part.partition("\n")
        before, mark, after = re.split(r"^-- (becomes|stays)\n", rest, maxsplit=1, flags=re.M)
        start = before.index("loopset ")
        lines = before[:start].splitlines()
        settings = tuple(m.groups() for m in map(SETTING.fullmatch, lines) if m)
        assert len(settings) == len(lines), f"{path.name}: no setting in {before[:start]!r}"
        assert {n for n, _ in settings} <= ASKED | {"of", "lanes"}, f"{path.name}: {settings}"
        yield Case(path.stem, title, settings, before[start:], after.rstrip() + "\n" if mark == "becomes" else None)
