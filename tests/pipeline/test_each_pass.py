"""Passes over loops leave what the programs of the corpus compute, as the interpreter sees it, pass by pass."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.verify import verify
from loopdiff.model.machine import Machine
from loopdiff.pipeline.derive import derive_gradient
from loopdiff.pipeline.passes import (
    CPU_FUSION,
    CPU_LOOPS,
    CPU_STORAGE,
    CUDA_BLOCKS,
    CUDA_LOOPS,
    GRADIENT,
    PRIMAL,
    REVERSE,
    Context,
    Passes,
)
from loopdiff.pipeline.stages import Stages
from tests.corpus import ENTRIES, Entry
from tests.gradients.interpreted import in_real_parts, lowered

TARGETS: dict[str, Passes] = {
    "cpu": (*REVERSE, *GRADIENT, *PRIMAL, *CPU_LOOPS, *CPU_FUSION, *CPU_STORAGE),
    "cuda": (*CUDA_BLOCKS, *CUDA_LOOPS),
}


def outcome(ls: ir.LoopSet, args: dict[str, Any]) -> dict[str, Any]:
    """Results, then the arrays as the program leaves them."""
    given = deepcopy(args)
    with np.errstate(all="ignore"):
        results = run(ls, given)
    arrays = {n: v for n, v in given.items() if isinstance(v, np.ndarray)}
    return {f"result {k}": v for k, v in enumerate(results)} | arrays


def gradient_of(entry: Entry) -> ir.LoopSet | None:
    """The value and the gradient of a program with one floating result, as one program of its arguments."""
    normal, wrt = lowered(entry), in_real_parts(entry).wrt
    numbers = [type_of(r.value, type_env(normal)) for r in normal.results if isinstance(r, ir.ScalarResult)]
    if len(numbers) != len(normal.results) or len(numbers) != 1 or not numbers[0].is_float:
        return None
    sweeps = build_sweeps(normal, wrt)
    if sweeps.count_names:
        return None
    return derive_gradient(normal, sweeps.forward, sweeps.reverse, (), wrt, True, Stages(entry.name))


def check(ls: ir.LoopSet, entry: Entry, target: str) -> None:
    args = in_real_parts(entry).args(0)
    expected = outcome(ls, args)
    context = Context(machine=Machine())
    for found in TARGETS[target]:
        if not found.runs(context):
            continue
        after = found.run(ls, **found.asks(context))
        if after != ls:
            verify(after, found.name)
            ls, made = after, outcome(after, args)
            for name, value in expected.items():
                np.testing.assert_allclose(
                    made[name], value, rtol=1e-5, atol=1e-7, equal_nan=True, err_msg=f"{found.name}: {name}"
                )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_each_pass_leaves_what_a_program_computes(entry: Entry, target: str) -> None:
    check(lowered(entry), entry, target)
    gradient = gradient_of(entry)
    if gradient is not None:
        check(gradient, entry, target)
