"""Case 12: the cost of a variational autoencoder, with fourteen arrays of parameters and helpers for its layers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

pytestmark = pytest.mark.part(2)


def affine(W, b, x, y):
    """`y = W x + b` for each column of `x`."""
    for i in range(W.shape[0]):
        for c in range(x.shape[1]):
            y[i, c] = b[i]
        for k in range(W.shape[1]):
            for c in range(x.shape[1]):
                y[i, c] += W[i, k] * x[k, c]


def hidden(W, b, x):
    h = np.empty((W.shape[0], x.shape[1]))
    affine(W, b, x, h)
    for i in range(h.shape[0]):
        for c in range(h.shape[1]):
            h[i, c] = np.tanh(h[i, c])
    return h


def cost(We1, be1, We2, be2, We3, be3, We4, be4, Wd1, bd1, Wd2, bd2, Wd3, bd3, eps, x):
    h2 = hidden(We2, be2, hidden(We1, be1, x))
    mu = np.empty((We3.shape[0], x.shape[1]))
    spread = np.empty((We4.shape[0], x.shape[1]))
    z = np.empty((We3.shape[0], x.shape[1]))
    affine(We3, be3, h2, mu)
    affine(We4, be4, h2, spread)
    latent = 0.0
    for i in range(z.shape[0]):
        for c in range(z.shape[1]):
            z[i, c] = mu[i, c] + np.sqrt(np.exp(spread[i, c])) * eps[i]
            latent += 1.0 + spread[i, c] - mu[i, c] ** 2 - np.exp(spread[i, c])
    g2 = hidden(Wd2, bd2, hidden(Wd1, bd1, z))
    out = np.empty(x.shape)
    affine(Wd3, bd3, g2, out)
    rec = 0.0
    for i in range(x.shape[0]):
        for c in range(x.shape[1]):
            p = 1.0 / (1.0 + np.exp(-out[i, c]))
            rec += x[i, c] * np.log(1e-10 + p) + (1.0 - x[i, c]) * np.log(1e-10 + 1.0 - p)
    return (rec - 0.5 * latent) / x.shape[1]


def twin(We1, be1, We2, be2, We3, be3, We4, be4, Wd1, bd1, Wd2, bd2, Wd3, bd3, eps, x):
    import jax.numpy as jnp

    h2 = jnp.tanh(We2 @ jnp.tanh(We1 @ x + be1[:, None]) + be2[:, None])
    mu, spread = We3 @ h2 + be3[:, None], We4 @ h2 + be4[:, None]
    z = mu + jnp.sqrt(jnp.exp(spread)) * eps[:, None]
    g2 = jnp.tanh(Wd2 @ jnp.tanh(Wd1 @ z + bd1[:, None]) + bd2[:, None])
    p = 1.0 / (1.0 + jnp.exp(-(Wd3 @ g2 + bd3[:, None])))
    rec = jnp.sum(x * jnp.log(1e-10 + p) + (1.0 - x) * jnp.log(1e-10 + 1.0 - p), 0)
    latent = -0.5 * jnp.sum(1.0 + spread - mu**2 - jnp.exp(spread), 0)
    return jnp.mean(rec + latent)


WEIGHTS = tuple(f"{kind}{layer}" for layer in ("e1", "e2", "e3", "e4", "d1", "d2", "d3") for kind in "Wb")
SHAPES = {"e1": (50, 78), "e2": (50, 50), "e3": (5, 50), "e4": (5, 50), "d1": (50, 5), "d2": (50, 50), "d3": (78, 50)}


def arguments(batch: int) -> dict[str, Any]:
    rng = np.random.default_rng(8)
    found: dict[str, Any] = {}
    for name, shape in SHAPES.items():
        bound = np.sqrt(6.0 / sum(shape))
        found[f"W{name}"], found[f"b{name}"] = rng.uniform(-bound, bound, shape), 0.1 * rng.standard_normal(shape[0])
    return found | {"eps": rng.standard_normal(5), "x": rng.random((78, batch))}


def test_autoencoder() -> None:
    """One compiled pair of sweeps for two batches: against JAX, with nothing allocated twice or left over."""
    jax = pytest.importorskip("jax")
    f = vectorize_grad(wrt=WEIGHTS)(cost)
    reference = jax.jit(jax.value_and_grad(twin, argnums=tuple(range(14))))
    assert f.compile(**arguments(100)).ir("reverse").count("tanh(") == 0
    for batch in (100, 37, 100):
        args = arguments(batch)
        value, g = f.value_and_grad(**args)
        expected, slopes = reference(*args.values())
        assert value == pytest.approx(float(expected), rel=1e-10)
        for name, slope in zip(WEIGHTS, slopes, strict=True):
            np.testing.assert_allclose(getattr(g, name), slope, rtol=1e-10, atol=1e-12, err_msg=name)
        gradients = sum(v.nbytes for v in g)
        tracemalloc.start()
        try:
            f.value_and_grad(**args)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < gradients + 20_000
