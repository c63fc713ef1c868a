"""Ctrl-C while something is made that must not be left half made, as code that a compiler is at work on.

An exception between any two instructions of Numba, of imports or of what they register leaves tables that later calls
find damaged, and one in a callback or a finalizer is lost. So meanwhile another handler takes note of the signal, and
afterwards the signal comes again. On the main thread, that is: no other one is interrupted.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """What is done inside is done as a whole before Ctrl-C has its effect."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def take_note(number: int, _: Any) -> None:
        came.append(number)

    try:
        signal.signal(signal.SIGINT, take_note)
    except ValueError:  # an interpreter within the interpreter
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is take_note:
            signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
