"""A few drawn programs; `python -m tests.independent` checks as many as there is time for."""

from __future__ import annotations

import pytest

from .expected import Unusable
from .session import drawn, outcomes

GROUPS, EACH = 4, 6
LONG = {14}  # seeds of programs that take long to compile


@pytest.mark.parametrize("group", range(GROUPS))
def test_drawn_programs(group: int) -> None:
    for seed in sorted({*range(group * EACH, (group + 1) * EACH)} - LONG):
        program = drawn(seed)
        try:
            for outcome in outcomes(program, seed):
                assert not outcome.failed, f"{outcome.setting}: {outcome.message}\n{program.runnable()}"
        except Unusable:
            continue
