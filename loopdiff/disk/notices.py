"""Warnings about what is kept on disk: each is said once in a process, and never becomes an exception.

A cache that is damaged is no fault of the program that finds it, so a filter that makes errors of warnings (`-W error`)
gets it on standard error instead.
"""

from __future__ import annotations

import contextlib
import sys
import warnings

from loopdiff.errors import LoopdiffWarning, callers_level

SAID: set[str] = set()


def say_once(code: str, message: str) -> None:
    """Warn, unless this was said before with that code."""
    if code in SAID:
        return
    SAID.add(code)
    text = f"{code}: {message}"
    try:
        warnings.warn(text, LoopdiffWarning, stacklevel=callers_level())
    except LoopdiffWarning:
        with contextlib.suppress(OSError, AttributeError, ValueError):  # there may be no standard error
            sys.stderr.write(f"LoopdiffWarning: {text}\n")
