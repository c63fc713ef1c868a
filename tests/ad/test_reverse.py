"""Reverse mode against closed forms: overwrites, reductions, branches, data-dependent loops, kinks, strong zeros."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.ad.interpreted import jvp, vjp

POLICIES = ("auto", "store", "recompute")


def overwrite_three_times(y):
    for _ in range(3):
        y[0] = y[0] * y[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_value_overwritten_by_a_function_of_itself(policy):
    out = vjp(overwrite_three_times, {"y": np.array([1.1])}, seeds=(), cotangents={"y": 1.0}, policy=policy)
    assert_allclose(out.final["y"], [1.1**8])
    assert_allclose(out.gradients["y"], [8 * 1.1**7])


def running_product(x):
    p = 1.0
    for i in range(x.shape[0]):
        p *= x[i]
    return p


@pytest.mark.parametrize("policy", POLICIES)
def test_product_with_zero_factors_is_exact(policy):
    one_zero = vjp(running_product, {"x": np.array([2.0, 0.0, 5.0])}, policy=policy)
    assert_allclose(one_zero.gradients["x"], [0.0, 10.0, 0.0])
    two_zeros = vjp(running_product, {"x": np.array([0.0, 0.0, 5.0])}, policy=policy)
    assert_allclose(two_zeros.gradients["x"], [0.0, 0.0, 0.0])


def square_of_sum(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s * s


def test_accumulator_used_nonlinearly_after_its_loop():
    assert_allclose(vjp(square_of_sum, {"x": np.array([1.0, 2.0, 4.0])}).gradients["x"], [14.0] * 3)


def largest(x):
    m = x[0]
    for i in range(1, x.shape[0]):
        m = max(m, x[i])
    return m


def largest_twice(x):
    m = -1e30
    n = 1e30
    for i in range(x.shape[0]):
        m = max(m, x[i])
        n = min(n, x[i])
    return m - 3.0 * n


def largest_of_rows(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i, 0]
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            out[i] = max(out[i], x[i, j])


def test_ties_of_a_reduction_share_evenly():
    assert_allclose(vjp(largest, {"x": np.array([1.0, 3.0, 3.0, 3.0])}).gradients["x"], [0, 1 / 3, 1 / 3, 1 / 3])
    assert_allclose(vjp(largest, {"x": np.array([3.0, 1.0, 3.0])}).gradients["x"], [0.5, 0, 0.5])


def test_max_and_min_in_one_loop_are_two_reductions():
    x = np.array([1.0, 5.0, 1.0, 5.0, 1.0])
    assert_allclose(vjp(largest_twice, {"x": x}).gradients["x"], [-1, 0.5, -1, 0.5, -1])


def test_tangent_of_a_tied_reduction_is_the_mean():
    (slope,), _ = jvp(largest, {"x": np.array([1.0, 3.0, 3.0, 3.0])}, {"x": np.array([5.0, 1.0, 2.0, 6.0])})
    assert_allclose(slope, 3.0)


def guarded_root(x, out):
    for i in range(x.shape[0]):
        out[i] = math.sqrt(x[i]) if x[i] > 0.0 else 0.0


def bounded_inverse(x, out):
    for i in range(x.shape[0]):
        out[i] = min(1.0, 1.0 / x[i])


def masked_product(x, w, out):
    for i in range(x.shape[0]):
        out[i] = min(1.0, x[i] * w[i])


def test_strong_zero():
    x, out = np.array([4.0, 0.0]), np.zeros(2)
    root = vjp(guarded_root, {"x": x, "out": out}, seeds=(), cotangents={"out": np.ones(2)})
    assert_allclose(root.gradients["x"], [0.25, 0.0])
    with np.errstate(divide="ignore"):
        inverse = vjp(bounded_inverse, {"x": x, "out": out}, seeds=(), cotangents={"out": np.ones(2)})
    assert_allclose(inverse.gradients["x"], [-1 / 16, 0.0])
    w = np.array([np.inf, 0.5])
    product = vjp(masked_product, {"x": np.ones(2), "w": w, "out": out}, seeds=(), cotangents={"out": np.ones(2)})
    assert_allclose(product.gradients["x"], [0.0, 0.5])


def scatter_squares(x, idx, y):
    for i in range(x.shape[0]):
        y[idx[i]] += x[i] ** 2
    t = 0.0
    for b in range(y.shape[0]):
        t += y[b] ** 2
    return t


def test_scatter_with_duplicates_used_nonlinearly_later():
    x, idx = np.array([1.0, 2.0, 3.0]), np.array([0, 0, 1])
    out = vjp(scatter_squares, {"x": x, "idx": idx, "y": np.zeros(2)}, wrt=("x",))
    assert_allclose(out.gradients["x"], [4 * 5 * 1, 4 * 5 * 2, 4 * 9 * 3])


def recurrence(a, b, s):
    for i in range(1, a.shape[0]):
        s[i] = a[i] * s[i - 1] + b[i]
    t = 0.0
    for i in range(a.shape[0]):
        t += s[i] * s[i]
    return t


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_linear_recurrence_in_an_array(policy, n):
    rng = np.random.default_rng(5)
    args = {"a": rng.uniform(-0.9, 0.9, n), "b": rng.standard_normal(n), "s": rng.standard_normal(n)}
    out = vjp(recurrence, args, policy=policy)
    direction = rng.standard_normal(n)
    (slope,), _ = jvp(recurrence, args, {"b": direction})
    assert_allclose(out.gradients["b"] @ direction, slope, atol=1e-12)


def ragged(ptr, x, y):
    for i in range(y.shape[0]):
        s = 1.0
        for k in range(ptr[i], ptr[i + 1]):
            s = s * math.sin(x[k]) + x[k]
        y[i] = s


@pytest.mark.parametrize("policy", POLICIES)
def test_recurrence_in_a_loop_with_data_dependent_trip_count(policy):
    rng = np.random.default_rng(2)
    args = {"ptr": np.array([0, 3, 3, 5]), "x": rng.standard_normal(6), "y": np.zeros(3)}
    w, direction = rng.standard_normal(3), rng.standard_normal(6)
    out = vjp(ragged, args, seeds=(), cotangents={"y": w}, policy=policy)
    _, finals = jvp(ragged, args, {"x": direction})
    assert_allclose(out.gradients["x"] @ direction, w @ finals["y"])
    assert out.gradients["x"][5] == 0.0


def rescaled_in_a_branch(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            s = s * 0.5 + x[i] ** 2
        else:
            s = s + x[i]
    return s


def test_branch_that_rescales_an_accumulator():
    x = np.array([3.0, 0.5, 2.0])
    assert_allclose(vjp(rescaled_in_a_branch, {"x": x}).gradients["x"], [3.0, 0.5, 4.0])


def rows(x, y):
    buf = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            buf[j] = math.exp(x[i, j])
        s = 0.0
        for j in range(x.shape[1]):
            s += buf[j]
        for j in range(x.shape[1]):
            y[i, j] = buf[j] / s


@pytest.mark.parametrize("policy", POLICIES)
def test_reused_row_buffer(policy):
    rng = np.random.default_rng(7)
    args = {"x": rng.standard_normal((3, 4)), "y": np.zeros((3, 4))}
    w = rng.standard_normal((3, 4))
    out = vjp(rows, args, seeds=(), cotangents={"y": w}, policy=policy)
    p = np.exp(args["x"]) / np.exp(args["x"]).sum(1, keepdims=True)
    assert_allclose(out.gradients["x"], p * (w - (p * w).sum(1, keepdims=True)))


def scale(x, a):
    for i in range(x.shape[0]):
        x[i] = a * x[i]
    return a * a


def test_scalar_argument_and_overwritten_array():
    x, w = np.array([2.0, 3.0]), np.array([1.0, 10.0])
    out = vjp(scale, {"x": x, "a": 5.0}, cotangents={"x": w})
    assert_allclose(out.gradients["x"], 5 * w)
    assert_allclose(out.gradients["a"], w @ x + 10.0)


def constant_fill(x, out):
    for i in range(out.shape[0]):
        out[i] = 7.0
    return x[0]


def test_overwritten_argument_that_is_not_differentiated_is_cleared():
    args = {"x": np.ones(1), "out": np.ones(3)}
    out = vjp(constant_fill, args, wrt=("x",), cotangents={"out": np.full(3, 9.0)})
    assert_allclose(out.gradients["out"], 0.0)


def time_steps(u, n):
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            u[i] = u[i] - 0.1 * u[i] * (u[i + 1] - u[i - 1])


@pytest.mark.parametrize("policy", POLICIES)
def test_nonlinear_time_loop_in_place(policy):
    rng = np.random.default_rng(11)
    args = {"u": rng.standard_normal(6), "n": 4}
    w, direction = rng.standard_normal(6), rng.standard_normal(6)
    out = vjp(time_steps, args, seeds=(), cotangents={"u": w}, policy=policy)
    _, finals = jvp(time_steps, args, {"u": direction})
    assert_allclose(out.gradients["u"] @ direction, w @ finals["u"])


def strided_backwards(x, step):
    s = 1.0
    for i in range(x.shape[0] - 1, -1, step):
        s = s * x[i] + i
    return s


@pytest.mark.parametrize("step", [-1, -2, -3])
def test_run_time_step(step):
    rng = np.random.default_rng(3)
    args = {"x": rng.standard_normal(7), "step": step}
    direction = rng.standard_normal(7)
    (slope,), _ = jvp(strided_backwards, args, {"x": direction})
    assert_allclose(vjp(strided_backwards, args).gradients["x"] @ direction, slope)


def test_store_policy_keeps_the_two_operands_the_loss_needs():
    def loss(c):
        t = 0.0
        for i in range(c.shape[0]):
            t += math.log1p(0.25 * (c[i] - 18.0) ** 2)
        return t

    args = {"c": np.arange(4.0)}
    assert vjp(loss, args).sweeps.temporaries == ()
    assert len(vjp(loss, args, policy="store").sweeps.temporaries) == 2
