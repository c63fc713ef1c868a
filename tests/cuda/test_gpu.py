"""The suite on a GPU: values and gradients are those of the CPU, the same bits every time, and no memory is left taken.

`pytest -m gpu` on a machine with one; skipped elsewhere.
"""

from __future__ import annotations

import gc
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


pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not has_gpu(), reason="no GPU, or no driver for it"),
    pytest.mark.filterwarnings("ignore:LW601"),  # that NumPy arrays are copied
]


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

    gc.collect()  # what tests before have left to the collector
    before = set(BLOCKS)
    run(BY_NAME["softmax"], 0, "cuda")
    gc.collect()
    assert set(BLOCKS) == before


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


def test_arrays_that_are_there_already() -> None:
    """Those of Numba and of loopdiff itself, taken and given without copies."""
    from numba import cuda

    import loopdiff.cuda

    entry = BY_NAME["rde_matmul_log1p"]
    expected, slopes = harness.decorate(entry.name, target="cpu").value_and_grad(*entry.args(0).values())
    f = harness.decorate(entry.name, target="cuda")
    for send in (cuda.to_device, loopdiff.cuda.to_device):
        args = [send(a) for a in entry.args(0).values()]
        value, gradients = f.value_and_grad(*args)
        assert value == pytest.approx(expected, rel=1e-12)
        assert all(type(g) is type(args[0]) for g in gradients)
        found = {n: g.copy_to_host() for n, g in zip(entry.wrt, gradients, strict=True)}
        assert_close(found, slopes._asdict(), 1e-10)
        _, pullback = f.vjp(*args)
        again = {n: g.copy_to_host() for n, g in zip(entry.wrt, pullback(), strict=True)}
        assert_close(again, slopes._asdict(), 1e-10)


def test_lists_of_many_updates() -> None:
    """More than one piece, many tiles, and elements that get very many of them."""
    from loopdiff import vectorize_grad

    def scattered(index, v, y):
        for p in range(v.shape[0]):
            y[index[p]] += v[p]

    rng = np.random.default_rng(0)
    size = (1 << 24) + 12345
    index = np.where(rng.random(size) < 0.1, 7, rng.integers(0, 100_000, size))
    v, y = rng.integers(-3, 4, size).astype(np.float64), np.zeros(100_000)
    vectorize_grad(target="cuda")(scattered)(index, v, y)
    np.testing.assert_array_equal(y, np.bincount(index, v, minlength=y.size))
