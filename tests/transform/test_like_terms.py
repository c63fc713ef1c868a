"""Like terms of sums are collected, constants and signs with them, and values stay the same."""

from __future__ import annotations

import pytest

from loopdiff.ir.build import add, mul, neg, sub
from loopdiff.ir.nodes import Access as At
from loopdiff.ir.nodes import Const, Expr, Load, Var
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import F32, F64
from loopdiff.transform.like_terms import collected

A, B, C = (Load(At(name)) for name in "abc")


def times(value: Expr, factor: float) -> Expr:
    return mul(value, Const(factor, F64))


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
        ([times(Var("half"), 4.0), B], "a[] * 2.0 + b[]"),
        ([times(Var("both"), 4.0), Var("both")], "both * 5.0"),
        ([mul(A, Const(2.0, F32)), A], "a[] * 2.0 + a[]"),
    ],
)
def test_sums(values: list[Expr], text: str) -> None:
    lets = {"half": times(A, 0.5), "both": add(A, B)}
    assert print_expr(collected(values, lets, F64)) == text
