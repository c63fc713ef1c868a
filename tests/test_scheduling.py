"""Tests of one corpus entry share a worker."""

from __future__ import annotations

import pytest

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
