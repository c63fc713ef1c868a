"""Tests of one corpus entry share a worker; which cases a run takes, and which are optimised in full."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests import lengths
from tests.lengths import IN_FULL, IS_LONG, OF, each_in_turns, every, is_optimised, left_out, optimising_little
from tests.scheduling import group_of

TESTS = Path(__file__).parent
MOST = 40  # commits until each case has come
IN_EVERY_RUN = (
    "errors/", "golden/", "replay/", "test_budgets.py", "test_contributing.py", "test_layers.py", "test_scheduling.py",
)  # fmt: skip
BATTERY = "tests/gradients/test_battery.py"


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        (f"{BATTERY}::test_values_equal_plain_python[primal-softmax-0]", "softmax"),
        ("tests/gradients/test_jax_wrap.py::test_gradient[softmax]", "softmax"),
        (
            "tests/ir/test_interpret.py::test_loops[softmax_like-3]",
            "tests/ir/test_interpret.py::test_loops[softmax_like-3]",
        ),
        ("tests/test_layers.py::test_no_cycles", "tests/test_layers.py"),
        ("tests/test_main.py::test_version", "tests/test_main.py::test_version"),
    ],
)
def test_groups(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


def test_each_case_has_its_turn() -> None:
    cases = [("f", 3)] * 7 + [("g", 1)]
    for first in (0, 1639):
        taken = [[not is_left for is_left in left_out(cases, str(first + turn))] for turn in range(3)]
        assert [sum(each) for each in zip(*taken, strict=True)] == [1] * 7 + [3]
    assert left_out(cases, "all") == [False] * 8


def numbers_of_parts() -> dict[str, int]:
    """The n of each `part(n)` of the suite, and where it is."""
    texts = {p.relative_to(TESTS).as_posix(): p.read_text(encoding="utf-8") for p in TESTS.rglob("test_*.py")}
    lines = {f"{name}:{k}": line for name, text in texts.items() for k, line in enumerate(text.splitlines(), 1)}
    found = {place: re.search(r"pytest\.mark\.part\((\d+)\)", line) for place, line in lines.items()}
    return {place: int(match[1]) for place, match in found.items() if match}


def test_each_case_has_turns_in_full_and_others() -> None:
    """By one number of turns, which parts and what is optimised have each an own period of."""
    numbers = numbers_of_parts()
    assert len(numbers) > 100
    assert {place: n for place, n in numbers.items() if n > MOST or math.gcd(n, OF) > 1} == {}
    assert [place for place in numbers if place.startswith(IN_EVERY_RUN)] == []


def test_ways_and_samples_move_with_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "IS_LONG", False)
    ways, sampled = [], []
    for turn in range(1639, 1642):
        monkeypatch.setattr(lengths, "START", turn)
        ways.append(each_in_turns("ab", (0, 1, 2)))
        sampled.append(every(3, "abcde"))
        assert every(3, "ab")
    assert sorted(pair for turn in ways for pair in turn) == [(item, way) for item in "ab" for way in range(3)]
    assert sorted("".join(sampled)) == [*"abcde"]


@pytest.mark.skipif(IS_LONG, reason="all is optimised")
def test_each_entry_and_file_has_its_turn_to_be_optimised() -> None:
    def turns(file: str, entry: str | None) -> int:
        return sum(is_optimised(file, entry, str(turn)) for turn in range(1639, 1639 + OF))

    assert turns("tests/backends/test_tiles.py", "softmax") == OF
    assert turns("tests/kernels/test_rows.py", None) == 0
    assert turns(BATTERY, "softmax") == turns("tests/jax/test_wrap.py", None) == IN_FULL
    assert [is_optimised(BATTERY, "softmax", str(turn)) for turn in range(OF)] == [
        is_optimised("tests/gradients/test_jax_wrap.py", "softmax", str(turn)) for turn in range(OF)
    ]


def branching(x):
    s = 1.0
    for i in range(x.shape[0]):
        if x[i] > s:
            s = s * 0.5 + x[i]
        s = s - x[i] * s
    return s


@pytest.mark.skipif(IS_LONG, reason="all is optimised")
def test_code_in_full_is_not_what_was_made_of_the_same_program_for_others() -> None:
    """Of one program, in one process and in one cache folder."""

    def length() -> int:
        return vectorize_grad(branching).compile(np.ones(3)).asm("primal").count("\n\t")

    with optimising_little():
        little = length()
    full = length()
    with optimising_little():
        assert little == length() != full
    assert full == length()
