"""Neighbouring nests as one kernel: only where each thread needs nothing but what it has made itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cuda.test_grid import check, grids


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((7, 9))


def chain(x, y, z):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 2.0 * x[i, j]
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            z[i, j] = y[i, j] + x[i, j]
            t += z[i, j] * y[i, j]
    return t


def test_chains_of_elements_and_their_sum_are_one_kernel(x: np.ndarray) -> None:
    plan = check(chain, {"x": x, "y": np.zeros_like(x), "z": np.zeros_like(x)})
    assert [g for g in grids(plan) if g] == [["i", "j"]]


def shifted(x, y, z):
    for i in range(x.shape[0] - 1):
        y[i, 0] = 2.0 * x[i, 0]
    for i in range(x.shape[0] - 1):
        z[i, 0] = y[i + 1, 0]


def test_elements_of_other_threads_keep_nests_apart(x: np.ndarray) -> None:
    plan = check(shifted, {"x": x, "y": np.ones_like(x), "z": np.zeros_like(x)})
    assert len(grids(plan)) == 2


def overwritten(x, y):
    for i in range(1, x.shape[0]):
        y[i, 0] = x[i - 1, 0]
    for i in range(1, x.shape[0]):
        x[i, 0] = 3.0


def test_elements_that_the_second_nest_overwrites(x: np.ndarray) -> None:
    plan = check(overwritten, {"x": x, "y": np.zeros_like(x)})
    assert len(grids(plan)) == 2


def by_the_sum(x, y):
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i, 0]
    for i in range(x.shape[0]):
        y[i, 0] = x[i, 0] / t


def test_a_sum_is_whole_before_it_is_used(x: np.ndarray) -> None:
    plan = check(by_the_sum, {"x": x, "y": np.zeros_like(x)})
    assert len([g for g in grids(plan) if g]) == 2


def rows_and_elements(x, y, s):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 2.0 * x[i, j]
    for i in range(x.shape[0]):
        s[i] = 0.0
        for j in range(x.shape[1]):
            s[i] += y[i, x.shape[1] - 1 - j]


def test_no_axis_is_lost(x: np.ndarray) -> None:
    """Together the nests would have one axis, where the first alone has two. The second, which may sum in parts that
    are added up then, is for warps or for threads."""
    plan = check(rows_and_elements, {"x": x, "y": np.zeros_like(x), "s": np.zeros(7)})
    assert sorted(map(len, grids(plan))) == [1, 2, 2, 2]


def in_time(x, y, steps):
    for t in range(steps):
        for i in range(x.shape[0]):
            y[i, 0] = 0.5 * x[i, 0] + t
        scale = 1.0 + t
        for i in range(x.shape[0]):
            x[i, 0] = y[i, 0] * scale + x[i, 1]


def test_nests_inside_loops_of_the_host(x: np.ndarray) -> None:
    plan = check(in_time, {"x": x, "y": np.zeros_like(x), "steps": 3})
    assert [g for g in grids(plan) if g] == [["i"]]


def scalars_between(x, y):
    for i in range(x.shape[0]):
        y[i, 0] = x[i, 0]
    first = y[0, 0]
    for i in range(x.shape[0]):
        y[i, 0] += first


def test_what_stands_between_needs_the_first_nest(x: np.ndarray) -> None:
    plan = check(scalars_between, {"x": x, "y": np.zeros_like(x)})
    assert len([g for g in grids(plan) if g]) == 2


def half_made(x, a, b):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            b[i] += x[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            a[i] += x[i, j] * b[i]


def backwards(x, a, b):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            x[i, j] += 0.5 * x[i, j - 1]
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            a[i] = 0.5 * a[i] + x[i, x.shape[1] - j]
            b[i] += a[i]


def with_breaks(x, a, b):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 1.0:
                break
            a[i] += x[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] < -1.0:
                break
            b[i] += a[i] * x[i, j]


@pytest.mark.parametrize("function", [half_made, backwards, with_breaks])
def test_loops_inside_threads_stay_one_after_the_other(function: Any, x: np.ndarray) -> None:
    plan = check(function, {"x": x, "a": np.zeros(7), "b": np.ones(7)})
    assert ["i"] in grids(plan)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 0), (40, 300)])
def test_any_shape(shape: tuple[int, int]) -> None:
    x = np.random.default_rng(1).standard_normal(shape)
    args: dict[str, Any] = {"x": x, "y": np.zeros_like(x), "z": np.zeros_like(x)}
    check(chain, args)


def checked_first(index, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0.0:
                h = index[i, j] // 2
            else:
                h = index[i, j] % 3
            y[i, j] += x[h, 0]


def test_what_is_checked_is_checked_by_all_threads_before_any_relies_on_it(x: np.ndarray) -> None:
    args = {"index": np.random.default_rng(1).integers(0, 7, x.shape), "x": x, "y": np.zeros_like(x)}
    plan = check(checked_first, args)
    *checks, last = [g for g in grids(plan) if g]
    assert last == ["i", "j"]
    assert checks
    assert not any({"i", "j"} & {*g} for g in checks)
