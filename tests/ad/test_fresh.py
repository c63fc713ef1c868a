"""Reverse sweeps that start their adjoints themselves: the same gradients, whatever the buffers hold before."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.tape.sweeps import SweepForm
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements, written_arrays
from loopdiff.pipeline.derive import derive_sweeps
from loopdiff.pipeline.stages import Stages
from tests.corpus import BY_NAME, SUITE
from tests.gradients import harness
from tests.gradients.interpreted import lowered, normal_form
from tests.gradients.test_tape_plans import forward_and_reverse

NAMES = (
    *(e.name for e in SUITE if e.name != "hash_grid"),
    "rows_of_a_counter", "local_arrays", "row_buffer", "assigned_anew", "overlapping", "masks", "index_arrays",
    "largest_of_rows", "ruled_rows",
)  # fmt: skip


CASES = [(n, "pullback") for n in NAMES] + [
    (n, "gradient") for n in ("rde_matmul_log1p", "mlp_rows", "nbody", "nussinov_real", "hdiff", "masks", "ruled_rows")
]


@pytest.mark.part(5)
@pytest.mark.parametrize(("name", "form"), CASES)
def test_gradients_are_the_same(name: str, form: SweepForm) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    sums, fresh = (derive_sweeps(ls, entry.wrt, "auto", Stages(name), f) for f in ("sums", form))
    args = entry.args(0)
    weight = harness.weights(harness.outputs_of(entry, entry.function(*args.values()), args), 0)
    if form == "gradient":
        weight = {n: np.zeros(np.shape(w)) if n in entry.outputs else w for n, w in weight.items()}
    expected = forward_and_reverse(entry, ls, sums, weight)
    for key, found in forward_and_reverse(entry, ls, fresh, weight).items():
        np.testing.assert_array_equal(found, expected[key], err_msg=key)


def scaled(x, y):
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]


def in_part(x, y):
    for i in range(1, x.shape[0]):
        y[i] = 2.0 * x[i]


def twice(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    for i in range(x.shape[0]):
        y[i] += x[i]


def reverse_of(function, form: SweepForm) -> ir.LoopSet:
    ls = normal_form(function, {"x": np.ones(4), "y": np.ones(4)})
    return derive_sweeps(ls, ("x",), "auto", Stages("test"), form).reverse


def test_one_sum_for_every_element_needs_no_zeros() -> None:
    found = reverse_of(scaled, "pullback")
    (start,) = (s.stmt for s in statements(found.body) if isinstance(s.stmt, ir.Allocate))
    assert start.array == "x_adj"
    assert start.fill is None
    assert not any(isinstance(s.stmt, ir.Accumulate) for s in statements(found.body))
    assert written_arrays(found.body) == {"x_adj"}, "the cotangent is only read"


@pytest.mark.parametrize("function", [in_part, twice])
def test_zeros_stay_where_they_are_seen(function) -> None:
    found = reverse_of(function, "pullback")
    (start,) = (s.stmt for s in statements(found.body) if isinstance(s.stmt, ir.Allocate))
    assert (start.fill is None) == (function is twice)
    assert any(isinstance(s.stmt, ir.Assign) and s.stmt.target.array == "x_adj" for s in statements(found.body))


def test_sums_add_to_what_is_there() -> None:
    found = reverse_of(scaled, "sums")
    assert not any(isinstance(s.stmt, ir.Allocate) for s in statements(found.body))
    assert written_arrays(found.body) == {"x_adj", "y_adj"}


def test_cotangents_are_left_alone() -> None:
    """The sweep reads a cotangent in place where it may; where it may not, a copy."""
    x = np.linspace(0.0, 1.0, 5)
    for function in (scaled, in_part, twice):
        f = vectorize_grad(wrt="x")(function)
        reference = f.vjp(x, np.zeros(5))[1](y=np.arange(5.0)).x
        frozen, wide, spread = np.arange(5.0), np.arange(5), np.arange(10.0)[::2] / 2.0
        frozen.flags.writeable = False
        for given in (frozen, wide, spread, np.arange(5.0, dtype=np.float32), np.arange(5.0)):
            before = given.copy()
            y = np.zeros(5)
            _, pullback = f.vjp(x, y)
            first, second = pullback(y=given).x, pullback(y=given).x
            np.testing.assert_array_equal(first, reference)
            np.testing.assert_array_equal(second, reference)
            assert not np.shares_memory(first, second)
            np.testing.assert_array_equal(given, before)


def test_the_output_may_be_its_own_cotangent() -> None:
    f = vectorize_grad(wrt="x")(scaled)
    x, y = np.arange(4.0), np.zeros(4)
    _, pullback = f.vjp(x, y)
    np.testing.assert_array_equal(pullback(y=y).x, 2.0 * y)
