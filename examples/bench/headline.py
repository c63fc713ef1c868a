"""The headline loss against `jax.jit(jax.value_and_grad(...))`: same process, one pinned core, taking turns.

Gradients are checked before anything is timed. Every row is printed, also those loopdiff loses.

    python examples/bench/headline.py
"""

from __future__ import annotations

import timing

CORE = timing.pin_to_one_core()

import platform  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numba  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from loopdiff import vectorize_grad  # noqa: E402
from tests.corpus import BY_NAME  # noqa: E402

ENTRY = BY_NAME["matmul_loss"]
SHAPES = [(72, 72, 72), (71, 73, 67), (16, 16, 16), (256, 256, 256)]
DTYPES = [np.float64, np.float32]


def jax_loss(A, B):
    return -2.5 * jnp.sum(jnp.log1p(0.25 * (A @ B - 18.0) ** 2))


def candidates(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, timing.Call]:
    """The calls to time, after checking that their gradients agree."""
    f = vectorize_grad(wrt=("A", "B"))(ENTRY.function)
    k = f.compile(A, B, C)
    workspace = k.workspace(A, B, C)
    adjoints = {"A_adj": np.zeros_like(A), "B_adj": np.zeros_like(B), "C_adj": np.zeros_like(C)}
    buffers = [adjoints[n] for n in k.signature("reverse") if n in adjoints]
    one = A.dtype.type(1.0)
    step, primal = jax.jit(jax.value_and_grad(jax_loss, argnums=(0, 1))), jax.jit(jax_loss)
    a, b = jnp.asarray(A), jnp.asarray(B)

    def sweeps() -> object:
        for name in ("A_adj", "B_adj"):
            adjoints[name].fill(0.0)
        value = k.forward(A, B, C, *workspace)
        k.reverse(A, B, C, *workspace, one, *buffers)
        return value

    value, g = f.value_and_grad(A, B, C)
    expected, (A_adj, B_adj) = step(a, b)
    tolerance = 1e-11 if A.dtype == np.float64 else 2e-4
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    sweeps()
    for got, raw, want in ((g.A, adjoints["A_adj"], A_adj), (g.B, adjoints["B_adj"], B_adj)):
        bound = tolerance * float(np.abs(want).max())
        np.testing.assert_allclose(got, want, rtol=0, atol=bound)
        np.testing.assert_allclose(raw, want, rtol=0, atol=bound)
    return {
        "primal": lambda: f(A, B, C),
        "jax primal": lambda: jax.block_until_ready(primal(a, b)),
        "forward + reverse": sweeps,
        "value_and_grad": lambda: f.value_and_grad(A, B, C),
        "jax value_and_grad": lambda: jax.block_until_ready(step(a, b)),
    }


def main() -> None:
    print(f"{platform.machine()}, core {CORE}; jax {jax.__version__}, numba {numba.__version__}")
    header = ["primal", "jax primal", "forward + reverse", "value_and_grad", "jax value_and_grad"]
    print(f"{'case':24s}" + "".join(f"{h:>20s}" for h in header) + f"{'ratio to jax':>15s}   (us)")
    for dtype in DTYPES:
        for shape in SHAPES:
            M, K, N = shape
            rng = np.random.default_rng(0)
            A, B = rng.random((M, K)).astype(dtype), rng.random((K, N)).astype(dtype)
            times = timing.medians(candidates(A, B, np.zeros((M, N), dtype)))
            ratio = times["forward + reverse"] / times["jax value_and_grad"]
            verdict = "" if ratio <= 1.0 else "  slower than jax"
            cells = "".join(f"{timing.microseconds(times[h]):>20s}" for h in header)
            print(f"{M}x{K}x{N} {np.dtype(dtype).name:12s}".ljust(24) + cells + f"{ratio:15.2f}{verdict}")


if __name__ == "__main__":
    main()
