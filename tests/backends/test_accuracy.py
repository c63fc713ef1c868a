"""The table of docs/accuracy.md: its promises, and that measuring again on fewer points finds nothing worse."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from loopdiff.backends.cpu.simd import host_width

ROOT = Path(__file__).parents[2]
BOUNDS = {"default": 4.0, "own": 4.0, "high": 1.01}


def stated() -> dict[str, dict[str, float]]:
    page = (ROOT / "docs" / "accuracy.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    header = rows[0][1:]
    return {
        row[0]: {h: float(v) for h, v in zip(header, row[1:], strict=True) if v != "-"}
        for row in rows[1:]
        if not re.match("-", row[0])
    }


def stated_for_avx2() -> dict[tuple[str, str], float]:
    """Of the defaults, which are the C library's more often there."""
    page = (ROOT / "docs" / "accuracy.md").read_text()
    return {(dtype, name): float(v) for v, dtype, name in re.findall(r"([\d.]+)\s+\((float\d\d)\s+(\w+)\)", page)}


def test_every_function_keeps_its_promise() -> None:
    found = stated()
    assert len(found) == 16
    for name, row in found.items():
        for what, error in row.items():
            assert error <= BOUNDS[what.split()[0]], (name, what)


@pytest.mark.parametrize("name", ["exp", "tanh", "cbrt", "hypot"])
def test_fewer_points_find_nothing_worse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "bench"))
    accuracy = importlib.import_module("accuracy")
    for what, error in stated()[name].items():
        method, dtype = what.split()
        if method == "default" and host_width("float64") < 8:
            error = max(error, stated_for_avx2().get((dtype, name), 0.0))
        assert accuracy.worst(name, method, dtype, 100, 100) <= error + 0.25, what
