"""Arrays bound in branches, loops and helpers, under every tape."""

from __future__ import annotations

import pytest

from .bindings import programs
from .check import Program, expected, try_setting

PARTS = {"auto": frozenset({"jvp", "vjp"}), "store": frozenset({"grad"}), "recompute": frozenset({"grad"})}


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_bound_arrays(program: Program) -> None:
    want = expected(program)
    for tape, parts in PARTS.items():
        outcome = try_setting(program, want, tape, parts)
        assert outcome.kind == "ok", f"{tape}: {outcome.message}\n{program.runnable()}"
