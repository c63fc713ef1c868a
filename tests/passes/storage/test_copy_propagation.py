"""Copies of buffers go where the original still serves, and zeros where a contraction starts anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_zero
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.storage.copy_propagation import without_copies, without_whole_copies
from loopdiff.pipeline.cpu import arrange_loops
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered, normal_form
from tests.passes.sweeps.test_sweep_fusion import one_pass


def served(x, y):
    s, t = np.empty(x.shape[1]), np.empty(x.shape[1])
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            s[a] = 2.0 * x[r, a]
        for a in range(x.shape[1]):
            t[a] = s[a]
        for a in range(x.shape[1]):
            y[r, a] = t[a] * s[a]


def changed(x, y):
    s, t = np.empty(x.shape[1]), np.empty(x.shape[1])
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            s[a] = 2.0 * x[r, a]
        for a in range(x.shape[1]):
            t[a] = s[a]
        for a in range(x.shape[1]):
            s[a] += 1.0
        for a in range(x.shape[1]):
            y[r, a] = t[a] * s[a]


def sometimes(x, y):
    s, t = np.empty(x.shape[1]), np.empty(x.shape[1])
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            s[a] = 2.0 * x[r, a]
        if r % 2 == 0:
            for a in range(x.shape[1]):
                t[a] = s[a]
        for a in range(x.shape[1]):
            y[r, a] = t[a]


def fewer(x, y):
    s, t = np.empty(x.shape[1]), np.empty(x.shape[1])
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            s[a] = 2.0 * x[r, a]
        for a in range(x.shape[1] - r):
            t[a] = s[a]
        for a in range(x.shape[1]):
            y[r, a] = t[a]


def one_behind(x, y):
    """Each row is copied before the next one is written to the same place."""
    s, t = np.empty(1), np.empty((2, x.shape[1]))
    u = np.empty((2, x.shape[1]))
    for r in range(x.shape[0]):
        for b in range(2):
            for a in range(x.shape[1]):
                u[0, a] = x[r, a] + b
            for a in range(x.shape[1]):
                t[b, a] = u[b, a] if b == 0 else u[0, a]
        for a in range(x.shape[1]):
            y[r, a] = t[0, a] - t[1, a] + s.shape[0]


def left(x, y):
    s, t = np.empty(x.shape[1]), np.empty(x.shape[1])
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            s[a] = 2.0 * x[r, a]
        if x[r, 0] > 0.9:
            break
        for a in range(x.shape[1]):
            t[a] = s[a]
    for r in range(x.shape[0]):
        for a in range(x.shape[1]):
            y[r, a] = t[a] + r


@pytest.mark.parametrize(
    ("function", "is_gone"),
    [(served, True), (changed, False), (sometimes, False), (fewer, False), (one_behind, False), (left, False)],
)
def test_only_originals_that_stay_serve(function: Callable[..., Any], is_gone: bool) -> None:
    x, y, expected = np.random.default_rng(0).random((4, 5)), np.zeros((4, 5)), np.zeros((4, 5))
    x[:, 0] = 0.5
    ls = normal_form(function, {"x": x, "y": y})
    found = without_copies(ls)
    verify(found, "copies")
    assert (len(found.arrays) < len(ls.arrays)) is is_gone
    run(found, {"x": x, "y": y})
    function(x, expected)
    np.testing.assert_allclose(y, expected)


@pytest.mark.parametrize("name", ["mlp_rows", "gmm", "rank_four", "imperfect_nest", "local_arrays"])
def test_gradients_in_one_pass_are_the_same(name: str) -> None:
    entry = BY_NAME[name]
    plain = one_pass(lowered(entry), entry.wrt)
    assert plain is not None
    found = arrange_loops(plain, fastmath=True)
    verify(found, "arranged")
    for got, wanted in zip(run(found, entry.args(0)), run(plain, entry.args(0)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_rows_of_a_network_are_summed_without_zeros_and_kept_without_copies() -> None:
    entry = BY_NAME["mlp_rows"]
    plain = one_pass(lowered(entry), entry.wrt)
    assert plain is not None
    found = arrange_loops(plain, fastmath=True)
    rows = {a.name for a in found.arrays if a.name.endswith("_rows")}
    assert not [n for n in rows if n.endswith("_tape_rows") and n.replace("_tape", "") in rows]
    zeros = [
        s.stmt.target.array for s in statements(found.body) if isinstance(s.stmt, ir.Assign) and is_zero(s.stmt.value)
    ]
    assert sorted(n for n in zeros if n.endswith("rows")) == [
        "h1_adj_rows", "h2_adj_rows", "s_1_rows", "s_2_rows", "s_rows",
    ]  # fmt: skip


def emptied(A, B, D):
    """The zeros at the end are for the next block; what breaks off keeps them."""
    Z = np.empty((A.shape[0], B.shape[1]))
    for r in range(3):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                Z[m, n] = 0.0
        if D[0, 0] > 1e9:
            break
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                for k in range(A.shape[1]):
                    Z[m, n] += A[m, k] * B[k, n] * (r + 1.0)
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                D[m, n] += Z[m, n]
                Z[m, n] = 0.0


@pytest.mark.parametrize("big", [0.0, 1e10])
def test_sums_in_a_loop_start_anew(big: float) -> None:
    rng = np.random.default_rng(0)
    args = {"A": rng.random((5, 3)), "B": rng.random((3, 6)), "D": np.full((5, 6), big)}
    mine = {k: v.copy() for k, v in args.items()}
    run(arrange_loops(normal_form(emptied, args), fastmath=True), mine)
    emptied(**args)
    np.testing.assert_allclose(mine["D"], args["D"])


# -- copies of whole arrays ----------------------------------------------------------------------------------
def weighted(x, w, y):
    s = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1] - 1):
            y[i, j] = x[i, j] * s[i, j + 1]


def downwards(x, w, y):
    s = np.zeros(x.shape[0])
    for i in range(x.shape[0] - 1, -1, -1):
        s[i] = 2.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * s[i]


def partly(x, w, y):
    s = np.zeros(x.shape)
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * s[i, j]


def written_again(x, w, y):
    s = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    s[0, 0] = 3.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * s[i, j]


def original_written(x, w, y):
    s = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            w[i, j] = 0.5
            y[i, j] = x[i, j] * s[i, j]


def read_before(x, w, y):
    s = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * s[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += s[i, j]


def turned_over(x, w, y):
    s = np.zeros((x.shape[1], x.shape[0]))
    for i in range(x.shape[1]):
        for j in range(x.shape[0]):
            s[i, j] = w[j, i]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * s[j, i]


def returned(x, w, y):
    s = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[i, j] = w[i, j]
    y[0, 0] = 1.0
    return s[0, 0]


@pytest.mark.parametrize(
    ("function", "is_left"),
    [(weighted, False), (downwards, False)]
    + [(f, True) for f in (partly, written_again, original_written, read_before, turned_over, returned)],
)
def test_whole_copies(function: Callable[..., Any], is_left: bool) -> None:
    r = np.random.default_rng(0)
    args = {"x": r.random((3, 4)), "w": r.random((3, 4)), "y": np.zeros((3, 4))}
    ls = normal_form(function, args)
    found = without_whole_copies(ls)
    verify(found, "copies")
    assert any(a.name == "s" for a in found.arrays) is is_left
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    function(**args)
    np.testing.assert_array_equal(mine["y"], args["y"])


def test_the_weights_of_a_loss_are_its_adjoint() -> None:
    """Of a weighted sum of what loops fill no adjoint is stored; nor of a plain sum, whose adjoint is one."""

    def loss(x, w, y):
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]
        return np.sum(w * y)

    def total(x, w, y):
        for i in range(x.shape[0]):
            y[i] = x[i] * x[i]
        return np.sum(y)

    x, w, y = np.arange(5.0), np.arange(5.0) + 1.0, np.zeros(5)
    for function, slope in ((loss, w), (total, np.ones(5))):
        f = vectorize_grad(function, wrt=("x",))
        value, found = f.value_and_grad(x, w, y)
        assert value == pytest.approx(function(x, w, y))
        np.testing.assert_allclose(found.x, 2.0 * slope * x)
        assert "y_adj" not in f.compile(x, w, y).source("gradient")
    with pytest.raises(ArgumentError, match="do not fit"):
        vectorize_grad(loss, wrt=("x",)).value_and_grad(x, w[:4], y)
