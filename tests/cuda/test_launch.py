"""The host's function as it runs where there is a GPU, on a stand-in for the driver."""

from __future__ import annotations

import importlib.util

import pytest

from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered
from tests.gradients.test_battery import assert_close

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
# Sums, copies, own arrays, checks, scalars of all kinds, loops of the host, arrays that are returned.
PROGRAMS = ("rde_matmul_log1p", "softmax", "jacobi_2d", "spmv_csr", "durbin", "weighted_histogram", "kmeans_cost")


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_packed_is_what_the_function_was_given(name: str) -> None:
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.backends.cuda.compile import plan_of
    from tests.cuda.stub import on_stub, stub_driver

    entry = BY_NAME[name]
    with stub_driver() as stub:
        before = len(stub.memory)
        function = on_stub(plan_of(lowered(entry), Style()))
        args, reference = entry.args(0), entry.args(0)
        result = function.dispatcher(*args.values())
        assert stub.calls
        assert len(stub.memory) == before
    outputs = {**harness.named_results(result), **{n: args[n] for n in entry.outputs}}
    assert_close(outputs, harness.run_python(entry, reference), 1e-11)
