"""The board measures what it says: right gradients pass, wrong ones do not, a crash ends one peer and not the row."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.part(3)
ROOT = Path(__file__).parents[2]
BENCH = ROOT / "examples" / "bench"

pytest.importorskip("jax")


@pytest.fixture(autouse=True)
def found_as_scripts_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the board writes about a small kernel and three peers, measured in a process of its own, and about this
    machine, measured in this process for a moment, with no more memory than fills small caches."""
    folder = tmp_path_factory.mktemp("board")
    peers = ["jax", "jax-literal", "numba"]
    options = [
        "--suite", "--size", "tiny", "--kernels", "syrk", "--peers", *peers, "--budget", "0.1",
        "--json", str(folder / "out.json"), "--markdown", str(folder / "out.md"),
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        patch.setenv("NUMBA_CACHE_DIR", str(folder / "numba"))
        board, machine, timing = map(importlib.import_module, ("board", "machine", "timing"))
        patch.setattr(machine, "paired", lambda calls, **most: timing.paired(calls, **{**most, "budget": 0.01}))
        patch.setattr(machine, "cache_bytes", lambda: machine.FALLBACK | {"L3": 4 << 20})
        apart = board.attempt
        patch.setattr(
            board, "attempt", lambda task, cache: (list(machine.rows(task, str)), "", "")
            if task["section"] == "machine" else apart(task, cache),
        )  # fmt: skip
        assert board.main(options) == 0
    return {**json.loads((folder / "out.json").read_text()), "markdown": (folder / "out.md").read_text()}


def test_rows_have_every_figure(results: dict[str, Any]) -> None:
    (row,) = results["sections"]["suite"]
    assert set(row["peers"]) == {"jax", "jax-literal", "numba"}
    assert not row["failed"]
    assert min(row["first"], row["primal"], row["sweeps"], *row["flops"], *row["traffic"]) > 0
    assert row["gradient"] == min(row["value_and_grad"], row["vjp"]) > 0
    machine = results["sections"]["machine"][0]
    assert min(*machine["flops"].values(), *machine["bandwidth"].values()) > 1e8


def test_the_report_shows_them(results: dict[str, Any]) -> None:
    assert "### Size tiny" in results["markdown"]
    assert "| syrk | f64 |" in results["markdown"]


def test_every_part_has_its_place_in_the_documentation() -> None:
    import report

    page = (ROOT / "docs" / "benchmarks.md").read_text()
    for name in ("versions", "machine", "targets", "suite", *report.TITLES):
        changed = report.between(page, name, "new")
        assert f"<!-- board: {name} -->\nnew\n<!-- end -->" in changed
        assert changed.count("<!-- ") == page.count("<!-- ")


def test_every_suite_kernel_is_on_the_board() -> None:
    from kernels import KERNELS

    from tests.corpus import SUITE

    assert {kernel.name for kernel in KERNELS} == {entry.name for entry in SUITE}
    for entry in SUITE:
        assert set(entry.sizes) == {"S", "M"}


def test_kernels_that_return_no_loss_have_one() -> None:
    from kernels import KERNELS
    from losses import LOSSES

    assert set(LOSSES) == {kernel.name for kernel in KERNELS if not kernel.is_scalar}


def test_a_wrong_gradient_is_refused() -> None:
    from kernels import problem
    from peers import jax_arrays
    from suite import checked

    at = problem("spmv_csr", "tiny")
    expected = jax_arrays.reference(at)
    assert checked("right", lambda: (0.0, dict(expected)), at, expected) >= 0
    with pytest.raises(ValueError, match="the gradients of wrong are off by"):
        checked("wrong", lambda: (0.0, {**expected, "x": expected["x"] * (1 + 1e-6)}), at, expected)


def test_a_crash_ends_one_peer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import board

    def attempt(task: dict[str, Any], cache: Path) -> tuple[list[dict[str, Any]], str, str]:
        if "torch" in task["peers"]:
            return [], "torch", "ended with -11"
        return [{"kernel": "syrk", "failed": {}}], "timing", ""

    monkeypatch.setattr(board, "attempt", attempt)
    rows = board.run({"section": "suite", "peers": ["jax", "torch"]}, tmp_path)
    assert rows == [{"kernel": "syrk", "failed": {"torch": "ended with -11"}}]


def test_times_are_taken_in_turn() -> None:
    from timing import paired

    calls: list[str] = []
    found = paired({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, budget=0.05, batch=1e-4, least=3)
    assert set(found) == {"a", "b"}
    assert all(0 < t.least <= t.median for t in found.values())
