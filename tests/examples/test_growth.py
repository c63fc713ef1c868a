"""`growth.py` measures programs of its own making: they mean something, and exponents are those of their figures."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.part(2)
BENCH = Path(__file__).parents[2] / "examples" / "bench"
FAMILIES = (
    "numbers", "stores", "loops", "nested", "arrays", "shapes", "whole", "steps", "helpers", "array-helpers",
)  # fmt: skip


@pytest.fixture(autouse=True)
def found_as_scripts_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def program(family: str, n: int) -> tuple[Any, tuple[Any, ...]]:
    """The function as Python runs it, and its arguments."""
    programs = importlib.import_module("programs")
    names: dict[str, Any] = {"np": np}
    exec(programs.FAMILIES[family].text(n), names)
    return names["program"], programs.FAMILIES[family].arguments(n)


def test_every_family_is_known() -> None:
    assert tuple(importlib.import_module("programs").FAMILIES) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_run_at_every_size(family: str) -> None:
    for n in importlib.import_module("programs").FAMILIES[family].sizes:
        f, args = program(family, n)
        assert np.isfinite(f(*args))


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_grow_in_proportion(family: str) -> None:
    """Twice the number, twice the text: what has an exponent of 1 does not depend on how programs are written."""
    programs = importlib.import_module("programs")
    small, large = (programs.FAMILIES[family].text(n).count("\n") for n in (16, 32))
    assert large < 2.2 * small


def test_exponents_are_those_of_the_largest_programs() -> None:
    growth = importlib.import_module("growth")
    rows = [
        {"n": n, "value": 2.0 * n, "gradient": 0.5 * n**2 if n > 10 else 7.0, "gradient_memory": 90.0 + n, "base": 90.0}
        for n in (5, 10, 20, 40, 80)
    ]
    found = growth.exponents([*rows, {"n": 160, "base": 90.0, "error": "value: more than 90 s"}])
    assert found == {"value": pytest.approx(1.0), "gradient": pytest.approx(2.0), "memory": pytest.approx(1.0)}


def test_a_limit_ends_a_program_and_what_was_found_before_is_kept() -> None:
    limited = importlib.import_module("limited")
    row = limited.run({"section": "tests.examples.endless"}, 1.0, 4096)
    assert row == {"base": 1.0, "error": "value: more than 1 s"}


@pytest.mark.parametrize(
    ("code", "last", "why"),
    [
        (-24, [], "more than 9 s"),
        (1, ["numpy._core._exceptions._ArrayMemoryError: Unable to allocate"], "more than 99 MB"),
        (-6, ["LLVM ERROR: out of memory"], "more than 99 MB"),
        (1, ["ValueError: a gradient is not finite"], "ValueError: a gradient is not finite"),
        (-11, [], "ended with -11"),
    ],
)
def test_why_a_process_ended_is_said(code: int, last: list[str], why: str) -> None:
    assert importlib.import_module("limited").reason(code, last, 9.0, 99) == why


def test_the_command_says_what_it_found(tmp_path: Path) -> None:
    command = [sys.executable, str(BENCH / "growth.py"), "--families", "helpers", "--points", "2"]
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "rows.json")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["n"] for row in rows] == [5, 10]
    assert all(0 < row["value"] < row["gradient"] for row in rows)
    assert "| helpers | 5 |" in done.stdout
    assert "| helpers | functions of numbers that call each other |" in done.stdout
