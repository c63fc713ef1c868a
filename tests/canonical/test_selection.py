"""Conditions that choose what is stored in one place: the same values, and only where nothing may fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.canonical.selection import merge_choices
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from tests.gradients.interpreted import normal_form


def limited(x, y):
    for i in range(x.shape[0]):
        r = 2.0 * x[i]
        if r > 1.0:
            y[i] = 0.0
        else:
            y[i] = -r


def in_a_branch(x, y):
    for i in range(x.shape[0]):
        if i % 2 == 0:
            if x[i] > 0.5:
                y[i] = 1.0
            else:
                y[i] = 2.0


def elsewhere(x, y):
    for i in range(x.shape[0] - 1):
        if x[i] > 0.5:
            y[i] = 1.0
        else:
            y[i + 1] = 2.0


def guarded_read(x, y):
    for i in range(x.shape[0]):
        if i > 0:
            y[i] = x[i - 1]
        else:
            y[i] = 0.0


def more_to_do(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            y[i] = 1.0
            x[i] = 0.0
        else:
            y[i] = 2.0


def from_the_element(x, y):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            y[i] = y[i] + 0.1 * x[0]
        else:
            y[i] = 0.9 * y[i]


def from_own_value(x, y):
    for i in range(x.shape[0]):
        t = 3.0 * x[i]
        if t > 1.5:
            y[i] = y[i] + t
        else:
            y[i] = 0.9 * y[i]


@pytest.mark.parametrize(
    ("function", "conditions"),
    [
        (limited, 0),
        (from_own_value, 0),
        (from_the_element, 1),
        (in_a_branch, 1),
        (elsewhere, 1),
        (guarded_read, 1),
        (more_to_do, 1),
    ],
)  # fmt: skip
def test_choices(function: Callable[..., Any], conditions: int) -> None:
    args = {n: np.random.default_rng(0).random(9) for n in "xy"}
    found = merge_choices(normal_form(function, args))
    verify(found, "choices")
    assert sum(isinstance(s.stmt, ir.If) for s in statements(found.body[-1:])) == conditions
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    function(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)
