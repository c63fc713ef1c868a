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


ODD = range(1, 6, 2)


def smooth(y, order, w=0.5):
    for i in order:
        y[i] = w * (y[i - 1] + y[i + 1])


def summed(order, y, by=None):
    s = 0.0
    for k, i in enumerate(order):
        s = s * 0.5 + y[i] * k * len(order) * (1.0 if by is None else by)
    for i in reversed(order):
        s += np.sin(y[i])
    return s


def both_ways(y, order, *, other):
    smooth(y, order)
    smooth(y, order=other, w=0.3)
    return summed(other, y) + summed(y=y, order=order) + summed(range(0, len(y), 2), y, 2.0)


def given_to_functions(x, n):
    y = x.copy()
    up, down = range(1, len(y) - 1), range(len(y) - 2, 0, -n - 1)
    t = both_ways(y, up, other=down) + summed(ODD, y)

    def inside(r):
        return sum(y[i] * i for i in r)

    for k in range(n):
        smooth(y, range(1 + k, len(y) - 1))
    return t + inside(down) + inside(r=range(n)) + (lambda r: sum([y[i] for i in r]))(up)


def one_or_the_other(x, n):
    s = 0.0
    order = range(len(x)) if n > 0 else range(len(x) - 1, -1, -1)
    for i in order:
        s = 0.5 * s + x[i]
    for i in range(n) if s > 0.0 else range(1, n):
        s = 0.5 * s + x[i] ** 2
    return s


def there_and_back(x, n):
    y = x.copy()
    for _ in range(n):
        for order in (range(1, len(y) - 1), range(len(y) - 2, 0, -1)):
            for i in order:
                y[i] = 0.5 * (y[i - 1] + y[i + 1]) + 0.1 * y[i] ** 2
        for k in [range(0, 2), range(0, n)]:
            y[0] += y[1] * len(k)
        for same in (range(2), range(2)):
            y[2] += y[1] * sum(y[i] for i in same)
    return y @ y


def bound_again_in_a_function(x, n):
    def last(r):
        r = [i for i in r]
        return r[-1]

    return x[last(range(3))]


NAMED = [
    bound_again_in_a_function,
    of_its_own_length,
    moved_in_a_loop,
    lengths,
    steps,
    extents,
    given_to_functions,
    one_or_the_other,
    there_and_back,
]


@pytest.mark.parametrize("function", NAMED)
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


def used_as_an_array(x, n):
    def doubled(r):
        return 2.0 * r

    return doubled(range(3)).sum() * x[0]


REFUSED = [
    used_as_an_array,
    length_of_any_step, length_of_no_step, variable_of_a_loop_around,
    variable_of_a_loop_around_that_is_kept, extent_below_zero,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_more_than_that_is_refused(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(LoopdiffError):
        vectorize_grad(function)(x.copy(), 0)
