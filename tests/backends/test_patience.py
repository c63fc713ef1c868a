"""Where generated code looks out for signals: in what may take long, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.api.interrupted import few

X = np.linspace(0.1, 1.0, 9)


def scaled(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]
    return y


def shifted(a):
    b = np.zeros_like(a)
    for i in range(1, a.shape[0]):
        for j in range(a.shape[1] - 1):
            b[i, j] = a[i - 1, j + 1] - a[i, j]
    return b


def constant(x):
    t = 0.0
    for i in range(100):
        for j in range(20):
            t += x[0] * i * j
    return t


def counted(x, n):
    t = 0.0
    for i in range(n):
        t += x * i
    return t


def in_few(x, n):
    t = 0.0
    for c in range(8):
        for i in range(n):
            t += np.sin(x * i + c)
    return t


def repeated(x):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            t += x[i] * x[j]
    return t


def wrapped(x, n):
    t = 0.0
    for i in range(n):
        t += x[i % 3]
    return t


def guarded(x, n):
    t = 0.0
    for i in range(n):
        if i < x.shape[0]:
            t += x[i]
    return t


def until(x, n):
    t, k = x, 0
    while k < n:
        t = np.cos(t)
        k += 1
    return t


def source(function: Callable[..., Any], *args: Any) -> str:
    return vectorize_grad(function).compile(*args).source("primal")


@pytest.mark.parametrize(("function", "args"), [(scaled, (X,)), (shifted, (X.reshape(3, 3),)), (constant, (X,))])
def test_what_is_over_soon_does_not_look(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert "look_out" not in source(function, *args)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (counted, (0.1, 9)), (few, (0.1, 2, 9)), (in_few, (0.1, 9)), (repeated, (X,)), (wrapped, (X, 9)),
        (guarded, (X, 9)),
        (until, (0.1, 9)),
    ],
)  # fmt: skip
def test_what_may_take_long_does(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert "look_out()" in source(function, *args)


def test_no_look_is_inside_a_loop_over_vectors() -> None:
    lines = source(in_few, 0.1, 9).splitlines()
    vectors = next(k for k, line in enumerate(lines) if re.search(r"for i in range\(i_block, i_end\w*, \d+\):", line))
    look = next(k for k, line in enumerate(lines) if "look_out()" in line)
    outside = len(lines[vectors]) - len(lines[vectors].lstrip())
    assert look > vectors
    assert lines[look - 1].index("if") == outside
