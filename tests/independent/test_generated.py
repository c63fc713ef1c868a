"""A few drawn programs, some of them compiled; `python -m tests.independent` compiles as many as there is time for."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG

from .expected import Unusable
from .session import drawn, outcomes, plan

GROUPS, EACH = 4, 6
LONG = {14, 15, 21}  # seeds of programs that take long to compile
OF_CODE = frozenset({"parallel", "emulated", "jax"})  # settings that are about generated code


def is_compiled(seed: int) -> bool:
    """A third of the programs, and those for threads, kernels, or JAX."""
    return IS_LONG or seed % 3 == 0 or not OF_CODE.isdisjoint(plan(seed)[0])


@pytest.mark.parametrize("group", range(GROUPS))
def test_drawn_programs(group: int) -> None:
    for seed in sorted({*range(group * EACH, (group + 1) * EACH)} - LONG):
        program = drawn(seed)
        try:
            with nullcontext() if is_compiled(seed) else interpreting():
                for outcome in outcomes(program, seed):
                    assert not outcome.failed, f"{outcome.setting}: {outcome.message}\n{program.runnable()}"
        except Unusable:
            continue
