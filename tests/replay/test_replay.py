"""The replay of the corpus: the same twice, other where the compiler does something else."""

from __future__ import annotations

import json

import pytest

from loopdiff.pipeline.runner import PIPELINES
from tests.corpus import BY_NAME
from tests.replay.__main__ import COUNTS, compare, count
from tests.replay.record import record_of


def test_a_record_is_the_same_twice_and_other_without_a_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    entry = BY_NAME["matmul_loss"]
    first = record_of(entry, "cpu")
    assert compare(first, record_of(entry, "cpu")) == 0
    count(first)
    assert "restructure" in capsys.readouterr().out
    assert "restructure" in first["matmul_loss/cpu/changes"]
    monkeypatch.setenv("LOOPDIFF_SKIP", "restructure")
    assert compare(first, record_of(entry, "cpu")) == 1
    assert "matmul_loss/cpu/tangent/text" in capsys.readouterr().out


def test_kernels_belong_to_the_record() -> None:
    found = record_of(BY_NAME["matmul_loss"], "cuda")
    assert len(set(found.values())) > len(found) // 2


def test_every_pass_is_for_more_than_one_program() -> None:
    """`python -m tests.replay count FILE --write` counts anew after a change of passes or of the corpus."""
    counts = json.loads(COUNTS.read_text(encoding="utf-8"))
    names = {found.name for pipeline in PIPELINES.values() for found in pipeline}
    assert counts.keys() - {""} == names
    assert {name: counts[name] for name in names if counts[name] < 3} == {}
