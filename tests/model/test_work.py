"""Estimates of work."""

from __future__ import annotations

import random

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import subexprs
from loopdiff.model.polynomials import multiplied_out, size
from loopdiff.model.work import all_work, number

X = np.linspace(0.1, 1.0, 9)


@pytest.mark.parametrize("is_parallel", [False, True])
def test_estimates_divide_by_nothing_that_the_program_does_not(is_parallel: bool) -> None:
    """How long loops take is estimated ahead of them, and ahead of the condition around them."""

    def guarded(x, n, m):
        t = 0.0
        for i in range(n):
            if m != 0:
                for j in range(n // m):
                    for k in range(n % m + 2):
                        t += x[i] * j * k
        return t

    f = vectorize_grad(parallel=is_parallel)(guarded)
    assert f(X, 9, 0) == 0.0
    assert f.value_and_grad(X, 9, 0)[0] == 0.0
    assert f(X, 9, 4) == pytest.approx(guarded(X, 9, 4), rel=1e-14)


EXTENTS = tuple(ir.Dim("x", axis) for axis in range(3))


def estimate(rng: random.Random, depth: int) -> ir.Expr:
    """A sum of products, as estimates are."""
    if depth == 0:
        spans = [ir.Apply(op, (d, ir.Const(2, INT))) for d in EXTENTS for op in (Op.SUB, Op.ADD)]
        return rng.choice([number(rng.choice([0.3, 2.0, 8.0])), *(ir.Cast(F64, e) for e in (*EXTENTS, *spans))])
    op = rng.choice([Op.ADD, Op.ADD, Op.MUL])
    return ir.Apply(op, (estimate(rng, depth - 1), estimate(rng, depth - 1)))


def worth(expr: ir.Expr, shape: tuple[int, ...]) -> float:
    match expr:
        case ir.Const(value=value):
            return float(value)
        case ir.Dim(axis=axis):
            return shape[axis]
        case ir.Cast(value=inner):
            return worth(inner, shape)
        case ir.Apply(op=op, args=(a, b)):
            x, y = worth(a, shape), worth(b, shape)
            return x + y if op == Op.ADD else x - y if op == Op.SUB else x * y
        case _:
            raise AssertionError(expr)


@pytest.mark.parametrize("seed", range(40))
def test_an_estimate_multiplied_out_is_what_it_was_and_no_longer(seed: int) -> None:
    rng = random.Random(seed)
    work = estimate(rng, 5)
    short = multiplied_out(work)
    assert size(short) <= size(work)
    for shape in ((50, 60, 70), (3, 400, 9), (1000, 11, 12)):
        assert worth(short, shape) == pytest.approx(worth(work, shape), rel=2e-2)


def test_a_long_program_says_in_a_few_terms_how_long_it_takes() -> None:
    def stepped(x, n):
        for t in range(n):
            if x[0] > 3.0:
                break
            for i in range(1, x.shape[0]):
                x[i] = x[i] * 0.5 + t
            for i in range(1, x.shape[0]):
                x[i] = x[i] * x[i - 1]
            for i in range(1, x.shape[0]):
                x[i] = np.sin(x[i])
            x[0] += 0.1
        return x[2]

    source = vectorize_grad(stepped).compile(X, 9).source("primal")
    (ticks,) = (line for line in source.splitlines() if "_ticks = " in line)
    assert ticks.count("x.shape[0]") == 1


def test_sums_of_many_parts_are_no_deeper_than_they_need_be() -> None:
    parts = [ir.Cast(F64, ir.Var(f"n_{k}")) for k in range(3000)]
    found = all_work(parts)
    assert sum(1 for e in subexprs(found) if isinstance(e, ir.Var)) == len(parts)
    few = all_work(parts[:3])
    assert few == ir.Apply(Op.ADD, (ir.Apply(Op.ADD, (parts[0], parts[1])), parts[2]))
