"""`tapes.py` measures what the tape keeps: of the programs that it was made for, the least."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

BENCH = Path(__file__).parents[2] / "examples" / "bench"
ASKED = ("shortest paths", "advection", "triangular product", "wave", "attention", "n-body")
SURPLUS = 1.15


@pytest.fixture(autouse=True)
def found_as_scripts_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


def programs() -> Any:
    return importlib.import_module("tape_programs")


@pytest.mark.parametrize("name", ASKED)
def test_the_least_is_kept(name: str) -> None:
    """Of the arguments that are measured; nothing is compiled for that."""
    program = programs().BY_NAME[name]
    assert program.is_asked
    args = program.make(**program.full)
    kept = vectorize_grad(wrt=program.wrt)(program.function).compile(*args.values()).temporaries
    assert sum(t.bytes or 0 for t in kept) <= SURPLUS * program.least(args)


def test_those_that_were_asked_for_are_said_to_be() -> None:
    assert tuple(p.name for p in programs().PROGRAMS if p.is_asked) == ASKED


def test_small_arguments_give_finite_values() -> None:
    for program in programs().PROGRAMS:
        assert np.isfinite(program.function(**program.make(**program.small)))


def row(**changes: Any) -> dict[str, Any]:
    way = {
        "first": 1.5,
        "peak": 104,
        "predicted": 100,
        "kept": 80,
        "apart": {"float64": 0.0},
        "wrong": {"float64": 2e-9},
    }
    peaks = {"auto": {"peak": 104, "predicted": 100}}
    found = {"program": "wave", "reason": "one field", "now": {"least": 40, "auto": {"kept": 80}}}
    return {
        **found,
        "before": {"auto": {"kept": 200}},
        "ways": {"auto": way, "store": {"error": "ended"}},
        "peaks": peaks,
        **changes,
    }


def test_tables_say_what_is_missed() -> None:
    tapes = importlib.import_module("tapes")
    parts = tapes.sections({"programs": [row()], "times": [], "long": []})
    kept, policies, right = (table for _, table in parts.values())
    assert "| wave | 0.2 kB | 0.08 kB | 0.04 kB | 2.00 | one field |" in kept
    assert "| wave | 0.08 kB | ended |" in policies
    assert "| wave | 0e+00 in float64 | **2e-09** in float64 | 1.04 to 1.04 | 1.5 s |" in right


def test_differences_are_parts_of_the_largest_number() -> None:
    apart = importlib.import_module("tapes").apart
    one = {"x": np.array([1.0, 2.0]), "y": np.array([1.0], np.float32), "only here": np.ones(3)}
    other = {"x": np.array([1.0, 4.0]), "y": np.array([1.0], np.float32)}
    assert apart(one, other) == {"float64": 0.5, "float32": 0.0}
