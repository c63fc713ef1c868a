"""The board of NPBench measures what it says, on a checkout with three small benchmarks."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.part(3)
BENCH = Path(__file__).parents[2] / "examples" / "bench"
INIT = """
import numpy as np

def initialize(N):
    return np.linspace(0.1, 1.0, N), np.zeros(N)
"""
SOURCES = {
    "smooth": {
        "": INIT,
        "_numpy": "def kernel(n, x, y):\n    for t in range(n):\n        y[1:] = x[1:] * x[:-1]\n        x[:] = y\n",
        "_numba_n": "import numba as nb\n\n@nb.njit\ndef kernel(n, x, y):\n    for t in range(n):\n"
                    "        for i in range(1, x.shape[0]):\n            y[i] = x[i] * x[i - 1]\n        x[:] = y\n",
        "_jax": "import jax\n\n@jax.jit\ndef kernel(n, x, y):\n    def body(t, xy):\n        x, y = xy\n"
                "        y = y.at[1:].set(x[1:] * x[:-1])\n        return y, y\n"
                "    return jax.lax.fori_loop(0, n, body, (x, y))\n",
    },
    "refused": {
        "": INIT,
        "_numpy": "def kernel(n, x, y):\n    y[:] = [v * n for v in x]\n",
        "_numba_n": "def kernel(n, x, y):\n    for i in range(x.shape[0]):\n        y[i] = x[i] * n\n",
        "_jax": "def kernel(n, x, y):\n    return x\n",
    },
    "wrong": {
        "": INIT,
        "_numpy": "def kernel(n, x, y):\n    y[:] = 2.0 * x\n",
        "_numba_n": "def kernel(n, x, y):\n    y[:] = 3.0 * x\n",
        "_jax": "def kernel(n, x, y):\n    import jax\n    return 2.0 * jax.lax.stop_gradient(x)\n",
    },
}  # fmt: skip


def in_this_process(task: dict[str, Any]) -> dict[str, Any]:
    """What `limited.run` gives of a benchmark, without a process of its own."""
    rows = importlib.import_module("npbench_point").rows(task, lambda trying: None)
    return {name: value for row in rows for name, value in row.items()}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Rows by name, and the report. One of them is measured in a process of its own, as all of them are otherwise."""
    pytest.importorskip("jax")
    root = tmp_path_factory.mktemp("npbench")
    (root / "bench_info").mkdir()
    for name, sources in SOURCES.items():
        info = {
            "relative_path": name, "module_name": name, "func_name": "kernel", "parameters": {"S": {"n": 2, "N": 9}},
            "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["x", "y"]},
            "input_args": ["n", "x", "y"], "output_args": ["x", "y"],
        }  # fmt: skip
        (root / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": info}))
        folder = root / "npbench" / "benchmarks" / name
        folder.mkdir(parents=True)
        for suffix, text in sources.items():
            (folder / f"{name}{suffix}.py").write_text(text)
    before = sorted(root.rglob("*"))
    json_file, report = root.parent / "npbench.json", root.parent / "npbench.md"
    options = [str(root), "--size", "S", "--budget", "0.01", "--json", str(json_file), "--markdown", str(report)]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        patch.setattr(sys, "dont_write_bytecode", True)
        npbench, limited = map(importlib.import_module, ("npbench", "limited"))
        apart = limited.run
        patch.setattr(
            limited,
            "run",
            lambda task, *most: apart(task, *most) if task["name"] == "smooth" else in_this_process(task),
        )
        code = npbench.main(options)
    assert sorted(root.rglob("*")) == before
    rows = json.loads(json_file.read_text())
    return {row["name"]: row for row in rows} | {"report": report.read_text(), "code": code}


def test_a_row_has_every_figure(found: dict[str, Any]) -> None:
    row = found["smooth"]
    assert "error" not in row
    assert row["form"] == "NumPy source"
    assert row["checked"] == "JAX"
    assert 0 < row["value_seconds"] < row["gradient_seconds"]
    assert 0 < row["value_memory"] <= row["gradient_memory"]
    assert min(row[k] for k in ("value", "numba", "vjp", "value_and_grad", "jax")) > 0


def test_loops_stand_in_for_a_source_that_is_refused(found: dict[str, Any]) -> None:
    row = found["refused"]
    assert row["refused numpy"] == "LD111"
    assert row["form"] == "loop form"
    assert "computes something else" in row["no jax"]
    assert row["checked"].startswith("differences")


def test_wrong_peers_are_not_timed(found: dict[str, Any]) -> None:
    row = found["wrong"]
    assert "the value of Numba is off" in row["no numba"]
    assert "the gradient is off" in row["no jax"]
    assert "jax" not in row
    assert found["code"] == 0


def test_the_report_says_what_was_compared(found: dict[str, Any]) -> None:
    assert "| smooth | NumPy source |" in found["report"]
    assert "3 of 3 compile, 2 as NumPy sources." in found["report"]
    assert "geometric mean of" in found["report"]
