"""Where those who wait see what is being compiled and how far it is: one line on standard error after two seconds."""

from __future__ import annotations

import shutil
import threading
from importlib import import_module
from typing import Any, Protocol, TextIO

PATIENCE = 2.0  # seconds of compiling that nothing is said about
BETWEEN = 0.25  # seconds between two looks at how far it is


class Compilation(Protocol):
    """What is looked at, as `stages.Progress` has it."""

    @property
    def elapsed(self) -> float: ...
    @property
    def text(self) -> str | None: ...


class Display(Protocol):
    """Where a line is shown that changes."""

    def show(self, text: str, elapsed: float) -> None: ...

    def close(self) -> None: ...


class Line:
    """The last line of a terminal, written over with each change, and empty in the end."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, text: str, elapsed: float) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.write(text[:width])

    def close(self) -> None:
        self.write("")

    def write(self, text: str) -> None:
        self.stream.write(f"\r\x1b[K{text}")
        self.stream.flush()


class Spinner:
    """The same by `rich`, on one of its consoles."""

    def __init__(self, console: Any) -> None:
        self.status = console.status("")

    def show(self, text: str, elapsed: float) -> None:
        self.status.update(import_module("rich.text").Text(text))
        self.status.start()

    def close(self) -> None:
        self.status.stop()


class Log:
    """Lines of a file, which stay: one whenever twice the time has passed."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.due = stream, 0.0

    def show(self, text: str, elapsed: float) -> None:
        if elapsed >= self.due:
            self.due = 2 * elapsed
            print(text, file=self.stream, flush=True)

    def close(self) -> None:
        """Nothing has to go."""


def display_on(stream: TextIO) -> Display:
    if not stream.isatty():
        return Log(stream)
    try:
        console = import_module("rich.console").Console(file=stream)
    except ImportError:
        return Line(stream)
    return Spinner(console)


class Ticker(threading.Thread):
    """Looks at a compilation now and then, and shows how far it is, until its end."""

    def __init__(self, progress: Compilation, display: Display) -> None:
        super().__init__(name="loopdiff progress", daemon=True)
        self.progress, self.display, self.over = progress, display, threading.Event()

    def run(self) -> None:
        is_shown = False
        while not self.over.wait(max(BETWEEN, PATIENCE - self.progress.elapsed)):
            text = self.progress.text
            if text is not None:
                self.display.show(text, self.progress.elapsed)
                is_shown = True
            elif is_shown:
                self.display.close()
        if is_shown:
            self.display.close()

    def end(self) -> None:
        """What was shown is gone when this returns."""
        self.over.set()
        self.join()
