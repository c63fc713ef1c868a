"""Every case of `tests/pipeline/passes`: the text that a pass makes, and that it computes what it did."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest

from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_loopset
from loopdiff.ir.verify import verify

from .texts import FOLDER, Case, arguments, cases_in, find_pass, passed_on

FILES = sorted(FOLDER.glob("*.txt"))
CASES = [case for path in FILES for case in cases_in(path)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_pass_makes_these_loops_and_they_compute_the_same(case: Case) -> None:
    found, ls = find_pass(case.name), case.loops
    verify(ls, "before")
    after = found.run(ls, **found.asks(case.context))
    verify(after, case.name)
    assert print_loopset(after) == (case.before if case.after is None else case.after)
    first = arguments(ls)
    second = passed_on(deepcopy(first), ls, after)
    with np.errstate(all="ignore"):
        expected, results = run(ls, first), run(after, second)
    results = (*results, *(second[n] for n in after.params[len(ls.params) :] if after.array(n).role == "gradient"))
    for old, new in zip(expected, results, strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-12)
    for old_name, new_name in zip(ls.params, after.params, strict=False):
        np.testing.assert_allclose(second[new_name], first[old_name], rtol=1e-12, err_msg=old_name)


def test_both_sides_of_each_pass_are_shown() -> None:
    """What a pass does, and loops that it has to leave alone."""
    for path in FILES:
        kinds = {case.after is None for case in cases_in(path)}
        assert kinds == {True, False}, path.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_update(path: Path, update_golden: bool) -> None:
    """Write what passes make now, where that is asked for."""
    if not update_golden:
        pytest.skip("nothing to write")
    written: list[str] = []
    for case in cases_in(path):
        found = find_pass(case.name)
        after = print_loopset(found.run(case.loops, **found.asks(case.context)))
        new = Case(case.name, case.title, case.settings, case.before, None if after == case.before else after)
        written.append(new.written)
    path.write_text("\n".join(written), encoding="utf-8")
