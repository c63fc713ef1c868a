"""Every case of `tests/pipeline/passes`: the text that a pass makes, and that it computes what it did."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from loopdiff.ir.verify import verify
from loopdiff.mapping.launches import LaunchPlan
from loopdiff.pipeline.runner import PIPELINES, loopsets_of
from loopdiff.specialize.interface import as_pairs

from .forms import Loops, arguments, counterparts, outcome, outcome_after, passed_on, printed
from .texts import FOLDER, Case, cases_in

FILES = sorted(FOLDER.glob("*.txt"))
CASES = [case for path in FILES for case in cases_in(path)]


def check(loops: Loops, stage: str) -> None:
    """That functions are well-formed; what kernels take from a plan is no function by itself."""
    for ls in () if isinstance(loops, LaunchPlan) else loopsets_of(loops):
        verify(ls, stage)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_pass_makes_these_loops_and_they_compute_the_same(case: Case) -> None:
    before = case.loops
    check(before, "before")
    after = case.applied(before)
    check(after, case.name)
    if case.after is None:
        assert printed(after) == printed(before)
    else:
        assert printed(after) == case.after
    first = arguments(before)
    second = passed_on(deepcopy(first), before, after)
    with np.errstate(all="ignore"):
        expected, results = outcome(before, first), outcome_after(before, after, second)
    for old, new in zip(expected, results, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    for new, old in counterparts(before, after).items():
        value = as_pairs(first[old]) if np.iscomplexobj(first[old]) else first[old]
        np.testing.assert_allclose(second[new], value, rtol=1e-12, err_msg=old)


def test_both_sides_of_each_pass_are_shown() -> None:
    """What a pass does, and loops that it has to leave alone."""
    for path in FILES:
        kinds = {case.after is None for case in cases_in(path)}
        assert kinds == {True, False}, path.name


def test_every_pass_has_cases() -> None:
    """Passes of one name that are different functions have cases each."""
    shown = {(case.name, case.found.run) for case in CASES}
    assert {(p.name, p.run) for pipeline in PIPELINES.values() for p in pipeline} == shown


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_update(path: Path, update_golden: bool) -> None:
    """Write what passes make now, where that is asked for."""
    if not update_golden:
        pytest.skip("nothing to write")
    written: list[str] = []
    for case in cases_in(path):
        before = case.loops
        after = case.applied(before)
        same = printed(after) == printed(before)
        new = Case(case.name, case.title, case.settings, case.before, None if same else printed(after))
        written.append(new.written)
    path.write_text("\n".join(written), encoding="utf-8")
