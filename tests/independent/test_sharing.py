"""A few drawn programs about shared memory, each under one of the tapes, and a third of them compiled."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG

from .check import try_setting
from .expected import Unusable, cases_of
from .sharing import sharing

TAPES = ("auto", "store", "recompute")


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(9))
def test_shared_memory(seed: int) -> None:
    program = sharing(seed)
    try:
        wants = cases_of(program)
    except Unusable:
        return
    with nullcontext() if IS_LONG or seed % 4 == 0 else interpreting():
        outcome = try_setting(wants, TAPES[seed % 3], frozenset({"grad"}))
    assert not outcome.failed, f"{outcome.message}\n{program.runnable()}"
