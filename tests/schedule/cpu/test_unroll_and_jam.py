"""Rows whose vector loops run together: where dependences allow it, where it pays, and what comes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.mapping.loops import ScalarLoop
from loopdiff.schedule.cpu.planner import plan
from tests.ad.interpreted import lower

pytestmark = pytest.mark.part(2)


def five_points(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(1, a.shape[1] - 1):
            b[i, j] = a[i, j] + 2.0 * a[i - 1, j] + 3.0 * a[i + 1, j] + 4.0 * a[i, j - 1] + 5.0 * a[i, j + 1]


def rows_before(a, b):
    for i in range(1, a.shape[0] - 3):
        for j in range(a.shape[1]):
            b[i + 3, j] = a[i - 1, j] + a[i, j] * a[i + 1, j] + b[i, j]


def row_before(a, b):
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            b[i, j] = a[i - 1, j] + a[i, j] * a[i + 1, j] + b[i - 1, j]


def rows_not_yet_overwritten(a, b):
    for i in range(1, a.shape[0] - 2):
        for j in range(a.shape[1]):
            b[i, j] = a[i - 1, j] + a[i, j] + a[i + 1, j]
        for j in range(a.shape[1]):
            a[i, j] = b[i - 1, j] * b[i, j] * b[i + 1, j]


def columns_summed(a, b, c):
    for i in range(a.shape[0] - 1):
        for j in range(a.shape[1]):
            t = math.exp(a[i, j] * a[i + 1, j])
            b[i, j] = t
            c[j] += t


def rows_with_numbers(a, b):
    for i in range(1, a.shape[0] - 1):
        w = a[i, 0]
        b[i, 0] = w * w
        for j in range(1, a.shape[1]):
            b[i, j] = w * (a[i, j] + a[i - 1, j] * a[i + 1, j])


def shared_only_along_columns(a, b):
    for i in range(a.shape[0]):
        for j in range(a.shape[1] - 1):
            b[i, j] = a[i, j] * a[i, j + 1] * a[0, j]


KERNELS = (
    (five_points, 4),
    (rows_before, 2),
    (row_before, 1),
    (rows_not_yet_overwritten, 1),
    (rows_with_numbers, 4),
    (shared_only_along_columns, 1),
)


def make(rows: int, columns: int, dtype: Any = np.float64) -> tuple[Any, Any]:
    r = np.random.default_rng(rows * 100 + columns)
    return r.random((rows, columns)).astype(dtype), r.random((rows, columns)).astype(dtype)


def rows_together(function: Callable[..., None], arrays: tuple[Any, ...], **options: Any) -> int:
    args = dict(zip("abc", arrays, strict=False))
    found = plan(build_model(lower(function, args)), **options).of((0,))
    return found.together if isinstance(found, ScalarLoop) else 1


@pytest.mark.parametrize(("function", "count"), KERNELS)
def test_as_many_rows_go_together_as_dependences_allow_and_as_share_elements(
    function: Callable[..., None], count: int
) -> None:
    assert rows_together(function, make(9, 9)) == count


def test_sums_over_rows_are_added_up_first_where_they_need_no_order() -> None:
    arrays = (*make(9, 9), np.zeros(9))
    assert rows_together(columns_summed, arrays) == 4
    assert rows_together(columns_summed, arrays, may_reassociate=False) == 1
    assert rows_together(five_points, arrays[:2], may_reassociate=False) == 4
    f = vectorize_grad(wrt=("a",))(columns_summed)
    assert re.search(r"c_new(_\d+)? \+ c_new", f.compile(*arrays).source("primal"))
    for rows in (1, 2, 4, 5, 6, 9, 11):
        a, b = make(rows, 29)
        sums = np.ones(29)
        f(a, b, sums)
        values = np.exp(a[:-1] * a[1:])
        np.testing.assert_allclose(b[:-1], values, rtol=1e-14)
        np.testing.assert_allclose(sums, 1.0 + values.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("function", [f for f, _ in KERNELS])
def test_any_number_of_rows_is_as_in_python(function: Callable[..., None]) -> None:
    fast, strict = vectorize_grad(wrt=("a",))(function), vectorize_grad(wrt=("a",), fastmath=False)(function)
    for rows in (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 14):
        for columns in (1, 3, 19, 24, 35):
            a, b = make(rows, columns)
            expected = a.copy(), b.copy()
            function(*expected)
            for compiled in (fast, strict):
                got = a.copy(), b.copy()
                compiled(*got)
                np.testing.assert_allclose(got, expected, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("columns", [504, 512, 520, 600])
def test_rows_near_a_page_apart_are_right_as_well(columns: int) -> None:
    a, b = make(11, columns)
    expected = b.copy()
    expected[1:-1, 1:-1] = (
        a[1:-1, 1:-1] + 2.0 * a[:-2, 1:-1] + 3.0 * a[2:, 1:-1] + 4.0 * a[1:-1, :-2] + 5.0 * a[1:-1, 2:]
    )
    vectorize_grad(wrt=("a",))(five_points)(a, b)
    np.testing.assert_allclose(b, expected, rtol=1e-14)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_are_those_of_sums_of_shifted_arrays(order: Any, dtype: Any) -> None:
    """The adjoint of a sum of shifted arrays is the sum of the seeds shifted back."""
    f = vectorize_grad(wrt=("a",))(five_points)
    a, b = (np.asarray(x, order=order) for x in make(54, 61, dtype))
    seed = np.asarray(make(54, 61, dtype)[0], order=order)
    _, pullback = f.vjp(a, b)
    expected = np.zeros(a.shape)
    inner = seed[1:-1, 1:-1]
    shifts = ((1, 1, 1.0), (0, 1, 2.0), (2, 1, 3.0), (1, 0, 4.0), (1, 2, 5.0))
    for down, across, factor in shifts:
        expected[down : down + 52, across : across + 59] += factor * inner
    got = pullback(b=seed).a
    np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == np.float32 else 1e-13)


def shortest_paths(d):
    for k in range(d.shape[0]):
        for i in range(d.shape[0]):
            if d[i, k] < math.inf:
                for j in range(d.shape[0]):
                    d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def test_comparisons_with_infinity_are_no_limits_of_rows() -> None:
    d = np.where(np.random.default_rng(0).random((24, 24)) < 0.2, np.random.default_rng(1).random((24, 24)), np.inf)
    expected = d.copy()
    shortest_paths(expected)
    vectorize_grad(wrt=("d",))(shortest_paths)(d)
    np.testing.assert_array_equal(d, expected)


def with_chosen(a, b, places):
    for i in range(1, a.shape[0] - 1):
        for j in range(a.shape[1]):
            b[i, j] = a[i, j] + a[i - 1, j] + a[i + 1, j] + (a[0, places[j]] if places[j] < a.shape[1] else 0.0)


def test_what_a_condition_leaves_out_is_not_read() -> None:
    """The place is far outside: reading it anyhow would end the process."""
    a, b = make(13, 40)
    places = np.arange(40)
    places[3] = 10**12
    f = vectorize_grad(wrt=("a",))(with_chosen)
    assert "rows together" in f.explain(a, b, places)
    expected = b.copy()
    expected[1:-1] = a[1:-1] + a[:-2] + a[2:] + np.where(np.arange(40) == 3, 0.0, a[0])
    f(a, b, places)
    np.testing.assert_allclose(b, expected, rtol=1e-14)


def named_like_functions(Splat, NP, n):
    for i in range(1, Splat.shape[0] - 1):
        NP[i, 0] = float(i)
        for j in range(1, Splat.shape[1]):
            s = Splat[i, j] + Splat[i - 1, j] + Splat[i + 1, j]
            NP[i, j] = s + (1.0 if j > n else 0.0)


def test_names_of_arrays_hide_no_function_of_generated_code() -> None:
    a, b = make(11, 40)
    expected = b.copy()
    named_like_functions(a, expected, 7)
    vectorize_grad(wrt=("Splat",))(named_like_functions)(a, b, 7)
    np.testing.assert_allclose(b, expected, rtol=1e-14)


def test_explain_says_how_many_rows_go_together() -> None:
    assert "scalar, 4 rows together" in vectorize_grad(wrt=("a",))(five_points).explain(*make(20, 20))
