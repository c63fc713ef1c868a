"""Gradients, pullbacks and tangents: their types, the maps they belong to, and that nothing done later changes them."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.api.programs import grouped, grow, halves_and_count, plain_sum, recurrence, total, weighted_square

pytestmark = pytest.mark.part(2)

X, W = np.arange(1.0, 5.0), np.array([1.0, 0.5, 2.0, 1.0])
STARTS = np.array([0, 1, 1, 4])
WEIGHT = np.array([0.3, 1.0, -1.0, 2.0])


def recurrence_by_hand(x: np.ndarray, a: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Adjoints of `recurrence` for the initial `x` and for `a`."""
    y = x.copy()
    recurrence.__wrapped__(y, a)
    x_adj, a_adj = weight.copy(), np.zeros_like(a)
    for i in reversed(range(1, len(x))):
        adjoint = x_adj[i]
        a_adj[i] = adjoint * x[i] * y[i - 1]
        x_adj[i] = adjoint * a[i] * y[i - 1]
        x_adj[i - 1] += adjoint * a[i] * x[i]
    return x_adj, a_adj


# -- gradients ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_are_shaped_and_typed_like_the_arguments(dtype: Any) -> None:
    x, w, y = X.astype(dtype), W.astype(dtype)[::-1], np.zeros(4, dtype)
    value, gradients = weighted_square.value_and_grad(x, w, y, dtype(2))
    assert type(value) is (float if dtype is np.float64 else dtype)
    assert (gradients.x.dtype, gradients.w.dtype, gradients.w.shape) == (dtype, dtype, (4,))
    assert isinstance(gradients.scale, float if dtype is np.float64 else np.float32)
    np.testing.assert_allclose(gradients.x, 4 * w * x, rtol=1e-6)


def test_gradients_of_mixed_types_keep_their_own() -> None:
    gradients = weighted_square.grad(X.astype(np.float32), W, np.zeros(4), 1.0)
    assert (gradients.x.dtype, gradients.w.dtype) == (np.float32, np.float64)


def test_gradients_have_the_layout_of_their_argument() -> None:
    @vectorize_grad
    def squares(x):
        s = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                s += x[i, j] * x[i, j]
        return s

    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert squares.grad(x).x.flags.f_contiguous
    np.testing.assert_array_equal(squares.grad(x).x, 2 * x)
    np.testing.assert_array_equal(squares.grad(x[:, ::2]).x, 2 * x[:, ::2])


def test_integer_arguments_are_left_out_and_outputs_that_are_read_first_are_not() -> None:
    assert weighted_square.grad(X, np.arange(4), np.zeros(4), 1.0)._fields == ("x", "scale")
    assert recurrence.vjp(X.copy(), W)[1]()._fields == ("x", "a")


def test_gradients_are_the_callers_own() -> None:
    first = total.grad(X)
    kept = first.x.copy()
    total.grad(2 * X)
    np.testing.assert_array_equal(first.x, kept)


# -- pullbacks ---------------------------------------------------------------------------------------------
def test_a_pullback_is_linear_in_its_seed() -> None:
    _, pullback = total.vjp(X)
    for seed in (-2.5, np.float32(-2.5), np.array(-2.5)):
        np.testing.assert_array_equal(pullback(seed).x, -5.0 * X)
        np.testing.assert_array_equal(pullback(seed=seed).x, -5.0 * X)
    np.testing.assert_array_equal(pullback().x, 2.0 * X)
    assert not pullback(0).x.any()


def test_seeds_and_cotangents_add_up() -> None:
    _, pullback = weighted_square.vjp(X, W, np.zeros(4), 3.0)
    np.testing.assert_allclose(pullback(y=WEIGHT).x, 2 * W * X * (3.0 + WEIGHT), rtol=1e-15)
    np.testing.assert_allclose(pullback(0.0, y=WEIGHT).x, 2 * W * X * WEIGHT, rtol=1e-15)
    np.testing.assert_array_equal(pullback(y=WEIGHT.tolist()).x, pullback(y=WEIGHT).x)


def test_an_array_written_in_place_has_the_gradient_of_its_initial_value() -> None:
    x, weight = X.copy(), WEIGHT.copy()
    _, pullback = recurrence.vjp(x, W)
    for found, expected in zip(pullback(x=weight), recurrence_by_hand(X, W, WEIGHT), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    np.testing.assert_array_equal(weight, WEIGHT)
    assert x[1] == W[1] * X[1] * X[0]


@vectorize_grad
def squares_of_rows(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * x[i, j]
    return y


@vectorize_grad
def running_products(x):
    y = x.copy()
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] *= y[i - 1, j]
    return y


def seeds_of_all_layouts() -> list[np.ndarray]:
    whole = np.arange(1.0, 13.0).reshape(3, 4)
    fixed = whole.copy()
    fixed.flags.writeable = False
    unaligned = np.empty(whole.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(3, 4)
    unaligned[...] = whole
    wide = np.zeros((3, 8))
    wide[:, ::2] = whole
    return [
        whole,
        fixed,
        unaligned,
        np.asfortranarray(whole),
        wide[:, ::2],
        whole.astype(np.float32),
        whole.astype(int),
    ]


@pytest.mark.parametrize("number", range(7))
@pytest.mark.parametrize("function", [squares_of_rows, running_products])
def test_seeds_of_any_layout_stay_as_they_are(function: Any, number: int) -> None:
    """A reverse sweep that only reads its seed takes the caller's own; one that consumes it takes a copy."""
    x = np.arange(1.0, 13.0).reshape(3, 4) / 5.0
    seed = seeds_of_all_layouts()[number]
    kept = seed.copy()
    _, pullback = function.vjp(x)
    first, again = pullback(seed).x, pullback(seed).x
    np.testing.assert_array_equal(seed, kept)
    np.testing.assert_array_equal(first, again)
    if function is squares_of_rows:
        expected = 2.0 * x * kept
    else:
        p, y = np.cumprod(x, axis=0), kept
        expected = np.cumsum((p * y)[::-1], axis=0)[::-1] / x
    np.testing.assert_allclose(first, expected, rtol=1e-14)


def test_a_seed_may_be_the_argument_or_the_result() -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4)
    y, pullback = squares_of_rows.vjp(x)
    np.testing.assert_array_equal(pullback(x).x, 2.0 * x * x)
    np.testing.assert_array_equal(pullback(y).x, 2.0 * x * x * x)


@pytest.mark.parametrize(
    ("function", "args", "seeds"),
    [
        (weighted_square, (X, W, np.zeros(4), 2.0), {"y": WEIGHT}),
        (recurrence, (X, W), {"x": WEIGHT}),
        (grouped, (STARTS, X), {}),
        (grow, (X / 4, 3), {"y": WEIGHT}),
    ],
    ids=["weighted_square", "recurrence", "grouped", "grow"],
)
def test_a_pullback_gives_one_answer_for_ever(function: Any, args: Any, seeds: Any) -> None:
    def point() -> list[Any]:
        return [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]

    _, pullback = function.vjp(*point())
    first = pullback(**seeds)
    kept = [np.copy(g) for g in first]
    for array in first:
        if isinstance(array, np.ndarray):
            array[...] = 0
    _, other = function.vjp(*point())
    other(**seeds)
    del other
    gc.collect()
    _, other = function.vjp(*point())
    for again in (pullback(**seeds), other(**seeds), pullback(**seeds)):
        for found, expected in zip(again, kept, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_pullbacks_of_several_points_live_side_by_side() -> None:
    points = [X * k for k in (1.0, 2.0, 3.0)]
    pullbacks = [grouped.vjp(STARTS, p)[1] for p in points]
    for point, pullback in reversed(list(zip(points, pullbacks, strict=True))):
        np.testing.assert_array_equal(pullback().x, grouped.grad(STARTS, point).x)


# -- tangents ----------------------------------------------------------------------------------------------
def test_without_directions_tangents_are_zero() -> None:
    assert total.jvp((X,), {})[1].result == 0.0


def test_a_direction_of_a_written_array_is_of_its_initial_value() -> None:
    x, along = X.copy(), np.array([1.0, 0.0, -1.0, 0.5])
    _, tangents = recurrence.jvp((x, W), {"x": along})
    assert tangents._fields == ("x",)
    assert WEIGHT @ tangents.x == pytest.approx(recurrence_by_hand(X, W, WEIGHT)[0] @ along, rel=1e-14)
    np.testing.assert_array_equal(along, [1.0, 0.0, -1.0, 0.5])


def test_tangents_are_transposed_gradients() -> None:
    along = np.array([0.2, -1.0, 0.4, 1.0])
    slope = grouped.jvp((STARTS, X), {"x": along})[1].result
    assert slope == pytest.approx(grouped.grad(STARTS, X).x @ along, rel=1e-13)


def test_a_returned_array_belongs_to_the_caller() -> None:
    (half, _, _), tangents = halves_and_count.jvp((X, 0.0), {"x": W})
    half[...] = 0.0
    np.testing.assert_array_equal(tangents.result[0], X * W)


# -- settings ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "settings",
    [{"tape": "store"}, {"tape": "recompute"}, {"fastmath": False}, {"accuracy": "high"}, {"parallel": True}],
    ids=str,
)
def test_settings_change_how_not_what(settings: dict[str, Any]) -> None:
    other = vectorize_grad(**settings)(recurrence.__wrapped__)
    for found, expected in zip(other.vjp(X.copy(), W)[1](x=WEIGHT), recurrence_by_hand(X, W, WEIGHT), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_wrt_may_be_one_name() -> None:
    assert vectorize_grad(wrt="x")(plain_sum).grad(X)._fields == ("x",)


def test_a_variable_or_an_array_may_be_called_result() -> None:
    @vectorize_grad
    def product(x, result):
        for i in range(x.shape[0]):
            result[i] = x[i] * x[i]
        return result[0] * result[1]

    k = product.compile(X, W.copy())
    assert k.signature("reverse") == ("x", "result", "result_adj", "x_adj", "result_adj_1")
    np.testing.assert_array_equal(product.grad(X, W.copy()).x, [2.0 * 1.0 * 4.0, 2.0 * 2.0 * 1.0, 0.0, 0.0])

    @vectorize_grad
    def local(x, out_adj):
        out = np.zeros(x.shape[0])
        for i in range(x.shape[0]):
            out[i] = x[i] * out_adj
        return out

    gradients = local.vjp(X, 2.0)[1](W)
    np.testing.assert_array_equal(gradients.x, 2.0 * W)
    assert gradients.out_adj == W @ X
