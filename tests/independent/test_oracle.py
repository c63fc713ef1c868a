"""The oracle itself: against closed forms, differences, and its own other mode."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from . import oracle
from .bindings import programs
from .calls import CALLS
from .expected import Expected, Program, Unusable, expected
from .idioms import idioms
from .lists import listed
from .models import models
from .structures import leaves, mapped


@pytest.mark.parametrize(
    "program", [*idioms(), *listed(), *models(), *programs()[::8]], ids=lambda program: program.name
)
def test_modes_agree_with_each_other_and_with_differences(program: Program) -> None:
    want = expected(program.source, program.args)
    gradients = want.run.pull(want.seeds, want.weights)
    by_reverse = sum(product(gradients[name], want.tangents[name]) for name in gradients)
    by_forward = sum(
        np.sum(s * t) for s, t in zip(want.seeds, want.result_tangents, strict=True) if not isinstance(s, int)
    )
    by_forward += sum(product(want.weights[name], t) for name, t in want.final_tangents.items())
    assert by_reverse == pytest.approx(by_forward, rel=1e-9, abs=1e-9)
    there, back = (weighted_outputs(program, want, step) for step in (1e-6, -1e-6))
    assert by_reverse == pytest.approx((there - back) / 2e-6, rel=2e-5, abs=2e-5)


def product(one: Any, other: Any) -> float:
    pairs = zip(leaves(one), leaves(other), strict=True)
    return sum(np.sum(a * b) for (_, a), (_, b) in pairs if a is not None and b is not None)


def weighted_outputs(program: Program, want: Expected, step: float) -> float:
    def moved(value: Any, tangent: Any) -> Any:
        return value if tangent is None else value + step * tangent

    args = copy.deepcopy(program.args)
    args.update({name: mapped(moved, args[name], tangent) for name, tangent in want.tangents.items()})
    result = oracle.items(oracle.plain_function(program.source)(**args))
    total = sum(np.sum(s * np.asarray(r)) for s, r in zip(want.seeds, result, strict=True) if not isinstance(s, int))
    return total + sum(product(weight, args[name]) for name, weight in want.weights.items())


def test_functions_of_numpy() -> None:
    """Every call that is drawn, of vectors and matrices in general position."""
    rng = np.random.default_rng(3)
    args = {name: rng.uniform(-1.5, 1.5, shape) for name, shape in [("v", 4), ("w", 4), ("P", (4, 4)), ("Q", (4, 4))]}
    args["s"] = 0.7
    for call in {call for lines in CALLS.values() for line in lines for call in line}:
        source = f"def f(v, w, P, Q, s):\n    L, c = 4, 0.4\n    return {call}\n"
        test_modes_agree_with_each_other_and_with_differences(Program(source, args, call))


def test_kinks_are_those_of_the_conventions() -> None:
    source = """
def f(x):
    y = np.empty((4, 3))
    for i in range(4):
        y[i, 0] = max(x[i], 0.0)
        y[i, 1] = abs(x[i])
        y[i, 2] = x.max()
    return y
"""
    run = oracle.taped(source, {"x": np.array([-4.0, 0.0, 4.0, 4.0])})
    columns = [run.pull([np.arange(3) == k + np.zeros((4, 3))], {})["x"].tolist() for k in range(3)]
    assert columns == [[0.0, 0.5, 1.0, 1.0], [-1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0]]


def test_large_numbers_that_cancel_are_left_alone() -> None:
    source = "def f(x):\n    y = 1e7 * x\n    return (y * y).sum() - np.dot(y, y) + x[0]\n"
    with pytest.raises(Unusable, match="large"):
        expected(source, {"x": np.array([1.0, 3.0])})


def test_second_derivatives() -> None:
    run = oracle.taped_dual(
        "def f(x):\n    return (x ** 3).sum() + x[0] * x[1]\n", {"x": np.array([2.0, 3.0])}, {"x": np.array([1.0, 0.5])}
    )
    assert run.pull([1.0], {}, oracle.tangent)["x"].tolist() == [12.0 + 0.5, 9.0 + 1.0]
