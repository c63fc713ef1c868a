"""The programs of examples/bench/traps.py and traps_of_python.py: loopdiff falls for none, and the tables say so of who
does."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.part(2)
BENCH = Path(__file__).parents[2] / "examples" / "bench"


@pytest.fixture
def traps(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("traps")


@pytest.fixture
def of_python(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("traps_of_python")


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


def test_loopdiff_gives_what_python_gives_or_refuses(of_python: Any, capfd: pytest.CaptureFixture[str]) -> None:
    header, *lines = of_python.rows((of_python.loopdiff,))
    assert header == ["", "true", "loopdiff"]
    refused = {cells[0] for cells in lines if cells[2] == "refused"}
    assert {cells[2] for cells in lines} == {"right", "refused"}
    assert {cells[0] for cells in lines if cells[1] == "raises"} == refused - {"an iterator used twice"}
    assert all(re.match(r".*Error: LD\d{3}: ", line) for line in capfd.readouterr().err.splitlines() if "Error" in line)


def test_what_is_right_is_what_python_gives(of_python: Any) -> None:
    """Two of them by hand."""
    programs = of_python.programs
    np.testing.assert_allclose(of_python.truth(programs.element_before_a_call), [42.0, 39.0, 2.0, 0.0], rtol=1e-14)
    np.testing.assert_allclose(of_python.truth(programs.elements_change_places), [18.0, 9.0, 12.0, 0.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("found", "true", "cell"),
    [
        ([4.0, 1.0, 2.0], [4.0, 1.0, 2.0], "right"),
        ([4.0], [4.0, 1.0, 2.0], "right"),  # of who gives values only
        ([4.0, 1.0, 3.0], [4.0, 1.0, 2.0], "**4; 1 3**"),
        ([4.5], [4.0, 1.0, 2.0], "**4.5**"),
        ([4.0, 1.0], "raises", "**4; 1**"),
        ("refused", "raises", "refused"),
    ],
)
def test_cells(of_python: Any, found: Any, true: Any, cell: str) -> None:
    as_arrays = (a if isinstance(a, str) else np.array(a) for a in (found, true))
    assert of_python.verdict(*as_arrays) == cell
