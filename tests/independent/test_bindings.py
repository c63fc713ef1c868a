"""Arrays bound in branches, loops and helpers, under every tape."""

from __future__ import annotations

import pytest

from .bindings import programs
from .check import try_setting
from .expected import Program, cases_of
from .found import found
from .idioms import idioms

TAPES = ("auto", "store", "recompute")
GRADIENT = frozenset({"grad"})


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_bound_arrays(program: Program) -> None:
    wants = cases_of(program)
    for tape in TAPES:
        outcome = try_setting(wants, tape, GRADIENT)
        assert outcome.kind == "ok", f"{tape}: {outcome.message}\n{program.runnable()}"


@pytest.mark.parametrize("program", found(), ids=lambda program: program.name)
def test_found_programs(program: Program) -> None:
    wants = cases_of(program)
    for tape in TAPES:
        outcome = try_setting(wants, tape, GRADIENT)
        assert not outcome.failed, f"{tape}: {outcome.message}\n{program.runnable()}"


@pytest.mark.parametrize("program", idioms(), ids=lambda program: program.name)
def test_programs_of_people_are_accepted(program: Program) -> None:
    outcome = try_setting(cases_of(program), "auto", frozenset({"value"}))
    assert outcome.kind == "ok", f"{outcome.message}\n{program.runnable()}"
