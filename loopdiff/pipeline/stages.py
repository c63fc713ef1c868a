"""Runs named stages: each result is verified, timed and, on request, printed or written to a file.

Who waits for a compilation sees which stage runs (`pipeline.display`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO, TypeVar

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_loopset
from loopdiff.ir.verify import verify
from loopdiff.pipeline.collection import rare_collection
from loopdiff.settings.options import Shown, debug_level, dump_directory, shown

if TYPE_CHECKING:
    from loopdiff.pipeline.display import Ticker

T = TypeVar("T")
PAUSE = 1.0  # seconds without compiling after which a new compilation begins
IS_FOR_OTHERS = ContextVar("IS_FOR_OTHERS", default=False)  # whether the code that runs now was called by JAX


@immutable
class Change:
    """A pass that changed a function."""

    function: str
    by: str


WATCHERS: list[Callable[[Change], None]] = []  # who is told of changes in any compilation


@contextmanager
def for_others() -> Iterator[None]:
    """Code that JAX calls: nobody is told how far compiling is unless they asked."""
    before = IS_FOR_OTHERS.set(True)
    try:
        yield
    finally:
        IS_FOR_OTHERS.reset(before)


class Progress:
    """The compilation of one function, as it is told by `Stages`: a context that compilers enter, with others inside.

    `asked` is the function's setting. Entered by one thread at a time.
    """

    def __init__(self, name: str, asked: Shown) -> None:
        self.name, self.asked = name, asked
        self.stages: list[str] = []  # those that run now, each inside of the one before
        self.depth, self.spent, self.begun, self.ended = 0, 0.0, 0.0, 0.0
        self.ticker: Ticker | None = None

    def __enter__(self) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        rare_collection.__enter__()
        self.begun = time.monotonic()
        if self.begun - self.ended > PAUSE:
            self.spent = 0.0
        stream = sys.stderr
        if stream is not None and self.is_shown_on(stream):
            from loopdiff.pipeline.display import Ticker, display_on

            self.ticker = Ticker(self, display_on(stream))
            self.ticker.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.depth -= 1
        if self.depth:
            return
        rare_collection.__exit__()
        self.ended = time.monotonic()
        self.spent += self.ended - self.begun
        if self.ticker is not None:
            self.ticker.end()
            self.ticker = None

    def is_shown_on(self, stream: TextIO) -> bool:
        """Whether anybody asked for it, or waits at a terminal for this process, in its main thread."""
        said = {self.asked, shown()}
        if "never" in said or debug_level() >= 1:  # which prints the stages themselves
            return False
        if "always" in said:
            return True
        is_main = threading.current_thread() is threading.main_thread() and not is_worker()
        return is_main and not IS_FOR_OTHERS.get() and is_terminal(stream)

    def began(self, stage: str) -> None:
        self.stages.append(stage)

    def finished(self) -> None:
        self.stages.pop()

    @property
    def elapsed(self) -> float:
        """Seconds that this compilation takes by now."""
        return self.spent + time.monotonic() - self.begun

    @property
    def text(self) -> str | None:
        """The line; None between stages, where other things than compiling may happen."""
        running = self.stages[-1:]
        return f"loopdiff compiles `{self.name}`: {running[0]}, {self.elapsed:.1f} s" if running else None


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody may look at `stream`, which may be closed, or not quite a stream."""
    try:
        return stream.isatty()
    except (AttributeError, ValueError):
        return False


def is_worker() -> bool:
    """Whether this process is one of `multiprocessing`, which it then has imported."""
    module = sys.modules.get("multiprocessing")
    return module is not None and module.parent_process() is not None


@dataclass(slots=True)
class Stages:
    """The record of one compilation: seconds by stage, and which passes changed which functions, in order.

    `progress` is told which stages run.
    """

    name: str
    progress: Progress = field(default_factory=lambda: Progress("", "never"))
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
        self.progress.began(stage)
        try:
            result = build(*args, **options)
        finally:
            self.progress.finished()
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
