"""A few drawn programs, some of them compiled; `python -m tests.independent` compiles as many as there is time for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest

from loopdiff import set_num_threads
from loopdiff.backends.cpu.threads import pool
from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG

from .bindings import programs
from .check import try_setting
from .expected import Unusable, cases_of
from .session import drawn, outcomes, plan

PROGRAMS = 24
LONG = {14, 15, 21}  # seeds of programs that take long to compile
OF_CODE = frozenset({"parallel", "emulated", "jax"})  # settings that are about generated code


def is_compiled(seed: int) -> bool:
    """A third of the programs, and those for threads, kernels, or JAX."""
    return IS_LONG or seed % 3 == 0 or not OF_CODE.isdisjoint(plan(seed)[0])


@pytest.mark.part(7)
@pytest.mark.parametrize("seed", sorted({*range(PROGRAMS)} - LONG))
def test_drawn_programs(seed: int) -> None:
    program = drawn(seed)
    with suppress(Unusable), nullcontext() if is_compiled(seed) else interpreting():
        for outcome in outcomes(program, seed):
            assert not outcome.failed, f"{outcome.setting}: {outcome.message}\n{program.runnable()}"


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Two of them, on one core too."""
    wanted = pool.word(pool.WANTED).value
    set_num_threads(2)
    yield
    set_num_threads(wanted)


@pytest.mark.usefixtures("two_threads")
def test_threads_run_loops_of_few_iterations() -> None:
    """Under the setting that is about them, and no other; the pool counts the loops that it has run."""
    wants = cases_of(programs()[0])
    for setting, is_run in (("parallel", True), ("auto", False)):
        before = pool.word(pool.NUMBER).value
        assert try_setting(wants, setting, frozenset({"grad"})).kind == "ok"
        assert (pool.word(pool.NUMBER).value > before) == is_run
