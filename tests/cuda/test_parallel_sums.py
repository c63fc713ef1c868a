"""Sums that meet, as threads: convolutions, sums of several arrays, at several distances, and into one element."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import emulated_text
from loopdiff.ir import nodes as ir
from loopdiff.mapping.launches import Launch, all_steps
from loopdiff.model import tuning
from tests.cuda.plain import emulating
from tests.cuda.test_grid import check, grids

pytestmark = pytest.mark.part(2)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def axes(plan: Any) -> list[int]:
    return [len(g) for g in grids(plan)]


@pytest.mark.parametrize(("n", "k"), [(7, 3), (3, 7), (1, 1), (1, 5), (0, 3), (4, 0)])
def test_places_of_a_convolution_are_threads(rng: np.random.Generator, n: int, k: int) -> None:
    """Wherever the window lies over the edge, and where there is nothing to add."""
    args = {"x": rng.random((2, n)), "w": rng.random((k, 4)), "y": rng.random((2, 16, 4))}
    args["x"] = np.concatenate([np.zeros((2, 1)), args["x"]], axis=1)[:, : n + 1] if n else args["x"]
    plan = check(from_one, args)
    assert axes(plan) == [3]


def from_one(x, w, y):
    for n in range(x.shape[0]):
        for i in range(1, x.shape[1]):
            for p in range(w.shape[0]):
                for c in range(w.shape[1]):
                    y[n, i + p - 1, c] += w[p, c] * x[n, i]


def downwards(x, w, y):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(x.shape[1] - 1, 0, -1):
            for p in range(w.shape[0] - 1, -1, -1):
                for q in range(2, -1, -1):
                    if (p + q) % 2 == 0:
                        y[i + p, q + j + 1] += w[p, q] * x[i, j]


def test_windows_over_two_axes_under_a_condition(rng: np.random.Generator) -> None:
    plan = check(downwards, {"x": rng.random((5, 6)), "w": rng.random((2, 3)), "y": np.zeros((9, 12))})
    assert axes(plan) == [2]


def window_of_a_row(x, w, y, begin):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for p in range(j, w.shape[0]):
                y[i + p, j] += w[p] * x[i, j]
    for i in range(x.shape[0]):
        for p in range(begin[0], w.shape[0]):
            y[i + p, 0] += w[p] * x[i, 0]


def test_windows_that_other_loops_or_data_begin(rng: np.random.Generator) -> None:
    args = {"x": rng.random((4, 3)), "w": rng.random(3), "y": np.zeros((8, 3))}
    check(window_of_a_row, {**args, "begin": np.array([1])})
    check(window_of_a_row, {**args, "x": np.zeros((0, 3)), "begin": np.zeros(0, np.int64)})


def as_far_as_data_say(x, w, y, n):
    for i in range(x.shape[0]):
        for p in range(n[0]):
            y[i + p] += w[p] * x[i]


def test_data_that_no_loop_asks_for_need_not_be_there() -> None:
    """Nor in the reverse sweep, where the loop over them may be the outer one."""
    f = vectorize_grad(as_far_as_data_say, wrt=("x", "w", "y"), target="cuda-emulated", cache=False)
    args = np.zeros(0), np.zeros(2), np.zeros(4), np.zeros(0, np.int64)
    with emulating():
        _, pullback = f.under(replace(f.options, target="cpu")).vjp(*args)
        found = pullback(y=np.ones(4))
    np.testing.assert_array_equal(found.w, np.zeros(2))


def read_too(x, w, y):
    for i in range(x.shape[0]):
        for p in range(w.shape[0]):
            y[i + p] += w[p] * x[i] * y[0]


def test_elements_that_are_read_keep_their_order(rng: np.random.Generator) -> None:
    plan = check(read_too, {"x": rng.random(6), "w": rng.random(3), "y": rng.random(9)})
    assert axes(plan) == [0]


def scaled(x, w, y):
    for i in range(x.shape[0]):
        for p in range(w.shape[0]):
            y[2 * i + p] += w[p] * x[i]


def test_steps_of_two_are_no_place_of_one(rng: np.random.Generator) -> None:
    check(scaled, {"x": rng.random(6), "w": rng.random(3), "y": rng.random(15)})


def depthwise(x, g, dw, dx, db):
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for c in range(x.shape[2]):
                db[c] += g[n, i, c]
            for p in range(3):
                if i + p - 1 >= 0 and i + p - 1 < x.shape[1]:
                    for c in range(x.shape[2]):
                        dw[p, c] += g[n, i, c] * x[n, i + p - 1, c]
                        dx[n, i + p - 1, c] += g[n, i, c] * dw[0, 0]


def apart(x, g, w, dw, dx, db):
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for c in range(x.shape[2]):
                db[c] += g[n, i, c]
            for p in range(3):
                if i + p - 1 >= 0 and i + p - 1 < x.shape[1]:
                    for c in range(x.shape[2]):
                        dw[p, c] += g[n, i, c] * x[n, i + p - 1, c]
                        dx[n, i + p - 1, c] += g[n, i, c] * w[p, c]


def test_sums_of_several_arrays_have_nests_of_their_own(rng: np.random.Generator) -> None:
    x = rng.random((3, 6, 4))
    args = {"x": x, "g": rng.random(x.shape), "w": rng.random((3, 4))}
    plan = check(apart, {**args, "dw": np.zeros((3, 4)), "dx": np.zeros_like(x), "db": np.zeros(4)})
    launches = [s for s in all_steps(plan.steps) if isinstance(s, Launch)]
    assert all(s.grid is not None and not s.grid.copies for s in launches)
    assert max(axes(plan)) == 3
    del args["w"]
    check(depthwise, {**args, "dw": np.ones((3, 4)), "dx": np.zeros_like(x), "db": np.zeros(4)})


def columns(x, y, z):
    for i in range(x.shape[0]):
        c = 0.0
        for k in range(x.shape[1]):
            c = 0.5 * c + x[i, k]
            y[i, k] += c
            y[i + 1, k] += 2.0 * c
            z[x.shape[0] - 1 - i] += c
            z[i] += c * c


def test_sums_at_several_distances_have_arrays_of_their_own(rng: np.random.Generator) -> None:
    plan = check(columns, {"x": rng.random((5, 4)), "y": rng.random((6, 4)), "z": rng.random(5)})
    (first, *_) = [s for s in all_steps(plan.steps) if isinstance(s, Launch) and s.grid is not None]
    assert first.grid is not None
    assert (len(first.grid.axes), first.grid.copies, first.grid.lists) == (1, (), ())


def in_steps(x, y, steps):
    for _ in range(steps):
        for i in range(x.shape[0]):
            c = 0.0
            for k in range(x.shape[1]):
                c = 0.5 * c + x[i, k]
                y[i, k] += c
                y[i + 1, k] += 2.0 * c
        for i in range(x.shape[0]):
            x[i, 0] = y[i, 0]


def test_they_begin_at_zero_in_each_iteration_of_the_host(rng: np.random.Generator) -> None:
    plan = check(in_steps, {"x": rng.random((5, 4)), "y": rng.random((6, 4)), "steps": 3})
    assert any(a.name.startswith("y_apart") for a in plan.ls.arrays)


def of_time(x, w, v, steps):
    for t in range(steps):
        for j in range(x.shape[0]):
            w[t] += x[j]
        for j in range(x.shape[0]):
            x[j] = 0.5 * x[j] + v[t]


def test_sums_into_one_element_are_those_of_a_scalar(rng: np.random.Generator) -> None:
    plan = check(of_time, {"x": rng.random(7), "w": rng.random(5), "v": rng.random(5), "steps": 4})
    sums = [s.grid.sums for s in all_steps(plan.steps) if isinstance(s, Launch) and s.grid is not None]
    assert sums == [(("w_sum", "add"),)]


def under_a_condition(x, w, steps):
    for t in range(steps):
        if t < w.shape[0]:
            for j in range(x.shape[0]):
                w[t] += x[j]
        for j in range(x.shape[0]):
            if t < w.shape[0]:
                w[t] += 2.0 * x[j]
        for j in range(x.shape[0]):
            x[j] = 0.5 * x[j]


def test_elements_that_nothing_is_added_to_need_not_be_there(rng: np.random.Generator) -> None:
    """Plain Python raises for those that are not."""
    check(of_time, {"x": np.zeros(0), "w": np.zeros(0), "v": np.zeros(0), "steps": 4})
    check(under_a_condition, {"x": rng.random(3), "w": np.zeros(2), "steps": 4})


def five(x, y):
    for a in range(x.shape[0]):
        for b in range(x.shape[1]):
            for c in range(x.shape[2] - 1, -1, -1):
                for d in range(x.shape[3]):
                    for e in range(x.shape[4]):
                        y[a, b, c, d, e] = 2.0 * x[a, b, c, d, e] + a + 10 * b + 100 * c + 1000 * d + 10000 * e


def test_more_axes_than_a_grid_has_share_one(rng: np.random.Generator) -> None:
    x = rng.random((3, 2, 4, 2, 5))
    assert axes(check(five, {"x": x, "y": np.zeros_like(x)})) == [5]


def rows(x, w, v, out):
    t = np.zeros(w.shape[1])
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for c in range(w.shape[1]):
                t[c] = 0.0
                for k in range(w.shape[0]):
                    t[c] += x[n, i, k] * w[k, c]
            for o in range(v.shape[1]):
                s = 0.0
                for c in range(w.shape[1]):
                    s += np.sin(t[c]) * v[c, o]
                out[n, i, o] = s


@pytest.mark.part(3)
@pytest.mark.parametrize("elements", [1, 40, 1 << 22])
def test_rows_of_two_loops_go_by_blocks(
    rng: np.random.Generator, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one iteration of the outer loop, of a few, and of all; and so does their gradient."""
    from loopdiff.schedule.blocks import row_blocks

    monkeypatch.setattr(row_blocks, "FOR_THREADS", row_blocks.Fitting(elements, 1, 1 << 16))
    x, w, v = rng.random((5, 3, 4)), rng.random((4, 6)), rng.random((6, 2))
    plan = check(rows, {"x": x, "w": w, "v": v, "out": np.zeros((5, 3, 2))}, dead=frozenset({"t"}))
    assert max(axes(plan)) >= 3
    g = rng.random((5, 3, 2))
    found = [
        vectorize_grad(rows, target=target, cache=False).vjp(x, w, v, np.zeros((5, 3, 2)))[1](out=g)
        for target in ("cpu", "cuda-emulated")
    ]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def summed(g, x, w):
    for n in range(x.shape[0]):
        for i in range(x.shape[1]):
            for a in range(g.shape[2]):
                for b in range(x.shape[2]):
                    w[a, b] += g[n, i, a] * x[n, i, b]


@pytest.mark.parametrize("parts", [1, 2, 3, 4, 7, 100])
def test_parts_of_two_loops(rng: np.random.Generator, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few iterations of the outer loop, which parts are made of, and some of the inner one."""
    monkeypatch.setattr(tuning, "SUM_PARTS", parts)
    monkeypatch.setattr(tuning, "PART_TERMS", 1)
    for shape in ((3, 5), (1, 7), (7, 1), (0, 4), (4, 0)):
        args = {"g": rng.random((*shape, 2)), "x": rng.random((*shape, 3)), "w": rng.random((2, 3))}
        check(summed, args)


def protected(g, h, w, m, n):
    for a in range(g.shape[1]):
        for k in range(g.shape[0]):
            if a < w.shape[0] and h[k] > 0.0:
                w[a] += g[k, a] * h[k]
    for a in range(w.shape[0]):
        for k in range(g.shape[0]):
            if m > 0:
                for c in range(n // m):
                    w[a] += g[k, a] * h[k] * c


@pytest.mark.parametrize("parts", [1, 3])
def test_conditions_protect_the_elements_of_sums_in_parts(
    rng: np.random.Generator, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NumPy raises for elements that are not there, and Python for quotients."""
    monkeypatch.setattr(tuning, "SUM_PARTS", parts)
    monkeypatch.setattr(tuning, "PART_TERMS", 1)
    for m in (0, 2):
        check(protected, {"g": rng.random((5, 4)), "h": rng.standard_normal(5), "w": rng.random(2), "m": m, "n": 5})


def halves(g, w):
    for i in range(g.shape[1]):
        for k in range(g.shape[0]):
            if i % 2 == 0:
                w[i // 2] += g[k, i]


def test_threads_leave_elements_alone_that_they_add_nothing_to(rng: np.random.Generator) -> None:
    """Those of odd numbers have none: they would race with others for theirs."""
    plan = check(halves, {"g": rng.random((40, 5)), "w": rng.random(3)})
    assert max(axes(plan)) == 2
    lines = [line.strip() for line in emulated_text(plan, Style(), cache=False).splitlines()]
    added = [before for before, line in pairwise(lines) if line.startswith("w[np.uint64(i // 2)] +=")]
    assert added == ["elif w_terms > 0.0:", "if w_terms > 0.0:"]


def of_a_quotient(x, w, y, n, m):
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            if m > 0:
                for c in range(n // m):
                    y[i, c] += w[j] * x[i]


@pytest.mark.parametrize("m", [0, 2])
def test_conditions_protect_bounds(rng: np.random.Generator, m: int) -> None:
    check(of_a_quotient, {"x": rng.random(3), "w": rng.random(4), "y": rng.random((3, 5)), "n": 5, "m": m})


def with_bounds_between(x, w, y):
    for i in range(x.shape[0]):
        for q in range(w.shape[0]):
            for p in range(q, w.shape[1]):
                y[i + p] += w[q, p] * x[i]


def test_places_whose_range_depends_on_a_loop_between(rng: np.random.Generator) -> None:
    check(with_bounds_between, {"x": rng.random(4), "w": rng.random((3, 5)), "y": rng.random(9)})


def of_one_step(x, y, steps):
    for t in range(steps):
        for i in range(x.shape[0]):
            c = 0.0
            for k in range(x.shape[1]):
                c = 0.5 * c + x[i, k]
                y[t, i, k] += c
                y[t, i + 1, k] += 2.0 * c
        for i in range(x.shape[0]):
            x[i, 0] = y[t, i, 0]


def test_only_what_a_step_adds_to_is_brought_back_after_it(rng: np.random.Generator) -> None:
    """All of `y` after each step would take the square of their number; steps need no place where nothing is added."""
    plan = check(of_one_step, {"x": rng.random((5, 4)), "y": rng.random((3, 6, 4)), "steps": 3})
    (part,) = (a for a in plan.ls.arrays if a.name == "y_apart")
    assert part.extents == (ir.Dim("y", 1), ir.Dim("y", 2))
    check(of_one_step, {"x": rng.random((0, 4)), "y": rng.random((1, 0, 4)), "steps": 3})
