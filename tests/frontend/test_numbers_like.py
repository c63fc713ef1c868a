"""`np.zeros_like(v)` and its kind of numbers, against what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.array([1.3, -0.7, 2.1])


def moments(params, x):
    m = {k: np.zeros_like(v) for k, v in params.items()}
    v = {k: np.ones_like(w) for k, w in params.items()}
    for t in range(1, 4):
        for k in params:
            m[k] = 0.9 * m[k] + 0.1 * params[k] * x[0]
            v[k] = 0.99 * v[k] + 0.01 * m[k] ** 2 / t
    return np.sum(m["w"] * v["w"]) + m["b"] * v["b"]


def test_moments_of_parameters_that_are_arrays_and_numbers() -> None:
    params = {"w": X.copy(), "b": 0.5}
    with interpreting():
        value, slopes = vectorize_grad(moments).value_and_grad(params, X)
    assert value == pytest.approx(moments(params, X), rel=1e-14)
    step = 1e-6
    expected = (moments({**params, "b": 0.5 + step}, X) - moments({**params, "b": 0.5 - step}, X)) / (2 * step)
    assert slopes.params["b"] == pytest.approx(expected, rel=1e-8)


def of_types(x, s, n):
    a, b = np.full_like(n, 2.7), np.full_like(s, 2)
    c, d = np.ones_like(x[0] > 1.0), np.full_like(x[0] + 1j, 2.0)
    e = np.empty_like(x.sum())
    e = a / 2 + b
    return a, b, c, d, e, np.zeros_like(3.0), np.ones_like(2, dtype=float)


def test_types_are_those_of_the_numbers() -> None:
    with interpreting():
        found = vectorize_grad(of_types)(X, 1.5, 3)
    for value, expected in zip(found, of_types(X, 1.5, 3), strict=True):
        assert value == expected
        assert np.asarray(value).dtype == expected.dtype


def added_to(v, w):
    total = np.zeros_like(v)
    total += v * w
    return total


def of_either(x):
    return added_to(x, 2.0).sum() + added_to(x[0], 3.0)


def test_functions_take_arrays_and_numbers() -> None:
    with interpreting():
        value, slopes = vectorize_grad(of_either).value_and_grad(X)
    assert value == pytest.approx(of_either(X), rel=1e-15)
    np.testing.assert_array_equal(slopes.x, [5.0, 2.0, 2.0])


def two_names(x):
    z = np.zeros_like(x[0])
    w = z
    z += x[1]
    return z + w


def widened(x):
    z = np.zeros_like(np.float32(1.0) * np.ones_like(x, dtype=np.float32)[0])
    z += x[0]
    return z


def widened_copy(x):
    z = np.copy(np.ones_like(x, dtype=np.float32)[0])
    z *= x[0]
    return z


def of_changing_type(x):
    n = 0
    for _ in range(len(x)):
        z = np.zeros_like(n)
        n = n + 0.5
    return z + n


def kept_in_a_list(x):
    """In NumPy, all elements are the same array, and so the last sum."""
    total = np.zeros_like(x[0])
    sums = []
    for v in x:
        total += v
        sums.append(total)
    return sum(sums)


def taken_from_a_list(x):
    items = [np.array(v) for v in x]
    first = items[0]
    first += 1.0
    return sum(items)


def in_a_slice(x):
    items = [np.array(v) for v in x]
    for v in items[1:]:
        v += 1.0
    return sum(items)


def in_two_lists(x):
    items = [np.array(v) for v in x]
    others = items[:]
    for i in range(len(items)):
        items[i] += 1.0
    return sum(others)


@pytest.mark.parametrize(
    ("plain", "code"),
    [
        (two_names, "LD123"),
        (kept_in_a_list, "LD123"),
        (taken_from_a_list, "LD123"),
        (in_a_slice, "LD123"),
        (in_two_lists, "LD123"),
        (widened, "LD123"),
        (widened_copy, "LD123"),
        (of_changing_type, "LD115"),
    ],
    ids=lambda p: p if isinstance(p, str) else p.__name__,
)
def test_what_a_number_in_a_variable_does_otherwise_is_refused(plain: Any, code: str) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match=code):
        vectorize_grad(plain)(X)


def new_ones_in_lists(x):
    total = np.zeros_like(x[0])
    sums, items = [], [np.array(v) for v in x]
    for i, v in enumerate(x):
        total = total + v * v
        sums.append(total)
        items[i] += v
    return sum(sums) * items[-1]


def test_lists_keep_numbers_that_do_not_change_in_place() -> None:
    with interpreting():
        value, slopes = vectorize_grad(new_ones_in_lists).value_and_grad(X)
    assert value == pytest.approx(new_ones_in_lists(X), rel=1e-14)
    counts = 2.0 * np.arange(len(X), 0, -1) * X * 2.0 * X[-1]
    counts[-1] += 2.0 * float(sum(np.cumsum(X * X)))
    np.testing.assert_allclose(slopes.x, counts, rtol=1e-14)
