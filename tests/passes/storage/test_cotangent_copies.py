"""Cotangents that are only read: told from what reverse sweeps put in their place, or left as they were."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir.walk import written_arrays
from loopdiff.pipeline.derive import derive_sweeps
from loopdiff.pipeline.stages import Stages
from tests.gradients.interpreted import interpreting, normal_form

SHAPE = (3, 4)


def normalised(x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * x[i, j]
            s += y[i, j]
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] / s


def again(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = y[i, j] * y[i, j] * x[i, j]


def products(x, y):
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = y[i, j - 1] * x[i, j]


def chosen(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j]
            if i > 0:
                y[i, j] = y[i, j] * y[i, j]


@pytest.mark.parametrize(
    ("function", "is_kept"), [(normalised, True), (again, True), (products, False), (chosen, False)]
)
def test_a_cotangent_is_read_only_where_it_is_told_from_what_follows(
    function: Callable[..., None], is_kept: bool
) -> None:
    x, y = np.random.default_rng(0).uniform(0.5, 1.5, (2, *SHAPE))
    sweeps = derive_sweeps(normal_form(function, {"x": x, "y": y}), ("x",), "auto", Stages("test"), "pullback")
    assert ("y_adj" in written_arrays(sweeps.reverse.body)) is not is_kept
    assert ("y_adj_own" in sweeps.forward.params) is is_kept
    assert sweeps.reverse.params[: len(sweeps.forward.params)] == sweeps.forward.params


@pytest.mark.parametrize("function", [normalised, again, products, chosen])
def test_gradients_are_those_of_complex_steps(function: Callable[..., None]) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.uniform(0.5, 1.5, (2, *SHAPE))
    weight = rng.standard_normal(SHAPE)
    expected = np.empty(SHAPE)
    for place in np.ndindex(SHAPE):
        moved, out = x.astype(complex), y.astype(complex)
        moved[place] += 1e-30j
        function(moved, out)
        expected[place] = np.sum(weight * out.imag) / 1e-30
    with interpreting():
        given = weight.copy()
        pullback = vectorize_grad(function).vjp(x, y.copy())[1]
        for _ in range(2):
            np.testing.assert_allclose(pullback(y=given).x, expected, rtol=1e-12)
        np.testing.assert_array_equal(given, weight)


def test_a_cotangent_that_is_only_read_takes_no_room_of_its_own() -> None:
    x, y, weight = np.random.default_rng(2).uniform(0.5, 1.5, (3, *SHAPE))
    with interpreting():
        pullback = vectorize_grad(wrt=("x",))(normalised).vjp(x, y)[1]
        assert sorted(a.shape for a in pullback.arrays) == [SHAPE[:1], SHAPE]
        expected = pullback(y=weight).x
        for other in (np.asfortranarray(weight), weight.tolist(), np.repeat(weight, 2, axis=1)[:, ::2]):
            np.testing.assert_array_equal(pullback(y=other).x, expected)
        np.testing.assert_array_equal(pullback().x, np.zeros(SHAPE))
