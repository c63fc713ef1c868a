"""Objects part of which is None until the first iteration of a loop: plain Python is the oracle, and central
differences for the gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.linspace(0.3, 1.5, 4)


class Momentum:
    def __init__(self, beta):
        self.beta = beta
        self.v = None
        self.count = 0

    def step(self, g):
        if self.v is None:
            self.v = g * 1.0
        else:
            self.v = self.beta * self.v + g
        self.count += 1
        return self.v


class Adam:
    def __init__(self, rate):
        self.rate, self.m, self.s = rate, None, None

    def step(self, w, g):
        self.m = (1.0 if self.m is None else 0.9) * g if self.m is None else 0.9 * self.m + 0.1 * g
        self.s = g * g if self.s is None else 0.99 * self.s + 0.01 * g * g
        return w - self.rate * self.m / (np.sqrt(self.s) + 0.1)


def of_arrays(x, n):
    o, w = Momentum(0.9), x * 1.0
    for k in range(n):
        w = w - 0.1 * o.step(2.0 * w * (k + 1))
    return (w * w).sum()


def of_numbers(x, n):
    o, t = Momentum(x[1]), x[0]
    for k in range(1, n + 1):
        t = t - 0.1 * o.step(t * x[k % 4])
    return t * t


def of_two_fields(x, n):
    o, w = Adam(0.05), x
    for _ in range(n):
        w = o.step(w, 2.0 * w - x[0])
    return (w * x).sum()


def of_loops_in_loops(x, n):
    t = 0.0
    for i in range(3):
        o, w = Momentum(0.5), x * (i + 1.0)
        for _k in range(i, n):
            w = w - 0.1 * o.step(w)
        t += (w * w).sum()
    return t


def with_its_own_counter(x, n):
    o, w, k = Momentum(0.9), x * 1.0, 7
    for k in range(n):
        if k % 2 == 0:
            n = 2
        w = w - 0.1 * o.step(w * k)
    return (w * w).sum() * k


def that_goes_on(x, n):
    t = 0.0
    for i in range(2):
        o = Momentum(0.9)
        for k in range(n):
            u = o.step(x[k % 4] - i)
            if u < 0.5:
                continue
            t += u * u
        t += x[2] * (i + 1.0)
    return t


PLAIN = [that_goes_on, of_arrays, of_numbers, of_two_fields, of_loops_in_loops, with_its_own_counter]


@pytest.mark.parametrize("plain", PLAIN)
def test_the_first_iteration_stands_apart(plain: Callable[..., Any]) -> None:
    h = 1e-6
    with interpreting():
        f = vectorize_grad(wrt="x")(plain)
        for n in (0, 1, 2, 7):
            value, gradients = f.value_and_grad(X, n)
            assert value == pytest.approx(plain(X, n), rel=1e-12)
            expected = [(plain(X + h * e, n) - plain(X - h * e, n)) / (2 * h) for e in np.eye(4)]
            np.testing.assert_allclose(gradients.x, expected, rtol=1e-6, atol=1e-8)


def read_behind_the_loop(x, n):
    o = Momentum(0.9)
    for k in range(n):
        o.step(x * k)
    return o.v.sum()  # pyright: ignore[reportOptionalMemberAccess]


def now_and_then(x, n):
    o, t = Momentum(0.9), 0.0
    for k in range(n):
        if k == 3:
            o.v = None
        t += o.step(x * k).sum()
    return t


@pytest.mark.parametrize("plain", [read_behind_the_loop, now_and_then])
def test_what_the_run_says_is_refused(plain: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedLoopError, match=r"LD134.*depending on the way here"):
        vectorize_grad(wrt="x")(plain)(X, 5)
