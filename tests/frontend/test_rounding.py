"""`round(x, d)`: Python's numbers to the nearest decimal, NumPy's as `np.round` does it, and what may be either."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from tests.gradients.interpreted import interpreting


def of_python(s, d):
    return round(s, d)


def of_numpy(x, d):
    return round(x[0], d) + 0.0 * round(x.sum(), ndigits=1)


def totals(x, s):
    t, p = 0.0, 0.0
    for v in x:
        t += v
        p += s
        if round(t, 2) > 2.0:
            t *= 0.5
    return round(t, 2) + 10.0 * round(p, 2)


def one_or_the_other(s, x):
    t = s if x[0] > 0.5 else x[1]
    return round(t, 2)


def the_greater(s, x):
    return round(max(s, x[0]) * 1.0, 2)


def bound_later(s, x):
    t = x[0]
    for _ in range(2):
        if round(t, 2) > 5.0:
            return -1.0
        t = s
    return 0.0


def integers(n, idx):
    return round(n, 2) + round(idx[1], 1)


def elements_of_lists(x, k):
    L, grown = [2.665, 1.0], []
    for _ in x:
        grown.append(2.665)
    return round(L[k], 2) + round(grown[k], 2)


def values_of_dictionaries(x, k):
    d = {}
    for i in range(len(x)):
        d[i] = 2.665
    return round(d[k], 2) + 0.0 * x[0]


def beside_arrays(x, k):
    s = 0.0
    for v, w in zip([2.665, 1.0], x):  # noqa: B905
        s += round(v, 2) + 0.0 * w
    a = np.full(3, 2.665).tolist()
    return s + round(a[k], 2)


def roots(x, k):
    return round(math.sqrt(2.665**2 + 0.0 * x[0]), 2) + round(math.fabs(0.0 * x[k] + 2.665), 2)


def positive(x, k):
    return round(np.abs(2.665), 2) + 0.0 * x[k]


def added_by_numpy(x, k):
    return round(np.add(2.0, 0.665), 2) + 0.0 * x[k]


def numbered_by_numpy(x, idx):
    s = 0.0 * x[0]
    for j in np.arange(3):
        s += round(j / 40, 2)
    return s


def place_of_the_greatest(x, k):
    return round(x.argmax() * 0 + 2.665, 2) + 0.0 * x[k]


def widened_behind(x, k):
    t = 0.0
    for _ in range(9):
        if round(t, 2) > 2.66:
            return 1.0 + 0.0 * x[k]
        t += 0.533
    return 2.0 + 0.0 * x[k]


def of_an_empty_sum(x, k):
    t = 0.0
    for v in x[:k]:
        t += v
    return round(t + 2.665, 2)


def of_integers(x, idx):
    return round(idx[0] * 0 + 2.665, 2) + round((idx[0] + 530) / 200, 2) + 0.0 * x[0]


def of_counters(x, idx):
    k = 3
    while k > 0:
        k -= 1
    return round(k + 2.665, 2) + round(float(x[0]) * 0.0 + 2.665, 2) + round(min(2.665, 3.0), 2)


def of_elements(x, idx):
    a = np.full(3, 2.665)
    return round(a[idx[0] - 3], 2) + round(x.max(), 2) + round(min(x[0] * 0 + 2.665, 9.0), 2)


def of_numbers_in_loops(x, idx):
    s = 0.0
    for k in range(20):
        s += (k + 1) * round(k / 40, 2) + 0.0 * x[0]
    for v in np.linspace(0.0, 5.33, 3):
        s += round(v, 2)
    return s


def numbers() -> list[float]:
    rng = random.Random(4)
    decimals = [rng.randrange(-(10**6), 10**6) / 10 ** rng.randrange(1, 6) for _ in range(60)]
    ties = [rng.randrange(-(10**5), 10**5) * 5 / 10 ** rng.randrange(1, 5) for _ in range(60)]
    return [1.115, 2.675, -0.285, 0.5, -0.001, 1e17, 3.0, *decimals, *ties]


def test_numbers_are_rounded_as_python_and_numpy_round_them() -> None:
    differ = 0
    with interpreting():
        own, numpys = vectorize_grad(of_python), vectorize_grad(of_numpy)
        for s in numbers():
            for d in (0, 2, 3):
                assert own(s, d) == pytest.approx(round(s, d), rel=1e-15)
                assert numpys(np.array([s]), d) == pytest.approx(round(np.float64(s), d), rel=1e-15)
                differ += abs(round(s, d) - round(np.float64(s), d)) * 10**d > 0.5
        assert own(float("inf"), 2) == float("inf")
        assert np.isnan(own(float("nan"), 2))
        assert np.copysign(1.0, own(-0.001, 2)) == -1.0
    assert differ > 2


def test_the_kind_of_numbers_is_followed_through_loops() -> None:
    x = np.array([0.925, 0.6, 0.3])
    with interpreting():
        for s in (0.3716666666666667, np.float64(1.115)):
            assert vectorize_grad(totals)(x, s) == pytest.approx(totals(x, s), rel=1e-15)
        assert vectorize_grad(integers)(7, np.array([1, 2])) == integers(7, np.array([1, 2]))


@pytest.mark.parametrize("function", [one_or_the_other, the_greater, bound_later])
def test_where_a_number_may_be_either_both_have_to_agree(function: Any) -> None:
    x = np.array([1.0, 2.0])
    with interpreting():
        assert vectorize_grad(function)(1.5, x) == function(1.5, x)
        with pytest.raises(ArgumentError, match="differently"):
            vectorize_grad(function)(1.115, x)


def around(v):
    return np.abs(v)


def by_a_name_of_ours(x, k):
    return round(around(2.665), 2) * x[0] + k


UNSETTLED = [
    elements_of_lists, values_of_dictionaries, beside_arrays, roots, positive, added_by_numpy,
    place_of_the_greatest, widened_behind, of_an_empty_sum, by_a_name_of_ours,
]  # fmt: skip


@pytest.mark.parametrize("function", UNSETTLED)
def test_what_is_not_surely_of_either_is_asserted(function: Any) -> None:
    with interpreting(), pytest.raises(ArgumentError, match="differently"):
        vectorize_grad(function)(np.array([0.925, 0.6, 0.3]), 0)


@pytest.mark.parametrize("function", [of_integers, of_counters, of_elements, of_numbers_in_loops, numbered_by_numpy])
def test_what_is_surely_of_one_is_rounded_as_that(function: Any) -> None:
    x, idx = np.array([0.925, 0.6, 2.665]), np.array([3, 1])
    with interpreting():
        assert vectorize_grad(function)(x, idx) == pytest.approx(function(x, idx), rel=1e-15)


def test_the_derivative_is_zero() -> None:
    with interpreting():
        assert vectorize_grad(wrt=("s",))(of_python).value_and_grad(1.234, 2)[1].s == 0.0
        assert vectorize_grad(wrt=("s",))(of_python).value_and_grad(1e17, 2)[1].s == 0.0
        np.testing.assert_array_equal(
            vectorize_grad(wrt=("x",))(of_numpy).value_and_grad(np.array([1.2, 0.3]), 1)[1].x, 0
        )


@pytest.mark.parametrize(("s", "d"), [(1.5, 23), (1.5, -1), (4.6e15, 0)])
def test_digits_that_are_not_followed_are_errors(s: float, d: int) -> None:
    with interpreting(), pytest.raises(ArgumentError, match="LD332"):
        vectorize_grad(of_python)(s, d)
