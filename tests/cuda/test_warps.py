"""Kernels whose iterations are those of warps, tiles of iterations, sums in parts: on small arrays as the host would
run them on large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import emulated_text
from loopdiff.backends.cuda.text import grids, kernels
from loopdiff.mapping.launches import HostIf, HostLoop, all_steps
from loopdiff.model import tuning
from loopdiff.schedule.blocks import row_blocks as rows
from loopdiff.schedule.blocks.row_blocks import Fitting
from tests.corpus import BY_NAME
from tests.cuda import plain
from tests.cuda.kernels import launches, plans_of
from tests.cuda.lanes import run_plan
from tests.cuda.test_emulated import check_in_both_orders, run
from tests.cuda.test_grid import check, plan_for
from tests.gradients import harness
from tests.gradients.test_battery import assert_close
from tests.lengths import each_in_turns

pytestmark = pytest.mark.part(3)
SPREAD = (
    "rde_matmul_log1p", "conv2d_bias", "softmax", "attention", "gmm", "kmeans_cost", "syrk", "spmv_csr", "hash_grid",
    "nbody", "diagonal_access", "over_len", "triangular_bounds", "grouped_products", "local_arrays_like",
    "return_array", "rank_four", "any_strides", "normalized_rows", "reductions", "products", "contractions",
)  # fmt: skip


TILED = (
    "rde_matmul_log1p", "tullio_bmm_rev", "matmul_loss", "grouped_products", "products", "contractions",
)  # fmt: skip


IN_PARTS = (
    "rde_matmul_log1p", "conv2d_bias", "matmul_loss", "diagonal_access", "rows_changed_by_helper", "over_len",
    "sibling_nests", "augmented_elements", "affine_subscripts", "message_passing", "grouped_products", "return_array",
    "any_strides", "normalized_rows", "products", "contractions",
)  # fmt: skip


@pytest.fixture
def fresh_plans() -> Iterator[None]:
    plain.plan.cache_clear()
    yield
    plain.plan.cache_clear()


@pytest.mark.part(3)
@pytest.mark.parametrize("name", SPREAD)
def test_warps_on_rows_of_any_length(name: str, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "WARP_ITERATIONS", 0)
    assert any(launch.warp_loops for plan in plans_of(name) for launch in launches(plan))
    check_in_both_orders(BY_NAME[name])


@pytest.mark.part(3)
@pytest.mark.parametrize("are_long", [False, True])
@pytest.mark.parametrize("name", TILED)
def test_tiles_of_threads_and_warps(
    name: str, are_long: bool, fresh_plans: None, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """In blocks of two by two threads, or of two warps, so that threads have several iterations, not always whole
    tiles."""
    monkeypatch.setattr(tuning, "ENOUGH_THREADS", 0)
    monkeypatch.setattr(tuning, "WARP_ITERATIONS", 0 if are_long else 1 << 60)
    monkeypatch.setattr(tuning, "LONG_ROWS", 0 if are_long else 1 << 60)
    monkeypatch.setattr(kernels, "BLOCKS", {**kernels.BLOCKS, 2: (2, 2, 1), 3: (2, 2, 1)})
    monkeypatch.setattr(kernels, "WARPS", 2)
    assert any(launch.tile for plan in plans_of(name) for launch in launches(plan))
    check_in_both_orders(BY_NAME[name])


@pytest.mark.part(3)
@pytest.mark.parametrize(("name", "are_long"), each_in_turns(IN_PARTS, (False, True)))
def test_sums_in_parts(name: str, are_long: bool, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of two terms, the last of one where they are odd, by threads and by warps."""
    monkeypatch.setattr(tuning, "PART_TERMS", 2)
    monkeypatch.setattr(tuning, "WARP_ITERATIONS", 0 if are_long else 1 << 60)
    assert any(isinstance(s, HostIf) and "parts" in s.reason for p in plans_of(name) for s in all_steps(p.steps))
    check_in_both_orders(BY_NAME[name])


# -- programs that a fresh pair of eyes has found ------------------------------------------------------------
def chosen_by_a_cell(A, B, v, C):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            s, c = 0.0, 0
            for k in range(B.shape[0]):
                s += v[min(max(c, 0), v.shape[0] - 1)] * B[k, n] * A[m, k] * v[k] * v[k + 1]
                c = c + m + 1
                s += v[min(max(c, 0), v.shape[0] - 1)] * B[k, n] * A[m, k]
                c = c + n
            C[m, n] = s


def read_in_one_case(A, B, v, C):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            s = 0.0
            for k in range(B.shape[0]):
                s += A[m, k - 1] * B[k, n] if k > 0 else 0.0
                s += A[m, k] * B[k, n] * (2.0 if k > 0 and v[k - 1] > 0.5 else 1.0)
            C[m, n] = s


def overwritten_divisor(A, B, q, C):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            s = 0.0
            for k in range(B.shape[0]):
                s += A[m, k] * B[k, n] * (100 // q[m, n])
            C[m, n] = s
            q[m, n] = 0


def made_from_what_starts(A, B, C):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            C[m, n] = 0.0
            p = C[m, n] + 1.5
            for k in range(B.shape[0]):
                C[m, n] += A[m, k] * p * B[k, n]


def test_what_a_sum_is_made_from_after_it_starts(in_small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PART_TERMS", 2)
    rng = np.random.default_rng(0)
    check(made_from_what_starts, {"A": rng.random((9, 6)), "B": rng.random((6, 9)), "C": rng.random((9, 9))})


def sums_of_columns(x, g):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            g[j] += x[i, j] * 2.0


def test_sums_of_nothing_touch_nothing(in_small_blocks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "PART_TERMS", 2)
    check(sums_of_columns, {"x": np.zeros((0, 3)), "g": np.zeros(1)})
    check(sums_of_columns, {"x": np.ones((9, 3)), "g": np.zeros(3)})


def batches(A, B, C):
    for b in range(C.shape[0]):
        for m in range(C.shape[1]):
            for n in range(C.shape[2]):
                s = 0.0
                for k in range(b + 1):
                    s += A[b, m, k] * B[b, k, n]
                C[b, m, n] = s


def of_rows(x, k, y, z, w):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if k > 0:
                y[i] += 2.0 * x[i, j]
            z[i] = max(z[i], x[i, j])
            w[i] = min(w[i], x[i, j] * x[i, j])


@pytest.mark.parametrize(("k", "columns"), [(1, 70), (0, 70), (1, 0), (1, 1)])
def test_rows_under_a_condition(k: int, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is summed, greatest or least in an element is held by lanes, also where a condition may fail."""
    monkeypatch.setattr(tuning, "WARP_ITERATIONS", 0)
    x = np.random.default_rng(3).standard_normal((5, columns))
    args = {"x": x, "k": k, "y": np.full(5, 0.5), "z": np.full(5, -0.2), "w": np.full(5, 0.1)}
    plan = check(of_rows, args)
    assert any(launch.warp_loops for launch in launches(plan))


def many_rows(x, n, y):
    for b in range(0, x.shape[0], 4096):
        for i in range(b, min(b + 4096, x.shape[0])):
            for j in range(64):
                s = 0.0
                for k in range(n):
                    s += x[i, k] * x[j, k]
                y[i, j] = s


def test_blocks_of_rows_are_counted_as_threads() -> None:
    """The host counts the threads of a block of rows as well."""
    args = {"x": np.ones((2, 3)), "n": 3, "y": np.ones((2, 64))}
    reasons = [s.reason for s in all_steps(plan_for(many_rows, args).steps) if isinstance(s, HostIf)]
    assert any("where there are many threads" in reason for reason in reasons)


@pytest.fixture
def in_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "BUSY", 0)
    monkeypatch.setattr(kernels, "BLOCKS", {**kernels.BLOCKS, 2: (2, 2, 1), 3: (2, 2, 1)})


@pytest.mark.parametrize("function", [chosen_by_a_cell, read_in_one_case, overwritten_divisor])
def test_reads_of_tiles(function: Callable[..., None], in_small_blocks: None) -> None:
    """Elements are read once only if they are read in any case and always the same, and none whose value another
    thread may have changed decides anything."""
    rng = np.random.default_rng(0)
    args = {"A": rng.random((9, 6)), "B": rng.random((6, 9)), "v": rng.random(7), "C": np.zeros((9, 9))}
    if function is overwritten_divisor:
        args["q"] = rng.integers(1, 5, (9, 9))
    named = function.__code__.co_varnames[: function.__code__.co_argcount]
    plan = check(function, {n: args[n] for n in named})
    assert any(launch.tile for launch in launches(plan)) == (function is not overwritten_divisor)


def test_tiles_inside_an_axis_that_bounds_a_loop(in_small_blocks: None) -> None:
    rng = np.random.default_rng(0)
    plan = check(batches, {"A": rng.random((3, 9, 3)), "B": rng.random((3, 3, 9)), "C": np.zeros((3, 9, 9))})
    assert [launch.tile for launch in launches(plan)] == [(1, 4, 2)]


def up_to_a_remainder(x, w, y, d):
    for i in range(y.shape[0]):
        s = 0.0
        if w[i] > 0.0:
            for j in range(min(x.shape[1], 100 % d)):
                s += x[i, j]
        y[i] = s


def from_the_diagonal(x, y):
    for i in range(y.shape[0]):
        s = 0.0
        for j in range(i, x.shape[1]):
            s += x[i, j]
        y[i] = s


def test_the_host_asks_for_nothing_that_may_fail() -> None:
    x = np.random.default_rng(0).random((5, 20))
    plan = check(up_to_a_remainder, {"x": x, "w": -np.ones(5), "y": np.ones(5), "d": 0})
    assert not any(launch.warp_loops for launch in launches(plan))


def test_rows_of_a_triangle_are_for_warps() -> None:
    x = np.random.default_rng(0).random((20, 20))
    plan = check(from_the_diagonal, {"x": x, "y": np.ones(20)})
    text = emulated_text(plan, Style(), cache=False)
    assert any(launch.warp_loops for launch in launches(plan))
    assert "block_add" in text


def named_like_our_own(cuda, warp_add_float64, of_first_lane):
    for i in range(cuda.shape[0]):
        for j in range(cuda.shape[1]):
            of_first_lane[i] += cuda[i, j] * warp_add_float64[j]


def test_names_of_what_kernels_call_are_left_to_them() -> None:
    rng = np.random.default_rng(0)
    args = {"cuda": rng.random((4, 20)), "warp_add_float64": rng.random(20), "of_first_lane": np.zeros(4)}
    plan = check(named_like_our_own, args)
    assert not {"cuda", "warp_add_float64", "of_first_lane"} & {a.name for a in plan.ls.arrays}


# -- rows in blocks ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["mlp_rows", "kmeans_cost"])
def test_rows_in_blocks(name: str, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two or three rows at a time, the last block not full."""
    monkeypatch.setattr(rows, "FOR_THREADS", Fitting(12, 2, 3))
    loops = [s for plan in plans_of(name) for s in all_steps(plan.steps) if isinstance(s, HostLoop)]
    assert any(s.loop.index.endswith("_block") for s in loops)
    check_in_both_orders(BY_NAME[name])


# -- lane by lane --------------------------------------------------------------------------------------------
BY_LANES = (
    "softmax", "syrk", "kmeans_cost", "gmm", "nbody", "normalized_rows", "rank_four", "matmul_loss",
    "local_arrays_like",
)  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("name", BY_LANES)
def test_lanes_meet_where_they_wait(name: str, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text for the GPU, in plain Python: lanes never part, and see of each other what they have to."""
    monkeypatch.setattr(tuning, "WARP_ITERATIONS", 0)
    monkeypatch.setattr(kernels, "WARPS", 2)
    assert any(launch.warp_loops for plan in plans_of(name) for launch in launches(plan))
    entry = BY_NAME[name]
    with plain.running(lambda plan, style: lambda *args: run_plan(plan, args, 0)):
        outputs, gradients, _ = run(harness.decorate(name), entry, 0)
    is_narrow = harness.is_narrow(entry)
    assert_close(outputs, harness.run_python(entry, entry.args(0)), 1e-5 if is_narrow else 1e-11)
    assert_close(gradients, harness.pull_back(entry, entry.args(0)), 1e-4 if is_narrow else 1e-10)
