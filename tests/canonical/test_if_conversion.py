"""Integers that branches set: one value each, decided once, and no longer than what was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.walk import statements, stmt_exprs, subexprs
from tests.gradients.interpreted import normal_form


def hashed(x, q, y):
    for i in range(x.shape[0]):
        if q[i] > 3:
            k = q[i] * 7 + 1
        else:
            k = (q[i] ^ 5) % 4
        y[k % 5] += x[i]


def two_cells(x, q, y):
    for i in range(x.shape[0]):
        k, is_odd = 0, False
        if q[i] & 1:
            k = q[i]
            is_odd = True
        y[k % 5] += 2.0 * x[i] if is_odd else x[i]


def swapped(x, q, y):
    for i in range(x.shape[0]):
        a, b = q[i], 2
        if x[i] > 0.5:
            a, b = b, a
        y[a % 5] += x[i]
        y[b % 5] -= 1.0


def divided(x, q, y):
    for i in range(x.shape[0]):
        if q[i] > 0:
            k = 7 // q[i]
        else:
            k = 1
        y[k % 5] += x[i]


def floating(x, q, y):
    for i in range(x.shape[0]):
        if q[i] > 3:
            t = x[i]
        else:
            t = 2.0
        y[q[i] % 5] += t


def carried(x, q, y):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            k = k + 1
        y[k % 5] += x[i]


def shared(x, q, y):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            k = int(4.0 * x[i] * x[i])
            h = k + 1
        else:
            k, h = 0, 1
        y[k % 5] += x[i]
        y[h % 5] += 1.0


@pytest.mark.parametrize(
    ("function", "is_value"),
    [
        (hashed, True), (two_cells, True), (divided, True),
        (swapped, False), (floating, False), (carried, False), (shared, False),
    ],
)  # fmt: skip
def test_which_branches_become_values(function: Callable[..., Any], is_value: bool) -> None:
    rng = np.random.default_rng(0)
    args: dict[str, Any] = {"x": rng.random(20), "q": rng.integers(0, 9, 20), "y": np.zeros(5)}
    ls = normal_form(function, args)
    assert is_value != any(isinstance(s.stmt, ir.If) and s.loops for s in statements(ls.body))
    expected = {n: a.copy() for n, a in args.items()}
    function(**expected)
    run(ls, args)
    np.testing.assert_array_equal(args["y"], expected["y"])


def bits(x, q, y):
    for i in range(x.shape[0]):
        k = q[i]
        if x[i] > 0.5:
            if k & 1:
                k = k ^ (k >> 1)
            if k & 2:
                k = k ^ (k >> 2)
            if k & 4:
                k = k ^ (k >> 1)
            if k & 8:
                k = k ^ (k >> 2)
            if k & 16:
                k = k ^ (k >> 1)
            if k & 32:
                k = k ^ (k >> 2)
        y[k % 5] += x[i]


def test_values_are_not_put_into_each_other() -> None:
    ls = normal_form(bits, {"x": np.ones(2), "q": np.ones(2, int), "y": np.zeros(5)})
    choices = [
        e for s in statements(ls.body) for x in stmt_exprs(s.stmt) for e in subexprs(x) if isinstance(e, ir.Select)
    ]
    assert len(choices) <= 6 * 2  # those of the checks' own nest, and of the program's
