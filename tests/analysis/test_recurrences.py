"""What an iteration gets from the one before is added last: where, where not, and the same values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad


def filtered(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i] = 0.5 * y[i - 1] + x[i - 1] - 0.25 * x[i] + x[i + 1]


def downwards(x, y):
    for i in range(x.shape[0] - 2, -1, -1):
        y[i] = x[i] + y[i + 1] * 0.5 + x[i + 1] + 1.0


def two_before(x, y):
    for i in range(2, x.shape[0]):
        y[i] = x[i] - y[i - 2] * 0.5 + x[i - 1] + x[i - 2]


def scalar(x, y):
    s = 0.0
    for i in range(1, x.shape[0]):
        s = x[i] + 0.5 * s - x[i - 1] + 2.0
        y[i] = math.sin(s)


def through_a_name(x, y):
    s = 0.0
    for i in range(1, x.shape[0]):
        u = x[i] * 2.0 + x[i - 1]
        v = u - 0.5 * s
        w = v + x[i] * x[i] + u
        s = w * 0.25
        y[i] = s


def summed(x, y):
    t = 0.0
    for i in range(1, x.shape[0]):
        t += x[i] + 0.5 * x[i - 1] - 1.0
        if x[i] > 3.0:
            t = 0.0
        y[i] = t


def of_two_terms(x, y):
    for i in range(1, x.shape[0]):
        y[i] = x[i] + 0.5 * y[i - 1]


def without_order(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i] = x[i - 1] + x[i] + x[i + 1] + y[i]


def from_far(x, y):
    for i in range(9, x.shape[0]):
        y[i] = x[i] + y[i - 9] + x[i - 1] + x[i - 2]


LAST = (filtered, downwards, two_before, scalar, through_a_name, summed)
PLAIN = (of_two_terms, without_order, from_far)


def arrays() -> dict[str, np.ndarray]:
    r = np.random.default_rng(3)
    return {"x": r.standard_normal(40), "y": r.standard_normal(40)}


def source(function: Callable[..., Any], **settings: Any) -> str:
    return vectorize_grad(function, wrt=("x",), **settings).compile(**arrays()).source("primal")


@pytest.mark.parametrize("function", LAST)
def test_is_added_last(function: Callable[..., Any]) -> None:
    assert "after(" in source(function)


@pytest.mark.parametrize("function", PLAIN)
def test_other_sums_are_as_written(function: Callable[..., Any]) -> None:
    assert "after(" not in source(function)


@pytest.mark.parametrize("function", LAST)
def test_strict_sums_keep_their_order(function: Callable[..., Any]) -> None:
    assert "after(" not in source(function, fastmath=False)


def test_the_late_term_is_the_last_one() -> None:
    (line,) = (s.strip() for s in source(filtered).splitlines() if "after(" in s)
    assert line == "y_at_1 = after(x[i - 1] + x[i + 1] - 0.25 * x[i], 0.5 * y_at)"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", LAST + PLAIN)
def test_values_are_those_of_python(function: Callable[..., Any], dtype: type) -> None:
    args = {k: v.astype(dtype) for k, v in arrays().items()}
    expected = {k: v.copy() for k, v in args.items()}
    function(**expected)
    vectorize_grad(function, wrt=("x",))(**args)
    scale = 50 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(args["y"], expected["y"], rtol=scale, atol=scale)


def test_sums_of_integers_are_as_written() -> None:
    def counted(n, x, y):
        k = 0
        for i in range(1, n.shape[0]):
            k = k + n[i] - n[i - 1] + 1
            y[i] = x[k % 3]

    n = np.arange(10) ** 2
    x, y = np.array([1.0, 2.0, 3.0]), np.zeros(10)
    f = vectorize_grad(counted, wrt=("x",))
    expected = y.copy()
    counted(n, x, expected)
    f(n, x, y)
    np.testing.assert_array_equal(y, expected)
    assert "after(" not in f.compile(n, x, y).source("primal")
