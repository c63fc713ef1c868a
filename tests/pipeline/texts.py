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
writes it); that it means the same is found out by the interpreter, on arguments made for the declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from loopdiff.ir import nodes as ir
from loopdiff.ir.reader import read_loopset
from loopdiff.model.machine import Machine
from loopdiff.pipeline.passes import Context, Pass
from loopdiff.pipeline.runner import PIPELINES
from tests.gradients.interpreted import evaluate

FOLDER = Path(__file__).parent / "passes"
EXTENT = 5  # of each axis of an argument
SETTING = re.compile(r"(\w+): (.*)")


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
        found = Context(machine=Machine())
        for name, value in self.settings:
            given = frozenset(value.replace(",", " ").split())
            found = replace(found, **{name: value == "True" if name == "fastmath" else given})
        return found

    @property
    def loops(self) -> ir.LoopSet:
        return read_loopset(self.before)

    @property
    def written(self) -> str:
        settings = "".join(f"{name}: {value}\n" for name, value in self.settings)
        end = "-- stays\n" if self.after is None else f"-- becomes\n{self.after}"
        return f"== {self.title}\n{settings}{self.before}{end}"


def cases_in(path: Path) -> Iterator[Case]:
    for part in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
        title, _, rest = part.partition("\n")
        before, mark, after = re.split(r"^-- (becomes|stays)\n", rest, maxsplit=1, flags=re.M)
        start = before.index("loopset ")
        lines = before[:start].splitlines()
        settings = tuple(m.groups() for m in map(SETTING.fullmatch, lines) if m)
        assert len(settings) == len(lines), f"{path.name}: no setting in {before[:start]!r}"
        yield Case(path.stem, title, settings, before[start:], after.rstrip() + "\n" if mark == "becomes" else None)


def find_pass(name: str) -> Pass:
    return next(p for pipeline in PIPELINES.values() for p in pipeline if p.name == name)


def arguments(ls: ir.LoopSet) -> dict[str, Any]:
    """Numbers for what `ls` declares: floating ones away from zero, of both signs, and places inside of arrays."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for name in ls.params:
        if not ls.has_array(name):
            kind = ls.scalar(name).type
            found[name] = 0.75 if kind is not None and kind.is_float else EXTENT
            continue
        decl = ls.array(name).type
        assert decl is not None
        shape = (EXTENT,) * decl.rank
        floats = rng.uniform(0.5, 1.5, shape) * rng.choice((-1.0, 1.0), shape)
        found[name] = (floats if decl.element.is_float else rng.integers(0, EXTENT, shape)).astype(decl.dtype)
    return found


def passed_on(given: dict[str, Any], before: ir.LoopSet, after: ir.LoopSet) -> dict[str, Any]:
    """Arguments for `after`: those of `before` in their order, then memory for what else it asks for."""
    found = {new: given[old] for old, new in zip(before.params, after.params, strict=False)}
    for name in after.params[len(before.params) :]:
        decl = after.array(name)
        assert decl.type is not None
        shape = tuple(evaluate(e, after, found, {}) for e in decl.extents or ())
        found[name] = np.full(shape, np.nan, decl.type.dtype)
    return found
