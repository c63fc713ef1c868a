"""Traps in which other tools return wrong gradients without a word; each test states the right values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, DifferentiationError, vectorize_grad
from loopdiff.fuzz.duals import Trace, run_on_duals, slopes_of
from tests.corpus import BY_NAME
from tests.gradients.harness import decorated

pytestmark = pytest.mark.part(2)
TABLE = np.arange(3.0)
WEIGHT = 2.0


def on_duals(name: str, args: dict[str, Any], wrt: str) -> tuple[float, np.ndarray]:
    """Value and gradient by dual numbers in plain Python."""
    slopes = np.zeros(np.shape(args[wrt]))
    value = 0.0
    for element in np.ndindex(slopes.shape):
        along = np.zeros(slopes.shape)
        along[element] = 1.0
        result, _ = run_on_duals(BY_NAME[name].function, args, {wrt: along[()]}, Trace(0.0))
        value, slopes[element] = result.value, slopes_of(result)
    return value, slopes


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


@pytest.mark.parametrize("form", ["test_at_the_{}", "{}"])
def test_condition_at_the_top_or_at_the_bottom(form: str) -> None:
    x = np.array([0.75, 0.5])
    names = ("top", "bottom") if form != "{}" else ("while_at_the_top", "until_at_the_bottom")
    top, bottom = (decorated(form.format(n)).value_and_grad(x, 2.0) for n in names)
    # 0.75 -> 1.0625 -> 1.62890625 -> 3.1533...; d/dx0 = 2*v2 * 2*v1 * 2*v0, d/dx1 = 1 + 2*v2 * (1 + 2*v1)
    v0, v1, v2 = 0.75, 1.0625, 1.62890625
    assert top[0] == bottom[0] == v2 * v2 + 0.5
    expected = [8 * v0 * v1 * v2, 1 + 2 * v2 * (1 + 2 * v1)]
    np.testing.assert_allclose(top[1].x, expected, rtol=1e-15)
    np.testing.assert_array_equal(bottom[1].x, top[1].x)


def test_condition_that_never_holds() -> None:
    x = np.array([2.5, 0.5])
    assert decorated("while_at_the_top").grad(x, 2.0).x.tolist() == [1.0, 0.0]
    assert decorated("until_at_the_bottom").grad(x, 2.0).x.tolist() == [5.0, 1.0]


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


def test_loop_bound_that_changes_after_it_was_used() -> None:
    x, count = np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2, 0, 3, 0, 0])
    args = dict(x=x, count=count.copy())
    after = count.copy()
    value, g = decorated("bound_changed_after_use").value_and_grad(x, after)
    assert after.tolist() == [2, 2, 1, 0, 0]
    expected, slopes = on_duals("bound_changed_after_use", args, "x")
    assert (value, g.x.tolist()) == (expected, slopes.tolist())


@pytest.mark.parametrize("name", ["spilled_functions", "divisor_in_loop"])
def test_each_iteration_has_its_own_intermediate_values(name: str) -> None:
    x = np.array([0.9, 0.4, 0.7, 1.3])
    value, slopes = on_duals(name, {"x": x}, "x")
    found, g = decorated(name).value_and_grad(x)
    assert found == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(g.x, slopes, rtol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_as_many_trips_as_the_condition_asks_for(n: int) -> None:
    x = 2.0 if n == 5 else 1.0005
    value, g = decorated("as_many_factors").value_and_grad(x, n)
    assert value == pytest.approx(x**n, rel=1e-13)
    assert g.x == pytest.approx(n * x ** (n - 1), rel=1e-13)  # 5 trips: 80


def test_helper_that_changes_its_arguments_in_a_loop() -> None:
    x, y = np.array([1.0, 2.0]), np.array([0.5, 1.0])
    value, g = decorated("changed_by_helper_in_loop").value_and_grad(x, y, 1)
    # y0 -> y0^2 + x0^2, y1 -> y1 (y0^2 + x0^2)... : the scale is y0 as it was when the call was made
    y0, x1 = 0.25 + 1.0, 0.5 * 2.0 + (1.0 * 0.5 + 4.0) ** 2
    assert value == y0 * x1
    y1 = 4.5
    assert g.x.tolist() == [2.0 * x1, y0 * (0.5 + 2 * y1 * 4.0)]
    assert g.y.tolist() == [x1 + y0 * 2 * y1 * 1.0, y0 * 2 * y1 * 0.5]


def test_array_written_under_another_name() -> None:
    a, y = np.array([2.0, 3.0, 4.0]), np.zeros(3)
    _, pullback = decorated("written_under_another_name").vjp(a, y)
    assert (a.tolist(), y.tolist()) == ([2.0, 6.0, 24.0], [0.0, 12.0, 144.0])
    # y1 = a0 a1 a0, y2 = a0 a1 a2 a0 a1
    assert pullback(y=np.array([0.0, 1.0, 0.0])).a.tolist() == [12.0, 4.0, 0.0]
    assert pullback(y=np.array([0.0, 0.0, 1.0])).a.tolist() == [144.0, 96.0, 36.0]


def test_write_through_a_view() -> None:
    a, y = np.array([2.0, 3.0, 4.0]), np.zeros(1)
    _, pullback = decorated("written_through_a_view").vjp(a, y)
    assert (a.tolist(), y.tolist()) == ([2.0, 6.0, 24.0], [144.0])
    assert pullback(y=np.ones(1)).a.tolist() == [144.0, 96.0, 36.0]  # a0^2 a1^2 a2


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_buffers_swapped_in_a_time_loop(steps: int) -> None:
    args = dict(u=np.array([1.0, 2.0, 3.0, 4.0]), v=np.array([1.0, 5.0, 6.0, 4.0]), steps=steps)
    found, g = decorated("swapped_in_time").value_and_grad(args["u"].copy(), args["v"].copy(), steps)
    for name in ("u", "v"):
        value, slopes = on_duals("swapped_in_time", args, name)
        assert found == value
        assert getattr(g, name).tolist() == slopes.tolist()


def test_slice_assignment_in_a_time_loop() -> None:
    a = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    _, pullback = decorated("slices_in_time").vjp(a, 0.5, 2)
    g = pullback(a=np.ones(5))
    # 2 -> 3.5 -> 7.5, 3 -> 8 -> 35.25, 4 -> 14.5 -> 118.5: the right side is read before the left is written
    assert a.tolist() == [1.0, 7.5, 35.25, 118.5, 5.0]
    assert (g.a.tolist(), g.c) == ([22.5, 64.5, 75.5, 34.75, 5.75], 171.0)


def test_array_changed_between_the_sweeps() -> None:
    x, y = np.array([0.5, -1.5]), np.zeros(2)
    _, pullback = decorated("buffer_not_differentiated").vjp(x, np.zeros(2), y)
    expected = pullback(y=np.ones(2)).x.tolist()
    x[0] = 7.0
    with pytest.raises(ArgumentError, match="LD348: `x` was changed after the forward sweep"):
        pullback(y=np.ones(2))
    x[0] = 0.5
    assert pullback(y=np.ones(2)).x.tolist() == expected


def test_bounds_changed_between_the_sweeps() -> None:
    x, count = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 3])
    _, pullback = decorated("nested_dynamic_loops").vjp(x, count)
    count[0] = 1
    with pytest.raises(ArgumentError, match="LD348: `count`"):
        pullback()


def test_counter_that_is_an_index() -> None:
    x, y = np.array([0.5, 0.1, 2.0, 0.2, 1.0]), np.zeros(5)
    value, g = decorated("packed_by_a_counter").value_and_grad(x, y)
    assert y.tolist() == [0.25, 4.0, 1.0, 0.0, 0.0]
    assert (value, g.x.tolist()) == (17.0625, [0.5, 0.0, 32.0, 0.0, 4.0])


def test_index_stepped_by_hand() -> None:
    x, y = np.array([1.0, 2.0, 3.0, 0.25, 5.0, 6.0]), np.full(6, 7.0)
    _, pullback = decorated("index_stepped_by_hand").vjp(x, y)
    assert y.tolist() == [1.0, 7.0, 7.0, 0.0625, 7.0, 36.0]
    g = pullback(y=np.ones(6))
    assert g.x.tolist() == [2.0, 0.0, 0.0, 0.5, 0.0, 12.0]
    assert g.y.tolist() == [0.0, 1.0, 1.0, 0.0, 1.0, 0.0]


def test_derivatives_pass_through_buffers_that_are_not_differentiated() -> None:
    x, y = np.array([0.5, -1.5]), np.zeros(2)
    _, pullback = decorated("buffer_not_differentiated").vjp(x, np.zeros(2), y)
    np.testing.assert_allclose(pullback(y=np.ones(2)).x, 2 * x * np.sin(x * x) + 2 * x**3 * np.cos(x * x), rtol=1e-14)


def first_of_longer(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    for i in range(x.shape[0], y.shape[0]):
        y[i] = 1.0


@pytest.mark.parametrize("longer", [0, 5])
def test_shapes_do_not_scale_gradients_of_jax_functions(longer: int) -> None:
    jax = pytest.importorskip("jax")
    import loopdiff.jax

    g = loopdiff.jax.wrap(vectorize_grad(first_of_longer), outputs={"y": lambda x: (x.shape[0] + longer,)})
    x = np.array([1.0, 2.0, 3.0])
    assert jax.jit(jax.grad(lambda x: g(x).sum()))(x).tolist() == [2.0, 4.0, 6.0]


def product_of_matrices(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            C[i, j] = 0.0
            for k in range(B.shape[0]):
                C[i, j] += A[i, k] * B[k, j]


def test_zero_factors_of_a_matrix_product_have_derivatives() -> None:
    A, B, seed = np.zeros((2, 3)), np.zeros((3, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    A[0, 1] = B[2, 0] = 5.0
    _, pullback = vectorize_grad(wrt=("A", "B"))(product_of_matrices).vjp(A, B, np.zeros((2, 2)))
    g = pullback(C=seed)
    np.testing.assert_array_equal(g.A, seed @ B.T)
    np.testing.assert_array_equal(g.B, A.T @ seed)


def scaled_by_constant(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i] * WEIGHT
    return s


def scaled_by_table(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * TABLE[i]
    return s


def test_numbers_from_outside_are_constants_and_arrays_are_read_at_each_call() -> None:
    assert vectorize_grad(scaled_by_constant).grad(np.array([1.0, 3.0])).x.tolist() == [4.0, 12.0]
    scaled = vectorize_grad(scaled_by_table)
    x = np.ones(TABLE.shape[0])
    np.testing.assert_array_equal(scaled.grad(x).x, TABLE)
    TABLE[0] += 1.0
    try:
        np.testing.assert_array_equal(scaled.grad(x).x, TABLE)
    finally:
        TABLE[0] -= 1.0


def test_what_has_no_derivative_cannot_be_asked_for() -> None:
    with pytest.raises(DifferentiationError, match="LD402: `idx` is int64"):
        vectorize_grad(wrt=("x", "idx"))(BY_NAME["scatter_then_square"].function).grad(
            np.ones(2), np.array([0, 1]), np.ones(2)
        )


def test_second_derivative_through_compiled_code() -> None:
    def f(x):
        p = 1.0
        for i in range(x.shape[0]):
            p = p * x[i] * x[i]
        return p

    x, v = np.array([1.0, 2.0, 0.0]), np.array([1.0, -1.0, 2.0])
    # p = (x0 x1 x2)^2; only d2p/dx2^2 = 2 (x0 x1)^2 = 8 is left at x2 = 0
    value, g, hv = vectorize_grad(f).hvp((x,), {"x": v})
    assert (value, g.x.tolist()) == (0.0, [0.0, 0.0, 0.0])
    np.testing.assert_allclose(hv.x, [0.0, 0.0, 16.0], atol=1e-14)
