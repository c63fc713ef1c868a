"""Kernels of the corpus as machine code for an H200: they compile, and what they take stays within budgets.

Half of those of the suite, some others, and the one that spills; `test_emulated` has more in plain Python.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from loopdiff.mapping.launches import LaunchPlan
from tests.corpus import ENTRIES, SUITE, Entry
from tests.cuda.kernels import WITHOUT_RULES, Made, common_kernel, compiled_kernels, plans_of
from tests.gradients.harness import LONG
from tests.gradients.test_battery import each
from tests.lengths import IS_LONG

pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]
MOST_REGISTERS = 255
# Bytes that a thread keeps in memory besides its registers: the slow path of sin, cos and tan for huge arguments.
MOST_STACK = 40
# One kernel that has gamma, digamma and all elementary functions at once.
SPILLED = {"special_functions": 32}
NAMES = {*SPILLED, *(e.name for e in ((*SUITE, *ENTRIES) if IS_LONG else (*SUITE[::3], *ENTRIES[::60])))} - LONG


@pytest.mark.part(7)
@pytest.mark.parametrize("entry", each(tuple(e for e in WITHOUT_RULES if e.name in NAMES)))
def test_kernels_compile_without_spills_or_atomics(entry: Entry) -> None:
    from loopdiff.backends.cuda.compiler import MOST_SPILLED, OF_TWO_BLOCKS, parameters_of

    for plan in plans_of(entry.name):
        for made in compiled_kernels(plan):
            found, compiled = made.compiled.resources, made.compiled
            assert found.registers <= MOST_REGISTERS, made.name
            is_held = OF_TWO_BLOCKS - 8 < found.registers <= OF_TWO_BLOCKS
            spilled = MOST_SPILLED if is_held else SPILLED.get(entry.name, 0)
            assert max(found.spill_stores, found.spill_loads) <= spilled, made.name
            assert found.stack <= MOST_STACK + spilled, made.name
            assert not re.search(r"^\s*(@%p\d+ )?(atom|red)\.", compiled.ptx, re.M), made.name
            assert parameters_of(compiled.ptx) == tuple(p.size for p in compiled.layout), made.name
            assert sums_by_shuffles(made), made.name


@pytest.mark.parametrize("name", ["hdiff", "roundings", "weighted_histogram"])
def test_instructions_are_those_that_numbas_own_passes_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that moves and computes floating numbers; how elements are found is shorter, and what is copied by how often
    loops run. A comparison may be the opposite one, with the ways from it exchanged."""
    from loopdiff.backends.cuda import compiler
    from loopdiff.backends.cuda.aliasing import Marks

    monkeypatch.setattr(Marks, "mark", lambda *_, **__: None)
    found = [made.compiled.ptx for plan in plans_of(name) for made in own_kernels(plan)]
    monkeypatch.setattr(compiler, "direct_compiler", lambda kernel: nullcontext())
    usual = [made.compiled.ptx for plan in plans_of(name) for made in own_kernels(plan)]
    assert found != usual
    assert [instructions(ptx).keys() for ptx in found] == [instructions(ptx).keys() for ptx in usual]


def own_kernels(plan: LaunchPlan) -> Iterator[Made]:
    return (made for made in compiled_kernels(plan) if made.launch is not None)


OPPOSITE = {"geu": "lt", "gtu": "le", "leu": "gt", "ltu": "ge", "neu": "eq", "equ": "ne"}


def instructions(ptx: str) -> Counter[str]:
    found = re.findall(r"^\s*(?:@!?%p\d+ )?([a-z][\w.]*)\s", ptx, re.M)
    counted = (op for op in found if re.search(r"\.f(32|64)$|^(ld|st)\.global|^call|^bar|^shfl", op))
    return Counter(re.sub(r"(?<=^setp\.)\w+", lambda m: OPPOSITE.get(m[0], m[0]), op) for op in counted)


def sums_by_shuffles(made: Made) -> bool:
    """Whether a kernel that sums does so by shuffles, over a block with shared memory and a barrier as well, and no
    other has any; those that sort have shared memory only."""
    launch, found = made.launch, made.compiled
    if launch is None and not made.name.startswith("finish_"):
        return "shfl" not in found.ptx
    over_block = launch is None or (launch.grid is not None and bool(launch.grid.sums))
    over_warp = launch is not None and any(w.sums for w in launch.warp_loops)
    has_shuffles = "shfl.sync.down" in found.ptx
    return has_shuffles == (over_block or over_warp) and over_block == (found.resources.shared > 0)


def test_the_suite_is_there() -> None:
    assert {e.name for e in SUITE} <= {e.name for e in WITHOUT_RULES}


def test_what_is_known_of_the_arrays_of_kernels_is_not_of_functions_that_they_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a sort, whose functions go through the same arrays after each other, nothing is read as a constant."""
    from loopdiff.backends.cuda.aliasing import Arrays

    seen: list[tuple[str, frozenset[str]]] = []
    usual = Arrays.of.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def of(cls: type[Arrays], tree: ast.FunctionDef, kinds: Any) -> Arrays:
        found = usual(cls, tree, kinds)
        seen.append((tree.name, found.read | found.written))
        return found

    monkeypatch.setattr(Arrays, "of", classmethod(of))
    monkeypatch.setattr("tests.cuda.kernels.common_kernel", common_kernel.__wrapped__)
    kernels = {made.name for plan in plans_of("weighted_histogram") for made in compiled_kernels(plan)}
    known = dict(seen)
    told = {name for name, arrays in known.items() if arrays}
    assert told
    assert told <= kernels <= known.keys()
