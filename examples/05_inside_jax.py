"""A loop nest as a JAX function: under `jit`, `grad`, `vmap` and `lax.scan`, with no callback into Python."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad
def tridiagonal_solve(lower, diag, upper, x):
    """Thomas' algorithm: `x` holds the right-hand side and becomes the solution."""
    n = x.shape[0]
    c = np.empty(n)
    c[0] = upper[0] / diag[0]
    x[0] = x[0] / diag[0]
    for i in range(1, n):
        pivot = diag[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (x[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]


def main() -> None:
    if importlib.util.find_spec("jax") is None:
        sys.exit("this example needs JAX: python -m pip install 'loopdiff[jax]'")
    import jax
    import jax.numpy as jnp

    import loopdiff.jax

    jax.config.update("jax_enable_x64", True)
    solve = loopdiff.jax.wrap(tridiagonal_solve)
    n = 64
    k1, k2 = jax.random.split(jax.random.key(0))
    diag, rhs = 4.0 + jax.random.uniform(k1, (n,)), jax.random.normal(k2, (n,))
    off = jnp.ones(n)

    def energy(diag, rhs):
        return jnp.sum(solve(off, diag, off, rhs) ** 2)

    def dense_energy(diag, rhs):
        matrix = jnp.diag(diag) + jnp.diag(off[1:], -1) + jnp.diag(off[:-1], 1)
        return jnp.sum(jnp.linalg.solve(matrix, rhs) ** 2)

    value, gradients = jax.jit(jax.value_and_grad(energy, argnums=(0, 1)))(diag, rhs)
    _, expected = jax.value_and_grad(dense_energy, argnums=(0, 1))(diag, rhs)
    print(f"value {value:.9f}")
    for name, got, want in zip(("diag", "rhs"), gradients, expected, strict=True):
        print(f"error of the gradient for {name}: {jnp.abs(got - want).max():.1e}")

    batch = jax.vmap(solve, in_axes=(None, None, None, 0))(off, diag, off, jnp.eye(n))
    print("solved for", batch.shape[0], "right-hand sides under vmap")

    def diffuse(field, _):
        return solve(-off, diag, -off, field), None

    final, _ = jax.lax.scan(diffuse, rhs, length=10)
    print(f"|field| after ten implicit steps {jnp.linalg.norm(final):.6f}")


if __name__ == "__main__":
    main()
