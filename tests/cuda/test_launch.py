"""The host's function as it runs where there is a GPU, on a stand-in for the driver."""

from __future__ import annotations

import gc
import importlib.util

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered
from tests.gradients.test_battery import assert_close

pytestmark = [
    pytest.mark.part(2),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]
# Sums, copies, own arrays, checks, scalars of all kinds, loops of the host, arrays that are returned.
PROGRAMS = ("rde_matmul_log1p", "softmax", "jacobi_2d", "spmv_csr", "durbin", "weighted_histogram", "kmeans_cost")


@pytest.mark.part(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_packed_is_what_the_function_was_given(name: str) -> None:
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.pipeline.cuda import launch_plan_of
    from tests.cuda.stub import on_stub, stub_driver

    entry = BY_NAME[name]
    with stub_driver() as stub:
        before = len(stub.memory)
        function = on_stub(launch_plan_of(lowered(entry), Style()))
        args, reference = entry.args(0), entry.args(0)
        result = function.dispatcher(*args.values())
        assert stub.calls
        assert len(stub.memory) == before
    outputs = {**harness.named_results(result), **{n: args[n] for n in entry.outputs}}
    assert_close(outputs, harness.run_python(entry, reference), 1e-11)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["rde_matmul_log1p", "jacobi_2d", "while_newton", "two_returned_arrays", "spmv_csr"])
def test_gradients_of_decorated_functions(name: str) -> None:
    """Arrays go there and back, those between the sweeps stay there, and all memory is given back."""
    from tests.cuda.stub import gpu_machine

    entry = BY_NAME[name]
    with gpu_machine() as stub:
        before = len(stub.memory)
        found = harness.decorate(name, target="cuda", cache=False)
        args = entry.args(0)
        result, pullback = found.vjp(*args.values())
        outputs = {**harness.named_results(result), **{n: args[n] for n in entry.outputs}}
        weight = harness.weights(harness.outputs_of(entry, result, args), 0)
        cotangents = {n: weight[n] for n in entry.outputs if n in weight}
        gradients = pullback(*harness.seeds_of(result, weight), **cotangents)
        again = pullback(*harness.seeds_of(result, weight), **cotangents)
        del pullback, found
        gc.collect()
        assert len(stub.memory) == before
    assert_close(outputs, harness.run_python(entry, entry.args(0)), 1e-11)
    expected = harness.pull_back(entry, entry.args(0))
    for each_time in (gradients, again):
        assert_close(dict(zip(entry.wrt, each_time, strict=True)), expected, 1e-10)


def test_value_and_gradient_of_a_decorated_function() -> None:
    from tests.cuda.stub import gpu_machine

    entry = BY_NAME["rde_matmul_log1p"]
    with gpu_machine():
        value, gradients = harness.decorate(entry.name, target="cuda", cache=False).value_and_grad(
            *entry.args(0).values()
        )
    expected, slopes = harness.decorated(entry.name).value_and_grad(*entry.args(0).values())
    assert value == pytest.approx(expected, rel=1e-13)
    assert_close(gradients._asdict(), slopes._asdict(), 1e-12)


def test_tangents_of_a_decorated_function() -> None:
    from tests.cuda.stub import gpu_machine

    entry = BY_NAME["rde_matmul_log1p"]
    along = harness.direction(entry, entry.args(0), 0)
    with gpu_machine():
        args = tuple(entry.args(0).values())
        value, tangents = harness.decorate(entry.name, target="cuda", cache=False).jvp(args, along)
    expected, slopes = harness.decorated(entry.name).jvp(tuple(entry.args(0).values()), along)
    assert value == pytest.approx(expected, rel=1e-13)
    assert_close(tangents._asdict(), slopes._asdict(), 1e-12)


def made_twice(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]
    return y, y


def divided(x, k):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] + 6 // k[i]
    return y


def test_results_that_are_one_array_are_given_back_once() -> None:
    from tests.cuda.stub import gpu_machine

    with gpu_machine() as stub:
        before = len(stub.memory)
        first, second = vectorize_grad(target="cuda", cache=False)(made_twice)(np.arange(4.0))
        assert len(stub.memory) == before
    np.testing.assert_array_equal(first, 2.0 * np.arange(4.0))
    np.testing.assert_array_equal(second, first)


def test_memory_is_given_back_where_threads_fail() -> None:
    from tests.cuda.stub import gpu_machine

    with gpu_machine() as stub:
        before = len(stub.memory)
        f = vectorize_grad(target="cuda", cache=False)(divided)
        with pytest.raises(ZeroDivisionError):
            f(np.arange(4.0), np.array([1, 2, 0, 3]))
        with pytest.raises(ArgumentError):
            f(np.arange(4.0), np.array([1, 2]))
        gc.collect()
        assert len(stub.memory) == before
