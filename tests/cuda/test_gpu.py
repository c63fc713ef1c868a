"""The suite on a GPU: values and gradients are those of the CPU, the same bits every time, and no memory is left taken.

`pytest -m gpu` on a machine with one; skipped elsewhere.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tests.corpus import BY_NAME, SUITE, Entry
from tests.cuda.kernels import WITHOUT_RULES
from tests.gradients import harness
from tests.gradients.test_battery import assert_close, each


def has_gpu() -> bool:
    if importlib.util.find_spec("numba_cuda") is None:
        return False
    from loopdiff.backends.cuda.driver import is_there

    return is_there()


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="no GPU, or no driver for it")]


def run(entry: Entry, seed: int, target: str) -> tuple[dict[str, Any], dict[str, Any]]:
    args = entry.args(seed)
    result, pullback = harness.decorate(entry.name, target=target).vjp(*args.values())
    outputs = {**harness.named_results(result), **{name: args[name] for name in entry.outputs}}
    weight = harness.weights(harness.outputs_of(entry, result, args), seed)
    cotangents = {name: weight[name] for name in entry.outputs if name in weight}
    found = pullback(*harness.seeds_of(result, weight), **cotangents)
    return outputs, dict(zip(entry.wrt, found, strict=True))


@pytest.mark.parametrize("entry", each(WITHOUT_RULES))
def test_values_and_gradients(entry: Entry) -> None:
    is_narrow = harness.is_narrow(entry)
    expected, found = run(entry, 0, "cpu"), run(entry, 0, "cuda")
    assert_close(found[0], expected[0], 1e-4 if is_narrow else 1e-10)
    assert_close(found[1], expected[1], 1e-3 if is_narrow else 1e-9)


@pytest.mark.parametrize("entry", each(SUITE))
def test_the_same_bits_every_time(entry: Entry) -> None:
    first, second = run(entry, 1, "cuda"), run(entry, 1, "cuda")
    for one, other in zip(first, second, strict=True):
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_nothing_is_left_taken() -> None:
    from loopdiff.backends.cuda.driver import BLOCKS

    before = set(BLOCKS)
    run(BY_NAME["softmax"], 0, "cuda")
    assert before == BLOCKS


def test_the_suite_at_its_smallest_size_of_benchmarks() -> None:
    """Many blocks, as small arguments have not."""
    for name in ("rde_matmul_log1p", "jacobi_2d", "softmax", "spmv_csr"):
        entry = BY_NAME[name]
        found: dict[str, Any] = {}
        for target in ("cpu", "cuda"):
            args = entry.args(0, "S")
            result, pullback = harness.decorate(name, target=target).vjp(*args.values())
            weight = harness.weights(harness.outputs_of(entry, result, args), 0)
            cotangents = {n: weight[n] for n in entry.outputs if n in weight}
            gradients = pullback(*harness.seeds_of(result, weight), **cotangents)
            found[target] = dict(zip(entry.wrt, gradients, strict=True))
        assert_close(found["cuda"], found["cpu"], 1e-8)
