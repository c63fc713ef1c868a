"""The corpus itself: every row of the language table is covered, and oracles agree with the Python loops."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.frontend.language import ACCEPTED
from tests.corpus import ENTRIES, SUITE, Entry
from tests.gradients.harness import is_floating, oracle_outputs, outputs_of, run_python


def test_names_are_unique() -> None:
    names = [e.name for e in ENTRIES]
    assert sorted(set(names)) == sorted(names)


def test_the_suite_has_its_kernels() -> None:
    assert len(SUITE) == 24
    assert all(e.oracle is not None and e.is_twin for e in SUITE)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.oracle], ids=lambda e: e.name)
def test_oracle_states_every_floating_output(entry: Entry) -> None:
    args = entry.args(0)
    outputs = outputs_of(entry, entry.function(*args.values()), args)
    stated = {k for k, v in oracle_outputs(entry, entry.args(0)).items() if is_floating(v)}
    assert stated == set(outputs)


def test_every_row_of_the_language_table_has_an_entry() -> None:
    rows = {c.name for c in ACCEPTED}
    covered = {name for e in ENTRIES for name in e.constructs}
    assert rows - covered == set()
    assert covered - rows == set()


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.oracle], ids=lambda e: e.name)
def test_oracle_equals_plain_python(entry: Entry) -> None:
    for seed in (0, 1):
        found = run_python(entry, entry.args(seed))
        for name, expected in oracle_outputs(entry, entry.args(seed)).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
