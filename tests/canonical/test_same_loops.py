"""Different spellings of one program become the same loops."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir.printer import print_loopset
from tests.corpus import helpers
from tests.gradients.interpreted import normal_form

# Loop nests are the subject of this file: they are written the way users write loops.


# -- helpers ---------------------------------------------------------------------------------------------------
def square(v):
    return v * v


def clamped(v, low, high):
    if v < low:
        return low
    if v > high:
        return high
    return v


def dot(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


def row_times(A, i, x):
    total = 0.0
    for j in range(x.shape[0]):
        total += A[i, j] * x[j]
    return total


def first_above(x, bound):
    for i in range(x.shape[0]):
        if x[i] > bound:
            return x[i]
    return 0.0


def expressions_called(A, x, y):
    for i in range(x.shape[0]):
        y[i] = square(x[i]) + helpers.soft(y[i], by=0.5) if x[i] > 0.0 else square(y[i])


def expressions_written(A, x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i] + np.sqrt(y[i] * y[i] + 0.5) if x[i] > 0.0 else y[i] * y[i]


def branches_called(A, x, y):
    for i in range(x.shape[0]):
        y[i] = clamped(x[i], 0.0, 1.0)


def branches_written(A, x, y):
    for i in range(x.shape[0]):
        v = x[i]
        if v < 0.0:
            t = 0.0
        elif v > 1.0:
            t = 1.0
        else:
            t = v
        y[i] = t


def loops_called(A, x, y):
    helpers.axpy(dot(x, y), x, y)
    for i in range(A.shape[0]):
        y[i] = row_times(A, i, x)


def loops_written(A, x, y):
    a = 0.0
    for i in range(x.shape[0]):
        a += x[i] * y[i]
    for i in range(x.shape[0]):
        y[i] += a * x[i]
    for i in range(A.shape[0]):
        b = 0.0
        for j in range(x.shape[0]):
            b += A[i, j] * x[j]
        y[i] = b


def closures_called(A, x, y):
    def visit(i, shift=1.0):
        for j in range(A.shape[1]):
            A[i, j] = scale * A[i, j] + shift

    scale = 2.0
    for i in range(A.shape[0]):
        visit(i)


def closures_written(A, x, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] = 2.0 * A[i, j] + 1.0


def search_called(A, x, y):
    y[0] = first_above(x, 0.5)


def search_written(A, x, y):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            t = x[i]
            break
    else:
        t = 0.0
    y[0] = t


# -- whole arrays --------------------------------------------------------------------------------------------
def stencil_sliced(A, x, y):
    y[1:-1] = 0.5 * (x[2:] + x[:-2])


def stencil_written(A, x, y):
    assert max(x.shape[0] - 2, 0) == max(y.shape[0] - 2, 0)
    for i in range(1, y.shape[0] - 1):
        y[i] = 0.5 * (x[i + 1] + x[i - 1])


def views_sliced(A, x, y):
    row = A[1]
    part = x[1:]
    for j in range(len(part)):
        row[j] += part[j]


def views_written(A, x, y):
    for j in range(max(x.shape[0] - 1, 0)):
        A[1, j] += x[j + 1]


def broadcast_sliced(A, x, y):
    A *= x
    A += np.exp(y)[None, :]


def broadcast_written(A, x, y):
    assert x.shape[0] == A.shape[1]
    assert y.shape[0] == A.shape[1]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= x[j]
    t = np.empty((1, y.shape[0]))
    for i in range(1):
        for j in range(y.shape[0]):
            t[i, j] = np.exp(y[j])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] += t[0, j]


def product_sliced(A, x, y):
    y[:3] = A @ x


def product_written(A, x, y):
    assert x.shape[0] == A.shape[1]
    assert A.shape[0] == min(3, y.shape[0])
    for i in range(A.shape[0]):
        y[i] = 0.0
        for j in range(A.shape[1]):
            y[i] += A[i, j] * x[j]


def reduction_sliced(A, x, y):
    y[0] = (x * y).sum() + np.max(x)


def reduction_written(A, x, y):
    assert y.shape[0] == x.shape[0]
    assert x.shape[0] > 0
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    m = x[0]
    for i in range(1, x.shape[0]):
        m = max(m, x[i])
    y[0] = s + m


def swap_sliced(A, x, y):
    u, v = x, y
    for _ in range(5):
        v[1:-1] = u[2:] - u[:-2]
        u, v = v, u


def swap_written(A, x, y):
    assert max(x.shape[0] - 2, 0) == max(y.shape[0] - 2, 0)
    which = 0
    for _ in range(5):
        if which <= 0:
            for i in range(1, x.shape[0] - 1):
                y[i] = x[i + 1] - x[i - 1]
        else:
            for i in range(1, x.shape[0] - 1):
                x[i] = y[i + 1] - y[i - 1]
        if which <= 0:
            which = 1
        else:
            which = 0


PAIRS = [
    (expressions_called, expressions_written),
    (branches_called, branches_written),
    (loops_called, loops_written),
    (closures_called, closures_written),
    (search_called, search_written),
    (stencil_sliced, stencil_written),
    (views_sliced, views_written),
    (broadcast_sliced, broadcast_written),
    (product_sliced, product_written),
    (reduction_sliced, reduction_written),
    (swap_sliced, swap_written),
]


def loops_of(function: Callable[..., Any]) -> str:
    """The normal form of `function`, with names in the order in which they stand there."""
    args = {"A": np.ones((3, 4)), "x": np.ones(4), "y": np.ones(4)}
    body = print_loopset(normal_form(function, args)).split("\n", 1)[1]
    lines = (line for line in body.splitlines() if not line.lstrip().startswith(("local", "require")))
    code = re.sub(r"\b(max|min)=", r"\1()=", "\n".join(lines))
    names: dict[str, str] = {}
    words = {"for", "in", "range", "let", "if", "else", "return", "exit", "not", "shape", *args}

    def renamed(word: re.Match[str]) -> str:
        return word[0] if word[0] in words else names.setdefault(word[0], f"n{len(names)}")

    return re.sub(r"\b[a-z_]\w*\b(?!\()", renamed, code)


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda f: f.__name__)
def test_same_loops(one: Callable[..., Any], other: Callable[..., Any]) -> None:
    assert loops_of(one) == loops_of(other)
