"""A program's own errors about shapes and arguments come before checks that would fail for the same reason."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad


@vectorize_grad
def weighted(x, w, n):
    if w.shape[0] < x.shape[0] + n:
        raise ValueError("there are too few weights")
    y = np.empty(x.shape[0] - n)
    for i in range(x.shape[0] - n):
        y[i] = x[i] * w[i + n]
    assert n >= 0, "n is negative"
    return y.sum()


@vectorize_grad
def in_order(x, w, n):
    if x[0] < 0.0:
        raise ValueError("x begins below zero")
    if w.shape[0] != x.shape[0]:
        raise ValueError("as many weights as numbers")
    return x[0] * w[n]


@vectorize_grad
def divided(x, n, k):
    x[0] = 2.0
    if n % k == 0:
        raise ValueError("n is a multiple")
    return x[n]


X = np.arange(1.0, 6.0)


def test_the_programs_own_words_come_first() -> None:
    assert weighted(X, X, 0) == pytest.approx((X * X).sum())
    with pytest.raises(ArgumentError, match="LD332: ValueError: there are too few weights"):
        weighted(X, X[:3], 0)
    with pytest.raises(ArgumentError, match="LD332: assertion failed: n is negative"):
        weighted(X, X, -1)
    with pytest.raises(ArgumentError, match="too few weights"):
        weighted.vjp(X, X[:3], 2)


def test_the_first_error_is_the_one_that_is_raised() -> None:
    with pytest.raises(ArgumentError, match="x begins below zero"):
        in_order(-X, X[:3], 0)
    with pytest.raises(ArgumentError, match="as many weights"):
        in_order(X, X[:3], 0)
    with pytest.raises(ArgumentError, match="LD310"):
        in_order(X, X, 5)


def quotients(a, r):
    n = len(r)
    out = np.zeros(n)
    for i in range(n):
        for j in range(n):
            out[i] += a[i, j] * r[j]
    if a[0, 0] + out[0] == 0:
        raise ValueError("the first is zero")
    u = np.zeros(n)
    u[0] = out[0] / (a[0, 0] + out[0])
    for j in range(1, n):
        bet = a[j, j] - a[j, j - 1] * u[j - 1]
        if bet == 0:
            raise ValueError("one is zero")
        u[j] = out[j] / bet
    return u


@vectorize_grad
def steps(a, r):
    b = 2.0 * a
    for _ in range(2):
        r = quotients(b, r)
    return r


def test_floats_decide_whether_something_is_raised() -> None:
    """Not ahead of the loop, where they may come out otherwise: it was raised in any case there."""
    a, r = np.eye(3) + 0.1, np.arange(1.0, 4.0)
    np.testing.assert_allclose(steps(a, r), quotients(2.0 * a, quotients(2.0 * a, r)), rtol=1e-14)
    with pytest.raises(ArgumentError, match="LD332: ValueError: one is zero"):
        steps(a * np.array([[1.0], [0.0], [1.0]]), r)
    with pytest.raises(ArgumentError, match="LD332: ValueError: the first is zero"):
        steps(a * np.array([[0.0], [1.0], [1.0]]), r)


def test_conditions_that_may_fail_stay_in_their_place() -> None:
    x = X.copy()
    with pytest.raises((ArgumentError, ZeroDivisionError)):
        divided(x, 1, 0)
    with pytest.raises(ArgumentError, match="n is a multiple"):
        divided(x, 4, 2)
    assert divided(x, 1, 2) == 2.0


@vectorize_grad
def walked(x, A, m):
    t = 0.0
    for _ in range(0, -1, m - 1):
        t += A[m][2:].sum()
    for j in range(3):
        for i in range(0, 4, m - 1 + j):
            x[i] = x[i] + A[m, i]
    return t + x[0]


def test_checks_ahead_of_a_loop_that_would_not_end_end() -> None:
    """Loops that only check went on for ever where the step that Python refuses is zero."""
    with pytest.raises(ArgumentError, match="LD330: the step of `range` is zero"):
        walked(X.copy(), np.ones((1, 1)), 1)
    with pytest.raises(ArgumentError, match="LD330"):
        walked.vjp(X.copy(), np.ones((1, 9)), 1)
    with pytest.raises(ArgumentError, match="LD310"):
        walked(X.copy(), np.ones((1, 9)), 2)
