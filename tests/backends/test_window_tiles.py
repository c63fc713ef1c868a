"""Register tiles over windows against plain loops: rows and columns of every number, edges, and weights without end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.api import vectorize_grad
from loopdiff.pipeline.cpu import compile_loopset
from tests.ad.interpreted import lower

pytestmark = pytest.mark.part(2)


def depthwise(y, x, w):
    for n in range(y.shape[0]):
        for c in range(w.shape[0]):
            for r in range(w.shape[1]):
                for s in range(w.shape[2]):
                    for p in range(x.shape[2] - w.shape[1] + 1):
                        for q in range(x.shape[3] - w.shape[2] + 1):
                            y[n, c, p, q] += x[n, c, p + r, q + s] * w[c, r, s]


def spread(y, x, w):
    """The adjoint of `depthwise` by its image."""
    for n in range(y.shape[0]):
        for c in range(w.shape[0]):
            for r in range(w.shape[1]):
                for s in range(w.shape[2]):
                    for p in range(x.shape[2] - w.shape[1] + 1):
                        for q in range(x.shape[3] - w.shape[2] + 1):
                            x[n, c, p + r, q + s] += y[n, c, p, q] * w[c, r, s]


def filters(y, x, w):
    """The adjoint of `depthwise` by its filters."""
    for n in range(y.shape[0]):
        for c in range(w.shape[0]):
            for r in range(w.shape[1]):
                for s in range(w.shape[2]):
                    for p in range(x.shape[2] - w.shape[1] + 1):
                        for q in range(x.shape[3] - w.shape[2] + 1):
                            w[c, r, s] += y[n, c, p, q] * x[n, c, p + r, q + s]


def blurred(y, x, w):
    """An image with a filter of two factors, and what it is centred at."""
    for p in range(x.shape[0] - w.shape[0] + 1):
        for q in range(x.shape[1] - w.shape[1] + 1):
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    y[p, q] += (x[p + r, q + s] - 2.0 * x[p + r, q]) * w[r, 0] * w[0, s]


def with_holes(y, x, w):
    """Windows with gaps, at every second row."""
    for p in range((x.shape[0] - 2 * w.shape[0] + 1) // 2):
        for q in range(x.shape[1] - 3 * w.shape[1] + 3):
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    y[p, q] -= x[2 * p + 2 * r, q + 3 * s] * w[r, s]


def spread_upwards(y, x, w):
    """Windows that are not at the corner of what they are added to, and go along its other axes."""
    for p in range(x.shape[0] - w.shape[0] - 1):
        for q in range(x.shape[1] - w.shape[1] - 2):
            for r in range(w.shape[0]):
                for s in range(w.shape[1]):
                    x[p + r + 1, q + s + 2] += y[p, q] * w[r, s]


def drawn(seed: int, dtype: Any, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(dtype) for s in shapes]


def agrees(function: Callable[..., None], args: list[np.ndarray], written: str, marks: tuple[str, ...]) -> None:
    """That the compiled loops, whose source has these marks, leave what Python's leave."""
    wanted, got = [a.copy() for a in args], [a.copy() for a in args]
    with np.errstate(all="ignore"):
        function(*wanted)
    compiled = compile_loopset(lower(function, dict(zip("yxw", args, strict=True))))
    for mark in marks:
        assert mark in compiled.source
    compiled.dispatcher(*got)
    rtol = 1e-12 if args[0].dtype == np.float64 else 2e-4
    for name, a, b in zip("yxw", got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=10 * rtol, err_msg=name)
        assert name == written or np.array_equal(a, b, equal_nan=True)


ROWS = "load_rows("
EDGES = (ROWS, "select_each(", "_edge in range(")


@pytest.mark.part(7)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("window", [(1, 1), (3, 3), (2, 5), (4, 1)])
@pytest.mark.parametrize("size", [(1, 1), (4, 7), (8, 16), (9, 33), (21, 18), (15, 40)])
def test_sizes_of_images_and_windows(size, window, dtype):
    (p, q), (r, s) = size, window
    args = drawn(p + q + r, dtype, (2, 3, p, q), (2, 3, p + r - 1, q + s - 1), (3, r, s))
    agrees(depthwise, args, "y", (ROWS,))
    agrees(spread, args, "x", EDGES)
    agrees(filters, args, "w", ("sum_rows(",))


@pytest.mark.parametrize("function", [depthwise, spread, filters])
@pytest.mark.parametrize("empty", [((0, 5), (3, 3)), ((5, 0), (3, 3)), ((4, 4), (0, 3)), ((4, 4), (3, 0))])
def test_without_windows_nothing_is_touched(function, empty):
    """Arrays are as small as they may be then: smaller than the loops around what is summed would go."""
    (p, q), (r, s) = empty
    args = drawn(1, np.float64, (2, 3, p, q), (2, 3, max(0, p + r - 1), max(0, q + s - 1)), (3, r, s))
    if p and not r:
        args[1] = np.ones((2, 3, p - 1, q + s - 1))
        args[0] = np.ones((2, 3, p, q))
    agrees(function, args, "", ())


def test_infinite_weights_reach_what_they_belong_to():
    """Nothing beside an edge is multiplied by what is beyond it."""
    y, x, w = drawn(3, np.float32, (1, 2, 19, 37), (1, 2, 21, 39), (2, 3, 3))
    w[0, 0, 2], w[1, 2, 0] = np.inf, np.nan
    agrees(spread, [y, x, w], "x", EDGES)


@pytest.mark.parametrize("size", [(1, 1), (8, 17), (13, 40)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_windows(size, dtype):
    p, q = size
    agrees(blurred, drawn(p, dtype, (p, q), (p + 2, q + 3), (3, 4)), "y", (ROWS,))
    agrees(with_holes, drawn(p, dtype, (p, q), (2 * p + 2 * 2 + 1, q + 3 * 3), (3, 4)), "y", ())
    agrees(spread_upwards, drawn(p, dtype, (p, q), (p + 4, q + 6), (3, 4)), "x", EDGES)


def convolved(x, w):
    (C, H, W), (_, R, S) = x.shape, w.shape
    y = np.zeros((C, H - R + 1, W - S + 1), dtype=x.dtype)
    for c in range(C):
        for r in range(R):
            for s in range(S):
                for p in range(H - R + 1):
                    for q in range(W - S + 1):
                        y[c, p, q] += x[c, p + r, q + s] * w[c, r, s]
    return y


@pytest.mark.parametrize("parallel", [False, True])
def test_gradients_of_convolutions(parallel):
    """Gradients are stored, not added to zeros, and may be shared among threads."""
    f = vectorize_grad(parallel=parallel)(convolved)
    for size, window in (((3, 1, 1), (1, 1)), ((2, 20, 45), (3, 2)), ((1, 200, 150), (4, 5)), ((70, 17, 33), (3, 3))):
        x, w = drawn(1, np.float64, size, (size[0], *window))
        value, pullback = f.vjp(x, w)
        (seed,) = drawn(2, np.float64, value.shape)
        x_adj, w_adj, wanted = np.zeros_like(x), np.zeros_like(w), np.zeros_like(value)
        for r, s in np.ndindex(*window):
            part = np.s_[:, r : r + value.shape[1], s : s + value.shape[2]]
            wanted += x[part] * w[:, r, s, None, None]
            x_adj[part] += seed * w[:, r, s, None, None]
            w_adj[:, r, s] = (x[part] * seed).sum(axis=(1, 2))
        for got, expected in zip((value, *pullback(seed)), (wanted, x_adj, w_adj), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
