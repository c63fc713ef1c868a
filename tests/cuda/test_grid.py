"""Which loops become threads, which stay on the host, and why: launch plans of small programs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import emulated_text
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements
from loopdiff.mapping.grids import Grid
from loopdiff.mapping.launches import HostIf, HostLoop, Launch, LaunchPlan, OnHost, all_steps
from loopdiff.pipeline.cuda import launch_plan_of
from tests.cuda.plain import in_plain_python
from tests.gradients.interpreted import normal_form


def plan_for(function: Any, args: dict[str, Any], **style: Any) -> LaunchPlan:
    return launch_plan_of(normal_form(function, args), Style(**style))


def grids(plan: LaunchPlan) -> list[list[str]]:
    """Indices of each grid, from the outside in; none for a kernel of one thread."""
    launches = [s for s in all_steps(plan.steps) if isinstance(s, Launch)]
    return [[a.loop.index for a in s.grid.axes] if s.grid else [] for s in launches]


def check(function: Any, args: dict[str, Any], **style: Any) -> LaunchPlan:
    """The plan, having run it in both orders against plain Python."""
    plan = plan_for(function, args, **style)
    expected = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
    result = function(**expected)
    for is_backwards in (False, True):
        found = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
        text = emulated_text(plan, Style(**style), cache=False, is_backwards=is_backwards)
        got = in_plain_python(text, plan.ls.name)(*found.values())
        if result is not None:
            np.testing.assert_allclose(got, result, rtol=1e-12)
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-12, atol=1e-13, err_msg=name)
    return plan


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((11, 13))


def in_time(x, y, steps):
    for t in range(steps):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                x[i, j] = y[i, j]


def test_loops_over_time_stay_on_the_host(x: np.ndarray) -> None:
    plan = check(in_time, {"x": x, "y": np.zeros_like(x), "steps": 3})
    (loop,) = [s for s in plan.steps if isinstance(s, HostLoop)]
    assert loop.loop.index == "t"
    assert "iterations of `t` depend on each other through `x`" in loop.reason
    assert [len(g) for g in grids(plan)] == [2, 2]


def recurrence(x, y):
    for i in range(1, y.shape[0]):
        y[i] = 0.5 * y[i - 1] + x[i, 0]


def test_recurrences_run_on_one_thread(x: np.ndarray) -> None:
    plan = check(recurrence, {"x": x, "y": np.ones(11)})
    (launch,) = [s for s in plan.steps if isinstance(s, Launch)]
    assert launch.grid is None
    assert "iterations of `i` depend on each other through `y`" in launch.reason


def triangle(x, y):
    for i in range(x.shape[0]):
        for j in range(i):
            y[i, j] = x[i, j] * 2.0


def test_triangles_ask_whether_they_have_an_iteration(x: np.ndarray) -> None:
    plan = check(triangle, {"x": x, "y": np.zeros_like(x)})
    assert grids(plan) == [["i", "j"]]


def histogram(x, idx, h):
    for i in range(idx.shape[0]):
        h[idx[i]] += x[0, i]


def grid_that(plan: LaunchPlan, is_wanted: Callable[[Grid], object]) -> Grid:
    """The only grid of a plan that has something."""
    (found,) = [s.grid for s in plan.steps if isinstance(s, Launch) and s.grid and is_wanted(s.grid)]
    return found


def test_sums_where_the_data_say_are_listed(x: np.ndarray) -> None:
    idx = np.random.default_rng(1).integers(0, 5, 13)
    plan = check(histogram, {"x": x, "idx": idx, "h": np.ones(5)})
    assert grid_that(plan, lambda g: g.lists).lists == ("h",)


def spread(x, s):
    t = 0.0
    for i in range(x.shape[0]):
        r = 0.0
        for j in range(x.shape[1]):
            r += x[i, j]
        for j in range(x.shape[1]):
            s[j] += r * x[i, j]
        t += r * r
    return t


def test_sums_over_whole_arrays_get_copies(x: np.ndarray) -> None:
    """Their blocks have one warp: what sums over them must not ask for eight."""
    plan = check(spread, {"x": x, "s": np.ones(13)})
    grid = grid_that(plan, lambda g: g.copies)
    assert grid.copies == ("s",)
    assert [n for n, _ in grid.sums] == ["t"]
    functions = Path(device_source()).read_text(encoding="utf-8")
    assert "warps = cuda.blockDim.x * cuda.blockDim.y // WARP" in functions


def pooled(x, s):
    for i in range(x.shape[1]):
        s[i // 3] += x[0, i] * x[1, i]


def test_sums_into_one_element_for_each_thread_are_listed(x: np.ndarray) -> None:
    plan = check(pooled, {"x": x, "s": np.ones(5)})
    assert grid_that(plan, lambda g: g.lists).copies == ()


def test_sums_that_keep_their_order_do_not(x: np.ndarray) -> None:
    idx = np.random.default_rng(1).integers(0, 5, 13)
    plan = check(histogram, {"x": x, "idx": idx, "h": np.ones(5)}, fastmath=False)
    assert [g for g in grids(plan) if g and g != ["i_1"]] == []
    assert any(s.grid is None and "order that is written" in s.reason for s in plan.steps if isinstance(s, Launch))


def shifted_scatter(x, idx, h):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            h[idx[i] + j] += x[i, j]


def test_threads_of_all_axes_list_what_they_add(x: np.ndarray) -> None:
    idx = np.random.default_rng(1).integers(0, 3, 11)
    plan = check(shifted_scatter, {"x": x, "idx": idx, "h": np.zeros(16)})
    assert [a.loop.index for a in grid_that(plan, lambda g: g.lists).axes] == ["i", "j"]


def column_sums(x, s):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s[j] += x[i, j]


def test_sums_over_outer_loops_run_inside_threads(x: np.ndarray) -> None:
    plan = check(column_sums, {"x": x, "s": np.zeros(13)})
    launch = next(s for s in plan.steps if isinstance(s, Launch))
    assert grids(plan) == [["part", "j"], ["j"]]
    assert [s.stmt.index for s in statements(launch.body) if isinstance(s.stmt, ir.Loop)] == ["i"]


def product(a, b, c):
    for k in range(a.shape[1]):
        for n in range(b.shape[1]):
            for m in range(a.shape[0]):
                c[m, n] += a[m, k] * b[k, n]


def test_neighbouring_threads_take_neighbouring_elements(x: np.ndarray) -> None:
    """The last axis is the one along which most accesses are contiguous, whatever the order of the loops."""
    plan = check(product, {"a": x, "b": x.T.copy(), "c": np.zeros((11, 11))})
    assert grids(plan) == [["part", "m", "n"], ["m", "n"]]


def rows_of_their_own(x, y):
    row = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            row[j] = x[i, j] * x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = row[j] / (1.0 + row[0])


def test_arrays_that_every_iteration_fills_are_each_threads_own(x: np.ndarray) -> None:
    plan = check(rows_of_their_own, {"x": x, "y": np.zeros_like(x)}, dead=frozenset({"row"}))
    (grid,) = [s.grid for s in plan.steps if isinstance(s, Launch) and s.grid]
    assert grid.arrays == ("row",)


def normalised(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i, 0] * x[i, 0]
    scale = 1.0 / np.sqrt(s)
    factor = 2.0
    for i in range(x.shape[0]):
        y[i] = x[i, 0] * scale * factor
    return s


def test_scalars_that_kernels_make_live_on_the_device(x: np.ndarray) -> None:
    plan = check(normalised, {"x": x, "y": np.zeros(11)})
    assert any("s" in name for name in plan.on_device)
    assert not any(isinstance(s, OnHost) and "s" in plan.on_device for s in plan.steps if isinstance(s, ir.Loop))


def until_small(x):
    count = 0
    size = 1.0
    while size > 1e-3:
        size = 0.0
        for i in range(x.shape[0]):
            x[i, 0] *= 0.5
            size += x[i, 0] * x[i, 0]
        count += 1
    return count


def test_the_host_reads_what_it_decides_by(x: np.ndarray) -> None:
    plan = check(until_small, {"x": x})
    assert any(isinstance(s, HostLoop) for s in plan.steps)


# -- programs that went wrong once ---------------------------------------------------------------------------
def bounded_by_elements(x, lens, y):
    for i in range(x.shape[0]):
        n = lens[i]
        for j in range(n):
            y[i, j] = x[i, j] * 2.0


def rows_of_a_sparse_matrix(x, lens, y):
    for i in range(lens.shape[0] - 1):
        a = lens[i]
        b = lens[i + 1]
        for k in range(a, b):
            y[i, 0] += x[0, k]


@pytest.mark.parametrize("function", [bounded_by_elements, rows_of_a_sparse_matrix])
def test_loops_that_elements_bound_run_inside_threads(function: Any, x: np.ndarray) -> None:
    plan = check(function, {"x": x, "lens": np.array([0, 3, 3, 7, 9, 9, 10, 11, 11, 12, 13]), "y": np.zeros_like(x)})
    assert ["i"] in grids(plan)


def decayed(x, w, s, y):
    for i in range(x.shape[0]):
        c = 0.0
        for k in range(x.shape[1]):
            c = c * 0.5 + x[i, k]
            for j in range(w.shape[0]):
                s[i] += c * w[j]
                c = c * 0.9
        y[i] = c


@pytest.mark.parametrize("width", [0, 1, 3])
def test_held_sums_of_loops_without_iterations(width: int, x: np.ndarray) -> None:
    check(decayed, {"x": x, "w": np.ones(width), "s": np.zeros(11), "y": np.zeros(11)})


def until_the_end(x, s):
    for i in range(x.shape[0]):
        for k in range(x.shape[1]):
            if k + i >= s.shape[0]:
                break
            s[i] += x[i, k]


def test_held_sums_of_loops_that_end_before_they_begin(x: np.ndarray) -> None:
    check(until_the_end, {"x": x, "s": np.zeros(5)})


def into_no_axes(x, s):
    for i in range(x.shape[0]):
        s[()] += x[i, 0]


def test_sums_into_arrays_without_axes(x: np.ndarray) -> None:
    check(into_no_axes, {"x": x, "s": np.zeros(())})


def device_source() -> str:
    spec = importlib.util.find_spec("loopdiff.backends.cuda.device_functions")
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def divided_until_small(x, k, m):
    size = 1.0
    while size > 1e-3:
        size = 0.0
        for i in range(x.shape[0]):
            x[i, 0] *= 0.5
            size += x[i, 0] * x[i, 0] + k[i] // m[i]
    return size


def test_a_failing_thread_ends_loops_of_the_host(x: np.ndarray) -> None:
    k, m = np.ones(11, np.int64), np.full(11, 2)
    m[3] = 0
    plan = plan_for(divided_until_small, {"x": x, "k": k, "m": m})
    run = in_plain_python(emulated_text(plan, Style(), cache=False), plan.ls.name)
    with pytest.raises(ZeroDivisionError, match="integer division by zero"):
        run(x, k, m)


def checked_later(x, k):
    for t in range(x.shape[0]):
        assert t < 4
        for i in range(x.shape[1]):
            x[t, i] += 6 // k[i]


def test_the_first_error_is_raised(x: np.ndarray) -> None:
    """A kernel further down the loop failed before the host's own check did."""
    k = np.ones(13, np.int64)
    k[5] = 0
    plan = plan_for(checked_later, {"x": x, "k": k})
    run = in_plain_python(emulated_text(plan, Style(), cache=False), plan.ls.name)
    with pytest.raises(ZeroDivisionError):
        run(x, k)


@pytest.mark.part(2)
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (2, 300), (300, 2)])
@pytest.mark.parametrize("function", [triangle, column_sums, in_time])
def test_any_shape(function: Any, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(2)
    args: dict[str, Any] = {"x": rng.standard_normal(shape)}
    if function is triangle:
        args = {"x": rng.standard_normal((shape[0], max(shape))), "y": np.zeros((shape[0], max(shape)))}
    elif function is column_sums:
        args["s"] = np.zeros(shape[1])
    else:
        args |= {"y": np.zeros(shape), "steps": 2}
    check(function, args)


def by_rows(begin, x, y):
    for i in range(begin.shape[0] - 1):
        s = 0.0
        for p in range(begin[i], begin[i + 1]):
            s += x[0, p]
        for p in range(begin[i], begin[i + 1]):
            y[p] = 0.5 * y[p] + s


def by_rows_and_columns(begin, index, x, y, z):
    for i in range(begin.shape[0] - 1):
        for p in range(begin[i + 1] - 1, begin[i] - 1, -1):
            y[p + 1] += x[1, p] * x[0, i]
            z[index[p]] += x[1, p]


def across_rows(begin, x, y):
    for i in range(begin.shape[0] - 1):
        for p in range(begin[i], begin[i + 1]):
            y[p] += x[0, p]
            y[p + 1] += x[0, p]


APART, OVERLAPPING = np.array([0, 3, 3, 8, 12]), np.array([0, 8, 3, 3, 12])


@pytest.mark.parametrize("begin", [APART, OVERLAPPING], ids=["apart", "overlapping"])
def test_rows_of_a_sparse_matrix_are_threads_if_they_do_not_overlap(x: np.ndarray, begin: np.ndarray) -> None:
    """Whether they do is asked when the function runs."""
    plan = check(by_rows, {"begin": begin, "x": x, "y": np.arange(13.0)})
    (asked,) = [s for s in plan.steps if isinstance(s, HostIf)]
    (launch,), (usual,) = asked.then, asked.orelse
    assert isinstance(launch, Launch)
    assert launch.grid == Grid(launch.grid.axes if launch.grid else ())
    assert isinstance(usual, HostLoop)


@pytest.mark.parametrize("begin", [APART, OVERLAPPING], ids=["apart", "overlapping"])
def test_sums_by_row_need_no_list_if_rows_do_not_overlap(x: np.ndarray, begin: np.ndarray) -> None:
    index = np.random.default_rng(1).integers(0, 5, 13)
    plan = check(by_rows_and_columns, {"begin": begin, "index": index, "x": x, "y": np.ones(14), "z": np.ones(5)})
    (asked,) = [s for s in plan.steps if isinstance(s, HostIf)]
    lists = [s.grid.lists for s in (*asked.then, *asked.orelse) if isinstance(s, Launch) and s.grid]
    assert lists == [("z",), ("y", "z")]


def test_rows_that_reach_into_each_other_are_not_apart(x: np.ndarray) -> None:
    plan = check(across_rows, {"begin": APART, "x": x, "y": np.ones(13)})
    assert "are_apart" not in {a.name for a in plan.ls.arrays}


def below(idx, x, y, z):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(i):
            y[idx[j]] += x[i, j]
            s += x[i, j]
        z[i] = s


def test_lists_whose_room_depends_on_the_thread(x: np.ndarray) -> None:
    idx = np.random.default_rng(1).integers(0, 5, 13)
    plan = check(below, {"idx": idx, "x": x, "y": np.ones(5), "z": np.ones(11)})
    assert grid_that(plan, lambda g: g.lists).lists == ("y",)


def two_products(begin, col, v, x, y, z):
    for i in range(begin.shape[0] - 1):
        for p in range(begin[i], begin[i + 1]):
            y[i] += v[p] * x[0, col[p]]
            z[col[p]] += v[p]


def test_updates_are_counted_beside_sums_in_registers(x: np.ndarray) -> None:
    col = np.random.default_rng(1).integers(0, 5, 13)
    args = {"begin": APART, "col": col, "v": x[1].copy(), "x": x, "y": np.ones(4), "z": np.ones(5)}
    assert grid_that(check(two_products, args), lambda g: g.lists).lists == ("z",)


def halved(a, v, y):
    for i in range(a.shape[0]):
        k = a[i]
        while k > 0:
            y[k] += v[i]
            k = k // 2


def test_updates_of_while_loops_are_counted(x: np.ndarray) -> None:
    a = np.random.default_rng(1).integers(0, 30, 13)
    plan = check(halved, {"a": a, "v": x[0].copy(), "y": np.ones(30)})
    assert grid_that(plan, lambda g: g.lists).lists == ("y",)


def scaled_rows(begin, x, v, y):
    for i in range(begin.shape[0] - 1):
        a = x[0, i] * 2.0
        for p in range(begin[i], begin[i + 1]):
            y[p] = v[p] * a


@pytest.mark.parametrize("begin", [APART, OVERLAPPING], ids=["apart", "overlapping"])
def test_numbers_of_a_row_are_there_whether_rows_overlap_or_not(x: np.ndarray, begin: np.ndarray) -> None:
    plan = check(scaled_rows, {"begin": begin, "x": x, "v": x[1].copy(), "y": np.ones(13)})
    assert any(isinstance(s, HostIf) for s in plan.steps)


def some_rows(begin, n, x, y):
    for i in range(x.shape[1]):
        if i < n:
            for p in range(begin[i], begin[i + 1]):
                y[p] = x[0, i]


def test_bounds_that_the_program_does_not_read_are_not_asked_for(x: np.ndarray) -> None:
    plan = check(some_rows, {"begin": APART, "n": 4, "x": x, "y": np.ones(13)})
    assert "are_apart" not in {a.name for a in plan.ls.arrays}


def nothing_to_see(x, c):
    t = c
    for i in range(x.shape[0]):
        t += x[i]


def test_a_function_that_does_nothing_that_anybody_sees() -> None:
    assert check(nothing_to_see, {"x": np.ones(3), "c": 2.0}).steps == ()


def cut_after(x, y, t):
    for i in range(x.shape[0]):
        t[i // 2, i % 2] = x[i]
    for i in range(x.shape[0]):
        for j in range(2):
            y[i] += t[i, j]


def test_nests_stay_apart_where_later_iterations_write_what_is_read(x: np.ndarray) -> None:
    """Of an array that nobody looks at, each iteration of the one nest would have had one of its own."""
    for dead in (frozenset[str](), frozenset({"t"})):
        plan = check(cut_after, {"x": x[0], "y": np.zeros(13), "t": np.zeros((13, 2))}, dead=dead)
        assert grids(plan)[0] == ["i"]
        assert "i_1" in grids(plan)[-1]
