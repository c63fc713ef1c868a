"""Passes leave what the programs of the corpus compute, as the interpreter sees it, pass by pass.

Those over the model of a function and over launch plans are not here: `tests/cuda/test_emulated.py` runs the kernels of
both sweeps of many programs after all of them, and `tests/cuda/test_warps.py` those of some as if arrays were large.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import argument_types
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.verify import verify
from loopdiff.model.machine import Machine
from loopdiff.pipeline.both import BothSweeps
from loopdiff.pipeline.derive import bind_types, derive_gradient, read
from loopdiff.pipeline.passes import (
    BOTH_SWEEPS,
    CPU_ELEMENTS,
    CPU_FUSION,
    CPU_LOOPS,
    CPU_STORAGE,
    CUDA_BLOCKS,
    CUDA_LOOPS,
    GRADIENT,
    LOWERING,
    ONE_PASS,
    PRIMAL,
    REVERSE,
    Context,
    Passes,
)
from loopdiff.pipeline.stages import Stages
from loopdiff.source.functions import source_of
from loopdiff.specialize.interface import in_parts, interface_of
from tests.corpus import BY_NAME, ENTRIES, SUITE, Entry
from tests.gradients import harness
from tests.gradients.interpreted import in_real_parts, lowered, sweeps_of
from tests.gradients.test_battery import assert_close
from tests.gradients.test_tape_plans import forward_and_reverse
from tests.lengths import each_in_turns

from .forms import counterparts, outcome_after, passed_on

CPU: Passes = (*REVERSE, *GRADIENT, *PRIMAL, *CPU_LOOPS, *CPU_FUSION, *CPU_ELEMENTS, *CPU_STORAGE)
TARGETS: dict[str, tuple[Passes, Context]] = {
    "cpu": (CPU, Context(machine=Machine())),
    "cpu in order": (CPU, Context(machine=Machine(), fastmath=False, fusion="rows")),
    "cuda": ((*CUDA_BLOCKS, *CUDA_LOOPS), Context()),
    "one pass": (ONE_PASS, Context(machine=Machine())),
}


def outcome(first: ir.LoopSet, ls: ir.LoopSet, args: dict[str, Any]) -> dict[str, Any]:
    """Results of `ls`, which passes made of `first`, then the arrays of this as the program leaves them."""
    given = passed_on(deepcopy(args), first, ls)
    with np.errstate(all="ignore"):
        results = outcome_after(first, ls, given)
    arrays = {old: given[new] for new, old in counterparts(first, ls).items() if isinstance(given[new], np.ndarray)}
    return {f"result {k}": v for k, v in enumerate(results)} | arrays


@cache
def gradient_of(name: str) -> ir.LoopSet | None:
    """The value and the gradient of a program with one floating result, as one program of its arguments."""
    normal, wrt = lowered(BY_NAME[name]), in_real_parts(BY_NAME[name]).wrt
    numbers = [type_of(r.value, type_env(normal)) for r in normal.results if isinstance(r, ir.ScalarResult)]
    if len(numbers) != len(normal.results) or len(numbers) != 1 or not numbers[0].is_float:
        return None
    sweeps = sweeps_of(name)
    if sweeps.count_names:
        return None
    return derive_gradient(normal, sweeps.forward, sweeps.reverse, (), wrt, True, Stages(name))


def check(ls: ir.LoopSet, entry: Entry, target: str) -> None:
    args = in_real_parts(entry).args(0)
    first, expected = ls, outcome(ls, ls, args)
    passes, context = TARGETS[target]
    for found in passes:
        if not found.runs(context):
            continue
        after = found.run(ls, **found.asks(context))
        if after != ls:
            verify(after, found.name)
            ls, made = after, outcome(first, after, args)
            for name, value in expected.items():
                np.testing.assert_allclose(
                    made[name], value, rtol=1e-5, atol=1e-7, equal_nan=True, err_msg=f"{found.name}: {name}"
                )


def targets() -> list[Any]:
    """Entries by turns for the CPU or one of the others, those of the suite for the CPU as well."""
    others = tuple(target for target in TARGETS if target != "cpu")
    ways = ("cpu", *others)
    found = dict.fromkeys([*((e.name, "cpu") for e in SUITE), *each_in_turns([e.name for e in ENTRIES], ways)])
    return [pytest.param(BY_NAME[name], target, id=f"{name}-{target}") for name, target in found]


@pytest.mark.part(21)
@pytest.mark.parametrize(("entry", "target"), targets())
def test_each_pass_leaves_what_a_program_computes(entry: Entry, target: str) -> None:
    if target != "one pass":
        check(lowered(entry), entry, target)
    gradient = gradient_of(entry.name)
    if gradient is not None:
        check(gradient, entry, target)


@cache
def surface_and_bound(name: str) -> tuple[ir.LoopSet, ir.LoopSet]:
    entry = BY_NAME[name]
    types, stages = argument_types(entry.args(0)), Stages(name)
    surface = read(source_of(entry.function), Sources(), types, stages).ls
    return surface, bind_types(surface, types, stages)


@pytest.mark.part(17)
@pytest.mark.parametrize(
    ("entry", "fastmath"), each_in_turns(ENTRIES, (True, False)), ids=lambda p: getattr(p, "name", None)
)
def test_lowering_leaves_what_python_computes(entry: Entry, fastmath: bool) -> None:
    """From the bound program, as soon as its numbers are real, to the normal one, whose subscripts are not negative.

    Complex numbers are given to it in parts, and put together again.
    """
    surface, bound = surface_and_bound(entry.name)
    words = frozenset(d.name for d in (*surface.arrays, *surface.scalars))
    context = Context(fastmath=fastmath, words=words)
    to_real, *others = LOWERING
    ls = to_real.run(bound)
    interface, tolerance = interface_of(bound, ls), 1e-5 if harness.is_narrow(entry) else 1e-11
    with np.errstate(all="ignore"):
        expected = harness.run_python(entry, entry.args(0))

    def check_against_python(by: str, allow_negative: bool) -> None:
        verify(ls, by)
        args = entry.args(0)
        parts = [p for n, v in args.items() for p in in_parts(interface.types[n], v)]
        given = dict(zip(ls.params, parts, strict=True))
        results = interface.own_results(run(ls, given, allow_negative=allow_negative))
        found = harness.named_results(results if bound.returns_tuple else next(iter(results), None))
        assert_close({**args, **found}, expected, tolerance)

    check_against_python(to_real.name, allow_negative=True)
    for found in others:
        before, ls = ls, found.run(ls, **found.asks(context))
        if ls != before:
            check_against_python(found.name, allow_negative=True)
    check_against_python("lowering", allow_negative=False)


@pytest.mark.part(17)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_each_pass_over_both_sweeps_leaves_gradients(entry: Entry) -> None:
    real, normal, sweeps = in_real_parts(entry), lowered(entry), sweeps_of(entry.name)
    both, expected = BothSweeps(sweeps.forward, sweeps.reverse), None
    for found in BOTH_SWEEPS:
        after = found.run(both, **found.asks(Context()))
        if (after.forward, after.reverse) != (both.forward, both.reverse):
            verify(after.forward, found.name)
            verify(after.reverse, found.name)
            weight = weights_of(real, normal)
            expected = expected or forward_and_reverse(real, normal, sweeps, weight)
            changed = replace(sweeps, forward=after.forward, reverse=after.reverse)
            assert_close(forward_and_reverse(real, normal, changed, weight), expected, 1e-10)
        both = after


def weights_of(entry: Entry, normal: ir.LoopSet) -> harness.Values:
    """Cotangents for what a program returns and writes."""
    args = entry.args(0)
    results = run(normal, args)
    result = results if normal.returns_tuple else next(iter(results), None)
    return harness.weights(harness.outputs_of(entry, result, args), 0)
