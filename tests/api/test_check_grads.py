"""`check_grads` passes right derivatives, finds wrong ones, and says where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import GradientCheckError, check_grads, vectorize_grad
from tests.api.programs import grouped, grow, halves_and_count, plain_sum, recurrence, total, weighted_square

X, W = np.arange(1.0, 5.0), np.array([1.0, 0.5, 2.0, 1.0])


@pytest.mark.parametrize(
    ("function", "args", "pairs"),
    [
        (recurrence, (X, W), ["x by x", "x by a"]),
        (grow, (X / 4, 2), ["y by y"]),
        (halves_and_count, (X, 1.5), ["result_0 by x", "result_0 by limit", "result_2 by x", "result_2 by limit"]),
        (grouped, (np.array([0, 1, 1, 4]), X), ["result by x"]),
        (total, (X.astype(np.float32),), ["result by x"]),
        (plain_sum, (X,), ["result by x"]),
    ],
    ids=["in place", "time loop", "tuple", "counted", "float32", "plain"],
)
def test_right_derivatives_pass_and_arguments_stay(function: Any, args: Any, pairs: list[str]) -> None:
    before = [np.copy(a) for a in args]
    report = check_grads(function, args)
    assert report.is_good
    assert [f"{p.output} by {p.input}" for p in report.pairs] == pairs
    for found, expected in zip(args, before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_worst_entry_is_named() -> None:
    @vectorize_grad
    def distances(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += abs(x[i])
        return s

    with pytest.raises(GradientCheckError) as caught:
        check_grads(distances, (np.array([1.0, -2.0, 1e-9, 4.0]),))
    (pair,) = caught.value.report.pairs
    assert (pair.output, pair.input, pair.entry) == ("result", "x", (2,))
    assert "x[2]" in str(caught.value)
    assert isinstance(caught.value, AssertionError)


def test_a_wrong_reverse_sweep_is_found_by_forward_mode() -> None:
    """Where no kink and no difference is to blame: the reverse sweep itself is made to lie."""

    class Lying(type(total)):
        def vjp(self, *args: Any, **named: Any) -> Any:
            value, pullback = super().vjp(*args, **named)
            pull = pullback.pull
            pullback.pull = lambda *a: [g * (1.0 + 1e-8) for g in pull(*a)]
            return value, pullback

    lying = Lying(total.plain, total.program, None, total.options)
    with pytest.raises(GradientCheckError) as caught:
        check_grads(lying, (X,))
    assert not caught.value.report.is_transpose
    assert all(p.is_good for p in caught.value.report.pairs)


def test_defaults_and_few_entries() -> None:
    @vectorize_grad
    def scaled(x, factor=3.0):
        s = 0.0
        for i in range(x.shape[0]):
            s += factor * x[i] * x[i]
        return s

    assert check_grads(scaled, (np.linspace(0.5, 1.5, 300),), entries=2).is_good


def test_a_chosen_tolerance_counts() -> None:
    with pytest.raises(GradientCheckError):
        check_grads(weighted_square, (X**3, W, np.zeros(4), 1.1), rtol=1e-17, step=0.3)
