"""First writes as assignments: the same gradients from workspaces that hold anything, and no needless zeros."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_expr
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.storage.first_writes import drop_zeros
from loopdiff.pipeline.derive import derive_sweeps
from loopdiff.pipeline.stages import Stages
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered, normal_form, sweeps_of
from tests.gradients.test_tape_plans import forward_and_reverse

NAMES = (
    "attention", "hdiff", "vadv", "durbin", "lstm_diag", "nbody", "rows_of_a_counter", "local_arrays", "row_buffer",
    "assigned_anew", "overlapping", "masks", "index_arrays", "largest_of_rows", "ruled_rows",
)  # fmt: skip


def scratch(ls: ir.LoopSet) -> frozenset[str]:
    return frozenset(a.name for a in ls.arrays if a.extents is not None and a.role == "adjoint")


@pytest.mark.part(2)
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_the_same(name: str) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    plain = sweeps_of(name)
    reverse = drop_zeros(plain.reverse, scratch(plain.reverse))
    verify(reverse, "zeros")
    assert reverse != plain.reverse
    weight = harness.weights(harness.run_python(entry, entry.args(0)), 0)
    expected = forward_and_reverse(entry, ls, plain, weight)
    for key, found in forward_and_reverse(entry, ls, replace(plain, reverse=reverse), weight).items():
        np.testing.assert_array_equal(found, expected[key], err_msg=key)


def once(x, y):
    z = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        z[i] += 2.0 * x[i]
    for i in range(x.shape[0]):
        y[i] = z[i]


def twice(x, y):
    z = np.zeros(x.shape[0])
    for _ in range(2):
        for i in range(x.shape[0]):
            z[i] += 2.0 * x[i]
    for i in range(x.shape[0]):
        y[i] = z[i]


def partly(x, y):
    z = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        z[i] += 2.0 * x[i]
    for i in range(x.shape[0]):
        y[i] = z[i]


def emptied(x, y):
    z = np.zeros(x.shape[0])
    for _ in range(3):
        for i in range(x.shape[0]):
            z[i] += x[i]
        for i in range(x.shape[0]):
            y[i] += z[i]
            z[i] = 0.0


def perhaps(x, y):
    z = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            z[i] += x[i]
    for i in range(x.shape[0]):
        z[i] += x[i]
    for i in range(x.shape[0]):
        y[i] = z[i]


@pytest.mark.parametrize(
    ("function", "sums", "has_fill"),
    [(once, 0, False), (twice, 1, True), (partly, 0, True), (emptied, 0, False), (perhaps, 1, True)],
)
def test_only_sums_into_zeros_are_first(function: Callable[..., Any], sums: int, has_fill: bool) -> None:
    args = dict(x=np.random.default_rng(0).random(6), y=np.zeros(6))
    ls = normal_form(function, args)
    found = drop_zeros(ls, frozenset({"z"}))
    stmts = [s.stmt for s in statements(found.body)]
    assert sum(isinstance(s, ir.Accumulate) and s.target.array == "z" for s in stmts) == sums
    assert any(isinstance(s, ir.Allocate) and s.fill is not None for s in stmts) is has_fill
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    function(**args)
    np.testing.assert_array_equal(mine["y"], args["y"])


def dot(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * w[i]
    return s


@pytest.mark.parametrize("size", [3, 5])
def test_elements_beyond_the_loops_are_zero_whatever_the_buffer_held(size: int) -> None:
    """The zeros are written only where an array is longer than the loops over it."""
    args: dict[str, Any] = dict(x=np.arange(1.0, 4.0), w=np.arange(2.0, 2.0 + size))
    ls = normal_form(dot, args)
    reverse = derive_sweeps(ls, ("x", "w"), "auto", Stages("dot"), "gradient").reverse
    (fill,) = [s.stmt for s in statements(reverse.body) if isinstance(s.stmt, ir.If)]
    assert print_expr(fill.cond) == "w.shape[0] > x.shape[0]"
    state = args | {p: np.full(args[p[0]].shape, np.nan) for p in ("x_adj", "w_adj")}
    run(reverse, {p: state.get(p, 1.0) for p in reverse.params})
    np.testing.assert_array_equal(state["x_adj"], args["w"][:3])
    np.testing.assert_array_equal(state["w_adj"], [1.0, 2.0, 3.0, 0.0, 0.0][:size])
