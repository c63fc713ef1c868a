"""The benchmark for GPUs on the stand-in for the driver: it runs, checks, and writes a row for each kernel."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "examples" / "bench"
pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setenv("LOOPDIFF_BENCH_DEVICE", "cpu")
    module = importlib.import_module("gpu")
    for name, value in {"COPIED": 1 << 12, "ROUNDS": 1, "AT_LEAST": 1e-9}.items():
        monkeypatch.setattr(module, name, value)
    yield module
    for name in [n for n in sys.modules if n in ("gpu", "kernels", "suite") or n.partition(".")[0] == "peers"]:
        monkeypatch.delitem(sys.modules, name)


def test_rows_of_the_table(gpu: Any) -> None:
    from tests.cuda.stub import gpu_machine

    with gpu_machine():
        cells = dict(gpu.measure(["spmv_csr"], "tiny", float("inf")))
    assert list(cells) == ["spmv_csr"]
    page = gpu.page({"spmv_csr": {**dict.fromkeys(gpu.OWN, "1.0 µs"), **cells["spmv_csr"]}})
    head, line, row = page.splitlines()[-3:]
    assert head.count("|") == line.count("|") == row.count("|") == 6 + len(gpu.peers.ON_GPU)
    assert row.startswith("| spmv_csr | ")


def test_own_times_come_first(gpu: Any) -> None:
    from tests.cuda.stub import gpu_machine

    with gpu_machine():
        (name, cells), *others = gpu.measure(["spmv_csr"], "tiny", 0.0)
    assert name == "spmv_csr"
    assert [bool(re.fullmatch(r"[\d.]+ (µs|%)|\d+ %", c)) for c in cells.values()] == [True] * len(gpu.OWN)
    assert [c for _, c in others] == [{other: "not timed"} for other in gpu.peers.ON_GPU]


def test_gradients_of_cupy_by_hand(gpu: Any) -> None:
    """On the CPU they are NumPy's."""
    from kernels import problem  # pyright: ignore[reportMissingImports]
    from peers import loops  # pyright: ignore[reportMissingImports]

    cupy = gpu.peers.load("cupy")
    for name in cupy.FORMS:
        at = problem(name, "tiny", None)
        _, known = loops.gradient(at, loops.decorated(at))()
        _, found = cupy.gradient(at)()
        expected = {n: np.asarray(v) for n, v in known.items()}
        assert gpu.difference(found, expected) <= gpu.TOLERANCE[at.dtype]
