"""A few dressed programs, some of them compiled, and the oracle for gradients inside programs."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

from loopdiff.calls.structured import StructuredCalls
from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG

from ..check import PARTS
from ..expected import Program, Unusable, cases_of, expected
from .check import try_dressed
from .drawn import drawn_dressed
from .dress import Dressed, dressed

TAPES = ("auto", "store", "recompute")


@pytest.mark.part(5)
@pytest.mark.parametrize("seed", range(20))
def test_dressed_programs(seed: int) -> None:
    program = drawn_dressed(seed)
    if program is None:
        return
    with suppress(Unusable), nullcontext() if IS_LONG or seed % 10 == 0 else interpreting():
        outcome = try_dressed(program, cases_of(program), TAPES[seed % 3], PARTS)
        assert not outcome.failed, f"{outcome.message}\n{program.runnable()}"


def test_all_that_is_put_around_programs_is_drawn() -> None:
    programs = [program for seed in range(60) if (program := drawn_dressed(seed)) is not None]
    texts = [program.source for program in programs]
    spellings = (
        "has_aux=True",
        "class Holder",
        "*rest",
        "**options",
        "wrt=[",
        "wrt=-",
        "'self.",
        ".grad(",
        "self.energy",
    )
    assert [s for s in spellings if not any(s in text for text in texts)] == []


# -- the oracle --------------------------------------------------------------------------------------------
CUBES = """
class Holder:
    def __init__(self, w):
        self.w = w

    @vectorize_grad(wrt=("x", "self"))
    def energy(self, x):
        return (self.w * x**3).sum()

    @vectorize_grad(wrt=["p['b']", 0], has_aux=True)
    def entry(self, x, p):
        g = self.energy.grad(p["b"] * x)
        return (g.x * x).sum() + p["a"] * (g.self.w).sum(), x

def f(x, p, w):
    return Holder(w).entry(x, p)
"""
ARGS: dict[str, Any] = {"x": np.array([0.7, -1.1]), "p": {"a": 0.4, "b": 1.3}, "w": np.array([0.9, 1.7])}
CHOSEN = frozenset((("x", ""), ("p", '["b"]')))


def cubes() -> Dressed:
    return Dressed(CUBES, ARGS, held=("w",), direct=("x", "p"), fields=("p", "x"), chosen=CHOSEN, has_aux=True)


def test_gradients_in_gradients_have_their_closed_form() -> None:
    want = expected(CUBES, ARGS)
    found = want.run.pull([1.0, None], {})
    x, w, a, b = ARGS["x"], ARGS["w"], 0.4, 1.3
    np.testing.assert_allclose(found["x"], 9.0 * w * b**2 * x**2 + 3.0 * a * b**3 * x**2)
    np.testing.assert_allclose(found["w"], 3.0 * b**2 * x**3)
    assert found["p"]["b"] == pytest.approx((6.0 * w * b * x**3 + 3.0 * a * b**2 * x**3).sum())


def test_arrays_that_are_written_inside_are_written() -> None:
    source = """
@vectorize_grad(wrt="x")
def energy(x, y):
    y *= x
    return (y * y).sum()

def f(x, y):
    g = energy.grad(x, y)
    return (g.x * y).sum()
"""
    x, y = np.array([0.7, -1.1]), np.array([0.4, 0.9])
    want = expected(source, {"x": x, "y": y})
    assert want.values[0] == pytest.approx((2.0 * x * y * y * x * y).sum())
    np.testing.assert_allclose(want.run.pull([1.0], {})["x"], 4.0 * x * y**3)


# -- errors are found --------------------------------------------------------------------------------------
def outcome_of(program: Dressed) -> Any:
    with interpreting():
        return try_dressed(program, cases_of(program), "auto", PARTS)


def test_the_right_program_passes() -> None:
    assert outcome_of(cubes()).kind == "ok"


@pytest.fixture
def reversed_records(monkeypatch: pytest.MonkeyPatch) -> None:
    gradients = StructuredCalls.gradients

    def broken(self: StructuredCalls, found: Any) -> Any:
        record = gradients(self, found)
        return tuple.__new__(type(record), record[::-1])

    monkeypatch.setattr(StructuredCalls, "gradients", broken)


@pytest.mark.usefixtures("reversed_records")
def test_another_order_is_found() -> None:
    assert outcome_of(cubes()).failed


def test_a_wrong_chosen_leaf_is_found() -> None:
    program = cubes()
    other = Dressed(
        program.source, program.args, held=program.held, direct=program.direct, fields=program.fields,
        chosen=frozenset((("x", ""), ("p", '["a"]'))), has_aux=True,
    )  # fmt: skip
    outcome = outcome_of(other)
    assert outcome.kind == "wrong"


def test_a_seed_gives_one_program() -> None:
    program = Program("def f(x, p):\n    return (x * p[0]).sum()\n", {"x": np.ones(2), "p": [np.ones(2)]})
    assert dressed(program, 7).source == dressed(program, 7).source
