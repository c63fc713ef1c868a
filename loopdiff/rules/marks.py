"""Functions that say something about derivatives and compute nothing; they mean the same in plain Python."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def stop_gradient(x: T) -> T:
    """`x`, which counts as a constant: derivatives of any order and in either mode take no way through this call."""
    return x
