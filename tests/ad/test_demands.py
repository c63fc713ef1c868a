"""What is kept is the least of values, of what they are made of, and of copies: counted by hand; gradients right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

N, T = 5, 3
STATE = T * N


def three_factors(x, y, z):
    """Derivatives by all of them: two products of pairs more would be five."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i] * y[i] * z[i]
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def exponential(x, y, z):
    """It is its own derivative, and nobody asks for `x`."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * np.exp(x[i]) + y[i] + z[i]


def exponential_of_what_is_asked_for(x, y, z):
    """`x`, from which the exponential follows."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * np.exp(x[i]) * np.sin(x[i]) + y[i] + z[i]


def sum_of_three(x, y, z):
    """Nothing but the sum is asked for."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * (x[i] + y[i] - z[i]) ** 2
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def sum_and_two_of_its_terms(x, y, z):
    """With `x` and `y` asked for, `z` gives the sum."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * (x[i] + y[i] - z[i]) ** 2 + np.sin(x[i]) * np.cos(y[i])
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def named_and_asked_for(x, y, z):
    """One recording for a name and for the value that it names."""
    for _ in range(T):
        for i in range(x.shape[0]):
            ratio = (x[i] + y[i]) / z[i]
            x[i] = 0.1 * ratio * ratio
            y[i] = 0.9 * y[i]


def in_a_branch(x, y, z):
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = (0.1 * np.exp(x[i]) if z[i] > 0.5 else 0.5 * x[i]) + y[i]


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (three_factors, 3),
        (exponential, 1),
        (exponential_of_what_is_asked_for, 1),
        (sum_of_three, 1),
        (sum_and_two_of_its_terms, 3),
        (named_and_asked_for, 1),
        (in_a_branch, 1),
    ],
)
@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
def test_no_more_is_kept_than_it_takes(function: Callable[..., Any], arrays: int, policy: Any) -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        f = vectorize_grad(tape=policy)(function)
        check_grads(f, args)
        kept = sum(t.bytes or 0 for t in f.compile(*args).temporaries if t.decision == "store")
    if policy == "auto":
        assert kept == arrays * STATE * 8


def test_the_exponential_itself_is_kept() -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        kept = {p: vectorize_grad(tape=p)(exponential).compile(*args).temporaries for p in ("auto", "store")}
    assert {p: [t.name for t in found] for p, found in kept.items()} == {"auto": ["exp_tape"], "store": ["exp_tape"]}
