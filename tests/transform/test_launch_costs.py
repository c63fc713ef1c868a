"""What kernels move and compute, counted by hand, and launch plans in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import plan_of
from loopdiff.transform.extents import Extents
from loopdiff.transform.launch_costs import Cost, Gpu, costs_of
from loopdiff.transform.launch_text import explain_launches, in_bytes
from tests.gradients.interpreted import normal_form

SLOW = Gpu("slow", bandwidth=1.0, f64=2.0, f32=4.0, cache=1e3, launch=100.0)


def costs_for(function: Any, args: dict[str, Any]) -> list[Cost]:
    plan = plan_of(normal_form(function, args), Style())
    return costs_of(plan, Extents.of(list(args), list(args.values())), SLOW)


def scaled(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 3.0 * x[i, j]


def added(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += 3.0 * x[i, j]


def in_time(x, y):
    for _ in range(10):
        for i in range(1, x.shape[0] - 1):
            for j in range(x.shape[1]):
                y[i, j] = x[i - 1, j] + x[i + 1, j]
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                x[i, j] = y[i, j]


@pytest.fixture
def args() -> dict[str, Any]:
    return {"x": np.zeros((20, 32)), "y": np.zeros((20, 32))}


def test_each_element_moves_once_each_way(args: dict[str, Any]) -> None:
    size = 20 * 32 * 8
    (copied,), (summed,) = costs_for(scaled, args), costs_for(added, args)
    assert (copied.bytes, summed.bytes) == (2 * size, 3 * size)
    assert (copied.operations, summed.operations) == (20 * 32, 2 * 20 * 32)
    assert copied.nanoseconds == 100.0 + max(2 * size / 1.0, 640 / 2.0)


def test_narrow_elements_are_half_of_that(args: dict[str, Any]) -> None:
    narrow = {k: v.astype(np.float32) for k, v in args.items()}
    (wide,), (found,) = costs_for(scaled, args), costs_for(scaled, narrow)
    assert 2 * found.bytes == wide.bytes


def test_launches_of_a_loop_of_the_host_count_each(args: dict[str, Any]) -> None:
    stencil, copied = costs_for(in_time, args)
    assert (stencil.launches, copied.launches) == (10.0, 10.0)
    rows = 32 * 8
    assert stencil.bytes == pytest.approx(10 * (18 + 18) * rows, rel=0.2)
    assert copied.bytes == 10 * 40 * rows


def test_a_plan_in_words(args: dict[str, Any]) -> None:
    plan = plan_of(normal_form(in_time, args), Style())
    costs = costs_of(plan, Extents.of(list(args), list(args.values())))
    first, second, third = explain_launches(plan, costs).splitlines()
    assert first.startswith("for _ (line ")
    assert "on the host: iterations of `_` depend on each other through `x`" in first
    assert second.startswith("  for i, j (line ")
    assert "a thread each; 10 times " in second
    assert third.endswith(", at least 25 µs")


def test_counts_of_bytes_in_words() -> None:
    assert [in_bytes(n) for n in (12.0, 1200.0, 12e6, 1.25e9)] == ["12 bytes", "1.2 KB", "12 MB", "1.2 GB"]
