"""Passes as data: the table is whole, each pass can be left out, and the one that breaks a program is found."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.__main__ import main
from loopdiff.backends.cpu.compile import PLAIN, generate
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.pipeline.bisect import Run, bisect
from loopdiff.pipeline.cpu import arrange_loops, schedule_loops
from loopdiff.pipeline.passes import CPU_FUSION, CPU_LOOPS, LOWERING
from loopdiff.pipeline.runner import PIPELINES
from loopdiff.pipeline.table import TITLES
from tests.gradients.interpreted import normal_form

pytestmark = pytest.mark.part(2)
OPTIONAL = sorted({p.name for p in (*LOWERING, *CPU_LOOPS, *CPU_FUSION) if not p.needed})


def smoothed_product(A, B, C):
    T = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[k, j]
            T[i, j] = total
    for i in range(1, A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] += max(T[i, j] - 0.5 * T[i - 1, j], 0.0)
            C[i - 1, j] += T[i, j] * 0.25 - T[i, j]


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"A": rng.random((5, 4)), "B": rng.random((4, 6)), "C": np.zeros((5, 6))}


def test_the_table_has_every_pipeline_and_names_are_unique_in_each() -> None:
    assert set(TITLES) == set(PIPELINES) - {"TIDYING", "LAST"}
    for name, pipeline in PIPELINES.items():
        assert len({p.name for p in pipeline}) == len(pipeline), name
        assert all(p.summary for p in pipeline), name


@pytest.mark.parametrize("name", OPTIONAL)
def test_results_are_right_without_any_pass_that_may_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_SKIP", name)
    args, expected = arguments(), arguments()
    loops = arrange_loops(normal_form(smoothed_product, args), fastmath=True)
    verify(loops, name)
    run(loops, args)
    smoothed_product(**expected)
    np.testing.assert_allclose(args["C"], expected["C"], rtol=1e-13)
    assert "def smoothed_product" in generate(schedule_loops(loops, PLAIN), PLAIN, cache=False)


def test_passes_that_are_left_out_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def changes() -> set[str]:
        f = vectorize_grad(wrt=("A",), cache=False)(smoothed_product)
        spec = f.compile(*arguments().values()).spec
        assert spec.primal.function.arranged is not None
        return {change.by for change in spec.stages.changes}

    assert {"normalize", "gather"} <= changes()
    monkeypatch.setenv("LOOPDIFF_SKIP", "gather,fuse")
    assert not {"gather", "fuse"} & changes()
    monkeypatch.setenv("LOOPDIFF_BISECT", "0")
    assert changes() <= {p.name for pipeline in PIPELINES.values() for p in pipeline if p.needed}


@pytest.mark.parametrize("name", ["normalize", "no-such-pass"])
def test_passes_that_are_needed_or_unknown_cannot_be_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_SKIP", f"fuse,{name}")
    with pytest.raises(ArgumentError, match=name) as raised:
        vectorize_grad(wrt=("A",), cache=False)(smoothed_product)(**arguments())
    assert raised.value.codes == ("LD309",)


BROKEN = """
from dataclasses import replace

import numpy as np

from loopdiff import vectorize_grad
from loopdiff.pipeline import cpu
from loopdiff.pipeline.passes import Pass


def forgetful(ls):
    return replace(ls, body=ls.body[:-1]) if ls.name == "total" else ls


cpu.CPU_LOOPS = (*cpu.CPU_LOOPS, Pass("forgetful", forgetful))


@vectorize_grad(cache=False)
def total(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * 2.0 * x[i]
    for i in range(x.shape[0]):
        y[i] = s * x[i]


x, y = np.arange(4.0), np.zeros(4)
total(x, y)
assert y[1] == 28.0
"""


def test_the_pass_that_breaks_a_program_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    assert main(["bisect", sys.executable, str(script)]) == 0
    assert "breaks it: forgetful total" in capsys.readouterr().err


@pytest.mark.parametrize("culprit", range(1, 8))
def test_bisection_finds_each_change(culprit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {k: f"pass{k} f" for k in range(1, 8)}
    monkeypatch.setattr("loopdiff.pipeline.bisect.run_command", lambda _, limit: Run(limit < culprit, changes))
    said: list[str] = []
    assert bisect(["true"], said.append) == 0
    assert f"change {culprit} breaks it: pass{culprit} f" in said


def test_what_passes_do_to_a_program_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes"]) == 0
    assert "| loops, for processors | `copies` |" in capsys.readouterr().out
    script = tmp_path / "program.py"
    script.write_text(BROKEN.replace("ls.body[:-1]", "ls.body"))
    assert main(["passes", f"{script}:total"]) == 0
    assert "total  normalize" in capsys.readouterr().out
    assert main(["passes", f"{script}:another"]) == 0
    assert capsys.readouterr().out == "no pass changed anything\n"
