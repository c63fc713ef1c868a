"""One name for extents that are equal, and digits of numbers that were put together from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements, expressions, subexprs
from tests.gradients.interpreted import normal_form


def rows_times_matrix(n, k, A, B):
    A[:] = np.reshape(np.reshape(A, (n, 1, k)) @ B, (n, k))


def as_it_is(n, k, A, B):
    A[:] = np.reshape(A, (n, k)) + B[0]


def another_shape(n, k, A, B):
    A += np.reshape(A.copy(), (k, n)).T


def conditional(n, k, A, B):
    if n == A.shape[0]:
        A[0] = np.reshape(A, (n * k,))[:k]


def column(A, w, y):
    A *= w
    for i in range(w.shape[0]):
        for j in range(w.shape[1]):
            y[j] += A[i, j] * w[i, j]


def digits_left(function: Callable[..., Any], args: dict[str, Any]) -> int:
    found = normal_form(function, args)
    verify(found, "extents")
    nodes = (e for x in expressions(found) for e in subexprs(x))
    return sum(isinstance(e, ir.Apply) and e.op in (Op.FLOORDIV, Op.MOD) for e in nodes)


@pytest.mark.parametrize("function", [rows_times_matrix, as_it_is, another_shape, conditional])
def test_reshaped_arrays(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    args = {"n": 3, "k": 4, "A": rng.random((3, 4)), "B": rng.random((4, 4))}
    is_known = function in (rows_times_matrix, as_it_is)
    assert (digits_left(function, args) == 0) == is_known
    mine = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
    run(normal_form(function, args), mine)
    function(**args)
    np.testing.assert_allclose(mine["A"], args["A"], rtol=1e-15)


def product(x, y, n):
    s = 0.0
    for i in range(n):
        s += x[i]
    return s + (x * y).sum() / n + y[: x.shape[0]].sum()


def test_arguments_keep_their_own_values() -> None:
    rng = np.random.default_rng(1)
    args = {"x": rng.random(4), "y": rng.random(4), "n": 3}
    assert run(normal_form(product, args), dict(args)) == pytest.approx(product(**args), rel=1e-15)


def test_an_axis_of_one_element_needs_no_loop() -> None:
    """A column that is broadcast along rows has one element in each, whoever else goes through it."""
    rng = np.random.default_rng(2)
    args = {"A": rng.random((3, 4)), "w": rng.random((3, 1)), "y": rng.random(2)}
    found = normal_form(column, args)
    verify(found, "extents")
    assert [len(loops_in((s,))) for s in found.body if isinstance(s, ir.Loop)] == [2, 1]
    mine, theirs = ({k: v.copy() for k, v in args.items()} for _ in range(2))
    run(found, mine)
    column(**theirs)
    for name, value in theirs.items():
        np.testing.assert_allclose(mine[name], value, rtol=1e-14)


def loops_in(body: tuple[ir.Stmt, ...]) -> list[ir.Loop]:
    return [s for s in all_statements(body) if isinstance(s, ir.Loop)]
