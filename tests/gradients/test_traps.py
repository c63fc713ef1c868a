"""Traps in which other tools return wrong gradients without a word; each test states the right values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.gradients.harness import decorated


def test_accumulator_used_nonlinearly_after_a_dynamic_loop() -> None:
    x = np.array([1.0, 2.0, 2.0, 9.0])
    value, g = decorated("nonlinear_after_loop").value_and_grad(x, 3)
    assert value == 84.0
    np.testing.assert_allclose(g.x, (1 / 3 + 36) * np.array([1, 2, 2, 0]), rtol=1e-15)


def test_product_carried_by_a_loop() -> None:
    value, g = decorated("product_in_loop").value_and_grad(np.array([2.0, 3.0, 4.0, 5.0]))
    assert value == 120.0
    assert g.x.tolist() == [60.0, 40.0, 30.0, 24.0]


@pytest.mark.parametrize(
    ("x", "expected"),
    [([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]), ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0])],
)
def test_product_with_zero_factors(x: list[float], expected: list[float]) -> None:
    assert decorated("product_in_loop").grad(np.array(x)).x.tolist() == expected


def test_value_from_before_the_loop_used_after_it() -> None:
    value, g = decorated("value_from_before_the_loop").value_and_grad(np.array([2.0, 3.0, 4.0]), 3)
    assert value == 40.0
    assert g.x.tolist() == [44.0, 4.0, 4.0]


def test_nested_dynamic_loops() -> None:
    value, g = decorated("nested_dynamic_loops").value_and_grad(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 3]))
    assert value == 28.265625
    assert g.x.tolist() == [16.1875, 6.25, 9.28125]


def test_read_then_overwritten_in_one_function() -> None:
    x = np.array([0.5, -1.5, 2.0])
    before, y = x.copy(), np.zeros(3)
    value, g = decorated("read_then_overwrite").value_and_grad(x, y)
    assert x.tolist() == [0.0, 0.0, 0.0]
    assert value == pytest.approx((np.sin(before) * before**2).sum(), rel=1e-15)
    np.testing.assert_allclose(g.x, np.cos(before) * before**2 + 2 * before * np.sin(before), rtol=1e-14)


def test_small_vector_rebuilt_from_its_own_parts() -> None:
    value, g = decorated("rotated_vector").value_and_grad(np.array([1.0, 2.0, 3.0]), 2)
    assert value == -29.25
    assert g.x.tolist() == [-6.5, -10.0, -16.0]


def test_scatter_with_repeated_indices_and_later_nonlinear_use() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([1.0, 0.0, 7.0])
    idx = np.array([0, 1, 0, 1, 0])
    value, g = decorated("scatter_then_square").value_and_grad(x, idx, y)
    assert value == 10.0**3 + 6.0**3 + 7.0**3
    assert g.x.tolist() == [300.0, 108.0, 300.0, 108.0, 300.0]
    assert g.y.tolist() == [300.0, 108.0, 147.0]


def test_branch_that_rescales_an_accumulator() -> None:
    x = np.array([0.0, 1.0, -1.0, 3.0, 2.0])
    value, g = decorated("rescaling_branch").value_and_grad(x)
    weights = np.exp(x) / np.exp(x).sum()
    assert value == pytest.approx(np.log(np.exp(x).sum()), rel=1e-15)
    np.testing.assert_allclose(g.x, weights, rtol=1e-14)


def test_diagonal_access_leaves_the_rest_of_the_row_alone() -> None:
    A, x = np.arange(9.0).reshape(3, 3), np.array([1.0, 10.0, 100.0])
    value, g = decorated("diagonal_access").value_and_grad(A, x)
    assert value == 16.0 * 10 + 64.0 * 100 + 12.0 * 111
    assert g.A.tolist() == [[111.0, 0.0, 0.0], [0.0, 191.0, 0.0], [0.0, 0.0, 1711.0]]
    assert g.x.tolist() == [12.0, 28.0, 76.0]


def test_condition_at_the_top_or_at_the_bottom() -> None:
    x = np.array([0.75, 0.5])
    top = decorated("test_at_the_top").value_and_grad(x, 2.0)
    bottom = decorated("test_at_the_bottom").value_and_grad(x, 2.0)
    # 0.75 -> 1.0625 -> 1.62890625 -> 3.1533...; d/dx0 = 2*v2 * 2*v1 * 2*v0, d/dx1 = 1 + 2*v2 * (1 + 2*v1)
    v0, v1, v2 = 0.75, 1.0625, 1.62890625
    assert top[0] == bottom[0] == v2 * v2 + 0.5
    expected = [8 * v0 * v1 * v2, 1 + 2 * v2 * (1 + 2 * v1)]
    np.testing.assert_allclose(top[1].x, expected, rtol=1e-15)
    np.testing.assert_array_equal(bottom[1].x, top[1].x)


def test_index_built_in_a_loop_equals_loads_by_hand() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
    built = decorated("loop_built_index").value_and_grad(x, np.zeros(3))
    by_hand = decorated("loads_by_hand").value_and_grad(x, np.zeros(3))
    assert built[0] == by_hand[0] == 2.0 * 12.0 * 56.0
    assert built[1].x.tolist() == [1344.0, 672.0, 448.0, 336.0, 0.0, 0.0, 192.0, 168.0]
    np.testing.assert_array_equal(built[1].x, by_hand[1].x)


def test_extremes_of_columns_split_ties_and_repeat_exactly() -> None:
    A = np.array([[1.0, 5.0], [3.0, 5.0], [3.0, 2.0], [0.0, 2.0]])
    weight = {"hi": np.array([4.0, 1.0]), "lo": np.array([2.0, 8.0])}
    hi, lo = np.zeros(2), np.zeros(2)
    _, pullback = decorated("column_extremes").vjp(A, hi, lo)
    g = pullback(**weight).A
    assert (hi.tolist(), lo.tolist()) == ([3.0, 5.0], [0.0, 2.0])
    assert g.tolist() == [[0.0, 0.5], [2.0, 0.5], [2.0, 4.0], [2.0, 4.0]]
    rng = np.random.default_rng(0)
    big = rng.integers(0, 9, (500, 33)).astype(float)
    seeds = {"hi": rng.random(33), "lo": rng.random(33)}
    runs = [decorated("column_extremes").vjp(big, np.zeros(33), np.zeros(33))[1](**seeds).A for _ in range(3)]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])
    np.testing.assert_allclose(runs[0].sum(0), seeds["hi"] + seeds["lo"], rtol=1e-13)


def test_integer_casts_carry_no_derivative_and_explain_says_so() -> None:
    x, y = np.array([0.3, 0.6, 0.9]), np.zeros(3)
    f = decorated("truncated_steps")
    _, pullback = f.vjp(x, y)
    assert pullback(y=np.ones(3)).x.tolist() == [1.0, 2.0, 3.0]
    text = f.explain(x, y)
    assert "no derivative" in text
