"""Loops on several threads inside XLA, whose own threads call the sweeps at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import numpy as np
import pytest

from loopdiff import set_num_threads, vectorize_grad
from loopdiff.backends.cpu.threads import pool

jax = pytest.importorskip("jax")


@vectorize_grad(wrt=("x", "w"), parallel=True)
def weighted(x, w):
    t = 0.0
    for i in range(x.shape[0]):
        for k in range(w.shape[0]):
            t += w[k] * np.sin(x[i]) ** k
    return t


@pytest.fixture(autouse=True)
def many_chunks() -> Iterator[None]:
    pool.word(pool.EAGER).value = 1
    set_num_threads(3)
    yield
    pool.word(pool.EAGER).value = 0
    set_num_threads(2)


def test_jitted_from_several_threads() -> None:
    from loopdiff.jax import wrap

    step = jax.jit(jax.value_and_grad(wrap(weighted), argnums=(0, 1)))
    both = jax.jit(lambda xs, w: [step(x, w) for x in xs])
    inputs = [(np.linspace(0.0, 1.0 + k, 400), np.linspace(1.0, 2.0, 6)) for k in range(4)]
    expected = [weighted.value_and_grad(*args) for args in inputs]

    def compare(found, wanted) -> None:
        value, (x, w) = found
        np.testing.assert_array_equal(value, wanted[0])
        np.testing.assert_array_equal(x, wanted[1].x)
        np.testing.assert_array_equal(w, wanted[1].w)

    failures: list[BaseException] = []

    def work(k: int) -> None:
        try:
            for _ in range(20):
                compare(step(*inputs[k]), expected[k])
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    w = inputs[0][1]
    for found, args in zip(both([x for x, _ in inputs], w), inputs, strict=True):
        compare(found, weighted.value_and_grad(args[0], w))
