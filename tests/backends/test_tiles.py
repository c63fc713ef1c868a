"""Register tiles against NumPy: whole-tile arithmetic, rows of a block in memory, and contractions of every shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from loopdiff.backends.cpu.simd import (
    across,
    add_each,
    add_rows,
    column_of,
    down,
    iota,
    keep_each,
    load,
    load_rows,
    multiply_each,
    rank_one,
    repeat,
    select_each,
    splat,
    splat_rows,
    store,
    store_rows,
    subtract_each,
    sum_rows,
    tail_mask,
)
from loopdiff.pipeline.cpu import compile_loopset
from tests.ad.interpreted import lower

pytestmark = pytest.mark.part(2)
W = 4


def layouts(a: np.ndarray) -> list[np.ndarray]:
    wide = np.zeros((a.shape[0], 2 * a.shape[1]))
    gapped = wide[::-1, ::2]
    gapped[...] = a
    return [a.copy(), np.asfortranarray(a), gapped]


def collected(vectors: Callable[..., Any], count: int) -> Callable[..., np.ndarray]:
    """The lanes of a tile that `vectors` makes, a row of the result for each vector."""
    put = numba.njit(vectors)

    @numba.njit
    def fill(out, *args):
        for number, v in enumerate(put(*args)):
            store(out, (number, 0), v)

    def call(*args: Any) -> np.ndarray:
        out = np.full((count, W), np.nan)
        fill(out, *args)
        return out

    return call


# -- whole-tile arithmetic -----------------------------------------------------------------------------------
@numba.njit
def three(x):
    return (load(x, 0, W), load(x, W, W), load(x, 2 * W, W))


X = np.arange(12.0) + 1.0
Y = np.sin(np.arange(12.0))


def test_arithmetic_of_tiles():
    run = collected(lambda x, y: subtract_each(multiply_each(three(x), three(y)), add_each(three(x), three(x))), 3)
    np.testing.assert_allclose(run(X, Y).ravel(), X * Y - 2 * X, rtol=1e-15)


def test_one_operand_for_all_places():
    run = collected(lambda x, y: subtract_each(2.0, multiply_each(add_each(three(x), load(y, 0, W)), -3)), 3)
    np.testing.assert_allclose(run(X, Y), 2.0 + 3.0 * (X.reshape(3, W) + Y[:W]), rtol=1e-15)


def test_outer_shapes():
    rows = collected(lambda x: across(three(x), 2), 6)(X)
    np.testing.assert_array_equal(rows, np.repeat(X.reshape(3, W), 2, axis=0))
    columns = collected(lambda x: down(three(x), 2), 6)(X)
    np.testing.assert_array_equal(columns, np.tile(X.reshape(3, W), (2, 1)))


def test_rows_times_columns():
    run = collected(lambda x, y: rank_one(repeat(splat(1.0, W), 6), three(x), (load(y, 0, W), load(y, W, W))), 6)
    outer = X.reshape(3, 1, W) * Y[: 2 * W].reshape(1, 2, W)
    np.testing.assert_allclose(run(X, Y), 1.0 + outer.reshape(6, W), rtol=1e-15)


def test_dead_lanes_are_zero():
    run = collected(lambda x: keep_each(tail_mask(3, W), three(x)), 3)
    expected = X.reshape(3, W) * (np.arange(W) < 3)
    np.testing.assert_array_equal(run(X), expected)
    np.testing.assert_array_equal(run(np.full(12, np.nan))[:, 3], 0.0)


def test_sums_of_rows():
    found = collected(lambda x, y: sum_rows((load(x, 0, W), load(x, W, W), load(y, 0, W), load(y, W, W)), 2), 2)(X, Y)
    expected = np.stack([v[: 2 * W].reshape(2, W).sum(1) for v in (X, Y)])
    np.testing.assert_allclose(found[:, :2], expected, rtol=1e-15)
    np.testing.assert_array_equal(found[:, 2:], 0.0)
    np.testing.assert_allclose(collected(lambda x: sum_rows(three(x), 1), 1)(X), [[*X.reshape(3, W).sum(axis=1), 0.0]])


def test_lanes_keep_what_they_have():
    run = collected(lambda x, y: select_each(tail_mask(3, W), three(x), three(y)), 3)
    np.testing.assert_array_equal(run(X, Y), np.where(np.arange(W) < 3, X.reshape(3, W), Y.reshape(3, W)))


# -- rows of a block in memory -------------------------------------------------------------------------------
A = np.arange(7.0 * 9.0).reshape(7, 9)


@pytest.mark.parametrize("left", [0, 1, 2, 9])
def test_rows_beyond_the_last_repeat_it(left):
    last = [min(r, left) for r in range(3)]
    rows = collected(lambda a, n: load_rows(a, (2, 1), 0, 1, n, 3, W), 3)(A, left)
    np.testing.assert_array_equal(rows, A[[2 + r for r in last], 1 : 1 + W])
    masked = collected(lambda a, n: load_rows(a, (2, 1), 0, 2, n, 3, tail_mask(2, W)), 3)(A, min(left, 2))
    expected = A[[2 + 2 * r for r in last], 1 : 1 + W] * (np.arange(W) < 2)
    np.testing.assert_array_equal(masked, expected)
    columns = collected(lambda a, n: load_rows(a, (5, 0), 1, W, n, 2, W), 2)(A, left)
    np.testing.assert_array_equal(columns[1], A[5, W : 2 * W] if left else A[5, :W])


@pytest.mark.parametrize("layout", range(3))
def test_elements_of_rows(layout):
    a = layouts(A)[layout]
    down_rows = collected(lambda a, n: splat_rows(a, (6, 2), 0, -1, n, 3, W), 3)(a, 1)
    np.testing.assert_array_equal(down_rows, np.array([A[6, 2], A[5, 2], A[5, 2]])[:, None] * np.ones(W))


@pytest.mark.parametrize("update", [add_rows, store_rows])
@pytest.mark.parametrize(("left", "lanes"), [(0, W), (1, 3), (5, 1)])
def test_only_rows_that_are_there_are_written(update, left, lanes):
    @numba.njit
    def run(a, x, left, lanes):
        update(a, (1, 2), 0, 2, left, 3, three(x), (tail_mask(lanes, W),))

    found, expected = A.copy(), A.copy()
    run(found, X, left, lanes)
    for row in range(min(left, 2) + 1):
        where = (1 + 2 * row, slice(2, 2 + lanes))
        before = A[where] if update is add_rows else 0.0
        expected[where] = before + X[W * row : W * row + lanes]
    np.testing.assert_array_equal(found, expected)


def test_rows_of_several_vectors():
    @numba.njit
    def run(a, x):
        store_rows(a, (3, 0), 0, 1, 0, 1, (load(x, 0, W), load(x, W, W)), ())

    found = A.copy()
    run(found, X)
    np.testing.assert_array_equal(found[3, :8], X[:8])
    np.testing.assert_array_equal(found[[0, 1, 2, 4, 5, 6]], A[[0, 1, 2, 4, 5, 6]])


def test_lanes_that_are_apart():
    rows = collected(lambda a: load_rows(a, (iota(0, 2, W), 1), 1, 3, 1, 3, tail_mask(3, W)), 3)(A)
    expected = np.stack([A[:8:2, 1], A[:8:2, 4], A[:8:2, 4]]) * (np.arange(W) < 3)
    np.testing.assert_array_equal(rows, expected)

    @numba.njit
    def run(a, x):
        add_rows(a, (iota(1, 1, W), 0), 1, 1, 5, 3, three(x), (tail_mask(2, W),))

    found = A.copy()
    run(found, X)
    expected = A.copy()
    expected[1:3, :3] += X.reshape(3, W)[:, :2].T
    np.testing.assert_array_equal(found, expected)


def test_columns_of_a_tile():
    run = collected(lambda x, y: column_of((load(x, 0, W), load(x, W, W), load(y, 0, W), load(y, W, W)), 1, 2), 2)
    np.testing.assert_array_equal(run(X, Y), np.stack([X[W : 2 * W], Y[W : 2 * W]]))


def refuses(function: Callable[..., Any], *args: Any) -> None:
    with pytest.raises(numba.core.errors.TypingError):
        numba.njit(function)(*args)


def test_what_does_not_fit_is_refused():
    whole = np.arange(12)
    refuses(lambda a: load_rows(a, (0, 0), 2, 1, 0, 1, W), A)
    refuses(lambda a, n: load_rows(a, (0, 0), 0, 1, 0, n, W), A, 3)
    refuses(lambda a: load_rows(a, 0, 0, 1, 0, 1, W), whole)
    refuses(lambda a: splat_rows(a, (0, 0), 0, 1.0, 0, 1, W), A)
    refuses(lambda a, x: store_rows(a, (0, 0), 0, 1, 0, 2, three(x), ()), A, X)
    refuses(lambda a, x: add_rows(a, (0, 0), 0, 1, 0, 3, three(x), ()), A.astype(np.float32), X)
    refuses(lambda x: add_each(three(x), splat(1.0, 2)), X)
    refuses(lambda x: select_each(tail_mask(1, 2), three(x), three(x)), X)
    refuses(lambda x: add_each(load(x, 0, W), load(x, 0, W)), X)
    refuses(lambda x: sum_rows((*three(x), *three(x)), 1), X)
    refuses(lambda x: column_of(three(x), 0, 2), X)
    refuses(lambda a: load_rows(a, (iota(0, 1, 2), 0), 1, 1, 0, 1, W), A)
    refuses(lambda x: keep_each(tail_mask(1, 2), three(x)), X)


# -- contractions of every shape -----------------------------------------------------------------------------
def squared_distances(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            C[i, j] = 0.0
            for k in range(A.shape[1]):
                C[i, j] += (A[i, k] - B[j, k]) * (A[i, k] - B[j, k])


def several_terms(A, B, C, s):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += -(s * A[i, k]) * B[k, j] - A[i, k] + 2.0 * B[k, j] * (s + 1.0) + s


def batches(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += A[i, j] * B[k, j] * B[k, j]


def diagonals(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(B.shape[0]):
                C[i, j] += A[i, i + k] * B[k, j]


def diagonal_target(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(B.shape[0]):
                C[i, i + j] += A[i, k] * B[k, j]


def reversed_rows(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(B.shape[0]):
                C[A.shape[0] - 1 - i, j] += A[A.shape[0] - 1 - i, k] * B[k, j]


def transposed_dots(A, B, C, s):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            for k in range(A.shape[1]):
                C[j, i] += A[i, k] * B[j, k] * s - A[i, k]


def batched(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[2]):
            for b in range(A.shape[2]):
                for k in range(A.shape[1]):
                    C[i, j, b] += A[i, k, b] * B[b, k, j]


def batched_into_gaps(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[0]):
            for b in range(A.shape[2]):
                C[b, j, i] = 0.0
                for k in range(A.shape[1]):
                    C[b, j, i] += A[i, k, b] * B[j, k, b]


M, N, K = 11, 29, 13
P, Q, R = (np.random.default_rng(k).standard_normal(s) for k, s in enumerate([(M, K), (K, N), (N, K)]))
SQUARE, SPAN = np.random.default_rng(5).standard_normal((M, N)), np.random.default_rng(6).standard_normal((M, M + K))
CUBE, TALL, FLAT = (np.random.default_rng(7).standard_normal(s) for s in ((M, 5, N), (N, 5, 7), (7, 5, N)))
SHAPES = {
    "batched": (batched, (CUBE, TALL), (M, 7, N), lambda: np.einsum("ikb,bkj->ijb", CUBE, TALL)),
    "batched_into_gaps": (
        batched_into_gaps,
        (CUBE, FLAT),
        (N, 7, M),
        lambda: np.einsum("ikb,jkb->bji", CUBE, FLAT),
    ),
    "squared_distances": (squared_distances, (P, R), (M, N), lambda: ((P[:, None] - R[None]) ** 2).sum(2)),
    "several_terms": (
        several_terms,
        (P, Q),
        (M, N),
        lambda: -(0.5 * P) @ Q - P.sum(1)[:, None] + 3.0 * Q.sum(0)[None] + 0.5 * K,
    ),
    "batches": (batches, (SQUARE, Q), (M, N), lambda: SQUARE * (Q * Q).sum(0)),
    "diagonals": (
        diagonals,
        (SPAN, Q),
        (M, N),
        lambda: np.stack([SPAN[i, i : i + K] for i in range(M)]) @ Q,
    ),
    "diagonal_target": (
        diagonal_target,
        (P, Q),
        (M, M + N),
        lambda: np.stack([np.pad((P @ Q)[i], (i, M - i)) for i in range(M)]),
    ),
    "reversed_rows": (reversed_rows, (P, Q), (M, N), lambda: P @ Q),
    "transposed_dots": (transposed_dots, (P, R), (N, M), lambda: (0.5 * P @ R.T - P.sum(1)[:, None]).T),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SHAPES)
def test_contractions_of_every_shape(name, dtype):
    function, operands, shape, expected = SHAPES[name]
    args: dict[str, Any] = dict(zip("AB", (v.astype(dtype) for v in operands), strict=False))
    args["C"] = np.ones(shape, dtype)
    if "s" in function.__code__.co_varnames:
        args["s"] = dtype(0.5)
    compiled = compile_loopset(lower(function, args))
    assert "repeat(" in compiled.source or "multiply(" in compiled.source
    compiled.dispatcher(*args.values())
    start = 0.0 if name in ("squared_distances", "batched_into_gaps") else 1.0
    rtol = 1e-12 if dtype is np.float64 else 2e-4
    np.testing.assert_allclose(args["C"], start + expected(), rtol=rtol, atol=10 * rtol)


# -- sums over images, of filters that are windows of them -------------------------------------------------------
def filters_of_channels(y, x, w):
    """The loop over `n` and those up to `x.shape[2] - w.shape[2] + 1` are long, that over `w.shape[2]` is short."""
    for n in range(y.shape[0]):
        for c in range(w.shape[0]):
            for r in range(w.shape[1]):
                for s in range(w.shape[2]):
                    for p in range(x.shape[2] - w.shape[1] + 1):
                        for q in range(x.shape[3] - w.shape[2] + 1):
                            w[c, r, s] += y[n, c, p, q] * x[n, c, p + r, q + s]


def filters_of_groups(y, x, w):
    for n in range(y.shape[0]):
        for f in range(w.shape[0]):
            for c in range(w.shape[1]):
                for s in range(w.shape[2]):
                    for q in range(x.shape[2] - w.shape[2] + 1):
                        w[f, c, s] += y[n, f, q] * x[n, c, q + s]


@pytest.mark.part(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("window", [1, 3, 5, 9])
@pytest.mark.parametrize("long", [0, 1, 7, 8, 33])
@pytest.mark.parametrize("function", [filters_of_channels, filters_of_groups])
def test_filters_are_dot_products(function, long, window, dtype):
    """Vectors along a window would leave most of their lanes idle: they run along a loop that is summed over."""
    rng = np.random.default_rng(long + window)
    if function is filters_of_channels:
        shapes = (2, 3, 4, long), (2, 3, 4 + 2 - 1, long + window - 1), (3, 2, window)
    else:
        shapes = (2, 5, long), (2, 3, long + window - 1), (5, 3, window)
    y, x, w = (rng.standard_normal(s).astype(dtype) for s in shapes)
    seen = np.lib.stride_tricks.sliding_window_view
    if function is filters_of_channels:
        expected = w + np.einsum("ncpq,ncpqrs->crs", y, seen(x, (2, window), axis=(2, 3))) if long else w.copy()
    else:
        expected = w + np.einsum("nfq,ncqs->fcs", y, seen(x, window, axis=2)) if long else w.copy()
    compiled = compile_loopset(lower(function, {"y": y, "x": x, "w": w}))
    assert "sum_rows(" in compiled.source
    compiled.dispatcher(y, x, w)
    rtol = 1e-12 if dtype is np.float64 else 1e-4
    np.testing.assert_allclose(w, expected, rtol=rtol, atol=rtol)
