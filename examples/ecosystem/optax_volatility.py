"""Optax: a model of volatility (GARCH), whose likelihood is one long recurrence, fitted by Adam inside one `jit`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

import loopdiff.jax
from loopdiff import vectorize_grad


@vectorize_grad(wrt="p")
def surprise(p, returns):
    """The variance of a day follows from the day before: Bollerslev's model (1986). `p` are three logarithms."""
    base, shock, memory = np.exp(p[0]), np.exp(p[1]), np.exp(p[2])
    variance, loss = 1.0, 0.0
    for t in range(returns.shape[0]):
        loss += 0.5 * (np.log(variance) + returns[t] ** 2 / variance)
        variance = base + shock * returns[t] ** 2 + memory * variance
    return loss / returns.shape[0]


def in_jax(p, returns):
    def day(variance, r):
        return jnp.exp(p) @ jnp.array([1.0, r**2, variance]), 0.5 * (jnp.log(variance) + r**2 / variance)

    return jnp.mean(jax.lax.scan(day, 1.0, returns)[1])


def simulate(base: float, shock: float, memory: float, days: int) -> jax.Array:
    rng, variance, returns = np.random.default_rng(0), 1.0, np.zeros(days)
    for t in range(days):
        returns[t] = np.sqrt(variance) * rng.standard_normal()
        variance = base + shock * returns[t] ** 2 + memory * variance
    return jnp.asarray(returns)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    loss, returns, start = loopdiff.jax.wrap(surprise), simulate(0.1, 0.1, 0.8, 20_000), jnp.log(jnp.full(3, 0.3))
    adam = optax.adam(0.03)

    @jax.jit
    def fit(p, returns):
        def step(carry, _):
            p, state = carry
            value, g = jax.value_and_grad(loss)(p, returns)
            change, state = adam.update(g, state)
            return (optax.apply_updates(p, change), state), value

        return jax.lax.scan(step, (p, adam.init(p)), length=500)

    (p, _), values = fit(start, returns)
    error = jnp.abs(jax.grad(loss)(start, returns) - jax.grad(in_jax)(start, returns)).max()
    assert error < 1e-10
    assert jnp.allclose(jnp.exp(p), jnp.array([0.1, 0.1, 0.8]), atol=0.03)
    print(f"loss {values[0]:.4f} -> {values[-1]:.4f}, base, shock and memory {jnp.exp(p).round(2)}")


if __name__ == "__main__":
    main()
