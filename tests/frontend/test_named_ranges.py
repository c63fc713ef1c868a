"""Names for ranges that are given in terms of themselves, lengths of ranges, and loops over several ranges."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import LoopdiffError, vectorize_grad
from tests.gradients.interpreted import interpreting

x = np.linspace(0.11, 1.3, 7)


def of_its_own_length(x, n):
    r = range(2, len(x))
    r = range(len(r))
    return sum(x[i] * (i + 1) for i in r)


def moved_in_a_loop(x, n):
    r = range(3)
    s = 0.0
    for t in range(2):
        r = range(1 + len(r), 3 + len(r))
        for i in r:
            s += x[i % 7] * (i + t)
    return s


def lengths(x, n):
    down = len(range(n, 0, -2))
    return down * x[0] + len(range(len(x[:3]), len(x))) * x[1] + len(range(len(range(3, 7)), len(x), 2)) * x[2]


def extents(x, n):
    s = x[0]
    for i, j in np.ndindex(len(x), n):
        s += x[i] * x[j]
    for i, j in np.ndindex(x.shape[0], x.size):
        s += x[i] * j
    return s


def steps(x, n):
    up = len(range(0, 5, +2)) + len(range(0, 7, n + 1))
    return up * x[0] + len(range(7, 0, ~1)) * x[1] + len(range(n, -7, -n - 1)) * x[2]


@pytest.mark.parametrize("function", [of_its_own_length, moved_in_a_loop, lengths, steps, extents])
@pytest.mark.parametrize("n", [0, 3])
def test_value_and_gradient(function: Callable[..., Any], n: int) -> None:
    with interpreting():
        value, gradient = vectorize_grad(wrt=("x",))(function).value_and_grad(x.copy(), n)
    assert value == pytest.approx(function(x.copy(), n), rel=1e-13)
    slopes = [(function(x + d, n) - function(x - d, n)) / 2e-6 for d in 1e-6 * np.eye(7)]
    np.testing.assert_allclose(gradient.x, slopes, rtol=1e-6, atol=1e-7)


def length_of_any_step(x, n):
    return len(range(0, 7, n)) * x[0]


def length_of_no_step(x, n):
    return len(range(0, 7, 0)) * x[0]


def variable_of_a_loop_around(x, n):
    s = 0.0
    for i in range(2):
        for i, j in itertools.combinations(range(4), 2):
            s += x[i] * x[j]
        s += 10.0 * x[i]
    return s


def variable_of_a_loop_around_that_is_kept(x, n):
    s = 0.0
    for i in range(2):
        for i, j in np.ndindex(3, n):
            s += x[i] * x[j]
        s += 10.0 * x[i]
    return s


def extent_below_zero(x, n):
    s = x[0]
    for i, j in np.ndindex(2, n - 5):
        s += x[i] * j
    return s


REFUSED = [
    length_of_any_step, length_of_no_step, variable_of_a_loop_around,
    variable_of_a_loop_around_that_is_kept, extent_below_zero,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_more_than_that_is_refused(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(LoopdiffError):
        vectorize_grad(function)(x.copy(), 0)
