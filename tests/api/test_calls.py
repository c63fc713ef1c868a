"""What calls compute and return: values in place, gradients, pullbacks, tangents, in their promised types."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from loopdiff import vectorize_grad
from tests.api import programs
from tests.api.programs import grow, halves_and_count, running, total, weighted_square


def inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    return np.array([1.0, -2.0, 3.0]), np.array([0.5, 1.0, 2.0]), np.full(3, np.nan), 2.0


def test_the_primal_writes_the_callers_arrays():
    x, w, y, scale = inputs()
    assert weighted_square(x, w, y, scale) == 45.0
    assert y.tolist() == [0.5, 4.0, 18.0]
    assert weighted_square.__wrapped__(x, w, y, scale) == 45.0
    assert weighted_square.__name__ == "weighted_square"


def test_gradients_are_named_and_leave_pure_outputs_out():
    x, w, y, scale = inputs()
    value, g = weighted_square.value_and_grad(x, w, y, scale)
    assert value == 45.0
    assert g._fields == ("x", "w", "scale")
    assert g.x.tolist() == [2.0, -8.0, 24.0]
    assert g.w.tolist() == [2.0, 8.0, 18.0]
    assert g.scale == 22.5
    assert isinstance(g.scale, float)
    x_adj, w_adj, scale_adj = weighted_square.grad(x, w, y, scale)
    assert_array_equal(x_adj, g.x)
    assert_array_equal(w_adj, g.w)
    assert scale_adj == 22.5


def test_arguments_go_by_name_and_take_defaults():
    @vectorize_grad(wrt="x")
    def scaled(x, factor=3.0):
        s = 0.0
        for i in range(x.shape[0]):
            s += factor * x[i]
        return s

    assert scaled(x=np.ones(2)) == 6.0
    assert scaled(np.ones(2), factor=1.0) == 2.0
    assert scaled.grad(np.ones(2)).x.tolist() == [3.0, 3.0]


def test_wrt_order_is_the_order_of_the_gradients():
    f = vectorize_grad(wrt=["scale", "x"])(weighted_square.__wrapped__)
    g = f.grad(*inputs())
    assert g._fields == ("scale", "x")
    assert g.scale == 22.5


def test_float32_stays_float32():
    x = np.array([1.0, 2.0], np.float32)
    value, g = total.value_and_grad(x)
    assert isinstance(value, np.float32)
    assert isinstance(total(x), np.float32)
    assert g.x.dtype == np.float32


def test_no_elements():
    value, g = total.value_and_grad(np.zeros(0))
    assert value == 0.0
    assert g.x.shape == (0,)


@pytest.mark.parametrize(
    "x",
    [np.arange(6.0)[::2], np.arange(3.0)[::-1], np.broadcast_to(2.0, (3,)), np.arange(3.0).view(np.memmap)],
    ids=["strided", "reversed", "read-only", "subclass"],
)
def test_any_layout_of_an_array_that_is_only_read(x):
    value, g = total.value_and_grad(x)
    assert value == float((np.asarray(x) ** 2).sum())
    assert_array_equal(g.x, 2 * np.asarray(x))
    assert type(g.x) is np.ndarray


def test_a_pullback_survives_other_calls():
    y = np.array([1.1, 0.9])
    _, pullback = grow.vjp(y, 3)
    first = pullback(y=np.ones(2)).y
    grow.vjp(np.array([5.0, 6.0]), 3)[1](y=np.ones(2))
    second = pullback(y=np.ones(2)).y
    assert_allclose(first, 8 * np.array([1.1, 0.9]) ** 7, rtol=1e-13)
    assert_array_equal(first, second)
    assert_array_equal(pullback(y=np.array([2.0, 0.0])).y, [2 * first[0], 0.0])
    assert pullback().y.tolist() == [0.0, 0.0]


def test_tapes_of_data_dependent_extent():
    x = np.array([0.0, 1.5, 0.7, 1.2])
    value, g = running.value_and_grad(x, 4)
    step = 1e-6
    for k in range(4):
        shifted = [running.__wrapped__(x + s * step * np.eye(4)[k], 4) for s in (1, -1)]
        assert g.x[k] == pytest.approx((shifted[0] - shifted[1]) / (2 * step), rel=1e-6, abs=1e-9)
    assert value == pytest.approx(running.__wrapped__(x, 4), rel=1e-14)


def test_results_of_several_kinds():
    x = np.array([1.0, 2.0, 3.0])
    (half, count, above), pullback = halves_and_count.vjp(x, 1.5)
    assert half.tolist() == [0.5, 2.0, 4.5]
    assert (count, above) == (2, 6.5)
    g = pullback((np.array([1.0, 0.0, 0.0]), 0, 10.0))
    assert g.x.tolist() == [1.0, 20.0, 30.0]
    assert g.limit == 0.0
    half[:] = -1.0
    assert halves_and_count(x, 1.5)[0].tolist() == [0.5, 2.0, 4.5]
    assert pullback((np.array([1.0, 0.0, 0.0]), None, 0.0)).x.tolist() == [1.0, 0.0, 0.0]


def test_tangents_of_results_and_written_arrays():
    x, w, y, scale = inputs()
    value, tangents = weighted_square.jvp((x, w, y, scale), {"x": np.array([1.0, 0.0, 0.0]), "scale": 0.5})
    assert value == 45.0
    assert tangents._fields == ("result", "y")
    assert tangents.result == 2.0 + 0.5 * 22.5
    assert tangents.y.tolist() == [1.0, 0.0, 0.0]
    slopes = halves_and_count.jvp((x, 0.0), {"x": np.ones(3)})[1].result
    assert slopes[0].tolist() == x.tolist()
    assert slopes[1] is None
    assert slopes[2] == 4.0


def test_every_tape_policy_gives_the_same_gradient():
    y = np.array([1.01, 0.99])
    results = []
    for tape in ("auto", "store", "recompute"):
        f = vectorize_grad(tape=tape)(grow.__wrapped__)
        results.append(f.vjp(y.copy(), 4)[1](y=np.ones(2)).y)
    assert_allclose(results[1], results[0], rtol=1e-14)
    assert_allclose(results[2], results[0], rtol=1e-14)


def test_threads_share_a_function():
    barrier = threading.Barrier(4)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        barrier.wait()
        for _ in range(50):
            x = rng.random(4)
            value, g = running.value_and_grad(x, 4)
            again = running.vjp(x, 4)[1]().x
            if not np.array_equal(again, g.x) or not np.isfinite(value):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_pickling():
    assert pickle.loads(pickle.dumps(weighted_square)) is weighted_square
    copy = pickle.loads(pickle.dumps(total))
    assert copy is not total
    assert copy(np.ones(3)) == 3.0
    g = total.grad(np.ones(2))
    assert pickle.loads(pickle.dumps(g)).x.tolist() == [2.0, 2.0]


class Holder:
    """Decorated functions in a class body."""

    above = staticmethod(total)

    @vectorize_grad
    @staticmethod
    def below(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s


def test_static_methods():
    assert Holder().above(np.ones(3)) == 3.0
    assert Holder().below(np.ones(3)) == 3.0
    assert Holder.below.grad(np.ones(1)).x.tolist() == [1.0]


def test_a_memory_limit_makes_sweeps_recompute_or_refuses():
    f = vectorize_grad(memory_limit=1e6)(programs.plain_sum)
    assert f.value_and_grad(np.ones(3))[0] == 3.0
    assert f.vjp(np.ones(3))[1](2.0).x.tolist() == [4.0] * 3
