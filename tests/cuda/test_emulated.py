"""Kernels on the CPU: a part of the corpus and all of the suite, block by block and thread by thread, in two orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import write_emulated
from loopdiff.pipeline.cuda import launch_plan_of
from tests.corpus import SUITE, Arguments, Entry
from tests.cuda.kernels import WITHOUT_RULES
from tests.cuda.plain import emulating
from tests.gradients import harness
from tests.gradients.interpreted import lowered
from tests.gradients.test_battery import assert_close, each
from tests.lengths import every

Values = dict[str, Any]
IN_SUITE, IN_TURNS = ({e.name for e in found} for found in (SUITE, every(8, WITHOUT_RULES)))
EMULATED = tuple(e for e in WITHOUT_RULES if e.name in (IN_SUITE | IN_TURNS) - harness.LONG)


def run(function: Any, entry: Entry, seed: int) -> tuple[Values, Values, Arguments]:
    """Outputs, gradients with drawn weights, and the arguments afterwards."""
    args = entry.args(seed)
    result, pullback = function.vjp(*args.values())
    outputs = {**harness.named_results(result), **{name: args[name] for name in entry.outputs}}
    weight = harness.weights(harness.outputs_of(entry, result, args), seed)
    cotangents = {name: weight[name] for name in entry.outputs if name in weight}
    found = pullback(*harness.seeds_of(result, weight), **cotangents)
    return outputs, dict(zip(entry.wrt, found, strict=True)), args


def check_in_both_orders(entry: Entry) -> None:
    """Values are Python's and gradients the CPU's, the same bits whichever threads run first."""
    with emulating() as order:
        function = harness.decorate(entry.name)
        (outputs, gradients, args), again = [run(function, entry, 0) for _ in order.both()]
    is_narrow, reference = harness.is_narrow(entry), entry.args(0)
    assert_close(outputs, harness.run_python(entry, reference), 1e-5 if is_narrow else 1e-11)
    for name in (n for n in args if n not in entry.outputs):
        np.testing.assert_array_equal(args[name], entry.args(0)[name], err_msg=f"{name} was changed")
    assert_close(gradients, harness.pull_back(entry, entry.args(0)), 1e-4 if is_narrow else 1e-10)
    for found, other in ((outputs, again[0]), (gradients, again[1])):
        for name, value in found.items():
            np.testing.assert_array_equal(value, other[name], err_msg=f"{name} depends on the order of threads")


@pytest.mark.part(17)
@pytest.mark.parametrize("entry", each(EMULATED))
def test_values_and_gradients_equal_those_of_the_cpu(entry: Entry) -> None:
    check_in_both_orders(entry)


@pytest.mark.part(11)
@pytest.mark.parametrize("entry", each(SUITE))
def test_numba_compiles_what_plain_python_runs(entry: Entry) -> None:
    """The same text for Numba, values in float64 and int64 throughout."""
    ls = lowered(entry)
    function = write_emulated(launch_plan_of(ls, Style()), Style(), cache=True)
    args, reference = entry.args(1), entry.args(1)
    result = function.dispatcher(*args.values())
    outputs = {**harness.named_results(result), **{name: args[name] for name in entry.outputs}}
    assert_close(outputs, harness.run_python(entry, reference), 1e-11)


def norm_and_top_of_rows(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    total, top = 0.0, -100.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]
        total += y[i] * y[i]
        top = max(top, -y[i] * y[i])
    return total + top


def test_scalars_are_summed_over_several_blocks_of_warps() -> None:
    """The lanes of a warp but the first add nothing to the sum of a block, whatever the block before left there."""
    rng = np.random.default_rng(0)
    A, x = rng.random((40, 20)), rng.random(20)
    found = vectorize_grad(norm_and_top_of_rows, target="cuda-emulated")
    reference = norm_and_top_of_rows(A, x, np.zeros(40))
    assert abs(found(A, x, np.zeros(40)) - reference) <= 1e-12 * abs(reference)
    value, gradients = found.value_and_grad(A, x, np.zeros(40))
    assert abs(value - reference) <= 1e-12 * abs(reference)
    np.testing.assert_allclose(gradients.A, found.on("cpu").grad(A, x, np.zeros(40)).A, rtol=1e-11)
