"""What stays as it is during a loop is kept once, as it is ahead of it, for what tells its elements apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting


def pairs(x, v):
    n = x.shape[0]
    for _ in range(3):
        for i in range(n):
            f = 0.0
            for j in range(n):
                f += (x[j] - x[i]) ** 3
            v[i] += 0.1 * f
        for i in range(n):
            x[i] += 0.1 * v[i]


def triangle(x, v):
    n = x.shape[0]
    for _ in range(3):
        for i in range(n):
            for j in range(i + 1, n):
                v[i] += (x[j] - x[i]) ** 3
        for i in range(n):
            x[i] += 0.1 * v[i]


def lower_triangle(x, v):
    n = x.shape[0]
    for _ in range(3):
        for i in range(n):
            for j in range(i):
                v[i] += x[j] ** 3
        for i in range(n):
            x[i] += 0.1 * v[i]


def windows(x, v):
    n = x.shape[0]
    for _ in range(3):
        for i in range(n - 3):
            for j in range(i, i + 4):
                v[i] += x[j] ** 3
        for i in range(n):
            x[i] += 0.1 * v[i]


def changed_inside(x, v):
    n = x.shape[0]
    for _ in range(2):
        for i in range(n):
            for j in range(n):
                v[i] += x[j] ** 3
            x[i] += 0.1 * v[i]


def under_a_condition(x, v):
    n = x.shape[0]
    for _ in range(3):
        for i in range(n):
            if v[i] > 0.5:
                for j in range(n):
                    v[i] += 0.1 * x[j] ** 3
        for i in range(n):
            x[i] += 0.1 * v[i]


def test_a_state_that_steps_are_products_of_is_kept_once_for_each_step() -> None:
    """Copies of the whole state in each of its rows would be as many times too large."""

    def program(h, u, T):
        state = h.copy()
        for _ in range(T):
            gates = np.zeros((h.shape[0], u.shape[0]))
            for n in range(h.shape[0]):
                for k in range(u.shape[0]):
                    for j in range(h.shape[1]):
                        gates[n, k] += state[n, j] * u[k, j]
            for n in range(h.shape[0]):
                for k in range(h.shape[1]):
                    state[n, k] = np.tanh(gates[n, k])
        return state

    rng = np.random.default_rng(0)
    args = (rng.random((2, 3)), rng.random((3, 3)), 4)
    with interpreting():
        f = vectorize_grad(program)
        check_grads(f, args)
        kept = [t.shape for t in f.compile(*args).temporaries if t.name.startswith("state_tape")]
    assert kept == [("max(0, T)", "h.shape[0]", "h.shape[1]")]


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize(
    ("function", "most_axes"),
    [(pairs, 2), (triangle, 2), (lower_triangle, 2), (windows, 2), (changed_inside, 3), (under_a_condition, 2)],
)
def test_gradients_and_tapes(function: Callable[..., Any], most_axes: int, size: int) -> None:
    rng = np.random.default_rng(0)
    args = (0.4 + rng.random(size), 0.4 + rng.random(size))
    with interpreting():
        f = vectorize_grad(function)
        check_grads(f, args)
        kept = f.compile(*args).temporaries
    assert max(len(t.shape) for t in kept if t.name.startswith("x_tape")) == most_axes


def test_nothing_is_read_that_the_program_does_not_read() -> None:
    def program(x, v, m):
        for _ in range(2):
            for i in range(m):
                for j in range(8):
                    v[i] += x[j] ** 3
            for i in range(v.shape[0]):
                v[i] *= v[i]
            for i in range(x.shape[0]):
                x[i] *= 0.5

    with interpreting():
        check_grads(vectorize_grad(program), (np.ones(3), np.ones(4), 0))
