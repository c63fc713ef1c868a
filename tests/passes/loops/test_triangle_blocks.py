"""Triangular products in blocks of rows: the same sums, most of them in rectangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.analysis.contractions import contraction, is_rectangular
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import loops_in
from loopdiff.passes.loops import triangle_blocks
from loopdiff.passes.loops.distribution import restructure
from tests.gradients.interpreted import normal_form


def to_the_right(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            for k in range(B.shape[1]):
                T[i, j] += A[i, k] * B[j, k]


def to_the_left(T, A, B):
    for i in range(1, A.shape[0]):
        for k in range(B.shape[1]):
            T[i, :i] -= 2.0 * A[i, k] * B[:i, k]


def fewer_and_fewer(T, A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[0] - i):
            for k in range(B.shape[1]):
                T[i, j] += A[k, i] * B[j, k]


def beside_the_diagonal(T, A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[0] - i - 1):
            for k in range(B.shape[1]):
                T[k, i + j + 1] += A[i, j] * B[i, k]


def summed_over_rows(T, A, B):
    for i in range(A.shape[0]):
        for k in range(i + 1, A.shape[0]):
            for j in range(B.shape[1]):
                T[i, j] += A[k, i] * B[k, j]


def started(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            T[i, j] = 0.0
            for k in range(B.shape[1]):
                T[i, j] += A[i, k] * B[j, k]


def started_once(T, A, B):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            T[i, j] = 0.0
            for k in range(i, A.shape[0]):
                T[i, j] += A[i, k] * B[k, j]


def a_band(T, A, B):
    for i in range(A.shape[0]):
        for j in range(max(i - 1, 0), min(i + 2, A.shape[0])):
            for k in range(B.shape[1]):
                T[i, j] += A[i, k] * B[j, k]


def of_what_it_sums(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            for k in range(B.shape[1]):
                T[i, j] += A[i, k] * T[j, k]


def no_matrices(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i, A.shape[0]):
            for k in range(B.shape[1]):
                T[i, j] += A[i, j] * B[i, k]


def a_pyramid(T, A, B):
    for k in range(A.shape[0]):
        for i in range(k, A.shape[0]):
            for j in range(i, A.shape[0]):
                T[i, j] += A[k, i] * A[k, j]


def a_rectangle(T, A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            for k in range(B.shape[1]):
                T[i, j] += A[i, k] * B[j, k]


BLOCKED = (to_the_right, to_the_left, fewer_and_fewer, beside_the_diagonal, summed_over_rows, started)
LEFT = (started_once, a_band, of_what_it_sums, no_matrices, a_pyramid, a_rectangle)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle_blocks, "ROWS", integer(3))


def arrays(n: int = 7, columns: int = 5) -> dict[str, Any]:
    r = np.random.default_rng(7)
    size = max(n, columns)
    return {"T": r.standard_normal((size, size)), "A": r.standard_normal((n, size)),
            "B": r.standard_normal((n, columns))}  # fmt: skip


def square(n: int) -> dict[str, Any]:
    return arrays(n, n)


@pytest.mark.parametrize("function", BLOCKED)
def test_most_of_a_triangle_is_rectangles(function: Callable[..., Any]) -> None:
    ls = restructure(normal_form(function, arrays()))
    found = triangle_blocks.block_triangles(ls)
    verify(found, "blocks")
    (block,) = (s for s in found.body if isinstance(s, ir.Loop))
    assert block.step == integer(3)
    triangle, rectangle = map(contraction, block.body)
    assert triangle is not None
    assert rectangle is not None
    assert not is_rectangular(triangle.loops)
    assert is_rectangular(rectangle.loops)


@pytest.mark.parametrize("function", LEFT)
def test_other_nests_stay(function: Callable[..., Any]) -> None:
    """Elements that would start twice, two moving ends, sums that see each other, no product, blocks that
    begin where a loop inside says, no triangle."""
    ls = restructure(normal_form(function, arrays()))
    assert triangle_blocks.block_triangles(ls) == ls
    assert len(list(loops_in(ls.body))) == 3


@pytest.mark.part(5)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 8])
@pytest.mark.parametrize("function", BLOCKED)
def test_values_are_those_of_python(function: Callable[..., Any], n: int) -> None:
    args = square(n) if function is fewer_and_fewer else arrays(n)
    expected = {k: v.copy() for k, v in args.items()}
    function(**expected)
    run(triangle_blocks.block_triangles(restructure(normal_form(function, args))), args)
    np.testing.assert_allclose(args["T"], expected["T"], rtol=1e-13, atol=1e-13)
