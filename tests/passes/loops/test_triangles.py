"""Nests over a triangle with the summed loop inside: the same sums, as register tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.passes.loops.triangles import turn_triangles
from tests.gradients.interpreted import normal_form


def up_to_the_diagonal(T, A, B):
    for i in range(A.shape[0]):
        for k in range(B.shape[1]):
            for j in range(i + 1):
                T[j, k] += A[i, j] * B[i, k]


def below_the_diagonal(T, A, B):
    for i in range(1, A.shape[0]):
        for j in range(i):
            for k in range(B.shape[1]):
                T[j, k] += A[i, j] * B[i, k]


def beyond_the_diagonal(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i + 2, A.shape[0]):
            for k in range(B.shape[1]):
                T[j, k] -= A[i, j] * B[i, k]


def from_the_second_row(T, A, B):
    for i in range(2, A.shape[0]):
        for j in range(1, i - 1):
            for k in range(B.shape[1]):
                T[j, k] += A[i, j] * B[i, k]


def with_lets(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            a = 2.0 * A[i, j]
            for k in range(B.shape[1]):
                T[j, k] += a * B[i, k]


def a_part_of_the_triangle(T, A, B):
    for i in range(3, A.shape[0]):
        for j in range(i + 1):
            for k in range(B.shape[1]):
                T[j, k] += A[i, j] * B[i, k]


def too_long(T, A, B):
    for i in range(A.shape[0] - 2):
        for j in range(i, A.shape[0]):
            for k in range(B.shape[1]):
                T[j, k] += A[i, j] * B[i, k]


def one_row(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            T[0, j] += A[i, j]


def into_what_it_reads(T, A, B):
    for i in range(A.shape[0]):
        for j in range(i):
            for k in range(T.shape[1]):
                T[j, k] += A[i, j] * T[i, k]


TURNED = (up_to_the_diagonal, below_the_diagonal, beyond_the_diagonal, from_the_second_row, with_lets)
LEFT = (a_part_of_the_triangle, too_long, one_row, into_what_it_reads)


def arrays(n: int = 7, columns: int = 5) -> dict[str, Any]:
    r = np.random.default_rng(7)
    return {"T": r.standard_normal((n, max(n, columns))), "A": r.standard_normal((n, n)),
            "B": r.standard_normal((n, columns))}  # fmt: skip


def outermost(ls: ir.LoopSet) -> str:
    (loop,) = (s for s in ls.body if isinstance(s, ir.Loop))
    return loop.index


@pytest.mark.parametrize("function", TURNED)
def test_the_summed_loop_goes_inside(function: Callable[..., Any]) -> None:
    ls = normal_form(function, arrays())
    found = turn_triangles(ls)
    verify(found, "turned")
    assert (outermost(ls), outermost(found)) == ("i", "j")


@pytest.mark.parametrize("function", LEFT)
def test_other_nests_stay(function: Callable[..., Any]) -> None:
    """No triangle that is all there, nothing to make in registers, or sums that see each other."""
    ls = normal_form(function, arrays())
    assert turn_triangles(ls) == ls


@pytest.mark.part(5)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize("function", TURNED + LEFT)
def test_values_are_those_of_python(function: Callable[..., Any], n: int) -> None:
    args = arrays(n)
    expected = {k: v.copy() for k, v in args.items()}
    function(**expected)
    for way in (lambda **a: run(turn_triangles(normal_form(function, args)), a), vectorize_grad(function)):
        found = {k: v.copy() for k, v in args.items()}
        way(**found)
        np.testing.assert_allclose(found["T"], expected["T"], rtol=1e-13, atol=1e-13)
