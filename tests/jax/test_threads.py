"""Loops on several threads inside XLA, whose own threads call the sweeps at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import numpy as np
import pytest

from loopdiff import set_num_threads, vectorize_grad
from loopdiff.backends.cpu.threads import pool

pytestmark = pytest.mark.part(2)

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
    expected = [step(*args) for args in inputs]
    for (value, found), args in zip(expected, inputs, strict=True):  # whose sweeps run in one pass
        own, gradients = weighted.value_and_grad(*args)
        np.testing.assert_allclose(value, own, rtol=1e-13)
        for got, want in zip(found, gradients, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)

    def compare(found, wanted) -> None:
        for got, want in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(got, want)

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
        compare(found, step(args[0], w))
