"""The ten kernels on which tools are compared: whole gradients against closed forms or dual numbers in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.fuzz.duals import Trace, run_on_duals, slopes_of
from tests.corpus import BY_NAME
from tests.gradients.harness import decorated, inner, named_results, outputs_of, pull_back, weights

KERNELS = {
    1: "carried_product",
    2: "inverse_of_sum",
    3: "read_then_overwrite",
    4: "sine_recurrence",
    5: "while_newton",
    6: "running_maximum_with_continue",
    7: "triangular_carry",
    8: "scatter_then_square",
    9: "iterated_square",
    10: "break_on_data",
}


@pytest.mark.parametrize("name", KERNELS.values())
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_equals_that_of_dual_numbers(name: str, seed: int) -> None:
    entry = BY_NAME[name]
    args = entry.args(seed)
    weight = weights(outputs_of(entry, entry.function(*args.values()), args), seed)
    found = pull_back(entry, entry.args(seed), weight)
    for argument in entry.wrt:
        expected = gradient_on_duals(name, seed, argument, weight)
        np.testing.assert_allclose(found[argument], expected, rtol=1e-12, atol=1e-13, err_msg=argument)


def gradient_on_duals(name: str, seed: int, argument: str, weight: dict[str, Any]) -> np.ndarray:
    """One forward run in plain Python for each element of `argument`."""
    entry = BY_NAME[name]
    shape = np.shape(entry.args(seed)[argument])
    gradient = np.zeros(shape)
    for element in np.ndindex(shape):
        args, along = entry.args(seed), np.zeros(shape)
        along[element] = 1.0
        result, after = run_on_duals(entry.function, args, {argument: along[()]}, Trace(0.0))
        outputs = named_results(result) | {name: after[name] for name in entry.outputs}
        gradient[element] = inner({name: slopes_of(outputs[name]) for name in weight}, weight)
    return gradient


def test_carried_product_of_five_of_six() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, 3.5, 9.0])
    value, g = decorated("carried_product").value_and_grad(x, 5)
    assert value == 0.0
    assert g.x.tolist() == [0.0, 0.0, 0.0, 1.0 * 2.0 * 3.0 * 4.0, 0.0, 0.0]


def test_inverse_of_sum() -> None:
    x = np.array([1.0, 2.0, 3.0, 9.0])
    value, g = decorated("inverse_of_sum").value_and_grad(x, 3)
    assert value == 1.0 / 14.0
    np.testing.assert_allclose(g.x, [-2 / 196, -4 / 196, -6 / 196, 0.0], rtol=1e-15)


def test_newton_follows_the_iterations_it_made() -> None:
    value, g = decorated("while_newton").value_and_grad(2.0, 1e-12)
    assert value == pytest.approx(np.sqrt(2.0), rel=1e-15)
    assert g.a == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-9)


def test_continue_keeps_the_decision_of_each_iteration() -> None:
    x, y = np.array([2.0, -5.0, 1.0, 3.0, 2.0]), np.zeros(5)
    _, pullback = decorated("running_maximum_with_continue").vjp(x, y)
    assert y.tolist() == [8.0, 0.0, 4.0, 27.0, 18.0]
    # y = x0^3, -, x0^2 x2, x3^3, x3^2 x4
    assert pullback(0.0, y=np.ones(5)).x.tolist() == [12.0 + 4.0, 0.0, 4.0, 27.0 + 12.0, 9.0]
    assert pullback(1.0).x.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_break_on_data() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    value, g = decorated("break_on_data").value_and_grad(x, 5.5)
    # s0 = x0^3, s1 = (s0 + x1^2) x1 = 10, s2 = s1 + x2^2 = 19 > 5.5 after the first two iterations' tests
    assert value == 19.0**2
    s1_by_x1 = 1.0 + 3 * 4.0
    assert g.x.tolist() == [2 * 19.0 * 2.0 * 3.0, 2 * 19.0 * s1_by_x1, 2 * 19.0 * 6.0, 0.0]
