"""What kernels move and compute, counted by hand, and launch plans in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.backends.cpu.compile import Style
from loopdiff.model.gpu_cache import Resident
from loopdiff.model.gpu_cost import Cost, Gpu, costs_of
from loopdiff.model.trip_counts import Extents
from loopdiff.pipeline.cuda import launch_plan_of
from loopdiff.report.launches import explain_launches, in_bytes
from tests.gradients.interpreted import normal_form

SLOW = Gpu("slow", bandwidth=1.0, f64=2.0, f32=4.0, cache=1e3, launch=100.0)


def costs_for(function: Any, args: dict[str, Any], gpu: Gpu = SLOW) -> list[Cost]:
    plan = launch_plan_of(normal_form(function, args), Style())
    return costs_of(plan, Extents.of(list(args), list(args.values())), gpu)


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
    plan = launch_plan_of(normal_form(in_time, args), Style())
    costs = costs_of(plan, Extents.of(list(args), list(args.values())))
    first, second, third = explain_launches(plan, costs).splitlines()
    assert first.startswith("for _ (line ")
    assert "on the host: iterations of `_` depend on each other through `x`" in first
    assert second.startswith("  for i, j (line ")
    assert "a thread each; 10 times " in second
    assert third.endswith(", at least 25 µs")


def test_counts_of_bytes_in_words() -> None:
    assert [in_bytes(n) for n in (12.0, 1200.0, 12e6, 1.25e9)] == ["12 bytes", "1.2 KB", "12 MB", "1.2 GB"]


def test_what_the_cache_has_does_not_come_again(args: dict[str, Any]) -> None:
    """Each array is read once and written once in ten iterations, where both fit; the host fills nothing."""
    plan = launch_plan_of(normal_form(in_time, args), Style())
    wide = Gpu("wide", bandwidth=1.0, f64=2.0, f32=4.0, cache=1e6, launch=100.0)
    stencil, copied = costs_of(plan, Extents.of(list(args), list(args.values())), wide)
    size = 20 * 32 * 8
    assert stencil.bytes == pytest.approx(2 * size, rel=0.2)
    assert copied.bytes == pytest.approx(size, rel=0.2)
    assert stencil.nanoseconds >= 10 * 100.0


def test_the_least_recently_used_leave_the_cache_first() -> None:
    cache = Resident(100.0)
    assert [cache.read("a", 40.0), cache.read("b", 40.0), cache.read("a", 40.0)] == [40.0, 40.0, 0.0]
    assert cache.write("c", 50.0) == 50.0
    assert [cache.read("a", 40.0), cache.read("b", 40.0), cache.read("d", 101.0)] == [0.0, 40.0, 101.0]
    assert cache.read("d", 101.0) == 101.0


def test_what_is_written_leaves_the_cache_once() -> None:
    cache = Resident(100.0)
    assert [cache.write("a", 60.0), cache.write("a", 60.0), cache.read("a", 60.0)] == [60.0, 0.0, 0.0]
    assert [cache.read("b", 60.0), cache.write("a", 60.0)] == [60.0, 60.0]


def in_slices(x, y):
    for t in range(1, y.shape[0]):
        for j in range(y.shape[1]):
            y[t, j] = y[t - 1, j] + x[t, j]


def test_another_slice_for_each_iteration_comes_from_memory(args: dict[str, Any]) -> None:
    plan = launch_plan_of(
        normal_form(in_slices, args),
        Style(),
    )
    wide = Gpu("wide", bandwidth=1.0, f64=2.0, f32=4.0, cache=1e6, launch=100.0)
    total = sum(c.bytes for c in costs_of(plan, Extents.of(list(args), list(args.values())), wide))
    assert total == pytest.approx(3 * 19 * 32 * 8, rel=0.1)


def scattered(index, v, y):
    for p in range(v.shape[0]):
        y[index[p]] += v[p]


def test_lists_that_fit_into_the_cache_move_once() -> None:
    args = {"index": np.zeros(1000, np.int64), "v": np.zeros(1000), "y": np.zeros(1 << 12)}
    plan = launch_plan_of(normal_form(scattered, args), Style())
    extents = Extents.of(list(args), list(args.values()))
    small, large = (
        max(c.bytes for c in costs_of(plan, extents, Gpu("any", 1.0, 2.0, 4.0, cache, 100.0))) for cache in (1e3, 1e6)
    )
    # Places of 13 bits are sorted by 7 at a time: 128 counts of four bytes for each tile.
    values, entries, counts, added = 1000 * 8, 2 * 1000 * (4 + 8), 1000 * 128 * 4 / 2048, 1000 * 32
    assert large == values + entries + counts + 2 * added
    assert small > large + entries


def by_levels(index, v, y):
    for p in range(v.shape[0]):
        for l in range(v.shape[1]):
            y[l, index[p, l]] += v[p, l]


def test_lists_of_nothing() -> None:
    args = {"index": np.zeros((9, 0), np.int64), "v": np.zeros((9, 0)), "y": np.zeros((0, 5))}
    plan = launch_plan_of(normal_form(by_levels, args), Style())
    assert all(c.bytes == 0.0 for c in costs_of(plan, Extents.of(list(args), list(args.values()))))


def test_long_lists_are_sorted_in_the_cache_in_pieces() -> None:
    """Memory sees the values that are listed, and the array; the launches are those of all pieces."""
    size, elements = 1 << 22, 1 << 12
    args = {"index": np.zeros(size, np.int64), "v": np.zeros(size), "y": np.zeros(elements)}
    plan = launch_plan_of(normal_form(scattered, args), Style())
    found = costs_of(plan, Extents.of(list(args), list(args.values())))
    total = max(found, key=lambda c: c.bytes)
    listed = size / 3 * (2 * (4 + 8) + 4 * 128 / 2048)  # two lists of a third, and counts of their digits
    assert total.bytes == pytest.approx(size * (8 + 8) + listed + 2 * elements * 8, rel=1e-3)
    # Made, two rounds of sorting, and added up in three.
    assert total.nanoseconds == pytest.approx(total.bytes / 4300.0 + 3 * (1 + 2 * 4 + 3) * 2500.0)


def by_levels_in_rows(index, v, levels, elements):
    y = np.zeros((levels, elements, 3))
    for l in range(levels):
        for p in range(v.shape[0]):
            w = 1.0
            for c in range(2):
                for f in range(3):
                    y[l, index[p] + c, f] += w * v[p, f]
                w *= 0.5
    return y


def test_rows_have_one_place_and_what_starts_at_zero_is_not_read() -> None:
    size, levels, elements = 1 << 16, 4, 1 << 10
    args = {"index": np.zeros(size, np.int64), "v": np.zeros((size, 3)), "levels": levels, "elements": elements}
    plan = launch_plan_of(normal_form(by_levels_in_rows, args), Style())
    found = costs_of(plan, Extents.of(list(args), list(args.values())))
    # Rows of all levels, and another list of as many; counts of the six bits of each digit.
    listed = 4 * size * 2 * (2 * (4 + 3 * 8) + 4 * 64 / 2048)
    assert sum(c.bytes for c in found) == pytest.approx(size * (8 + 24) + listed + levels * elements * 24, rel=0.02)


def in_order(x, y):
    t = 1.0
    for i in range(x.shape[0]):
        t = t * x[i] + 1.0
    y[0] = t


def test_a_thread_alone_waits_for_each_operation() -> None:
    patient = Gpu("patient", bandwidth=1e6, f64=1e6, f32=1e6, cache=1e6, launch=100.0, waiting=4.0)
    args = {"x": np.ones(1000), "y": np.ones(1)}
    costs = [c for c in costs_for(in_order, args, patient) if c.operations > 10]
    assert [c.nanoseconds for c in costs] == [pytest.approx(100.0 + 4.0 * 2000.0, rel=0.01)]
