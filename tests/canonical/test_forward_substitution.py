"""Truth values that are worked out where they are asked for: the same, and only while their operands are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir.interpret import run
from loopdiff.ir.types import BOOL
from loopdiff.ir.verify import verify
from tests.gradients.interpreted import normal_form


def asked_again(x, y):
    for t in range(2):
        low, high = 0.2 * t, 0.2 * t + 0.5
        m = np.logical_and(low <= x, x < high)
        y[m] += x.sum() * m.sum()


def at_other_subscripts(x, y):
    m = x > 0.5
    for i in range(x.shape[0]):
        if m[x.shape[0] - 1 - i]:
            y[i] = x[i]


def operands_are_written(x, y):
    m = x > 0.5
    x[:] = y
    y[m] = 0.0


def element_is_written(x, y):
    m = x > 0.5
    m[2] = not m[2]
    y[m] = 0.0


def a_part(x, y):
    m = np.zeros(x.shape[0], dtype=np.bool_)
    for i in range(2, x.shape[0]):
        m[i] = x[i] > 0.5
    y[m] = 0.0


def written_by_the_reader(x, y):
    m = x > 0.5
    for i in range(1, x.shape[0]):
        if m[i]:
            x[i - 1] = 0.0
        if m[i - 1]:
            y[i] = 0.0


CASES = {
    asked_again: 0, at_other_subscripts: 0, operands_are_written: 1, element_is_written: 1, a_part: 1,
    written_by_the_reader: 1,
}  # fmt: skip


@pytest.mark.parametrize(("function", "held"), CASES.items())
def test_conditions(function: Callable[..., Any], held: int) -> None:
    rng = np.random.default_rng(2)
    args = {"x": rng.random(9), "y": rng.random(9)}
    found = normal_form(function, args)
    verify(found, "substitute")
    truths = [a for a in found.arrays if a.extents and a.type is not None and a.type.element == BOOL]
    assert len(truths) == held
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    function(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)
