"""Diffrax: a vector field of loops, a reaction with diffusion, and a gradient through its implicit solution."""

from __future__ import annotations

from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import loopdiff.jax
from loopdiff import vectorize_grad


@vectorize_grad(wrt=("u", "rate"))
def field(u, rate):
    """Fisher's equation on a rod whose ends are closed: `rate` is the diffusion along it, between its cells."""
    n = u.shape[0]
    slope = np.zeros(n)
    for i in range(n):
        slope[i] = u[i] * (1.0 - u[i])
    for i in range(n - 1):
        flow = rate[i] * (u[i + 1] - u[i])
        slope[i] += flow
        slope[i + 1] -= flow
    return slope


def in_jax(u, rate):
    flow = jnp.pad(rate * jnp.diff(u), 1)
    return u * (1.0 - u) + jnp.diff(flow)


def late(field, rate):
    """How much has come to the far end at time 2."""
    start = jnp.exp(-(jnp.linspace(0.0, 6.0, rate.size + 1) ** 2))
    term = diffrax.ODETerm(lambda t, u, rate: field(u, rate))
    steps = diffrax.PIDController(rtol=1e-6, atol=1e-8)
    found = diffrax.diffeqsolve(term, diffrax.Kvaerno3(), 0.0, 2.0, 0.01, start, rate, stepsize_controller=steps)
    assert found.ys is not None
    return jnp.sum(found.ys[-1, -4:])


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    rate = jnp.linspace(5.0, 200.0, 23)
    fields = (loopdiff.jax.wrap(field), in_jax)
    (value, g), (expected, expected_g) = (jax.jit(jax.value_and_grad(partial(late, f)))(rate) for f in fields)
    error = jnp.abs(g - expected_g).max() / jnp.abs(expected_g).max()
    print(f"at the far end {value:.6f} and {expected:.6f}, error of the gradient {error:.0e}")
    assert jnp.allclose(value, expected, rtol=1e-9)
    assert error < 1e-6


if __name__ == "__main__":
    main()
