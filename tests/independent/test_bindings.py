"""Arrays bound in branches, loops and helpers, under every tape."""

from __future__ import annotations

import pytest

from .bindings import programs
from .check import try_setting
from .expected import Program, cases_of

PARTS = {"auto": frozenset({"jvp", "vjp"}), "store": frozenset({"grad"}), "recompute": frozenset({"grad"})}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_bound_arrays(program: Program) -> None:
    wants = cases_of(program)
    for tape, parts in PARTS.items():
        outcome = try_setting(wants, tape, parts)
        assert outcome.kind == "ok", f"{tape}: {outcome.message}\n{program.runnable()}"
