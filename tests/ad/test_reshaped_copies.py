"""What loops read of a reshape again and again is kept once, not for each time that it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.testing import check_grads

rng = np.random.default_rng(0)


def encoded(x, w):
    """Four axes that one loop runs over, for each row of a matrix again."""
    total = 0.0
    for n in range(x.shape[0]):
        y = np.empty((1, x.shape[1], 4, 2))
        for d in range(x.shape[1]):
            for o in range(4):
                y[0, d, o, 0] = np.sin(2.0**o * x[n, d])
                y[0, d, o, 1] = np.cos(2.0**o * x[n, d])
        flat = y.reshape(-1)
        for i in range(w.shape[0]):
            s = 0.0
            for j in range(w.shape[1]):
                s += w[i, j] * flat[j]
            total += np.tanh(s)
    return total


def crossed(x, w):
    """Two by two numbers of each coordinate, which each output reads by quotients and remainders."""
    total = 0.0
    for n in range(x.shape[0]):
        parts = np.empty((x.shape[1], 2, 2))
        for d in range(x.shape[1]):
            for e in range(2):
                parts[d, e, 0] = np.exp(x[n, d]) * (e + 1)
                parts[d, e, 1] = np.tanh(x[n, d] - e)
        for i in range(w.shape[0]):
            s = 1.0
            for j in range(w.shape[1]):
                s += w[i, j] * parts[j // 4, j // 2 % 2, j % 2]
            total += s * s
    return total


def diagonal(x, w):
    """Of a matrix that each iteration makes the diagonal alone is read, once: no copies of the matrix."""
    total = 0.0
    for n in range(x.shape[0]):
        t = np.empty((x.shape[1], x.shape[1]))
        for d in range(x.shape[1]):
            for e in range(x.shape[1]):
                t[d, e] = x[n, d] * np.sin(x[n, e])
        for i in range(x.shape[1]):
            total += w[i, i] * t[i, i] ** 2
    return total


X = rng.normal(size=(3, 2))
WIDE, NARROW, SQUARE = rng.normal(size=(5, 16)), rng.normal(size=(5, 8)), rng.normal(size=(2, 2))
PROGRAMS = [(encoded, WIDE, 3 * 16), (crossed, NARROW, 3 * 8), (diagonal, SQUARE, 3 * 2)]


@pytest.mark.parametrize(("function", "w", "most"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_reshapes_are_kept_once(function: Any, w: Any, most: int) -> None:
    f = vectorize_grad(tape="store")(function)
    kept = [t for t in f.compile(X, w).temporaries if t.name.startswith(("y_", "parts_", "t_"))]
    assert sum(t.bytes for t in kept) <= 8 * most
    check_grads(f, (X, w))
