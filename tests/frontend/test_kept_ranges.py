"""Ranges that objects, records and dictionaries keep, and that functions give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X = np.linspace(0.3, 1.4, 6)


class Sweep:
    def __init__(self, n, k=1):
        self.steps = range(k, n)
        self.back = range(n - 1, -1, -1)
        self.v = 0.0

    def run(self, x):
        for i in self.steps:
            self.v = self.v * 0.5 + x[i]
        for i in self.back:
            self.v += x[i] * i
        return self.v

    def order(self):
        return self.back

    def evens(self):
        return range(0, len(self.steps), 2)


@dataclass
class Kept:
    steps: range
    v: float


def order(n, up):
    if up:
        return range(n)
    return range(n - 1, -1, -1)


def numbers(n):
    return range(2, n)


def of_methods(x, n):
    m = Sweep(n)
    return m.run(x) + sum(x[i] * i for i in m.steps)


def through_methods(x, n):
    m, s = Sweep(n), 0.0
    for i in m.order():
        s = s * 0.5 + x[i]
    for i in m.evens():
        s = s * 0.9 + x[i]
    for k, i in enumerate(m.back):
        s += x[i] * k
    for i, v in zip(m.steps, x, strict=False):
        s += v * i
    for i in reversed(m.steps):
        s += x[i] * i * i
    return s + len(m.steps)


def of_functions(x, n):
    s = 0.0
    for i in order(n, x[0] > 0.5):
        s = s * 0.5 + x[i]
        for j in order(i, False):
            s += x[j] * x[i]
    for i in numbers(n):
        s = s * x[i] + x[i - 2]
    return s


def as_they_were(x, n):
    r, s = order(n, False), 0.0
    for i in r:
        s = s * 0.5 + x[i]
    n = 2
    for i in r:
        s += x[i] * n
    return s + x[r.stop + 1] * r.step


def replaced(x, n):
    m, s = Sweep(n), 0.0
    for i in m.steps:
        m.steps = range(2)
        s = s * 0.5 + x[i]
    for i in m.steps:
        s = s * 0.7 + x[i]
    return s


def of_records(x, n):
    kept, d = Kept(range(1, n), 0.5), {"steps": range(n - 1, 0, -2), "k": 2.0}
    s = kept.v
    for i in kept.steps:
        s = s * 0.5 + x[i]
    for i in d["steps"]:
        s = s * d["k"] + x[i]
    return s


def inside(x, n):
    def rest(k):
        return range(k, n)

    s = 0.0
    for i in rest(1):
        for j in rest(i):
            s += x[j] * i
    return s


def known_here(x, n):
    m, s = Sweep(4), 0.0
    v = [x[0], x[1], x[2] * n, x[3]]
    for i in m.back:
        s += v[i] * i
    return s


KEPT = [of_methods, through_methods, of_functions, as_they_were, replaced, of_records, inside, known_here]


@pytest.mark.parametrize("plain", KEPT)
def test_loops_go_over_ranges_that_are_kept(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain, wrt=("x",))
        for n in (1, 4, 6):
            assert f(X, n) == pytest.approx(plain(X, n), rel=1e-13)
        check_grads(f, (X, 5))


def given_back(x, n):
    return order(n, True)


def given_back_in_an_object(x, n):
    m = Sweep(n)
    m.run(x)
    return m


def member_of(x, n):
    return x[0] if 2 in order(n, True) else x[1]


def member_of_kept(x, n):
    m = Sweep(n)
    return x[0] if "start" in m.steps else x[1]


def element_of(x, n):
    return x[order(n, True)[1]]


@pytest.mark.parametrize("plain", [given_back, given_back_in_an_object, member_of, member_of_kept, element_of])
def test_what_else_is_done_with_ranges_is_refused(plain: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedLoopError):
        vectorize_grad(plain)(X, 4)


def of_object_given(m, x):
    s = sum(x[i] * i for i in m.steps) + len(m.back) + m.steps.stop * m.steps.start
    for i in m.back:
        s = s * 0.5 + x[i] * m.v
    return s


def of_range_given(r, x):
    s = 0.0
    for i in r:
        s = s * 0.5 + x[i] * i
    return s


@pytest.mark.parametrize("wrt", [("x",), None])
def test_arguments_keep_ranges(wrt: tuple[str, ...] | None) -> None:
    with interpreting():
        f, g = vectorize_grad(of_object_given, wrt=wrt), vectorize_grad(of_range_given, wrt=wrt)
        for n, k in ((1, 1), (4, 1), (6, 2)):
            m, h = Sweep(n, k), 1e-6
            m.v = 1.5
            assert f(m, X) == pytest.approx(of_object_given(m, X), rel=1e-13)
            found = f.grad(m, X)
            expected = [(of_object_given(m, X + h * e) - of_object_given(m, X - h * e)) / (2 * h) for e in np.eye(6)]
            np.testing.assert_allclose(found.x, expected, rtol=1e-6, atol=1e-9)
            assert wrt is not None or found.m.steps is None  # integers have no derivatives
        for r in (range(5), range(4, 0, -1), range(0), range(1, 6, 2)):
            assert g(r, X) == pytest.approx(of_range_given(r, X), rel=1e-13)
