"""Lists that are read where they are made, `sorted(x)[k]`, against what Python computes and central differences."""

# Lists are put together the way users write it.
# ruff: noqa: RUF005

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

pytestmark = pytest.mark.part(2)
X = np.array([1.3, -0.7, 2.1, 0.4, -1.9, 0.85, 3.2])


def quantiles(x):
    w = []
    for v in x:
        if v > 0.0:
            w.append(v * v)
    return sorted(w)[int(0.5 * len(w))] + 2.0 * sorted(w, reverse=True)[1] - sorted(x)[-2] * sorted(x, reverse=True)[2]


def of_generators_and_displays(x):
    return sum(sorted(v * v for v in x)[:2]) + sorted([x[2], x[0], x[1]])[1] + max(sorted(abs(v) for v in x)[:3])


def in_functions_of_numpy(x):
    w = [v * v for v in x if v > 0.0]
    between = np.interp(0.5, sorted(w), sorted(x)[: len(w)])
    return np.dot(sorted(w), sorted(w, reverse=True)) + np.exp(sorted(w)[0]) + between + np.median(sorted(x)[1:])


def slices_of_slices(x):
    w = [v * v for v in x if v > 0.0]
    return w[1:][0] * sorted(x)[::-1][1] + (sorted(x) + [1.5])[-1] + np.sum(sorted(w)[:2] + [x[0]])


def kept_and_grown(x):
    w = sorted(x)[2:]
    w.append(x[0] * x[1])
    t = 0.0
    for v in sorted(x)[1:4]:
        t = 2.0 * t + v
    return w[-1] * w[0] + t


def where_it_may_not_be_evaluated(x):
    t = 0.0
    for i in range(1, len(x) - 1):
        t += sorted(x[i - 1 : i + 2])[1] * (i + 1) if i % 2 else sorted(x[i - 1 : i + 2], reverse=True)[0]
        if sorted(x)[1:] and len(sorted(x)) > i and sorted(x)[i] > 0.0:
            t *= 1.0 + sorted(x)[i]
    return t


def other_lists(x):
    return len([v for v in x if v > 0.0]) * [v for v in x if v > 0.0][1] * x.tolist()[2] + any([v > 3.0 for v in x])


def in_comprehensions(x):
    return sum(sorted(x[i - 1 : i + 2])[1] for i in range(1, len(x) - 1)) * [sorted([v, x[0], x[1]]) for v in x][2][1]


PROGRAMS = (
    quantiles, of_generators_and_displays, in_functions_of_numpy, slices_of_slices, kept_and_grown,
    where_it_may_not_be_evaluated, other_lists, in_comprehensions,
)  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("plain", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_that_are_read_where_they_are_made(plain) -> None:
    with interpreting():
        value, slopes = vectorize_grad(plain).value_and_grad(X)
    assert value == pytest.approx(plain(X), rel=1e-13)
    expected = [(plain(X + h) - plain(X - h)) / 2e-6 for h in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(slopes.x, expected, rtol=1e-6, atol=1e-7)


def greatest_first(x):
    return sorted(x, reverse=True)[1]


def test_equal_numbers_stay_in_their_order_from_the_greatest_on() -> None:
    x = np.array([2.0, 3.0, 1.0, 3.0, 2.0])
    with interpreting():
        slopes = vectorize_grad(greatest_first).grad(x)
    assert sorted(enumerate(x), key=lambda p: p[1], reverse=True)[1][0] == 3
    np.testing.assert_array_equal(slopes.x, [0.0, 0.0, 0.0, 1.0, 0.0])


def twice(x):
    return sorted(x)[1:] * 2


def one_more(x):
    return sorted(x) + 1.0


def of_rows(x):
    return sorted([[v, 1.0] for v in x])[0][0]


@pytest.mark.parametrize("plain", [twice, one_more, of_rows], ids=lambda f: f.__name__)
def test_what_python_does_with_lists_alone_is_not_done_with_arrays(plain) -> None:
    with pytest.raises(UnsupportedLoopError, match="list"):
        vectorize_grad(plain)(X)
