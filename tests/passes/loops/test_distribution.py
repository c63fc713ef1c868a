"""Reversal and distribution of loops: when they happen, when they must not, and that values stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.analysis.contractions import contraction
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.loops.distribution import restructure
from tests.ad.interpreted import copied, lower

r = np.random.default_rng(5)


def reverse_of_product(A, B, A_adj, B_adj, C_adj):
    for m in range(A.shape[0] - 1, -1, -1):
        for n in range(B.shape[1] - 1, -1, -1):
            for k in range(A.shape[1] - 1, -1, -1):
                bar = C_adj[m, n]
                A_adj[m, k] += bar * B[k, n]
                B_adj[k, n] += bar * A[m, k]
            C_adj[m, n] = 0.0


def cleared_before_use(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]
            A[m, 0] = 0.0


def fed_back(A, y):
    for m in range(A.shape[0]):
        for n in range(A.shape[1]):
            y[m] += A[m, n]
        for n in range(A.shape[1]):
            A[m, n] = y[m + 1] if m + 1 < A.shape[0] else 0.0


def upwards(x, y):
    for i in range(x.shape[0] - 1, -1, -1):
        y[i] = 2.0 * x[i]


def downwards(x):
    for i in range(x.shape[0] - 2, -1, -1):
        x[i] += 0.5 * x[i + 1]


def zeroed_again(A, y):
    for b in range(3):
        for m in range(A.shape[0]):
            y[m] = 0.0
            for n in range(A.shape[1]):
                y[m] += A[m, n] * b


def decided_by_the_iteration_before(A, B, C, z):
    which = 0
    for m in range(A.shape[0]):
        is_first = which == 0
        if is_first:
            z[m, 0] = 3.0
        for n in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]
        z[m, 1] = 1.0 if is_first else 2.0
        which = 1


def steps_in_time(A, B, C, A_adj, B_adj, C_adj):
    for t in range(3):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                for k in range(A.shape[1]):
                    bar = C_adj[m, n]
                    A_adj[m, k] += bar * B[k, n]
                    B_adj[k, n] += bar * A[m, k]
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                C_adj[m, n] *= 0.5 + t * A_adj[m, n]


def steps_of_two_kinds(A, B, C, A_adj, B_adj, C_adj):
    for t in range(3):
        if C[t, 0] > 0.5:
            for m in range(A.shape[0]):
                for n in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        bar = C_adj[m, n]
                        A_adj[m, k] += bar * B[k, n]
                        B_adj[k, n] += bar * A[m, k]
                    C_adj[m, n] = A[m, n] * t
        else:
            for m in range(A.shape[0]):
                A_adj[m, 0] += 1.0
            for m in range(A.shape[0]):
                for n in range(B.shape[1]):
                    for k in range(A.shape[1]):
                        A_adj[m, k] += C_adj[m, n] * B[k, n]
                        C[k, n] += C_adj[m, n] * A[m, k]


CASES: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (reverse_of_product, {x: r.random((4, 4)) for x in ("A", "B", "A_adj", "B_adj", "C_adj")}),
    (cleared_before_use, {x: r.random((4, 4)) for x in ("A", "B", "C")}),
    (fed_back, {"A": r.random((4, 5)), "y": r.random(4)}),
    (upwards, {"x": r.random(7), "y": r.random(7)}),
    (downwards, {"x": r.random(7)}),
    (zeroed_again, {"A": r.random((4, 5)), "y": r.random(4)}),
    (decided_by_the_iteration_before, {x: r.random((4, 4)) for x in ("A", "B", "C", "z")}),
    (steps_in_time, {x: r.random((4, 4)) for x in ("A", "B", "C", "A_adj", "B_adj", "C_adj")}),
    (steps_of_two_kinds, {x: r.random((4, 4)) for x in ("A", "B", "C", "A_adj", "B_adj", "C_adj")}),
]


def restructured(index: int) -> tuple[ir.LoopSet, ir.LoopSet, dict[str, Any]]:
    function, args = CASES[index]
    before = lower(function, args)
    return before, restructure(before), args


@pytest.mark.parametrize("index", range(len(CASES)))
def test_the_same_values(index: int) -> None:
    before, after, args = restructured(index)
    verify(after, "normal")
    expected, found = copied(args), copied(args)
    run(before, expected)
    run(after, found)
    for name in args:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-13, atol=1e-14)


def contractions(ls: ir.LoopSet) -> int:
    return sum(1 for s in ls.body if contraction(s) is not None)


def test_both_products_of_a_reverse_sweep_are_isolated() -> None:
    _, after, _ = restructured(0)
    assert contractions(after) == 2
    loops = [s.stmt for s in statements(after.body) if isinstance(s.stmt, ir.Loop)]
    assert all(isinstance(p.step, ir.Const) and p.step.value == 1 for p in loops)


@pytest.mark.parametrize(("index", "most"), [(7, 2), (8, 4)])
def test_products_in_steps_and_under_conditions_are_isolated(index: int, most: int) -> None:
    """A loop that stays in one piece, or a condition, keeps nothing from being distributed inside of it."""
    _, after, _ = restructured(index)
    whole = {s.path for s in statements(after.body) if contraction(s.stmt) is not None}
    assert len([p for p in whole if not any(p[: len(q)] == q for q in whole - {p})]) == most


@pytest.mark.parametrize("index", [1, 2])
def test_no_distribution_against_a_dependence(index: int) -> None:
    before, after, _ = restructured(index)
    assert len(after.body) == len(before.body) == 1


def test_a_recurrence_keeps_running_downwards() -> None:
    before, after, _ = restructured(4)
    assert after.body == before.body


def test_a_target_that_is_cleared_again_is_no_contraction() -> None:
    before, _, _ = restructured(5)
    assert contraction(before.body[0]) is None


# -- statements run once, and in order where that is asked -----------------------------------------------------
def torn(x, z, s):
    """Of the three statements the first two depend on each other, the third on the second."""
    for k in range(z.shape[0]):
        for i in range(z.shape[1]):
            x[i + 1] = x[i + 1] * 0.5 + 1.0
            z[k, i] += x[i]
            s[i] += z[k, i]


def torn_with_cells(x, z, s):
    for k in range(z.shape[0]):
        for i in range(z.shape[1]):
            z[k, i] += x[i]
            x[i] += 0.5 * z[k, i]
            z[0, i] += 0.5 * z[k, i]
            x[i + 1] = max(x[i + 1], s[i])


@pytest.mark.parametrize("function", [torn, torn_with_cells])
def test_statements_run_once_in_nests_that_fall_apart(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    args = {"x": rng.random(4), "z": rng.random((2, 3)), "s": rng.random(3)}
    expected, mine = ({k: v.copy() for k, v in args.items()} for _ in range(2))
    function(**expected)
    f = vectorize_grad(function, wrt=("x", "z", "s"))
    _, pullback = f.vjp(**mine)
    for name, found in mine.items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-13)
    written = [k for k in args if not np.array_equal(args[k], expected[k])]
    bar = {k: rng.standard_normal(args[k].shape) for k in written}
    found = pullback(**{k: v.copy() for k, v in bar.items()})
    for name in args:
        at = tuple(0 for _ in args[name].shape)
        h = 1e-6
        up, down = ({k: v.copy() for k, v in args.items()} for _ in range(2))
        up[name][at] += h
        down[name][at] -= h
        function(**up)
        function(**down)
        slope = sum(np.sum(bar[k] * (up[k] - down[k])) for k in written) / (2 * h)
        np.testing.assert_allclose(getattr(found, name)[at], slope, rtol=1e-7, atol=1e-9)


def test_sums_keep_their_order_where_that_is_asked() -> None:
    """A loop downwards stays one if elements get several sums: the other order rounds otherwise."""

    def cancelling(x, y):
        for i in range(x.shape[0] - 2, -1, -1):
            x[i + 1] += y[i]
            x[i] += 0.1 * y[i + 1]

    x, y = np.array([0.0, 1e16, 0.0]), np.array([-1e16, 0.0, 10.0])
    expected = x.copy()
    cancelling(expected, y)
    vectorize_grad(cancelling, fastmath=False)(x, y)
    np.testing.assert_array_equal(x, expected)


def recurrence_and_product(a, x, w, w_adj):
    """A recurrence as reverse sweeps have it, and the gradient by its matrix."""
    for t in range(a.shape[0] - 2, -1, -1):
        for n in range(a.shape[1] - 1, -1, -1):
            for k in range(w.shape[0] - 1, -1, -1):
                a[t + 1, n, k] = 2.0 * a[t + 1, n, k]
        for n in range(a.shape[1] - 1, -1, -1):
            for k in range(w.shape[0] - 1, -1, -1):
                for j in range(w.shape[1] - 1, -1, -1):
                    a[t, n, j] += a[t + 1, n, k] * w[k, j]
                    w_adj[k, j] += a[t + 1, n, k] * x[t, n, j]


def test_a_product_out_of_a_recurrence_is_one_over_all_of_its_steps() -> None:
    """Alone it may run upwards, while the recurrence may not."""
    rng = np.random.default_rng(3)
    args = {"a": rng.random((5, 3, 4)), "x": rng.random((5, 3, 4)), "w": rng.random((4, 4)), "w_adj": np.zeros((4, 4))}
    ls = lower(recurrence_and_product, args)
    found = restructure(ls)
    verify(found, "test")
    products = [c for s in found.body if (c := contraction(s)) is not None]
    assert [(len(c.loops), len(c.kept)) for c in products] == [(4, 2)]
    expected, mine = copied(args), copied(args)
    recurrence_and_product(**expected)
    run(found, mine)
    for name in args:
        np.testing.assert_allclose(mine[name], expected[name], rtol=1e-13)
