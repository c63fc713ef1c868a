"""Long calls that are interrupted, in a process of their own: `python interrupted.py [jax|compiling|importing|daemon]`.

Each must end with KeyboardInterrupt soon after the signal, hold no memory any more, leave Python's handlers as they
were, and the next call must be right. A daemon thread goes on until the process has ended.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
from numba.core.runtime import rtsys

from loopdiff import set_num_threads, vectorize_grad
from loopdiff.backends.cpu import interrupts
from loopdiff.backends.cpu.threads import pool

WAIT, LATEST = 0.1, 2.0  # seconds: when the signal comes, and how late the call may end on a busy machine
ENDLESS = 1 << 40


def loop(x, n):
    t = 0.0
    for i in range(n):
        t += np.sin(x * i)
    return t


def iterate(x, n):
    t, k = x, 0
    while k < n:
        t = np.cos(t)
        k += 1
    return t


def few(x, k, n):
    t = 0.0
    for c in range(k):
        for i in range(n):
            t += np.sin(x * i + c)
    return t


def relax(u, n):
    v = np.empty(u.shape)
    for _ in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = v[i, j]
    s = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            s += u[i, j] ** 2
    return s


def square(a):
    b = np.zeros((a.shape[0], a.shape[1]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[0]):
                b[i, j] += a[i, k] * a[k, j]
    t = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            t += b[i, j] ** 2
    return t


@contextmanager
def signal_after(seconds: float, number: int = signal.SIGINT):
    done = threading.Event()

    def send() -> None:
        if not done.wait(seconds):
            os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        done.set()
        sender.join()


def held() -> int:
    """Arrays that compiled code has made and not given back."""
    stats = rtsys.get_allocation_stats()
    return stats.mi_alloc - stats.mi_free


def check(name: str, call: Callable[..., object], small: tuple, long: tuple, *others: type[Exception]) -> None:
    """`others`: what may be raised in front of the interrupt."""

    def result() -> str:
        return repr(call(*(a.copy() if isinstance(a, np.ndarray) else a for a in small)))

    before = result()
    memory, start = held(), time.perf_counter()
    try:
        with signal_after(WAIT):
            call(*long)
    except (KeyboardInterrupt, *others):
        pass
    else:
        raise AssertionError(f"{name} went on")
    took = time.perf_counter() - start
    assert took < WAIT + LATEST, (name, took)
    assert held() == memory, (name, held() - memory)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, name
    assert result() == before, name
    print(f"{name}: {took:.2f} s")


def kernels() -> None:
    u, small, large = np.ones((300, 300)), np.ones((9, 9)), np.ones((6000, 6000))
    for is_parallel in (False, True):
        f, r, m = (vectorize_grad(parallel=is_parallel)(g) for g in (loop, relax, square))
        where = " on threads" if is_parallel else ""
        check(f"vectors{where}", f, (0.1, 9), (0.1, ENDLESS))
        check(f"gradient of vectors{where}", f.value_and_grad, (0.1, 9), (0.1, ENDLESS))
        check(f"nests{where}", r, (small, 3), (u, ENDLESS))
        check(f"gradient of nests{where}", r.value_and_grad, (small, 3), (u, ENDLESS))
        check(f"products{where}", m, (small,), (large,))
        check(f"gradient of products{where}", m.value_and_grad, (small,), (large,))
    w = vectorize_grad(iterate)
    check("while", w, (0.1, 9), (0.1, ENDLESS))
    check("tangent of while", lambda x, n: w.jvp((x, n), {"x": 1.0}), (0.1, 9), (0.1, ENDLESS))
    c = vectorize_grad(few)
    check("a long loop in a short one", c, (0.1, 2, 9), (0.1, 2, ENDLESS))
    k = vectorize_grad(relax).compile(small, 3)
    check("a generated function", k.primal, (small, 3), (u, ENDLESS))
    pulled_back()
    handlers()


def pulled_back() -> None:
    """A pullback that was interrupted can be called again."""
    f = vectorize_grad(loop)
    _, short = f.vjp(0.1, 9)
    before = short(1.0).x
    _, pullback = f.vjp(0.1, 4_000_000)
    expected = pullback(1.0).x
    for seconds in (0.001, 0.003, 0.01):
        try:
            with signal_after(seconds):
                pullback(1.0)
        except KeyboardInterrupt:
            pass
        assert pullback(1.0).x == expected
    assert short(1.0).x == before


def handlers() -> None:
    """Handlers of the program run in the midst of a loop: one that returns changes nothing, another raises what it
    does."""
    f = vectorize_grad(loop)
    came: list[float] = []
    expected, start = f(0.1, 20_000_000), time.perf_counter()
    before = signal.signal(signal.SIGINT, lambda *_: came.append(time.perf_counter()))
    with signal_after(0.1):
        assert f(0.1, 60_000_000) != expected
    end = time.perf_counter()
    assert not came or came[0] <= end
    assert f(0.1, 20_000_000) == expected
    assert end > start
    signal.signal(signal.SIGINT, before)

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    try:
        f(0.1, ENDLESS)
    except TimeoutError:
        print("timeout")
    signal.signal(signal.SIGALRM, before)


def through_jax() -> None:
    import jax

    from loopdiff.jax import wrap

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(wrap(vectorize_grad(loop)))
    # XLA's error comes first, and the interrupt as soon as Python goes on.
    check("JAX", compiled, (0.1, 9), (0.1, ENDLESS), ValueError)


def compiling(seed: int, count: int) -> None:
    """Signals at random moments of first calls."""
    rng = np.random.default_rng(seed)
    took, ended = 0.6, 0
    for _ in range(count):
        factor, x = rng.random(), np.linspace(0.1, 1.0, 9)

        def scaled(x, factor):
            t = 0.0
            for i in range(1, x.shape[0] - 1):
                t += np.sin(x[i - 1]) * x[i + 1] * factor
            return t

        made: list[object] = []
        start = time.perf_counter()
        try:
            with signal_after(took * rng.random()):
                made.append(vectorize_grad(wrt=("x",), cache=False)(scaled))
                made[0].value_and_grad(x, factor)  # type: ignore[attr-defined]
                took = time.perf_counter() - start
        except KeyboardInterrupt:
            ended += 1
        f = made[0] if made else vectorize_grad(wrt=("x",), cache=False)(scaled)
        value, (slopes,) = f.value_and_grad(x, factor)  # type: ignore[attr-defined]
        expected = np.zeros(9)
        expected[:-2] += np.cos(x[:-2]) * x[2:] * factor
        expected[2:] += np.sin(x[:-2]) * factor
        np.testing.assert_allclose(slopes, expected, rtol=1e-12)
        np.testing.assert_allclose(value, scaled(x, factor), rtol=1e-12)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    print(f"{ended} of {count} interrupted")


class InMidst:
    """A finder of modules that interrupts what imports one of them, once."""

    def __init__(self, name: str) -> None:
        self.name: str | None = name

    def find_spec(self, name: str, *_: object) -> None:
        if name == self.name:
            self.name = None
            signal.raise_signal(signal.SIGINT)


def importing(name: str) -> None:
    """A signal in the midst of what the first call imports, when the module `name` is looked for."""
    finder = InMidst(name)
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]
    f, x = vectorize_grad(wrt=("x",), cache=False)(iterate), 0.5
    ended = 0
    try:
        f.grad(x, 3)
    except KeyboardInterrupt:
        ended = 1
    assert finder.name is None, f"{name} was not imported"
    assert ended, f"{name}: not interrupted"
    np.testing.assert_allclose(f(x, 3), iterate(x, 3), rtol=1e-12)
    first, second = np.cos(x), np.cos(np.cos(x))
    np.testing.assert_allclose(f.grad(x, 3), -np.sin(x) * np.sin(first) * np.sin(second), rtol=1e-12)


def left_behind(is_parallel: bool) -> None:
    """A daemon thread is in the midst of a loop when the interpreter ends, and says if memory that it uses is freed."""
    f = vectorize_grad(parallel=is_parallel)(loop)
    f(0.1, 9)

    def go_on(*_: object) -> None:
        f(0.1, ENDLESS)

    def say(_: object, write: Callable[[int, bytes], int] = os.write) -> None:
        write(2, b"freed\n")

    watched = [weakref.ref(memory, say) for memory in (interrupts.MEMORY, pool.MEMORY)]
    threading.Thread(target=go_on, args=watched, daemon=True).start()
    time.sleep(WAIT)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's jobs in the background ignore it
    set_num_threads(2)
    match sys.argv[1:]:
        case ["jax"]:
            through_jax()
        case ["compiling", seed, count]:
            compiling(int(seed), int(count))
        case ["importing", name]:
            importing(name)
        case ["daemon", where]:
            left_behind(where == "threads")
        case _:
            kernels()
    print("done")
