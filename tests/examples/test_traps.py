"""The programs of examples/bench/traps.py: loopdiff falls for none, and the table says so of who does."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "examples" / "bench"


@pytest.fixture
def traps(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("traps")


def test_no_answer_of_loopdiff_is_wrong(traps: Any) -> None:
    header, *lines = traps.rows((traps.loopdiff,))
    assert header[2] == "loopdiff"
    assert [cells[0] for cells in lines] == list(traps.TRUTH)
    assert {cells[2] for cells in lines} <= {"right", "0", "6"}


def test_wrong_answers_are_seen(traps: Any) -> None:
    assert traps.verdict([1.0, 2.0], [1.0, 2.0]) == "right"
    assert traps.verdict([1.0, 2.5], [1.0, 2.0]) == "**1 2.5**"
    assert traps.verdict(3, 0) == "**3**"
    assert traps.decided_otherwise(~traps.above(traps.GRID)) == traps.GRID.size
