"""`round(x, d)`: Python's numbers to the nearest decimal, NumPy's as `np.round` does it, and what may be either."""

from __future__ import annotations

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
