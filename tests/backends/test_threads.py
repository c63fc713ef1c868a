"""Loops on several threads: the same results for any number of them, wherever they are called from."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numba
import numpy as np
import pytest

from loopdiff import ArgumentError, Differentiable, set_num_threads, vectorize_grad
from loopdiff.backends.cpu.threads import pool
from loopdiff.backends.cpu.threads.calling import fill, is_worth, run_in_chunks, run_in_turns, saving, share
from loopdiff.calls.runs import mixer
from loopdiff.memory.guards import checksum
from tests.corpus import BY_NAME
from tests.gradients import harness

pytestmark = pytest.mark.part(3)


def blend(x, w, y):
    n, d = x.shape
    h = np.empty(d)
    e = 0.0
    for i in range(n):
        for k in range(d):
            h[k] = np.sin(x[i, k]) * w[k]
        for k in range(1, d):
            y[i, k] = h[k] * h[k - 1]
            e += y[i, k] * x[i, k]
    for i in range(1, n):
        for k in range(d):
            e += (x[i, k] - x[i - 1, k]) ** 2
    return e


@pytest.fixture(autouse=True)
def default_threads() -> Iterator[None]:
    yield
    set_num_threads(2)
    pool.word(pool.EAGER).value = 0


@pytest.fixture(scope="module")
def shared() -> Differentiable:
    return vectorize_grad(wrt=("x", "w"), parallel=True)(blend)


def arguments(n: int, d: int = 16) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    return rng.random((n, d)), rng.random(d), np.zeros((n, d))


def run(f: Differentiable, n: int) -> tuple[np.ndarray, ...]:
    x, w, y = arguments(n)
    value, g = f.value_and_grad(x, w, y)
    return np.asarray(value), y, g.x, g.w


def slopes_of_blend(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    s, c = np.sin(x), np.cos(x)
    h = s * w
    e_y = x[:, 1:]
    h_adj = np.zeros_like(h)
    h_adj[:, 1:] += e_y * h[:, :-1]
    h_adj[:, :-1] += e_y * h[:, 1:]
    x_adj = h_adj * c * w
    x_adj[:, 1:] += h[:, 1:] * h[:, :-1]
    steps = 2.0 * np.diff(x, axis=0)
    x_adj[1:] += steps
    x_adj[:-1] -= steps
    return x_adj, (h_adj * s).sum(0)


@pytest.mark.parametrize("n", [0, 1, 50, 6000, 9001])
def test_same_bits_for_any_number_of_threads(shared: Differentiable, n: int) -> None:
    found = []
    for threads in (1, 2, 3, 5):
        set_num_threads(threads)
        found.append([r.tobytes() for r in run(shared, n)])
    assert found[0] == found[1] == found[2] == found[3]
    _, _, x_adj, w_adj = run(shared, n)
    if n:
        for got, expected in zip((x_adj, w_adj), slopes_of_blend(*arguments(n)[:2]), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["jacobi_2d", "weighted_histogram", "biconjugate"])
def test_many_chunks_compute_what_python_does(name: str) -> None:
    """Small arrays cut into as many chunks as there may be."""
    pool.word(pool.EAGER).value = 1
    set_num_threads(3)
    entry = BY_NAME[name]
    f = vectorize_grad(wrt=entry.wrt, parallel=True)(entry.function)
    plain = harness.decorated(name)
    args, others = entry.args(0), entry.args(0)
    _, pullback = f.vjp(**args)
    _, expected = plain.vjp(**others)
    for key, value in args.items():
        np.testing.assert_allclose(value, others[key], rtol=1e-12, atol=1e-12)
    weights = {k: np.cos(np.arange(args[k].size)).reshape(args[k].shape) for k in entry.outputs}
    for got, wanted in zip(pullback(**weights), expected(**weights), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


def test_four_python_threads_at_once(shared: Differentiable) -> None:
    expected = [[r.tobytes() for r in run(shared, n)] for n in (6000, 6100, 6200, 6300)]
    found: dict[int, list[list[bytes]]] = {k: [] for k in range(4)}

    def work(k: int) -> None:
        for _ in range(10):
            found[k].append([r.tobytes() for r in run(shared, 6000 + 100 * k)])

    threads = [Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(r == expected[k] for k in found for r in found[k])


def test_called_from_compiled_code(shared: Differentiable) -> None:
    args = arguments(7500)
    primal = shared.compile(*args).primal

    @numba.njit(nogil=True)
    def twice(x, w, y):
        return primal(x, w, y) + primal(x, w, y)

    assert twice(*args) == 2.0 * shared(*args)


def test_the_first_wrong_index_is_reported() -> None:
    """Indices are checked in chunks, before anything is written."""

    @vectorize_grad(parallel=True)
    def pick(x, idx, y):
        for i in range(idx.shape[0]):
            y[i] = x[idx[i]]

    pool.word(pool.EAGER).value = 1
    x, y = np.arange(5.0), np.zeros(300)
    for threads in (1, 3):
        set_num_threads(threads)
        idx = np.arange(300) % 5
        pick(x, idx, y)
        np.testing.assert_array_equal(y, x[idx])
        idx[100], idx[290], y[:] = 5, -6, 7.0
        with pytest.raises(ArgumentError, match=r"LD3\d\d"):
            pick(x, idx, y)
        assert (y == 7.0).all()


# -- the pool ------------------------------------------------------------------------------------------------
@numba.njit(nogil=True)
def chunk_of_squares(chunk, size, bad, out):
    for k in range(chunk * size, min((chunk + 1) * size, out.shape[0])):
        if k == bad:
            raise ValueError("bad")
        if bad >= 0 and k == bad + 5:
            raise ValueError("worse")
        out[k] += k * k


@numba.njit(nogil=True)
def squares(count, size, bad, out):
    run_in_chunks(chunk_of_squares, count, (size, bad), (out,))
    run_in_turns(chunk_of_squares, count, size, -1, out)


@numba.njit(nogil=True)
def chunk_of_chunks(chunk, size, out):
    squares(out.shape[1] // size, size, -1, out[chunk])


@numba.njit(nogil=True)
def nested(size, out):
    run_in_chunks(chunk_of_chunks, out.shape[0], size, out)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_every_chunk_runs_once(count: int) -> None:
    set_num_threads(3)
    for _ in range(50):
        out = np.zeros(3 * count, np.int64)
        squares(count, 3, -1, out)
        np.testing.assert_array_equal(out, 2 * np.arange(3 * count) ** 2)


def test_an_error_in_a_chunk_is_raised() -> None:
    set_num_threads(3)
    for bad in (0, 5, 29):
        with pytest.raises(ValueError, match="bad"):
            squares(10, 3, bad, np.zeros(30, np.int64))
    squares(10, 3, -1, np.zeros(30, np.int64))


def test_chunks_inside_chunks() -> None:
    set_num_threads(3)
    out = np.zeros((9, 30), np.int64)
    nested(3, out)
    np.testing.assert_array_equal(out, np.broadcast_to(2 * np.arange(30) ** 2, (9, 30)))


def test_chunks_depend_on_the_work() -> None:
    assert share(10, 1, 1, False, 1e3, 0.0) == (1, 10)
    assert share(-3, 1, 1, False, 1e9, 0.0) == (1, 0)
    assert share(1000, 64, 1, False, 2e5, 0.0) == (8, 128)
    assert share(1000, 1, 1, False, 1e6, 1e9) == (1, 1000)
    assert share(1000, 1, 1, False, 2e4, 0.0) == (1, 1000)
    assert share(1000, 1, 1, True, 2e4, 0.0) == (5, 200)
    count, size = share(10**6, 64, 1, False, 1e9, 0.0)
    assert count <= 64
    assert size % 64 == 0


def test_what_threads_save_has_to_be_more_than_what_is_lost() -> None:
    assert saving(3e4, 0.0, 1.0) == 0.0
    assert saving(1e6, 1e7, 1.0) == 0.0
    assert saving(4e4, 0.0, 10.0) > 1e5
    assert is_worth(2.0, 1.0)
    assert not is_worth(0.0, 0.0)
    pool.word(pool.EAGER).value = 1
    assert is_worth(0.0, 1.0)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int8])
def test_checksums_are_the_same_on_several_threads(kind: type) -> None:
    for size in (0, 7, 20_001, 3_000_001):
        array = (np.arange(size) % 97).astype(kind)
        assert checksum(array, mixer(True)) == checksum(array)


def counts(k, n):
    h = np.zeros(n, dtype=np.int16)
    for i in range(len(k)):
        h[k[i]] += 100
    total = 0.0
    for i in range(n):
        total += 0.5 * h[i]
    return total


def test_small_integers_are_counted_apart() -> None:
    k = np.arange(1000) * 7 % 4
    pool.word(pool.EAGER).value = 1
    assert vectorize_grad(parallel=True)(counts)(k, 4) == counts(k, 4)


@pytest.mark.parametrize("size", [0, 1000, 2_000_003])
def test_arrays_are_filled_up_to_their_ends(size: int) -> None:
    @numba.njit(nogil=True)
    def filled(x):
        fill(x.reshape(-1), 3.0)

    around = np.zeros(size + 2)
    filled(around[1:-1])
    assert (around[1:-1] == 3.0).all()
    assert around[0] == around[-1] == 0.0


def test_number_of_threads_is_positive() -> None:
    with pytest.raises(ArgumentError, match="LD309"):
        set_num_threads(0)


PROGRAM = """
import os, sys
import numpy as np
from loopdiff.backends.cpu.threads import pool
from tests.backends.test_threads import squares

def check():
    out = np.zeros(30, np.int64)
    squares(10, 3, -1, out)
    assert (out == 2 * np.arange(30) ** 2).all()

pool.set_wanted(3)
check()
assert pool.word(pool.STARTED).value == 2
for _ in range(3):
    child = os.fork()
    check()
    if child == 0:
        assert pool.word(pool.STARTED).value == 2
        sys.exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
check()
"""


@pytest.mark.skipif(not pool.HAS_THREADS, reason="no pthreads here")
def test_forked_processes_and_the_end_of_the_interpreter() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM)],
        cwd=root, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


# -- what is shared ------------------------------------------------------------------------------------------
def test_explanation(shared: Differentiable) -> None:
    text = shared.explain(*arguments(20))
    assert "in parallel, chunks of `i`; per chunk sums of `e`, its own `h`" in text
    assert "sums of `w_adj`" in text
    adding = shared.compile(*arguments(20)).explain(measure=False)
    assert "every second one first for `x_adj`" in adding
    assert "every second one first" not in text, "what starts at zero is gathered"


def test_loops_that_stay_on_one_thread() -> None:
    def first_negative(x, y):
        k = 0
        for i in range(x.shape[0]):
            if x[i] < 0.0:
                break
            y[i] = np.exp(x[i])
            k += 1
        for i in range(1, x.shape[0]):
            y[i] += y[i - 1]
        return y[k]

    text = vectorize_grad(wrt=("x",), parallel=True)(first_negative).explain(np.ones(9), np.ones(9))
    assert "in parallel" not in text.split("reverse sweep")[0]
    assert "may end early" in text


def test_sums_in_written_order_stay_on_one_thread() -> None:
    f = vectorize_grad(wrt=("x", "w"), parallel=True, fastmath=False)(blend)
    text = f.explain(*arguments(20)).split("reverse sweep")[0]
    assert "on one thread: `e` is summed in the order that is written" in text


# -- what statements hand on to each other ---------------------------------------------------------------------
def handed_on(x):
    t = np.abs(x) + 0.5
    u = np.exp(-t) * t
    return u * u + t


@pytest.mark.parametrize("shape", [(0,), (7,), (70_001,), (0, 3), (513, 300)])
def test_elements_that_statements_hand_on_are_in_registers_of_each_thread(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(3).standard_normal(shape)
    f = vectorize_grad(handed_on, parallel=True)
    np.testing.assert_allclose(f(x), handed_on(x), rtol=1e-14)
    value, pullback = f.vjp(x)
    np.testing.assert_array_equal(value, f(x))
    t = np.abs(x) + 0.5
    u = np.exp(-t) * t
    expected = np.sign(x) * (2.0 * u * np.exp(-t) * (1.0 - t) + 1.0)
    np.testing.assert_allclose(pullback(np.ones(shape)).x, expected, rtol=1e-13)
