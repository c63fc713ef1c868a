"""Conditional expressions of arrays that differ in shape, against what Python computes and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.array([0.3, 0.9, 0.25, 0.61, 0.37, 0.8, 0.74, 0.12])


def stored(x, m):
    a = np.zeros(8)
    for k in range(1, m):
        a[1 : k + 1] = a[1 : k + 1] + x[k] * x[k - 1 :: -1][:k] if k > 1 else np.array([x[k]])
        a[1 : k + 1] += x[:k] * 2.0 if k > 2 else np.array([x[0]])
    return a @ a


def of_another_rank(x, m):
    a = np.zeros((2, 3))
    a[:] = np.outer(x[:2], x[:3]) if x[0] > 0.2 else x[:3]
    a[1] *= x[0] if m > 9 else x[1:4]
    b = 2.0 if m > 9 else x[:m] * x[1]
    return (a * a).sum() + a[1, 1] * 3.0 + np.sum(b)


def named(x, m):
    s = 0.0
    for i in range(6):
        z = x[:m] * 2.0 if x[i] > 0.5 else np.array([x[m], 1.0])
        w = x[:m] if x[i] > 0.5 else x[m:]
        s += (z * z).sum() * len(z) + w.sum() * len(w)
    return s


def operands(x, m):
    def squares(v):
        return v @ v

    a = np.concatenate([x[:1], x[:m] * 2.0 if m > 9 else x[m:] * 3.0])
    t = np.sum(x[:m] * 2.0 if x[1] > 0.2 else np.array([x[m], 1.0])) * len(a)
    return t - (x[:2] if m > 9 else x * x[1]).max() + squares(x[:m] * x[0] if x[0] > 0.5 else x[m:] * 3.0)


def nothing_in_one(x, m):
    z = x[:m] * x[0] if m > 9 else x[:0]
    y = x[:0] if m > 9 else x[:m] * x[0] if m > 4 else x[1:]
    return z.sum() + (y * y).sum() + len(z)


def of_one_of_two(x, m):
    """A choice of what is one of two arrays already."""
    a, b = x[:4] * 1.0, x[4:] * 2.0
    z = a if m > 3 else b
    w = z if x[0] > 0.2 else a
    q = w if m > 2 else z * 2.0
    w = -q if x[1] > m else (z if m > 1 else b)
    t = np.dot(w, z) + max(q) + sum(u * v for u, v in zip(q, z[::-1], strict=True))
    for i in range(3):
        z = a if i > 1 else b
        a = (z if m > 2 else a) * 2.0
    return t + (a * b).sum() * (z if m > 3 else w)[1]


def gone_over(x, m):
    s = 0.0
    for k, u in enumerate(x[1:] if m > 4 else x[:3]):
        s = 0.5 * s + u * k
    for u, v in zip(x, x[1:] if m > 4 else x[:3], strict=False):
        s += u * v
    if -(x[m:] if m > 4 else x).sum() > -2.0:
        s *= x[0]
    elif (x[:m] if m > 4 else x)[1] < 5.0:
        s *= x[1]
    return s


def doubled_first(v):
    v[0] = v[0] * 2.0
    return v.sum()


def behind_calls(x, m):
    y = x.copy()
    t = doubled_first(y) * len(y[1:] if m > 4 else y) + (y[:2] if m > 4 else y).sum() * doubled_first(y)
    return y[0] * 2.0 + doubled_first(y) * y[0] + (y[1:] if m > 4 else y).sum() * t


CHOOSING = [stored, of_another_rank, named, operands, nothing_in_one, of_one_of_two, gone_over, behind_calls]


@pytest.mark.parametrize("plain", CHOOSING)
@pytest.mark.parametrize("m", [5, 2])
def test_either_array_has_its_own_shape(plain: Callable[..., Any], m: int) -> None:
    def total(x: np.ndarray) -> float:
        return np.sum(plain(x, m) ** 2)

    with interpreting():
        value, pullback = vectorize_grad(wrt=("x",))(plain).vjp(X, m)
        found = pullback(2.0 * value).x
    np.testing.assert_allclose(value, plain(X, m), rtol=1e-13)
    expected = [(total(X + h) - total(X - h)) / 2e-6 for h in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


def halved(v):
    v[0] = 0.5 * v[0]
    return v * 2.0


def changed_behind_what_is_read(x, m):
    a = np.zeros(9)
    a[1:] = x[0] + (halved(x) if m > 2 else np.ones(1))
    return a.sum()


def test_what_changes_an_array_stays_behind_what_reads_it() -> None:
    """Or is refused: it gets no name ahead of the statement."""
    with interpreting(), pytest.raises(ArgumentError, match=r"LD310|LD320"):
        vectorize_grad(changed_behind_what_is_read)(X.copy(), 5)


def read_ahead_of_a_sum(x, a, b, n):
    return x[0] + with_first_doubled(x) * (a if n > 2 else b).sum()


def read_ahead_of_an_argument(x, a, b, n):
    return np.maximum(x[0], with_first_doubled(x) - (a if n > 2 else b).sum())


def read_in_a_list(x, a, b, n):
    z = [x[0], with_first_doubled(x) * (a if n > 2 else b).sum()]
    return z[0] + 10.0 * z[1]


def with_first_doubled(x):
    x[0] = 2.0 * x[0]
    return x[1]


@pytest.mark.parametrize("function", [read_ahead_of_a_sum, read_ahead_of_an_argument, read_in_a_list])
def test_a_call_stays_behind_all_that_is_read_ahead_of_it(function: Callable[..., float]) -> None:
    """The choice beside it gets no name then, and arrays that differ in shape are refused."""
    with interpreting(), pytest.raises(ArgumentError, match="LD320"):
        vectorize_grad(function)(X.copy(), X[:2], X[:3], 5)


def asked_of_what_a_call_gives(x):
    return with_first_doubled(x).ndim + x[0]


def test_numbers_that_calls_give_have_no_attributes() -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD119"):
        vectorize_grad(asked_of_what_a_call_gives)(X.copy())
