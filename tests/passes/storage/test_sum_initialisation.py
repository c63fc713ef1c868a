"""Contractions start at zero themselves: the same values in arrays that hold anything, whatever the loops leave out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.storage.sum_initialisation import is_zeroing, start_sums
from loopdiff.pipeline.cpu import arrange_loops
from tests.gradients.interpreted import normal_form


def into_all(A, B, D):
    Z = np.zeros((A.shape[0], B.shape[1]))
    for k in range(A.shape[1]):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                Z[m, n] += A[m, k] * B[k, n]
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            D[m, n] = Z[m, n]


def into_a_part(A, B, D):
    Z = np.zeros(D.shape)
    for k in range(A.shape[1]):
        for m in range(A.shape[0] - 1):
            for n in range(B.shape[1]):
                Z[m, n] += A[m, k] * B[k, n]
    for m in range(D.shape[0]):
        for n in range(D.shape[1]):
            D[m, n] = Z[m, n]


def turned(A, B, D):
    Z = np.zeros((B.shape[1], A.shape[0]))
    for k in range(A.shape[1]):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                Z[n, m] += A[m, k] * B[k, n]
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            D[m, n] = Z[n, m]


def read_before(A, B, D):
    Z = np.zeros((A.shape[0], B.shape[1]))
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            D[m, n] = Z[m, n]
    for k in range(A.shape[1]):
        for m in range(A.shape[0]):
            for n in range(B.shape[1]):
                Z[m, n] += A[m, k] * B[k, n]
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            D[m, n] += Z[m, n]


def diagonal(A, B, D):
    Z = np.zeros((A.shape[0], A.shape[0]))
    for m in range(A.shape[0]):
        for k in range(A.shape[1]):
            Z[m, m] += A[m, k] * A[m, k]
    for m in range(A.shape[0]):
        for n in range(A.shape[0]):
            D[m, n] = Z[m, n]


SHAPES = ((5, 3, 6), (1, 4, 2), (4, 0, 3), (3, 2, 0))


@pytest.mark.parametrize(
    ("function", "is_left"),
    [(into_all, True), (into_a_part, True), (turned, True), (read_before, False), (diagonal, False)],
)
def test_zeros_are_left_to_the_contraction(function: Callable[..., Any], is_left: bool) -> None:
    ls = arranged(function)
    assert any(isinstance(s.stmt, ir.Allocate) and s.stmt.fill is not None for s in statements(ls.body)) is not is_left
    for rows, depth, columns in SHAPES:
        args = arguments(rows, depth, columns)
        mine = {k: v.copy() for k, v in args.items()}
        run(ls, mine)
        function(**args)
        np.testing.assert_allclose(mine["D"], args["D"], err_msg=f"{rows} {depth} {columns}")


def test_a_loop_that_nothing_bounds_stops_at_the_end_of_the_array() -> None:
    """Where nothing is summed, loops may go beyond the array: programs are only refused for what they access."""

    def function(A, B, D):
        Z = np.zeros(D.shape)
        for k in range(A.shape[1]):
            for m in range(A.shape[0]):
                for n in range(B.shape[1]):
                    Z[m, n] += A[m, k] * B[k, n]
        for m in range(D.shape[0]):
            for n in range(D.shape[1]):
                D[m, n] = Z[m, n]

    args = dict(A=np.ones((5, 0)), B=np.ones((0, 7)), D=np.ones((2, 3)))
    run(arranged(function), args)
    np.testing.assert_array_equal(args["D"], 0.0)


def test_only_register_tiles_are_turned() -> None:
    def function(A, B, D):
        Z = np.zeros(A.shape[0])
        for m in range(A.shape[0]):
            for k in range(A.shape[1]):
                Z[m] += np.exp(A[m, k])
        for m in range(A.shape[0]):
            D[m, 0] = Z[m]

    ls = normal_form(function, arguments(5, 3, 6))
    assert start_sums(ls) == start_sums(ls, in_tiles_only=False) == ls


def cleared_after_its_use(A, B, D):
    W = np.empty(A.shape[1])
    for m in range(A.shape[0]):
        for k in range(A.shape[1]):
            W[k] = A[m, k]
        for k in range(A.shape[1]):
            D[m, 0] += W[k]
            W[k] = 0.0


def cleared_for_the_next_use(A, B, D):
    W = np.empty(A.shape[1])
    for m in range(A.shape[0]):
        for k in range(A.shape[1]):
            W[k] = A[m, k]
        for k in range(A.shape[1]):
            for _turn in range(2):
                D[m, 0] += W[k]
                W[k] = 0.0


def cleared_for_the_last(A, B, D):
    W = np.empty(A.shape[1])
    for m in range(A.shape[0]):
        for k in range(A.shape[1]):
            W[k] = A[m, k]
        for k in range(A.shape[1]):
            D[m, 0] += W[A.shape[1] - 1 - k]
            W[k] = 0.0


@pytest.mark.parametrize(
    ("function", "is_left"),
    [(cleared_after_its_use, False), (cleared_for_the_next_use, True), (cleared_for_the_last, True)],
)
def test_zeros_at_the_end_of_an_iteration_go_where_nothing_reads_them(
    function: Callable[..., Any], is_left: bool
) -> None:
    ls = start_sums(normal_form(function, arguments(5, 3, 6)))
    zeros = [s.stmt for s in statements(ls.body) if is_zeroing(s)]
    assert bool(zeros) is is_left
    for rows, depth, columns in ((5, 3, 6), (1, 4, 2), (4, 0, 3)):
        args = arguments(rows, depth, columns)
        mine = {k: v.copy() for k, v in args.items()}
        run(ls, mine)
        function(**args)
        np.testing.assert_allclose(mine["D"], args["D"], err_msg=f"{rows} {depth} {columns}")


def arranged(function: Callable[..., Any]) -> ir.LoopSet:
    ls = arrange_loops(normal_form(function, arguments(5, 3, 6)), fastmath=True)
    verify(ls, "arranged")
    return replace(ls, name=function.__name__)


def arguments(rows: int, depth: int, columns: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    size = max(rows, columns)
    return {"A": rng.random((rows, depth)), "B": rng.random((depth, columns)), "D": np.zeros((size, size))}
