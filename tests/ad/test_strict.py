"""Sums and products that both sweeps evaluate where bits matter are rounded one by one, and need no tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.rounded import strict_form
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, mul, sub
from loopdiff.ir.ops import STRICT, Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.scalar_eval import evaluate
from loopdiff.ir.types import F64
from loopdiff.ir.typing import TypeEnv


def largest_sum(a, b, t):
    """`b` is read from an array that the function writes, so that the sum is not repeatable as it stands."""
    for i in range(b.shape[0]):
        t[i] = b[i] * a[0]
    m = -1e300
    for i in range(a.shape[0]):
        m = max(m, a[i] + t[i])
    return m


def largest_of_three(a, b, t):
    for i in range(b.shape[0]):
        t[i] = b[i] * a[0]
    m = -1e300
    for i in range(a.shape[0]):
        m = max(m, a[i] * t[i] - b[i])
    return m


def smallest_product(a, b, t):
    for i in range(b.shape[0]):
        t[i] = b[i] + a[0]
    m = 1e300
    for i in range(a.shape[0]):
        m = min(m, a[i] * t[i])
    return m


def of_a_let(a, b, t):
    for i in range(b.shape[0]):
        t[i] = b[i] * a[0]
    m = -1e300
    for i in range(a.shape[0]):
        s = a[i] * b[i] + t[i]
        m = max(m, s, t[i])
    return m


CASES = (largest_sum, largest_of_three, smallest_product, of_a_let)


def arguments(count: int, dtype: Any) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(count)
    a, b = rng.random(count).astype(dtype) + dtype(0.5), rng.random(count).astype(dtype)
    return {"a": a, "b": b, "t": np.zeros(count, dtype)}


@pytest.mark.part(2)
@pytest.mark.parametrize(("fastmath", "dtype"), [(True, np.float64), (True, np.float32), (False, np.float64)])
@pytest.mark.parametrize("function", CASES)
def test_the_extremum_is_found_again(function: Callable[..., Any], fastmath: bool, dtype: Any) -> None:
    """Whatever was fused: that no operand ties with the maximum would be a gradient of nothing, or nan."""
    f = vectorize_grad(wrt=("a", "b"), fastmath=fastmath)(function)
    wide = vectorize_grad(wrt=("a", "b"), fastmath=False, tape="store")(function)
    for count in (1, 3, 8, 37, 200):
        value, found = f.value_and_grad(**arguments(count, dtype))
        exact = {n: v.astype(np.float64) for n, v in arguments(count, dtype).items()}
        _, expected = wide.value_and_grad(**exact)
        np.testing.assert_allclose(value, function(**exact), rtol=1e-5 if dtype == np.float32 else 1e-14)
        for got, want in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4 if dtype == np.float32 else 1e-13, atol=1e-6)


@pytest.mark.parametrize("function", CASES)
def test_nothing_is_recorded_for_each_operand(function: Callable[..., Any]) -> None:
    args = arguments(20, np.float64)
    k = vectorize_grad(wrt=("a", "b"))(function).compile(**args)
    assert max((t.bytes or 0 for t in k.temporaries), default=0) <= 8
    for sweep in ("forward", "reverse"):
        assert any(op.value in k.source(sweep) for op in STRICT)
    stored = vectorize_grad(wrt=("a", "b"), tape="store")(function).compile(**args)
    assert max(t.bytes or 0 for t in stored.temporaries) >= 160


def by_bins(a, b, t):
    for i in range(b.shape[0]):
        low, high = t[0] * i, t[0] * (i + 1)
        t[0] *= 1.0
        for j in range(a.shape[0]):
            if low <= a[j] and a[j] < high:
                b[i] += a[j] * a[j]


def test_conditions_on_numbers_of_fewer_loops_are_asked_again() -> None:
    """What a condition compares with is kept for each turn of the outer loop, not the condition for each element."""
    rng = np.random.default_rng(4)
    a, b, t = rng.random(30), np.zeros(4), np.array([0.25])
    k = vectorize_grad(by_bins, wrt=("a",)).compile(a, b, t)
    assert sum(kept.bytes for kept in k.temporaries) == 4 * 8
    _, pullback = vectorize_grad(by_bins, wrt=("a",)).vjp(a.copy(), b.copy(), t.copy())
    w = rng.random(4)
    np.testing.assert_allclose(pullback(b=w).a, 2.0 * a * w[np.minimum((a / 0.25).astype(int), 3)], rtol=1e-14)


def test_ties_are_shared_by_operands_that_round_alike() -> None:
    args = arguments(64, np.float64)
    args["a"][7] = args["a"][40] = 3.0
    args["b"][7] = args["b"][40] = 2.0
    gradient = vectorize_grad(wrt=("a", "b"))(largest_sum).grad(**args)
    np.testing.assert_array_equal(gradient.a[[7, 40]], [0.5, 0.5])


def test_strict_forms() -> None:
    x, y, z = ir.Param("x"), ir.Param("y"), ir.Param("z")
    types = TypeEnv({}, dict.fromkeys("xyz", F64), {})
    assert print_expr(strict_form(sub(mul(x, y), z), types)) == "strict_sub(strict_mul(x, y), z)"
    assert strict_form(x, types) is None
    assert strict_form(add(add(mul(x, y), mul(y, z)), mul(x, z)), types) is None
    assert strict_form(ir.Const(1.0, F64), types) is None


def test_values_of_strict_operations() -> None:
    a, b = np.float64(0.1), np.float64(0.7)
    assert evaluate(Op.STRICT_ADD, a, b) == a + b
    assert evaluate(Op.STRICT_MUL, a, b) == a * b
