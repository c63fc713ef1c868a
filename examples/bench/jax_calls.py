"""What a call costs inside `jit`, and `vmap` of small loop nests, against JAX's own batches of the same.

    python examples/bench/jax_calls.py

Gradients are compared before anything is timed. Times are medians; those of one line are taken in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numba
import numpy as np

from loopdiff import vectorize_grad
from loopdiff.jax import abi, wrap

jax.config.update("jax_enable_x64", True)
ROUNDS, LEAST, TURNS = 9, 0.1, 20_000


@numba.cfunc(numba.types.intp(numba.types.intp))
def nothing(frame: int) -> int:
    """A foreign call that does nothing."""
    question = abi.metadata_extension(frame)
    return abi.answer_metadata(question, 0) if question != 0 else 0  # pyright: ignore[reportCallIssue]


@vectorize_grad
def shifted(x):
    for i in range(x.shape[0]):
        x[i] += 1.0


@vectorize_grad
def step(W, x, h, new):
    for i in range(W.shape[0]):
        s = x[i]
        for j in range(W.shape[1]):
            s += W[i, j] * h[j]
        new[i] = np.tanh(s)


def step_twin(W: Any, x: Any, h: Any) -> Any:
    return jnp.tanh(W @ h + x)


@vectorize_grad
def lorenz(y, p, out):
    a, b, c = y[0], y[1], y[2]
    for _ in range(50):
        da, db, dc = p[0] * (b - a), a * (p[1] - c) - b, a * b - p[2] * c
        a, b, c = a + 0.01 * da, b + 0.01 * db, c + 0.01 * dc
    out[0], out[1], out[2] = a, b, c


def lorenz_twin(y: Any, p: Any) -> Any:
    def once(_: Any, state: Any) -> Any:
        a, b, c = state
        da, db, dc = p[0] * (b - a), a * (p[1] - c) - b, a * b - p[2] * c
        return a + 0.01 * da, b + 0.01 * db, c + 0.01 * dc

    return jnp.stack(jax.lax.fori_loop(0, 50, once, (y[0], y[1], y[2])))


@vectorize_grad
def kalman(m, P, F, Q, z):
    predicted = F @ m
    spread = F @ P @ F.T + Q
    gain = spread[:, 0] / (spread[0, 0] + 0.5)
    return predicted + gain * (z - predicted[0]), spread - np.outer(gain, spread[0])


def kalman_twin(m: Any, P: Any, F: Any, Q: Any, z: Any) -> Any:
    predicted = F @ m
    spread = F @ P @ F.T + Q
    gain = spread[:, 0] / (spread[0, 0] + 0.5)
    return predicted + gain * (z - predicted[0]), spread - jnp.outer(gain, spread[0])


def time_of(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    count, begin = 0, time.perf_counter()
    while (taken := time.perf_counter() - begin) < LEAST:
        jax.block_until_ready(call())
        count += 1
    return taken / count


def in_turns(*calls: Callable[[], Any]) -> list[float]:
    for call in calls:
        jax.block_until_ready(call())
    found = [[time_of(call) for call in calls] for _ in range(ROUNDS)]
    return [statistics.median(each) for each in zip(*found, strict=True)]


def overhead() -> None:
    jax.ffi.register_ffi_target("nothing", jax.ffi.pycapsule(nothing.address), platform="cpu", api_version=1)
    kind = jax.ShapeDtypeStruct((8,), np.float64)
    empty = jax.ffi.ffi_call("nothing", kind, input_output_aliases={0: 0})
    own, x = wrap(shifted), jnp.zeros(8)
    loops = [jax.jit(lambda x, f=f: jax.lax.fori_loop(0, TURNS, lambda _, v: f(v), x)) for f in (empty, own)]
    np.testing.assert_array_equal(loops[1](x), np.full(8, float(TURNS)))
    least, found = (t / TURNS * 1e6 for t in in_turns(*(lambda f=f: f(x) for f in loops)))
    print(f"a call inside `jit`: {found:.3f} us; an empty foreign call {least:.3f} us")


def batches() -> None:
    rng = np.random.default_rng(0)
    recurrent = wrap(step, outputs={"new": lambda W, x, h: x.shape})
    attracted = wrap(lorenz, outputs={"out": (3,)})
    cases = []
    for dtype in ("float64", "float32"):
        W, X, H = (
            jnp.asarray(s * rng.standard_normal(n), dtype) for s, n in ((0.1, (64, 64)), (1, (500, 64)), (1, (500, 64)))
        )
        cases.append((f"recurrent step, 64 wide, 500 examples, {dtype}", recurrent, step_twin, (None, 0, 0), (W, X, H)))
    Y = jnp.asarray(rng.standard_normal((10_000, 3)))
    cases.append(
        ("Lorenz, 50 steps, 10,000 examples", attracted, lorenz_twin, (0, None), (Y, jnp.array([10.0, 28.0, 8 / 3])))
    )
    m, F = jnp.asarray(rng.standard_normal((2_000, 4))), jnp.asarray(np.eye(4) + 0.1 * rng.standard_normal((4, 4)))
    given = m, jnp.tile(jnp.eye(4), (2_000, 1, 1)), F, 0.1 * jnp.eye(4), jnp.asarray(rng.standard_normal(2_000))
    cases.append(("Kalman step of 4 x 4, 2,000 examples", wrap(kalman), kalman_twin, (0, 0, None, None, 0), given))
    print("| | loopdiff | JAX | calls one by one |\n| --- | --- | --- | --- |")
    for name, own, twin, axes, args in cases:
        line(name, [jax.vmap(f, axes) for f in (own, twin)] + [one_by_one(own, axes)], args)
        slopes = [slope_of(jax.vmap(f, axes)) for f in (own, twin)] + [slope_of(one_by_one(own, axes))]
        line(f"{name}: gradient", slopes, args)


def one_by_one(f: Any, axes: tuple[int | None, ...]) -> Any:
    def every(*args: Any) -> Any:
        def one(some: Any) -> Any:
            rest = iter(some)
            return f(*(a if k is None else next(rest) for a, k in zip(args, axes, strict=True)))

        return jax.lax.map(one, [a for a, k in zip(args, axes, strict=True) if k is not None])

    return every


def slope_of(f: Any) -> Any:
    def total(*args: Any) -> Any:
        return sum(jnp.sum(jnp.sin(v)) for v in jax.tree.leaves(f(*args)))

    return lambda *args: jax.grad(total, tuple(range(len(args))))(*args)


def line(name: str, functions: list[Any], args: tuple[Any, ...]) -> None:
    compiled = [jax.jit(f) for f in functions]
    found = [f(*args) for f in compiled]
    for other in found[1:]:
        for a, b in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-3 if a.dtype == np.float32 else 1e-7, atol=1e-4)
    times = in_turns(*(lambda f=f: f(*args) for f in compiled))
    print(f"| {name} | " + " | ".join(f"{t * 1e3:.3f} ms" for t in times) + " |", flush=True)


if __name__ == "__main__":
    overhead()
    batches()
