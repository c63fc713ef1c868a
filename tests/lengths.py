"""How much a run of the suite takes of what could be drawn or compiled: a part, and more with LOOPDIFF_LONG_TESTS.

Tests marked `part(n)` run each n-th of their cases; which ones, LOOPDIFF_TEST_TURN says, 0 if it does not. Functions
with the same cases take different ones, so that a case that one leaves out another has. The n has no factor in common
with the number of ways that cases take by turns: one of these would never be taken. The turn `all` takes all cases.

LLVM optimises in full what tests in `OPTIMISED` compile, which look at code or at the bits of results, and what those
of every fourth entry of the corpus or other file do, by turns, too. The rest it optimises as little as what is long
(`backends/cpu/direct/library.py`), and kernels always: they are written in lanes, and take twice as long in full.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")
W = TypeVar("W")
IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))
TURN = os.environ.get("LOOPDIFF_TEST_TURN") or "0"
OPTIMISED = (
    "tests/api/test_compiled.py", "tests/api/test_decisions.py", "tests/backends/", "tests/cuda/", "tests/disk/",
    "tests/examples/", "tests/passes/", "tests/schedule/", "tests/test_budgets.py",
)  # fmt: skip
NOT_OPTIMISED = ("tests/kernels/",)


def in_turns(ways: Sequence[T], number: int) -> Sequence[T]:
    """One of the `ways` for the test with this number, another one for the next; all of them in a long run."""
    return ways if IS_LONG else (ways[number % len(ways)],)


def each_in_turns(items: Sequence[T], ways: Sequence[W]) -> list[tuple[T, W]]:
    """Each of the `items` with one of the `ways`, by turns; with all of them in a long run."""
    return [(item, way) for number, item in enumerate(items) for way in in_turns(ways, number)]


def every(number: int, items: Sequence[T]) -> Sequence[T]:
    """Each so-manyth of `items`; all of them in a long run."""
    return items[:: 1 if IS_LONG else number]


def left_out(tests: Iterable[tuple[str, int]], turn: str = TURN) -> list[bool]:
    """Whether each of `tests`, by its function and the n of `part(n)`, is none of those of this turn."""
    if turn == "all":
        return [False for _ in tests]
    seen: Counter[str] = Counter()
    found = []
    for function, number in tests:
        found.append((seen[function] + crc32(function.encode()) + int(turn)) % number != 0)
        seen[function] += 1
    return found


def is_optimised(file: str, entry: str | None, turn: str = TURN) -> bool:
    """Whether LLVM optimises in full what tests in `file` compile, which are about an entry of the corpus, or about
    none."""
    if IS_LONG or file.startswith((*OPTIMISED, *NOT_OPTIMISED)):
        return IS_LONG or file.startswith(OPTIMISED)
    return turn == "all" or (crc32((entry or file).encode()) + int(turn)) % 4 == 0
