"""Memory of gradients: used again only when nobody refers to it any more."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.immutable import replace
from loopdiff.memory.arena import LARGE_ARRAY, PAGE, allocate
from loopdiff.memory.host import HOST
from loopdiff.memory.recycled import LEAST, Recycler

DTYPE = np.dtype(np.float64)
COUNT = LEAST // 8


def taken(memory: Recycler, count: int = COUNT) -> np.ndarray:
    return memory.empty((count,), DTYPE, "C", 8 * count)


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_that_nobody_refers_to_serves_again() -> None:
    memory = Recycler()
    place = address(taken(memory))
    assert place % 64 == 0
    assert address(taken(memory)) == place
    assert address(taken(memory, 2 * COUNT)) != place


def test_large_arrays_begin_in_different_places_of_a_page() -> None:
    """However many whole pages each has: a processor takes them for one another where these agree."""
    memory, shape = Recycler(), (LARGE_ARRAY // 8,)
    own = allocate((shape, (3,), shape, shape), [DTYPE] * 4, ["C"] * 4)
    arrays = [own[0], own[2], own[3], *(taken(memory, LARGE_ARRAY // 8) for _ in range(4))]
    assert len({address(a) % PAGE for a in arrays}) == len(arrays)
    assert all(address(a) % 64 == 0 for a in [*arrays, own[1]])
    ends = sorted((address(a), address(a) + a.nbytes) for a in own)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ends))


@pytest.mark.parametrize("hold", [lambda a: a, lambda a: a[1:2].reshape(1, 1), memoryview, lambda a: a.view(np.int64)])
def test_memory_stays_with_whoever_refers_to_it(hold) -> None:
    memory = Recycler()
    array = taken(memory)
    array.fill(7.0)
    held, place = hold(array), address(array)
    del array
    others = [memory.zeros((COUNT,), DTYPE, "C", LEAST) for _ in range(3)]
    assert place not in [address(other) for other in others]
    assert len({address(other) for other in others}) == 3
    assert np.asarray(held).view(np.float64).ravel()[0] == 7.0


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopdiff.memory.recycled.MOST", 4 * LEAST)
    memory = Recycler()
    arrays = [taken(memory) for _ in range(9)]
    assert len({address(a) for a in arrays}) == 9
    assert memory.held <= 4 * LEAST
    taken(memory, 8 * COUNT)
    assert memory.held <= 4 * LEAST


def test_arrays_that_are_kept_do_not_make_calls_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, looks = Recycler(), []
    held = [taken(memory) for _ in range(200)]
    monkeypatch.setattr("loopdiff.memory.recycled.references", lambda block: looks.append(block) or 99)
    held.append(taken(memory))
    assert 0 < len(looks) <= 8
    assert memory.held <= 64 * LEAST


def test_small_arrays_are_numpys() -> None:
    memory = Recycler()
    assert memory.empty((3,), DTYPE, "C", 24).flags.owndata
    assert memory.zeros((3,), DTYPE, "C", 24).tolist() == [0.0, 0.0, 0.0]
    assert not memory.blocks


def test_threads_get_memory_of_their_own() -> None:
    memory = Recycler()

    def fill(number: int) -> bool:
        arrays = [taken(memory) for _ in range(4)]
        for k, array in enumerate(arrays):
            array.fill(10 * number + k)
        return all((array == 10 * number + k).all() for k, array in enumerate(arrays))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(fill, range(200)))


def test_gradients_that_are_kept_stay_as_they_are() -> None:
    @vectorize_grad
    def weighted(x, w):
        total = 0.0
        for i in range(x.shape[0]):
            total += w[i] * x[i] * x[i]
        return total

    rng = np.random.default_rng(0)
    w = rng.random(2 * COUNT)
    points = [rng.random(2 * COUNT) for _ in range(4)]
    kept = [weighted.vjp(x, w)[1](1.0) for x in points]
    rows = [weighted.vjp(x, w)[1](1.0).x[3:5] for x in points]
    for x, (dx, dw), row in zip(points, kept, rows, strict=True):
        np.testing.assert_allclose(dx, 2.0 * w * x)
        np.testing.assert_allclose(dw, x * x)
        np.testing.assert_allclose(row, (2.0 * w * x)[3:5])


@vectorize_grad
def scaled(x):
    """The reverse sweep reads nothing of it."""
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y


@vectorize_grad
def exponentials(x):
    """The reverse sweep reads them."""
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = np.exp(x[i])
    return y


@vectorize_grad
def returned_twice(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = 3.0 * x[i]
    return y, y


@pytest.mark.parametrize(("f", "is_handed_out"), [(scaled, True), (exponentials, False), (returned_twice, False)])
def test_results_are_the_callers_own(f, is_handed_out: bool) -> None:
    """Whether or not they are copies: pullbacks do not notice what is done to them, nor do other calls."""
    x = np.random.default_rng(0).random(2 * COUNT)
    is_pair = f is returned_twice
    seed = (np.ones_like(x), np.zeros_like(x)) if is_pair else np.ones_like(x)
    value, pullback = f.vjp(x)
    assert bool(pullback.run.handed_out) is is_handed_out
    first = value[0] if is_pair else value
    expected, slopes = first.copy(), pullback(seed).x
    first[:] = 7.0
    if is_pair:
        np.testing.assert_array_equal(value[1], expected)
    np.testing.assert_array_equal(pullback(seed).x, slopes)
    later = [f.vjp(x + k) for k in range(3)]
    assert (first == 7.0).all()
    del later, pullback
    again, _ = f.vjp(x)
    np.testing.assert_array_equal(again[0] if is_pair else again, expected)
    assert (first == 7.0).all()


def test_results_that_the_reverse_sweep_does_not_read_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    copied = []
    copy = HOST.copy

    def counted(array: np.ndarray) -> np.ndarray:
        copied.append(array.shape)
        return copy(array)

    monkeypatch.setattr("loopdiff.calls.runs.memory_of", lambda _: replace(HOST, copy=counted))
    scaled.vjp(np.ones(7))
    assert not copied
    exponentials.vjp(np.ones(9))
    assert copied == [(9,)]
