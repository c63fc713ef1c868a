"""Ctrl-C while something is made that must not be left half made, as code that a compiler is at work on.

An exception between any two instructions of Numba, of imports or of what they register leaves tables that later calls
find damaged, and one in a callback or a finalizer is lost. So meanwhile another handler takes note of the signal, and
afterwards the one that was there is called. On the main thread, that is: no other one is interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """What is done inside is done as a whole before Ctrl-C has its effect."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[FrameType | None] = []

    def take_note(number: int, frame: FrameType | None) -> None:
        came.append(frame)

    try:
        exchange(take_note)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is take_note:
            exchange(before)
        now = signal.getsignal(signal.SIGINT)
        if came and callable(now):
            now(signal.SIGINT, came[-1])


def exchange(handler: Callable[[int, FrameType | None], object]) -> None:
    """Let `handler` be called for Ctrl-C, except in an interpreter within the interpreter, which gets none."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, handler)
