"""Sums moved to where they are stored, late clears, and updates separated by their shift."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.loops.distribution import contraction, restructure
from loopdiff.passes.loops.sum_shapes import tidy_sums
from tests.ad.interpreted import copied, lower


def product(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[m, k] * B[k, n]
            C[m, n] = s


def product_into_itself(A, C):
    for m in range(A.shape[0]):
        for n in range(A.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[m, k] * C[k, n]
            C[m, n] = s


def sum_read_twice(A, C):
    for m in range(A.shape[0]):
        s = 0.0
        for k in range(A.shape[1]):
            s += A[m, k]
        C[m, 0] = s
        C[m, 1] = s * s


def spread(x, y):
    for i in range(1, x.shape[0] - 1):
        b = x[i]
        x[i] = 0.0
        y[i - 1] += b
        y[i] += 2.0 * b
        y[i + 1] += 3.0 * b


def spread_in_place(x):
    for i in range(1, x.shape[0] - 1):
        b = x[i]
        x[i] = 0.0
        x[i - 1] += b
        x[i + 1] += 3.0 * b


def clear_read_later(x, y):
    for i in range(x.shape[0] - 1):
        b = x[i] + x[i + 1]
        x[i + 1] = 0.0
        y[i] += b
        y[i + 1] += 2.0 * b


def pairs(x, y):
    for t in range(2):
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                d = np.exp(x[j, 0] - t * x[i, 0])
                y[j, 0] += d * d
                y[i, 0] -= d * d * d


def arguments(fn, size):
    rng = np.random.default_rng(size)
    names = fn.__code__.co_varnames[: fn.__code__.co_argcount]
    rank = 1 if fn.__name__ in ("spread", "spread_in_place", "clear_read_later") else 2
    return {n: rng.standard_normal((size,) * rank) for n in names}


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize(
    "fn", [product, product_into_itself, sum_read_twice, spread, spread_in_place, clear_read_later, pairs]
)
def test_the_same_values_before_and_after(fn, size):
    args = arguments(fn, size)
    ls = lower(fn, args)
    new = restructure(tidy_sums(ls))
    verify(new, "restructure")
    before, after = copied(args), copied(args)
    run(ls, before)
    run(new, after)
    for name in args:
        np.testing.assert_allclose(after[name], before[name], rtol=1e-13, atol=1e-13)


def contractions(ls):
    return [s for s in ls.body if contraction(s) is not None]


def test_scalar_sum_becomes_a_contraction():
    assert len(contractions(restructure(tidy_sums(lower(product, arguments(product, 3)))))) == 1


@pytest.mark.parametrize("fn", [product_into_itself, sum_read_twice])
def test_sum_stays_scalar_where_its_place_is_read_or_it_is_used_again(fn):
    ls = lower(fn, arguments(fn, 3))
    assert tidy_sums(ls) == ls


def loops_with_updates(ls):
    return [
        s.stmt for s in statements(ls.body)
        if isinstance(s.stmt, ir.Loop) and any(isinstance(c, ir.Accumulate) for c in s.stmt.body)
    ]  # fmt: skip


def test_shifted_updates_run_in_loops_of_their_own():
    assert len(loops_with_updates(restructure(tidy_sums(lower(spread, arguments(spread, 5)))))) == 3


def test_a_sum_into_one_place_stays_with_a_row_of_updates():
    """It is no shift of the row: what it reads is not worked out twice."""
    assert len(loops_with_updates(restructure(tidy_sums(lower(pairs, arguments(pairs, 5)))))) == 1


@pytest.mark.parametrize("fn", [spread_in_place, clear_read_later])
def test_updates_stay_together_where_iterations_depend_on_each_other(fn):
    assert len(loops_with_updates(restructure(tidy_sums(lower(fn, arguments(fn, 5)))))) == 1
