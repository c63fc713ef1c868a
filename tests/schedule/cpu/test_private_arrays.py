"""Arrays that each iteration has for itself: those that it fills before it reads, and those that it finds zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.mapping.loops import Parallel
from tests.gradients.interpreted import interpreting
from tests.schedule.cpu.test_threads import disordering, sharing_of


def smoothed(x, y):
    """The ends of `u` are read as they are: there are some."""
    b, n = x.shape
    u, v = np.empty(n), np.empty(n)
    for s in range(b):
        u[:] = x[s]
        for _ in range(3):
            v[0] = u[0]
            v[n - 1] = u[n - 1]
            for i in range(1, n - 1):
                v[i] = 0.25 * u[i - 1] + 0.5 * u[i] * u[i] + 0.25 * u[i + 1]
            u[:] = v
        y[s] = u


def tridiagonal(x, y):
    """Forward elimination and back substitution, of systems beside each other."""
    b, n = x.shape
    upper, right = np.empty(n), np.empty(n)
    for s in range(b):
        upper[0] = 0.5 / x[s, 0]
        right[0] = 1.0 / x[s, 0]
        for i in range(1, n):
            den = x[s, i] - 0.25 * upper[i - 1]
            upper[i] = 0.5 / den
            right[i] = (1.0 - 0.25 * right[i - 1]) / den
        y[s, n - 1] = right[n - 1]
        for i in range(n - 2, -1, -1):
            y[s, i] = right[i] - upper[i] * y[s, i + 1]


def padded(x, y):
    """What is added to the adjoint of the margin is read by nobody."""
    b, n = x.shape
    p = np.zeros(n + 3)
    for s in range(b):
        for i in range(n):
            p[i] = x[s, i] * x[s, i]
        for i in range(n):
            t = 0.0
            for j in range(3):
                t += p[i + j] * (j + 1)
            y[s, i] = t


def by_blocks(x, y):
    """Rows of a block at a time, each filled with zeros and added to."""
    n, m = x.shape
    rows, total = np.empty((4, m)), np.empty(4)
    for first in range(0, n, 4):
        for i in range(first, min(first + 4, n)):
            total[i - first] = 0.0
            for j in range(m):
                rows[i - first, j] = np.exp(x[i, j])
                total[i - first] += rows[i - first, j]
        for i in range(first, min(first + 4, n)):
            for j in range(m):
                y[i, j] = rows[i - first, j] / total[i - first]


def results(function: Callable[..., Any], context: Any) -> list[np.ndarray]:
    x, y = np.random.default_rng(3).uniform(1.5, 2.5, (2, 9, 6))
    with context():
        _, pullback = vectorize_grad(cache=False, parallel=True)(function).vjp(x, y)
        return [y, *pullback(y=np.cos(np.arange(y.size)).reshape(y.shape))]


@pytest.mark.parametrize("function", [smoothed, tridiagonal, padded, by_blocks])
def test_iterations_have_what_they_fill_for_themselves_in_both_sweeps(function: Callable[..., Any]) -> None:
    for found, expected in zip(results(function, disordering), results(function, interpreting), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    f = vectorize_grad(cache=False, parallel=True)(function)
    code = f.compile(np.ones((9, 6)), np.ones((9, 6)))
    for sweep in ("forward", "reverse"):
        assert "run_in_chunks" in code.source(sweep)


def margin(x, y):
    p = np.zeros(x.shape[1] + 2)
    for s in range(x.shape[0]):
        for i in range(x.shape[1]):
            p[i + 2] += x[s, i]
        for i in range(x.shape[1]):
            y[s, i] = p[i + 2]
            p[i] = 0.0


def end(x, y):
    u = np.zeros(x.shape[1])
    for s in range(x.shape[0]):
        for i in range(1, x.shape[1]):
            u[i] = x[s, i]
        y[s, 0] = u[0]
        u[0] = x[s, 1]


def elsewhere(x, y):
    u = np.empty(x.shape[1])
    for s in range(x.shape[0]):
        for i in range(4):
            u[i] = x[s, i]
        for i in range(x.shape[1]):
            y[s, i] = u[i]


@pytest.mark.parametrize("function", [margin, end, elsewhere])
def test_what_another_iteration_leaves_is_shared(function: Callable[..., Any]) -> None:
    found = [s for s in sharing_of(function, x=np.ones((9, 9)), y=np.ones((9, 9))) if isinstance(s, Parallel)]
    assert not any({"p", "u"} & {*s.arrays, *s.zero} for s in found)
