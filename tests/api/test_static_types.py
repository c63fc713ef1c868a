# pyright: reportUnnecessaryTypeIgnoreComment=true, reportArgumentType=true, reportCallIssue=true
"""What type checkers know of differentiable functions: pyright reads this file in CI, so that each line is a test."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.calls.pullback import Pullback

Vector = NDArray[np.float64]


@vectorize_grad
def power_sum(x: Vector, n: int = 2) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] ** n
    return total


@vectorize_grad(wrt="x", fastmath=False)
def scale(x: Vector, y: Vector) -> None:
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]


def test_results_have_the_types_of_the_function() -> None:
    x = np.ones(3)
    assert assert_type(power_sum(x, 2), float) == 3.0
    value, gradients = assert_type(power_sum.value_and_grad(x, n=2), tuple[float, Any])
    assert (value, gradients.x[0]) == (3.0, 2.0)
    assert_type(power_sum.vjp(x, 2), tuple[float, Pullback])
    assert_type(power_sum.on("cpu")(x, 2), float)
    assert_type(scale(x, np.ones(3)), None)


def test_arguments_are_those_of_the_function() -> None:
    with pytest.raises(ArgumentError):
        power_sum("x", 2)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ArgumentError):
        power_sum.grad(np.ones(3), 2, m=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ArgumentError):
        scale.vjp(np.ones(3))  # pyright: ignore[reportCallIssue]
