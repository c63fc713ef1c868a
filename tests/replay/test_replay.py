"""The replay of the corpus: the same twice, other where the compiler does something else."""

from __future__ import annotations

import pytest

from tests.corpus import BY_NAME
from tests.replay.__main__ import compare, count
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
