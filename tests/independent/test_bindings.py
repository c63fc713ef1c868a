"""Arrays bound in branches, loops and helpers, under every tape."""

from __future__ import annotations

import pytest

from .bindings import programs
from .check import Program, check


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_bound_arrays(program: Program) -> None:
    for outcome in check(program, ("auto", "store", "recompute")):
        assert outcome.kind == "ok", f"{outcome.setting}: {outcome.message}\n{program.runnable()}"
