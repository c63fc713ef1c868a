"""How much a run of the suite takes of what could be drawn or compiled: a part, and more with LOOPDIFF_LONG_TESTS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))


def in_turns(ways: Sequence[T], number: int) -> Sequence[T]:
    """One of the `ways` for the test with this number, another one for the next; all of them in a long run."""
    return ways if IS_LONG else (ways[number % len(ways)],)


def every(number: int, items: Sequence[T]) -> Sequence[T]:
    """Each so-manyth of `items`; all of them in a long run."""
    return items[:: 1 if IS_LONG else number]
