"""Programs about the tape: all constructs are drawn, fixed ones pass, and plans that keep too little are found."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff.__main__ import main
from loopdiff.ad import facts
from loopdiff.ad.tape import plan, segments
from loopdiff.fuzz.campaign import ABOUT_TAPES, Pool, checked, program_of, report
from loopdiff.fuzz.check import Outcome
from loopdiff.fuzz.program import RandomArgument
from loopdiff.fuzz.tapes.judge import check_tapes
from loopdiff.fuzz.tapes.program import TapeProgram
from loopdiff.fuzz.tapes.writer import generate_about_tapes
from loopdiff.ir.build import integer

SPELLINGS = (
    r"(\w), (\w) = \2, \1$", r"(\w), (\w), (\w) = \2, \3, \1$", r"old\d+ = \w$", r"\[:\] = \w$", r"\.copy\(\)",
    r"\[p\[", r"\[j\d+\] = ", r"p\[i\d+\] =", r"int\(np\.floor", r"np\.argmax", r"best\d+ = i\d+$",
    r"= max\(most", r"for t.*\n.*for t",
    r"while True", r"while \(?abs|while .* < T", r"break", r"continue", r"range\(T, 0, -1\)", r"k\d+_1\[", r"w\d+ = ",
    r"range\(i\d+ \+ 1, n\)", r"n - 1, -1, -1", r"\+= 0\.3 \* [AB]\[k", r"\[k\d+, j\d+\], [ABW]\[best",
    r"\[i\d+ - 1, j\d+ - 1\]",
    r"for t\d+ in range\(n\)", r"if .*t\d+ % n\]", r"else:", r"np\.where", r"[ABW]\[i\d+, k\d+\] [+*] ",
    r"\[k\] ", r"^        k = ", r"range\(k\)", r"advance\([xyzuv], [xyzuv], ",
    r"H\[t\d+ % \(T \+ 2\) \+ 1, i",
)  # fmt: skip


# -- what is drawn -----------------------------------------------------------------------------------------
def test_a_seed_gives_one_program() -> None:
    assert generate_about_tapes(7) == generate_about_tapes(7)
    assert isinstance(program_of(ABOUT_TAPES - 1), TapeProgram)
    assert program_of(7, "tapes") == generate_about_tapes(7)


def test_every_construct_is_drawn() -> None:
    programs = [generate_about_tapes(seed) for seed in range(500)]
    texts = [p.text for p in programs]
    assert [s for s in SPELLINGS if not any(re.search(s, text, re.M) for text in texts)] == []
    policies = {policy for p in programs for policy in p.policies}
    assert policies == {"auto", "store", "recompute", "recompute-2", "recompute-3", "recompute-5"}
    assert {(p.share is not None, p.spills) for p in programs} == {(False, False), (True, False), (True, True)}


@pytest.mark.part(6)
@pytest.mark.parametrize("first", range(0, 96, 8))
def test_fixed_programs_pass_in_the_interpreter(first: int) -> None:
    outcomes = [checked(generate_about_tapes(seed), compiled=False) for seed in range(first, first + 8)]
    assert [o for o in outcomes if o.verdict == "failed"] == []
    assert sum(o.verdict == "passed" for o in outcomes) >= 2


@pytest.mark.slow
def test_a_fixed_program_passes_compiled() -> None:
    outcome = check_tapes(program(OVERWRITTEN), compiled=True)
    assert outcome.verdict == "passed", outcome


# -- errors are found --------------------------------------------------------------------------------------
def program(body: str, **kept: Any) -> TapeProgram:
    lines = "\n    ".join(("n = len(x)", *body.splitlines(), "return np.sum(x * y)"))
    arguments = (RandomArgument("x", "vector"), RandomArgument("y", "vector"), RandomArgument("T", "integer"))
    return TapeProgram(f"def f(x, y, T):\n    {lines}\n", arguments, ("x", "y"), ((2, 3), (2, 5)), **kept)


OVERWRITTEN = """for t in range(T + 2):
    for i in range(n):
        x[i] = x[i] * y[i]
    x, y = y, x"""
BACKWARDS = """for t in range(T + 1):
    for i in range(n - 1, -1, -1):
        x[i] = x[i] * y[i] + 0.3 * x[(i + 1) % n]"""
IN_STEPS = """for t in range(T + 9):
    for i in range(n):
        x[i] = np.sin(x[i] * y[(i + t) % n])"""


TRIP_NUMBER = plan.trip_number


def test_right_plans_pass() -> None:
    for body, kept in ((OVERWRITTEN, {"at_once": True}), (BACKWARDS, {}), (IN_STEPS, {"share": 0.7, "spills": True})):
        found = check_tapes(program(body, policies=("auto", "store", "recompute"), **kept))
        assert found.verdict == "passed", found


def test_a_value_that_is_not_kept_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "overwritten_after", lambda *_: False)
    assert check_tapes(program(OVERWRITTEN)).stage == "interpreted auto reverse"


def test_a_value_that_is_kept_in_another_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        plan, "trip_number", lambda loop, *args: integer(0) if loop.step.value < 0 else TRIP_NUMBER(loop, *args)
    )
    assert check_tapes(program(BACKWARDS)).stage == "interpreted auto reverse"


def test_a_segment_that_starts_from_another_state_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "trips_before", lambda loop: integer(0))
    found = check_tapes(program(IN_STEPS, policies=("auto", "store", "recompute")))
    assert found.stage == "interpreted recompute reverse"


def test_too_much_memory_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopdiff.fuzz.tapes.judge.fitting_run", lambda spec, *_: spec.once("run pullback auto", dict))
    assert check_tapes(program(IN_STEPS, share=0.5)).stage == "interpreted limited"


def test_a_plan_that_forgets_is_found_in_random_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is overwritten between a read and the reverse of it is taken as if it were still there."""
    monkeypatch.setattr(facts, "rewritten_after", lambda *_: False)
    seed = next(s for s in range(64, 80) if check_tapes(generate_about_tapes(s)).verdict == "failed")
    found = checked(program_of(seed, "tapes"), compiled=False)
    assert found.stage == "interpreted auto reverse"
    report(generate_about_tapes(seed), found, tmp_path)
    names: dict[str, Any] = {}
    exec((tmp_path / f"seed_{seed}.py").read_text(encoding="utf-8"), names)
    (entry,) = names["ENTRIES"]
    with np.errstate(all="ignore"):
        entry.function(*entry.args().values())


def test_campaigns_are_about_what_they_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = []
    monkeypatch.setattr(Pool, "check", lambda self, program, compiled: drawn.append(program) or Outcome("passed"))
    assert main(["fuzz", "--about", "tapes", "--count", "2", "--seed", "3", "--compiled", "0"]) == 0
    assert capsys.readouterr().out.startswith("2 programs (0 compiled): 2 passed")
    assert drawn == [generate_about_tapes(3), generate_about_tapes(4)]
