"""Runs named stages: each result is verified, timed and, on request, printed or written to a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_loopset
from loopdiff.ir.verify import verify
from loopdiff.settings.options import debug_level, dump_directory

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Change:
    """A pass that changed a function."""

    function: str
    by: str


WATCHERS: list[Callable[[Change], None]] = []  # who is told of changes in any compilation


@dataclass(slots=True)
class Stages:
    """The record of one compilation: seconds by stage, and which passes changed which functions, in order."""

    name: str
    seconds: dict[str, float] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)

    def run(self, stage: str, build: Callable[..., T], *args: object) -> T:
        """`build(*args)`, timed; a LoopSet is verified and dumped under the name `stage`."""
        result = self.timed(stage, build, *args)
        if isinstance(result, ir.LoopSet):
            self.check(stage, result)
        return result

    def timed(self, stage: str, build: Callable[..., T], *args: object, **options: object) -> T:
        start = time.perf_counter()
        result = build(*args, **options)
        took = time.perf_counter() - start
        self.seconds[stage] = self.seconds.get(stage, 0.0) + took
        if debug_level() >= 1:
            self.note(f"{stage:12s} {1e3 * took:9.2f} ms")
        return result

    def changed(self, function: str, by: str) -> None:
        """Note that a pass changed a function."""
        found = Change(function, by)
        self.changes.append(found)
        for watch in WATCHERS:
            watch(found)

    def note(self, text: str) -> None:
        print(f"loopdiff: {self.name}: {text}", file=sys.stderr)

    def check(self, stage: str, ls: ir.LoopSet) -> ir.LoopSet:
        """`ls`, verified and, on request, shown. The surface has no types yet, so it is only shown."""
        if stage != "surface":
            verify(ls, stage)
        self.show(stage, lambda: print_loopset(ls), 2)
        return ls

    def show(self, stage: str, text: Callable[[], str], level: int) -> None:
        """Print the text of a stage from debug level `level` on; write it where `LOOPDIFF_DUMP` says."""
        if debug_level() >= level:
            print(f"-- {self.name}: {stage}\n{text()}", file=sys.stderr)
        folder = dump_directory()
        if folder is not None:
            write_numbered(folder, f"{self.name}-{stage}.txt".replace(" ", "-"), text())


def write_numbered(folder: Path, name: str, text: str) -> None:
    """Write `text` so that files sort in the order of their stages."""
    folder.mkdir(parents=True, exist_ok=True)
    number = sum(1 for _ in folder.iterdir()) + 1
    (folder / f"{number:03d}-{name}").write_text(text, encoding="utf-8")
