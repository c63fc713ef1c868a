"""Like terms of sums are collected, constants and signs with them, and values stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.canonical.like_terms import MOST_IN_ORDER, collected, signed_sum, with_like_terms
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, mul, neg, sub
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import F32, F64
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import expressions, operands, subexprs
from tests.gradients.interpreted import normal_form

A, B, C = (ir.Load(ir.Access(name)) for name in "abc")


def times(value: ir.Expr, factor: float) -> ir.Expr:
    return mul(value, ir.Const(factor, F64))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "0.0"),
        ([A], "a[]"),
        ([neg(A)], "-a[]"),
        ([times(A, 0.2), times(B, 0.2)], "(a[] + b[]) * 0.2"),
        ([times(neg(A), 0.2), times(B, 0.2)], "(b[] - a[]) * 0.2"),
        ([neg(times(A, 2.0)), times(neg(B), 2.0)], "-((a[] + b[]) * 2.0)"),
        ([times(sub(A, B), 3.0), C, B], "a[] * 3.0 + c[] - b[] * 2.0"),
        ([times(times(A, 2.0), 4.0), times(add(B, C), 8.0)], "(a[] + b[] + c[]) * 8.0"),
        ([times(ir.Var("half"), 4.0), B], "a[] * 2.0 + b[]"),
        ([times(ir.Var("both"), 4.0), ir.Var("both")], "both * 5.0"),
        ([mul(A, ir.Const(2.0, F32)), A], "a[] * 2.0 + a[]"),
    ],
)
def test_sums(values: list[ir.Expr], text: str) -> None:
    lets = {"half": times(A, 0.5), "both": add(A, B)}
    assert print_expr(collected(values, lets, F64)) == text


def second_differences(x, y):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = (
                0.125 * (x[i + 1, j] - 2.0 * x[i, j] + x[i - 1, j])
                + 0.125 * (x[i, j + 1] - 2.0 * x[i, j] + x[i, j - 1])
                + x[i, j]
            )


def in_arguments(x, y):
    for i in range(1, x.shape[0] - 1):
        for j in range(x.shape[1]):
            y[i, j] = np.sin(x[i, j] - x[i - 1, j] + x[i, j]) * (x[i + 1, j] + 0.5 * x[i + 1, j])


def cancelling(x, y):
    """The difference of infinities is no zero."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] + 2.0 - x[i, j]


@pytest.mark.parametrize(("function", "count"), [(second_differences, 6), (in_arguments, 4), (cancelling, 2)])
def test_statements(function: Callable[..., Any], count: int) -> None:
    args = {"x": np.random.default_rng(0).random((6, 7)), "y": np.zeros((6, 7))}
    ls = normal_form(function, args)
    found = with_like_terms(ls)
    verify(found, "like terms")
    assert len([e for e in expressions(found) for e in subexprs(e) if is_arithmetic(e)]) == count
    plain, other = ({n: a.copy() for n, a in args.items()} for _ in range(2))
    run(ls, plain)
    run(found, other)
    np.testing.assert_allclose(other["y"], plain["y"], rtol=1e-14, atol=1e-15)


def is_arithmetic(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op in (Op.ADD, Op.SUB, Op.MUL) and has_elements(expr)


def has_elements(expr: ir.Apply) -> bool:
    """Whether it is about elements, not subscripts."""
    return any(isinstance(e, ir.Load) for e in subexprs(expr))


def coefficients(expr: ir.Expr, sign: int = 1) -> dict[str, int]:
    match expr:
        case ir.Var(name=name):
            return {name: sign}
        case ir.Apply(op=Op.NEG, args=(a,)):
            return coefficients(a, -sign)
        case ir.Apply(op=(Op.ADD | Op.SUB) as op, args=(a, b)):
            return coefficients(a, sign) | coefficients(b, sign if op is Op.ADD else -sign)
        case _:
            raise AssertionError(expr)


def depth(expr: ir.Expr) -> int:
    return 1 + max(map(depth, operands(expr)), default=0)


@pytest.mark.parametrize("negative", [0, 1, 60, 120, 200, 239, 240])
def test_long_sums_are_as_deep_as_their_halves(negative: int) -> None:
    parts = [(-1.0 if k < negative else 1.0, ir.Var(f"v{k}")) for k in range(240)]
    found = signed_sum(parts)
    assert coefficients(found) == {value.name: int(sign) for sign, value in parts}
    assert depth(found) < MOST_IN_ORDER + 5
