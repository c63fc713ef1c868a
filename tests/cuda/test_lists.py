"""Lists of updates: sums into elements that the data choose, sorted and added up on the stand-in for the driver."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cuda import host
from loopdiff.errors import ArgumentError
from loopdiff.transform.launch_plan import Launch
from tests.cuda.plain import emulating
from tests.gradients.interpreted import normal_form

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


def scattered(index, v, y):
    for p in range(v.shape[0]):
        y[index[p]] += v[p]


def scattered_in_four(index, v, y):
    for p in range(v.shape[0]):
        y[index[p] % y.shape[0], 1, index[p] % y.shape[2], 0] += v[p]


def by_rows(begins, index, v, y):
    for i in range(begins.shape[0] - 1):
        for p in range(begins[i], begins[i + 1]):
            if v[p] > -40.0:
                y[index[p], i % 2] += v[p]


def chosen(index, v, y):
    for p in range(v.shape[0]):
        y[index[p] if v[p] > 0.0 else 0, 1 if v[p] > 10.0 else index[p] % 2] += v[p]


def on_the_device(function: Any, args: dict[str, Any]) -> None:
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.backends.cuda.compile import plan_of
    from tests.cuda.stub import on_stub, stub_driver

    plan = plan_of(normal_form(function, args), Style())
    (lists,) = {s.grid.lists for s in plan.steps if isinstance(s, Launch) and s.grid is not None and s.grid.lists}
    assert lists == ("y",)
    with stub_driver() as stub:
        before = len(stub.memory)
        on_stub(plan).dispatcher(*args.values())
        assert len(stub.memory) == before


def numbers(rng: np.random.Generator, size: int, dtype: str = "float64") -> np.ndarray:
    """Values whose sums are exact in any order."""
    return rng.integers(-50, 50, size).astype(dtype)


@pytest.mark.parametrize("size", [0, 1, 31, 33, 2048, 5000])
@pytest.mark.parametrize("room", [1, 255, 70000])
def test_any_number_of_updates_and_elements(size: int, room: int) -> None:
    rng = np.random.default_rng(size + room)
    index, v, y = rng.integers(0, room, size), numbers(rng, size), numbers(rng, room)
    expected = y.copy()
    np.add.at(expected, index, v)
    on_the_device(scattered, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int32"])
def test_elements_of_other_types(dtype: str) -> None:
    rng = np.random.default_rng(7)
    index, v, y = rng.integers(0, 40, 300), numbers(rng, 300, dtype), numbers(rng, 40, dtype)
    expected = y.copy()
    np.add.at(expected, index, v)
    on_the_device(scattered, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_several_axes(order: Any) -> None:
    rng = np.random.default_rng(8)
    index, v = rng.integers(0, 100, 400), numbers(rng, 400)
    y = np.asarray(numbers(rng, 5 * 2 * 7 * 3).reshape(5, 2, 7, 3), order=order)
    expected = y.copy()
    scattered_in_four(index, v, expected)
    on_the_device(scattered_in_four, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_subscripts_that_are_chosen() -> None:
    rng = np.random.default_rng(12)
    index, v, y = rng.integers(0, 6, 50), numbers(rng, 50), numbers(rng, 12).reshape(6, 2)
    expected = y.copy()
    chosen(index, v, expected)
    on_the_device(chosen, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_updates_that_have_to_be_counted() -> None:
    """Rows of any length, also of none, and updates under a condition."""
    rng = np.random.default_rng(9)
    begins = np.sort(np.concatenate(([0, 900, 900], rng.integers(0, 900, 60))))
    index, v, y = rng.integers(0, 50, 900), numbers(rng, 900), numbers(rng, 100).reshape(50, 2)
    expected = y.copy()
    by_rows(begins, index, v, expected)
    on_the_device(by_rows, {"begins": begins, "index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_what_is_added_to_an_element_is_added_in_one_order() -> None:
    """Values that are rounded differently in another order: the same bits whichever threads run first."""
    rng = np.random.default_rng(10)
    index, v = rng.integers(0, 9, 4000), rng.standard_normal(4000) * 10.0 ** rng.integers(-8, 8, 4000)
    found = []
    for is_backwards in (False, True):
        y = np.zeros(9)
        with emulating(is_backwards=is_backwards):
            vectorize_grad(scattered)(index, v, y)
        found.append(y)
    np.testing.assert_array_equal(*found)


def test_an_index_out_of_bounds_is_found_before_anything_is_added() -> None:
    y = np.zeros(4)
    with emulating(is_backwards=False), pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(scattered)(np.array([0, 4]), np.ones(2), y)
    np.testing.assert_array_equal(y, 0.0)


def test_an_array_with_too_many_elements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "PLACES", 3)
    with emulating(is_backwards=False), pytest.raises(ArgumentError, match="LD607: `y` has too many elements"):
        vectorize_grad(scattered)(np.array([0, 1]), np.ones(2), np.zeros(4))


def test_long_lists_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "LISTED", 7)
    rng = np.random.default_rng(11)
    index, v, y = rng.integers(0, 9, 100), numbers(rng, 100), np.zeros(9)
    expected = y.copy()
    np.add.at(expected, index, v)
    with emulating(is_backwards=False):
        vectorize_grad(scattered)(index, v, y)
    np.testing.assert_array_equal(y, expected)
