"""How much a run of the suite takes of what could be drawn or compiled: a part, and more with LOOPDIFF_LONG_TESTS.

Tests marked `part(n)` run each n-th of their cases; which ones, LOOPDIFF_TEST_TURN says, 0 if it does not: CI says how
many commits there are. Functions with the same cases take different ones, so that a case that one leaves out another
has. The turn `all` takes all cases. What cases take by turns, and which of them `every` names, is the next one in the
next turn as well. Each number of these counts the same turns: those of one test have no factor in common, or some
pairs would never come. So n turns in a row have every case, and n times the number of ways every case in every way.

LLVM optimises in full what tests in `OPTIMISED` compile, which look at code or at the bits of results, and what those
of `IN_FULL` of `OF` entries of the corpus or other files do, by turns, too. The rest it optimises as little as what is
long (`backends/cpu/direct/library.py`), and kernels always: they are written in lanes, and take twice as long in full.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar
from unittest.mock import patch
from zlib import crc32

T = TypeVar("T")
W = TypeVar("W")
IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))
TURN = os.environ.get("LOOPDIFF_TEST_TURN") or "0"
START = 0 if TURN == "all" else int(TURN)
IN_FULL, OF = 3, 13  # a prime that is no n of `part(n)`: each case has turns in full, and others
OPTIMISED = (
    "tests/api/test_compiled.py", "tests/api/test_decisions.py", "tests/backends/", "tests/cuda/", "tests/disk/",
    "tests/examples/", "tests/passes/", "tests/schedule/", "tests/test_budgets.py", "tests/test_scheduling.py",
)  # fmt: skip
NOT_OPTIMISED = ("tests/kernels/",)


def in_turns(ways: Sequence[T], number: int) -> Sequence[T]:
    """One of the `ways` for the test with this number, the next for the next, and in the next turn; all of them in a
    long run."""
    return ways if IS_LONG else (ways[(number + START) % len(ways)],)


def each_in_turns(items: Sequence[T], ways: Sequence[W]) -> list[tuple[T, W]]:
    """Each of the `items` with one of the `ways`, by turns; with all of them in a long run."""
    return [(item, way) for number, item in enumerate(items) for way in in_turns(ways, number)]


def every(number: int, items: Sequence[T]) -> Sequence[T]:
    """Each so-manyth of `items`, others in the next turn; all of them in a long run."""
    return items if IS_LONG else items[START % min(number, len(items)) :: number]


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
    return turn == "all" or (crc32((entry or file).encode()) + int(turn)) % OF < IN_FULL


@contextmanager
def optimising_little() -> Iterator[None]:
    """Have LLVM do as little as for long programs.

    What is made goes by names of its own, in the process and on disk, or others would get it for what is made in full.
    """
    from loopdiff.backends import load
    from loopdiff.backends.cpu.direct import library

    installation = load.installation
    with patch.object(library, "LONG", 0), patch.object(load, "installation", lambda: f"{installation()}, little"):
        yield
