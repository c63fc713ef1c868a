"""Golden files: IR of every stage and generated source of two kernels, for a machine with 512-bit vectors.

A change that only moves code leaves them alone; `pytest tests/golden --update-golden` writes them anew.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from numba.core import config

from loopdiff.ad.forward import build_tangent
from loopdiff.backends.cpu.compile import PLAIN, generate
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_loopset
from loopdiff.model.machine import Machine
from loopdiff.model.prediction import predict
from loopdiff.model.trip_counts import Extents
from loopdiff.pipeline.cpu import arrange_loops, schedule_loops
from loopdiff.report.schedules import explain_schedule
from loopdiff.schedule.blocks.sweeps import block_sweeps
from loopdiff.schedule.blocks.tape_layout import align_tapes
from loopdiff.source.functions import source_of
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered_by_name, sweeps_of

CASES = ("matmul_loss", "seidel_2d")
EXPLAINED = ("rde_matmul_log1p", "hdiff", "mlp_rows")
TIME = re.compile(r"predicted [\d.]+ [a-zµ]+")
STAGES = ("surface", "normal", "forward", "reverse", "tangent")
SOURCES = ("forward", "reverse", "tangent")


@cache
def stages(case: str) -> dict[str, ir.LoopSet]:
    entry = BY_NAME[case]
    normal = lowered_by_name(case)
    sweeps = sweeps_of(case)
    return {
        "surface": parse_function(source_of(entry.function), argument_types(entry.args())),
        "normal": normal,
        "forward": sweeps.forward,
        "reverse": sweeps.reverse,
        "tangent": build_tangent(normal, entry.wrt),
    }


def compare(path: Path, text: str, update: bool) -> None:
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"{path.name} differs; --update-golden rewrites it"


def golden(case: str, name: str) -> Path:
    return Path(__file__).parent / case / name


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("case", CASES)
def test_ir(case: str, stage: str, update_golden: bool) -> None:
    compare(golden(case, f"{stage}.txt"), print_loopset(stages(case)[stage]), update_golden)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("case", CASES)
def test_source(case: str, name: str, update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CPU_FEATURES", "+avx512f,+avx512vl,+avx2,+fma")
    arranged = schedule_loops(arrange_loops(stages(case)[name], fastmath=True), PLAIN)
    text = generate(arranged, PLAIN, cache=True)
    compare(golden(case, f"{name}-source.txt"), text, update_golden)
    explanation = explain_schedule(arranged.schedule, arranged.ls, Machine())
    compare(golden(case, f"{name}-schedule.txt"), explanation + "\n", update_golden)


@pytest.mark.parametrize("case", EXPLAINED)
def test_explained(case: str, update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order, tiles and gather form of both sweeps; times are left out."""
    monkeypatch.setattr(config, "CPU_FEATURES", "+avx512f,+avx512vl,+avx2,+fma")
    entry, machine = BY_NAME[case], Machine()
    args = entry.args()
    sweeps = sweeps_of(case)
    lines: list[str] = []
    for ls in align_tapes(*block_sweeps(sweeps.forward, sweeps.reverse)):
        found = schedule_loops(arrange_loops(ls, fastmath=True), PLAIN)
        known = Extents.of(list(args), list(args.values()))
        times = predict(found.ls, found.schedule, known, machine)
        lines += [f"{ls.name}:", explain_schedule(found.schedule, found.ls, machine, times)]
    compare(golden("explained", f"{case}.txt"), TIME.sub("predicted ...", "\n".join(lines)) + "\n", update_golden)
