"""Tests of one corpus entry share a worker; which cases a run takes, and which are optimised in full."""

from __future__ import annotations

import pytest

from tests.lengths import IS_LONG, is_optimised, left_out
from tests.scheduling import group_of

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
    taken = [[not is_left for is_left in left_out(cases, str(turn))] for turn in range(3)]
    assert [sum(each) for each in zip(*taken, strict=True)] == [1] * 7 + [3]
    assert left_out(cases, "all") == [False] * 8


@pytest.mark.skipif(IS_LONG, reason="all is optimised")
def test_each_entry_and_file_has_its_turn_to_be_optimised() -> None:
    def turns(file: str, entry: str | None) -> int:
        return sum(is_optimised(file, entry, str(turn)) for turn in range(4))

    assert turns("tests/backends/test_tiles.py", "softmax") == 4
    assert turns("tests/kernels/test_rows.py", None) == 0
    assert turns(BATTERY, "softmax") == turns("tests/jax/test_wrap.py", None) == 1
    assert [is_optimised(BATTERY, "softmax", str(turn)) for turn in range(4)] == [
        is_optimised("tests/gradients/test_jax_wrap.py", "softmax", str(turn)) for turn in range(4)
    ]
