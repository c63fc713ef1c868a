"""Chunks of nested loops: short loops are cut together with the next one inside, and nothing depends on where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from loopdiff import Differentiable, set_num_threads, vectorize_grad
from loopdiff.backends.cpu.threads import pool
from loopdiff.backends.cpu.threads.calling import cut
from loopdiff.kernels import nn

pytestmark = pytest.mark.part(5)


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    yield
    set_num_threads(2)
    pool.word(pool.EAGER).value = 0


def products(a, b):
    c = np.zeros((a.shape[0], a.shape[1], b.shape[2]))
    for s in range(a.shape[0]):
        for i in range(a.shape[1]):
            for j in range(b.shape[2]):
                for k in range(a.shape[2]):
                    c[s, i, j] += a[s, i, k] * b[s, k, j]
    return c


def images(x, g):
    """Rows of a buffer are each iteration's own, of the inner loop as of the outer one."""
    y, h = np.zeros_like(x), np.empty(x.shape[2])
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            total = 0.0
            for j in range(x.shape[2]):
                h[j] = np.sin(x[b, i, j]) * g[j]
                total += h[j]
            for j in range(x.shape[2]):
                y[b, i, j] = h[j] * total
    return y


def backwards(x, g):
    """Loops that count down, or by more than one, and a bound that is found outside."""
    n = x.shape[1] - 1
    y = np.zeros_like(x)
    for b in range(x.shape[0] - 1, -1, -1):
        for i in range(n, 0, -2):
            for j in range(x.shape[2]):
                y[b, i, j] = np.exp(x[b, i - 1, j]) * g[j]
    return y


def triangles(x, g):
    """Where the inner loop ends depends on the outer one."""
    y = np.zeros_like(x)
    for b in range(x.shape[0]):
        for i in range(b, x.shape[1]):
            for j in range(x.shape[2]):
                y[b, i, j] = np.cos(x[b, i, j]) * g[j] + x[b, i - b, j]
    return y


def running(x, g):
    """Iterations of the inner loop wait for each other."""
    y = x.copy()
    for b in range(x.shape[0]):
        for i in range(1, x.shape[1]):
            for j in range(x.shape[2]):
                y[b, i, j] = y[b, i - 1, j] * g[j] + x[b, i, j]
    return y


def steps_of_two(x, g):
    """All steps go through one axis, twice, inside of a loop that may be short."""
    y, z = x.copy(), x.copy()
    for b in range(x.shape[0]):
        for i in range(1, x.shape[1]):
            for j in range(x.shape[2]):
                z[b, i, j] = np.tanh(y[b, i - 1, j]) * g[j]
            for j in range(x.shape[2]):
                y[b, i, j] += z[b, i, j] * z[b, i - 1, j]
    return y


def steps_alone(x, g):
    """The outermost loop is over steps, of which all go through one axis that may be short."""
    y = np.zeros((x.shape[1], x.shape[2]))
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y[i, j] = 0.9 * y[i, j] + np.tanh(x[b, i, j] * y[i, j]) + g[j]
    return y


def named_like_helpers(x, g):
    """`cut`, `share` and others are names of what chunks call."""
    cut, share = np.sin(g), x.copy()
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                share[b, i, j] *= cut[j]
    return share


def spread(x, g):
    """Iterations of the outer loop add to the same elements as other ones of the inner loop."""
    y = np.zeros((x.shape[0] + x.shape[1], x.shape[2]))
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y[b + i, j] += x[b, i, j] * x[b, i, j] * g[j]
    return y


def steps(x, g):
    """Iterations in the middle wait for each other, and no inner loop has all the work."""
    y, z = x.copy(), np.zeros_like(x)
    for b in range(x.shape[0]):
        for _ in range(3):
            for i in range(1, x.shape[1]):
                for j in range(x.shape[2]):
                    z[b, i, j] = np.sin(y[b, i - 1, j]) * g[j]
            for i in range(1, x.shape[1]):
                for j in range(x.shape[2]):
                    y[b, i, j] += z[b, i, j] * z[b, i - 1, j]
    return y


def two_sums(x, g):
    """A sum over inner iterations, and one that the outer loop's iterations have in common."""
    y = np.zeros((x.shape[0], x.shape[2]))
    for b in range(x.shape[0]):
        total = 0.0
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                total += x[b, i, j] * np.exp(-g[j])
        for i in range(x.shape[1]):
            for j in range(x.shape[2]):
                y[b, j] += total * np.sin(x[b, i, j])
    return y


def both(f: Differentiable, args: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    value, pullback = f.vjp(*args)
    seed = np.cos(np.arange(value.size)).reshape(value.shape)
    return [value, *map(np.asarray, pullback(seed))]


def check(function: Callable[..., Any], every: list[tuple[np.ndarray, ...]], tolerance: float = 1e-11) -> None:
    f, plain = vectorize_grad(parallel=True)(function), vectorize_grad(function)
    for args in every:
        pool.word(pool.EAGER).value = 1
        found = []
        for threads in (1, 3):
            set_num_threads(threads)
            found.append(both(f, args))
        assert [r.tobytes() for r in found[0]] == [r.tobytes() for r in found[1]]
        for got, wanted in zip(found[0], both(plain, args), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


PROGRAMS = [
    images, backwards, triangles, running, steps_alone, steps_of_two, named_like_helpers, spread, steps, two_sums
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_pieces_compute_what_the_whole_does(function: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    check(function, [(rng.random(shape), rng.random(shape[2])) for shape in [(1, 9, 5), (3, 70, 67), (0, 4, 4)]])


def test_products_in_pieces() -> None:
    rng = np.random.default_rng(1)
    for shape in [(1, 100, 60), (3, 17, 5), (2, 1, 1)]:
        a, b = rng.random(shape), rng.random((shape[0], shape[2], 97))
        check(products, [(a, b)])
        np.testing.assert_allclose(products(a, b), a @ b)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_convolution_of_one_image(groups: int) -> None:
    rng = np.random.default_rng(2)
    f = nn.conv2d.of(padding=1, groups=groups).plain
    for batch in (1, 2):
        args = (rng.random((batch, 64, 9, 8)), rng.random((64, 64 // groups, 3, 3)), rng.random(64))
        check(f, [args], 1e-10)


def test_large_programs_are_cut_too() -> None:
    """By the work that there is, and not because tests ask for it."""
    rng = np.random.default_rng(3)
    for shape in [(1, 300, 200), (3, 160, 150)]:
        a, b = rng.random(shape), rng.random((shape[0], shape[2], 180))
        set_num_threads(3)
        found = both(vectorize_grad(parallel=True)(products), (a, b))
        np.testing.assert_allclose(found[0], a @ b, rtol=1e-12)
        seed = np.cos(np.arange(found[0].size)).reshape(found[0].shape)
        np.testing.assert_allclose(found[1], seed @ b.transpose(0, 2, 1), rtol=1e-11)
        np.testing.assert_allclose(found[2], a.transpose(0, 2, 1) @ seed, rtol=1e-11)


def words(function: Callable[..., Any], *args: np.ndarray) -> str:
    return vectorize_grad(parallel=True)(function).explain(*args).split("reverse sweep")[0]


def test_which_loops_are_cut() -> None:
    x, g = np.ones((2, 9, 9)), np.ones(9)
    assert "chunks of `s`, where these are few cut along `i` and `j`" in words(products, x, x)
    assert "chunks of `b`, where these are few cut along `i`; per chunk its own" in words(images, x, g)
    assert "where these are few cut along `i` and `j`" in words(backwards, x, g)
    for function in (triangles, running, spread):
        assert "chunks of" in words(function, x, g)
        assert "cut along `i`" not in words(function, x, g)


def test_which_loops_are_shared_instead() -> None:
    x, g = np.ones((2, 9, 9)), np.ones(9)
    text = vectorize_grad(parallel=True)(images).explain(x, g).split("reverse sweep")[1]
    assert "chunks of `b`, where there is one of `i` instead" in text
    assert "chunks of `b`, where there is one of `i`, `i` instead" in words(two_sums, x, g)
    for function in (running, steps):
        assert "instead" not in words(function, x, g), "rows of elements, and a part of the work, are not worth it"


def test_how_many_pieces() -> None:
    assert cut(56, 1, 1, False, 1, 64) == (14, 4)
    assert cut(56, 1, 1, False, 16, 64) == (1, 56)
    assert cut(56, 1, 1, False, 5, 64) == (4, 14)
    assert cut(56, 1, 1, False, 1, 1) == (1, 56), "not worth it"
    assert cut(300, 8, 64, True, 1, 64) == (4, 80)
    assert cut(300, 8, 64, True, 2, 64) == (1, 300), "fair to two threads"
    assert cut(300, 8, 64, True, 3, 64) == (2, 152)
    assert cut(100, 8, 64, True, 1, 64) == (1, 100)
    assert cut(-3, 1, 1, False, 1, 64) == (1, 0)
    pool.word(pool.EAGER).value = 1
    assert cut(5, 8, 64, True, 3, 64) == (5, 1)
    assert cut(500, 8, 64, True, 3, 64) == (21, 24)


@pytest.mark.skipif(not pool.HAS_THREADS, reason="no pthreads here")
def test_a_row_that_iterations_fill_in_turn_costs_chunks_no_more_than_a_row() -> None:
    """And not the array of which it is what is left: the reverse sweep of a softmax ran on one thread."""
    set_num_threads(2)
    x = np.random.default_rng(4).standard_normal((2000, 500))
    y, pullback = vectorize_grad(parallel=True)(nn.softmax.of().plain).vjp(x)
    seed, jobs = np.cos(np.arange(x.size)).reshape(x.shape), pool.word(pool.NUMBER).value
    found = pullback(seed).x
    assert pool.word(pool.NUMBER).value > jobs
    np.testing.assert_allclose(found, y * (seed - (seed * y).sum(1, keepdims=True)), rtol=1e-9, atol=1e-12)
