"""Zeros that gradients begin with, with the rows that follow: the same values whatever the extents are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.pipeline.cpu import arrange_loops
from loopdiff.pipeline.derive import derive_sweeps
from loopdiff.pipeline.stages import Stages
from loopdiff.schedule.blocks.array_contraction import roll_rows
from tests.gradients.interpreted import allocated, normal_form


def flux(x, c, y):
    """`x` and `c` may be larger than what is used of them."""
    N, M = y.shape
    p = np.empty((N + 1, M))
    for i in range(N + 1):
        for j in range(M):
            p[i, j] = x[i + 1, j] - x[i, j]
    for i in range(N):
        for j in range(M):
            y[i, j] = x[i, j] + c[i, j] * (p[i + 1, j] - p[i, j])


def planes(x, c, y):
    N, M, K = y.shape
    for i in range(N):
        for j in range(M):
            for k in range(K):
                y[i, j, k] = c[i, j, k] * (x[i + 1, j, k] + x[i, j + 1, k] - 2.0 * x[i, j, k])


def columns(x, c, y):
    """Nothing follows by rows."""
    N, M = y.shape
    for j in range(M):
        for i in range(N):
            y[i, j] = x[i, j] * c[i, j]
        for i in range(1, N):
            y[i, j] += y[i - 1, j] * x[i, j]


def rows_of_two_kinds(x, c, y):
    """What is done to a row depends on a number that is found in it, so that not all of `x_adj` is written."""
    N, M = y.shape
    for i in range(N):
        greatest = 0.0
        for j in range(M):
            greatest = max(greatest, c[i, j])
        if greatest > 0.7:
            total = 0.0
            for j in range(M):
                total += x[i, j] * x[i, j]
            for j in range(M):
                y[i, j] = x[i, j] * total * c[i, j]
        else:
            for j in range(M):
                y[i, j] = c[i, j]


def pullback(
    function: Callable[..., Any], args: dict[str, np.ndarray]
) -> tuple[ir.LoopSet, ir.LoopSet, list[np.ndarray]]:
    """The reverse sweep as derived, and as arranged, and the gradients that both give, one after the other."""
    ls = normal_form(function, args)
    sweeps = derive_sweeps(ls, ("x", "c"), "auto", Stages("pullback"), "pullback")
    arranged = roll_rows(arrange_loops(sweeps.reverse, fastmath=True))
    verify(arranged, "arranged")
    found: list[np.ndarray] = []
    for reverse in (sweeps.reverse, arranged):
        state = allocated(sweeps, {k: v.copy() for k, v in args.items()})
        run(sweeps.forward, state)
        given = {n: np.full_like(args[n.removesuffix("_adj")], np.nan) for n in ("x_adj", "c_adj")}
        given["y_adj"] = np.random.default_rng(1).random(args["y"].shape)
        run(reverse, {**state, **given})
        found += [given["x_adj"], given["c_adj"]]
    return sweeps.reverse, arranged, found


CASES = [(flux, (4,)), (planes, (3, 2)), (planes, (1, 2)), (columns, (3,)), (rows_of_two_kinds, (3,))]


@pytest.mark.part(5)
@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize(("function", "rest"), CASES)
def test_gradients(function: Callable[..., Any], rest: tuple[int, ...], rows: int, more: int) -> None:
    rng = np.random.default_rng(0)
    larger = (rows + 2 + more, rest[0] + 1 + more, *rest[1:])
    args = {
        "x": rng.random(larger),
        "c": rng.random((rows + more, rest[0] + more, *rest[1:])),
        "y": np.zeros((rows, *rest)),
    }
    before, after, (x, c, other_x, other_c) = pullback(function, args)
    filled = [{s.array for s in ls.body if isinstance(s, ir.Allocate) and s.fill is not None} for ls in (before, after)]
    assert "x_adj" in filled[0]
    assert ("x_adj" in filled[1]) == (function is columns)
    np.testing.assert_allclose(other_x, x, rtol=1e-14)
    np.testing.assert_allclose(other_c, c, rtol=1e-14)
