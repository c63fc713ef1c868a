"""How much a run of the suite takes of what could be drawn or compiled: a part, and more with LOOPDIFF_LONG_TESTS."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
W = TypeVar("W")
IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))


def in_turns(ways: Sequence[T], number: int) -> Sequence[T]:
    """One of the `ways` for the test with this number, another one for the next; all of them in a long run."""
    return ways if IS_LONG else (ways[number % len(ways)],)


def each_in_turns(items: Sequence[T], ways: Sequence[W]) -> list[tuple[T, W]]:
    """Each of the `items` with one of the `ways`, by turns; with all of them in a long run."""
    return [(item, way) for number, item in enumerate(items) for way in in_turns(ways, number)]


def every(number: int, items: Sequence[T]) -> Sequence[T]:
    """Each so-manyth of `items`; all of them in a long run."""
    return items[:: 1 if IS_LONG else number]
