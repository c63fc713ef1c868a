"""A few drawn programs about shared memory, each under one of the tapes."""

from __future__ import annotations

import pytest

from .check import try_setting
from .expected import Unusable, cases_of
from .sharing import sharing

TAPES = ("auto", "store", "recompute")


@pytest.mark.parametrize("seed", range(9))
def test_shared_memory(seed: int) -> None:
    program = sharing(seed)
    try:
        wants = cases_of(program)
    except Unusable:
        return
    outcome = try_setting(wants, TAPES[seed % 3], frozenset({"grad"}))
    assert not outcome.failed, f"{outcome.message}\n{program.runnable()}"
