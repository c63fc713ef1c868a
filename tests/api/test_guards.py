"""Arrays that change under a pullback, arrays that overlap, and the two modes against each other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, DifferentiationError, vectorize_grad
from loopdiff.memory.guards import checksum, holds, mark_of
from tests.api.programs import grow, plain_sum, total, weighted_square


# -- changes between the sweeps ----------------------------------------------------------------------------
def one_bit(x: np.ndarray) -> None:
    x[-1] = np.nextafter(x[-1], 9.0)


def swapped(x: np.ndarray) -> None:
    x[0], x[1] = x[1], x[0]


def two_signs(x: np.ndarray) -> None:
    x[2:4] *= -1.0


CHANGES = [one_bit, swapped, two_signs, lambda x: x.fill(0.0), lambda x: total.vjp(x) and grow(x, 1)]
MADE: list[Callable[[], np.ndarray]] = [
    lambda: np.arange(1.0, 9.0), lambda: np.arange(1.0, 17.0)[::2], lambda: np.arange(1.0, 9.0, dtype=np.float32),
]  # fmt: skip


@pytest.mark.parametrize("make", MADE, ids=["contiguous", "strided", "float32"])
@pytest.mark.parametrize("check", ["cheap", "always", "first"])
def test_changed_arrays_are_refused_until_they_are_restored(check: Any, make: Callable[[], np.ndarray]) -> None:
    f = vectorize_grad(check=check)(plain_sum)
    for change in CHANGES:
        x = make()
        before = x.copy()
        _, pullback = f.vjp(x)
        right = pullback().x
        change(x)
        with pytest.raises(ArgumentError) as caught:
            pullback()
        assert caught.value.codes == ("LD348",)
        x[:] = before
        np.testing.assert_array_equal(pullback().x, right)


def test_what_is_not_needed_may_change() -> None:
    """Outputs that no derivative needs, and arguments of which `vjp` was given copies."""

    @vectorize_grad
    def waves(x, y):
        for i in range(x.shape[0]):
            y[i] = np.sin(x[i])

    x, y = np.array([1.0, 2.0]), np.zeros(2)
    _, pullback = waves.vjp(x, y)
    y[:] = 7.0
    np.testing.assert_allclose(pullback(y=np.ones(2)).x, np.cos(x))
    _, independent = total.vjp(x.copy())
    x[:] = 0.0
    np.testing.assert_array_equal(independent().x, [2.0, 4.0])


def test_written_arrays_that_are_needed_count() -> None:
    """The next call with the same output array takes away what the derivative by `scale` needs."""
    x, w, y = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.zeros(2)
    _, pullback = weighted_square.vjp(x, w, y, 0.5)
    assert pullback().scale == 19.0
    weighted_square(x + 1.0, w, y, 0.5)
    with pytest.raises(ArgumentError, match="`y` was changed after the forward sweep"):
        pullback()


def test_never_trusts_the_caller() -> None:
    f = vectorize_grad(check="never")(plain_sum)
    x = np.array([1.0, 2.0])
    _, pullback = f.vjp(x)
    x[0] = 5.0
    np.testing.assert_array_equal(pullback().x, [10.0, 4.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8, np.bool_])
def test_a_checksum_covers_every_element(dtype: Any) -> None:
    """Of any length, layout and place: a change of one element, or of two that trade places, shows."""
    rng = np.random.default_rng(3)
    for size in (0, 1, 2, 7, 64, 1001):
        x = rng.integers(0, 2, size).astype(dtype)
        places = range(0, size, max(1, size // 5))
        sums = {checksum(x)}
        for k in places:
            y = x.copy()
            y[k] = not y[k]
            sums.add(checksum(y))
        assert len(sums) == 1 + len(places)
        assert checksum(x) == checksum(x.copy())
    square = np.arange(12.0).reshape(3, 4)
    others = (square[:, ::-1], square[::-1], -square, 2.0 * square, np.abs(square - 3.0))
    assert len({checksum(a.copy()) for a in (square, *others)}) == 6
    assert checksum(np.asfortranarray(square)) == checksum(np.asfortranarray(square))
    assert checksum(np.array(2.0)) != checksum(np.array(3.0))


@pytest.mark.parametrize("check", ["cheap", "always"])
def test_a_mark_holds_until_an_element_changes(check: Any) -> None:
    cube = np.arange(24.0).reshape(2, 3, 4)
    layouts = [cube, np.asfortranarray(cube), cube[:, ::2], cube[..., ::-1], cube.transpose(1, 0, 2), cube[:0]]
    scalars = [np.array(5), np.array(0.5), np.array([7], np.int32), np.array([True, False])]
    for array in (*layouts, *scalars, np.arange(20_000.0), np.arange(20_000.0)[::2]):
        owned = array.copy(order="K")
        view = owned if owned.strides == array.strides else np.repeat(owned, 2, axis=-1)[..., ::2]
        mark = mark_of(check, view)
        assert holds(mark, view)
        if view.size:
            view[(-1,) * view.ndim] = not view[(-1,) * view.ndim]
            assert not holds(mark, view)


def test_pullbacks_of_changed_arrays_are_refused_in_every_thread() -> None:
    x = np.linspace(0.5, 1.0, 40)
    _, pullback = total.vjp(x)
    barrier = threading.Barrier(4)

    def work(_: int) -> Any:
        barrier.wait()
        return pullback(2.0).x

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(4)):
            np.testing.assert_array_equal(found, 4.0 * x)
    x[3] = 0.0
    with ThreadPoolExecutor(4) as pool:
        failed = [pool.submit(pullback) for _ in range(4)]
        assert all(isinstance(f.exception(), ArgumentError) for f in failed)


# -- overlap -----------------------------------------------------------------------------------------------
def test_disjoint_views_of_one_memory_pass() -> None:
    memory = np.arange(24.0)
    grid = np.arange(16.0).reshape(4, 4)
    w = np.ones(4)
    for x, y in [
        (memory[:4], memory[4:8]), (memory[:8:2], memory[1:8:2]), (memory[3::-1], memory[7:3:-1]),
        (grid[:, 1], grid[:, 2]), (grid[0], grid[1]),
    ]:  # fmt: skip
        expected = x * x
        assert weighted_square(x, w, y, 1.0) == expected.sum()
        np.testing.assert_array_equal(y, expected)
    assert weighted_square(w, w, np.zeros(4), 1.0) == 4.0


@pytest.mark.parametrize("run", ["__call__", "value_and_grad", "vjp", "jacobian"])
def test_overlapping_views_are_refused(run: str) -> None:
    memory, grid = np.arange(24.0), np.arange(16.0).reshape(4, 4)
    for x, y in [(memory[:4], memory[3:7]), (memory[:8:2], memory[2:10:2]), (grid[:, 1], grid[1]), (memory[:4],) * 2]:
        before = memory.copy(), grid.copy()
        with pytest.raises(ArgumentError) as caught:
            getattr(weighted_square, run)(x, np.ones(4), y, 1.0)
        assert caught.value.codes == ("LD304",)
        np.testing.assert_array_equal(memory, before[0])
        np.testing.assert_array_equal(grid, before[1])


# -- both modes on the first call --------------------------------------------------------------------------
def test_the_modes_are_compared_once_per_signature() -> None:
    f = vectorize_grad(check="first")(plain_sum)
    x = np.array([1.0, 2.0])
    assert f.value_and_grad(x)[0] == 5.0
    spec = next(iter(f.specializations.values()))
    assert spec.made["identity pullback"] is True
    names = f.vjp(x)[1].pull.__globals__
    right = names["run_slopes"]
    names["run_slopes"] = lambda *a: (right(*a), a[-1].__imul__(1.0 + 1e-6))[0]
    assert f.vjp(x)[1]().x[0] == 2.0 * (1.0 + 1e-6)
    del spec.made["identity pullback"]
    for call in (f.vjp, f.grad, f.value_and_grad):
        with pytest.raises(DifferentiationError) as caught:
            call(x)
        assert caught.value.codes == ("LD406",)
    names["run_slopes"] = right
    assert f.grad(x).x.tolist() == [2.0, 4.0]
    assert f.grad(x.astype(np.float32)).x.tolist() == [2.0, 4.0]
    assert f.grad(np.array([np.nan, np.inf])).x[1] == np.inf


def test_the_comparison_leaves_arguments_alone() -> None:
    f = vectorize_grad(check="first")(grow.__wrapped__)
    y = np.array([2.0, 3.0])
    _, pullback = f.vjp(y, 1)
    assert y.tolist() == [4.0, 9.0]
    assert pullback(y=np.ones(2)).y.tolist() == [4.0, 6.0]
    slope = vectorize_grad(check="first")(total.grad)
    assert slope.vjp(np.array([3.0]))[1]((np.ones(1),)).x.tolist() == [2.0]
