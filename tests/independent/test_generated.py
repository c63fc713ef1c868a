"""A few drawn programs; `python -m tests.independent` checks as many as there is time for."""

from __future__ import annotations

import pytest

from .expected import Unusable
from .session import drawn, outcomes

PROGRAMS = 36
GROUP = 6  # programs of one test


@pytest.mark.parametrize("first", range(0, PROGRAMS, GROUP))
def test_drawn_programs(first: int) -> None:
    for seed in range(first, first + GROUP):
        program = drawn(seed)
        try:
            for outcome in outcomes(program, seed):
                assert not outcome.failed, f"{outcome.setting}: {outcome.message}\n{program.runnable()}"
        except Unusable:
            continue
