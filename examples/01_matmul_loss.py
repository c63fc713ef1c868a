"""A loss over a matrix product: value, both gradients, a check against the closed form, what was compiled.

Run it with `python examples/01_matmul_loss.py`. If JAX is installed, its time for the same computation
is printed beside loopdiff's.
"""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("A", "B"))
def loss(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    for m in range(M):
        for n in range(N):
            C[m, n] = 0.0
            for k in range(K):
                C[m, n] += A[m, k] * B[k, n]
    t = 0.0
    for m in range(M):
        for n in range(N):
            t += np.log1p(0.25 * (C[m, n] - 18.0) ** 2)
    return -2.5 * t


def closed_form(A, B):
    """The loss and its gradients, written with whole-array operations."""
    D = A @ B - 18.0
    C_adj = -1.25 * D / (1.0 + 0.25 * D**2)
    return -2.5 * np.log1p(0.25 * D**2).sum(), C_adj @ B.T, A.T @ C_adj


def median_microseconds(call: Callable[[], object]) -> float:
    """Median time of one call, over batches of ten."""
    times = []
    for _ in range(50):
        start = time.perf_counter()
        for _ in range(10):
            call()
        times.append((time.perf_counter() - start) / 10)
    return 1e6 * statistics.median(times)


def jax_microseconds(A, B) -> float:
    """Median time of `jax.jit(jax.value_and_grad(...))` on the same matrices."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    step = jax.jit(jax.value_and_grad(lambda a, b: -2.5 * jnp.log1p(0.25 * (a @ b - 18.0) ** 2).sum(), argnums=(0, 1)))
    a, b = jnp.asarray(A), jnp.asarray(B)
    jax.block_until_ready(step(a, b))
    return median_microseconds(lambda: jax.block_until_ready(step(a, b)))


def main() -> None:
    rng = np.random.default_rng(0)
    A, B, C = rng.random((72, 72)), rng.random((72, 72)), np.zeros((72, 72))

    start = time.perf_counter()
    value, g = loss.value_and_grad(A, B, C)
    first = time.perf_counter() - start

    expected, A_adj, B_adj = closed_form(A, B)
    errors = {
        "value": abs(value / expected - 1.0),
        "g.A": np.abs(g.A - A_adj).max() / np.abs(A_adj).max(),
        "g.B": np.abs(g.B - B_adj).max() / np.abs(B_adj).max(),
    }
    print(f"loss                {value!r}")
    print(f"gradients           |g.A| = {np.linalg.norm(g.A):.6f}, |g.B| = {np.linalg.norm(g.B):.6f}")
    for name, error in errors.items():
        print(f"error of {name:10s} {error:.1e} relative to the closed form")
        if error > 1e-12:
            raise SystemExit(f"{name} differs from the closed form")

    print(f"first call          {first:.2f} s (compiles, or loads from the disk cache)")
    print(f"value and gradients {median_microseconds(lambda: loss.value_and_grad(A, B, C)):.1f} us")
    if importlib.util.find_spec("jax") is not None:
        print(f"the same with JAX   {jax_microseconds(A, B):.1f} us (jax.jit(jax.value_and_grad(...)))")

    print("\n" + loss.explain(A, B, C))


if __name__ == "__main__":
    main()
