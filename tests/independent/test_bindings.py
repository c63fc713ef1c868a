"""Arrays bound in branches, loops and helpers, under every tape."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.gradients.interpreted import interpreting
from tests.lengths import in_turns

from .bindings import programs
from .check import Outcome, try_setting
from .expected import Expected, Program, cases_of
from .found import found
from .idioms import idioms
from .lists import listed

TAPES = ("auto", "store", "recompute")
REPORTED = 40  # programs, the first ones, were wrong or refused when they were written
GRADIENT = frozenset({"grad"})
WAYS = ("parallel", "emulated", "jax", "second")
REFUSED = {("left by break", "jax"): "LD352"}  # the loop keeps as many values as data say


def gradients(wants: list[Expected], tape: str) -> Outcome:
    """What becomes of the gradient of a program under a tape: compiled under one, and interpreted under the others."""
    with nullcontext() if tape == "auto" else interpreting():
        return try_setting(wants, tape, GRADIENT)


PROGRAMS = list(enumerate(programs()))


@pytest.mark.part(11)
@pytest.mark.parametrize(("number", "program"), PROGRAMS, ids=lambda p: getattr(p, "name", None))
def test_bound_arrays(number: int, program: Program) -> None:
    """Those that were reported under every tape, the others each under one."""
    wants = cases_of(program)
    for tape in TAPES if number < REPORTED else in_turns(TAPES, number):
        outcome = gradients(wants, tape)
        assert outcome.kind == "ok", f"{tape}: {outcome.message}\n{program.runnable()}"


def ways_of(want: Expected) -> tuple[str, ...]:
    """JAX and second derivatives are only asked about functions that give a number and write nothing."""
    return WAYS if want.is_energy and not want.written else WAYS[:2]


@pytest.mark.part(11)
@pytest.mark.parametrize(("number", "program"), PROGRAMS[:REPORTED], ids=lambda p: getattr(p, "name", None))
def test_bound_arrays_otherwise(number: int, program: Program) -> None:
    """Those that were reported: on threads, as kernels, through JAX, and their second derivatives, in turns."""
    wants = cases_of(program)
    for way in in_turns(ways_of(wants[0]), number):
        outcome = try_setting(wants, way, GRADIENT)
        code = REFUSED.get((program.name, way))
        wanted = ("ok", "") if code is None else ("refused", code)
        assert (outcome.kind, outcome.stage) == wanted, f"{way}: {outcome.message}\n{program.runnable()}"


@pytest.mark.part(5)
@pytest.mark.parametrize(("number", "program"), list(enumerate(found())), ids=lambda p: getattr(p, "name", None))
def test_found_programs(number: int, program: Program) -> None:
    wants = cases_of(program)
    for tape in in_turns(TAPES, number):
        outcome = gradients(wants, tape)
        assert not outcome.failed, f"{tape}: {outcome.message}\n{program.runnable()}"


@pytest.mark.part(5)
@pytest.mark.parametrize("program", [*idioms(), *listed()], ids=lambda program: program.name)
def test_programs_of_people_are_accepted(program: Program) -> None:
    with interpreting():
        outcome = try_setting(cases_of(program), "auto", frozenset({"value"}))
    assert outcome.kind == "ok", f"{outcome.message}\n{program.runnable()}"
