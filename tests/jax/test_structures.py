"""Structures through JAX: its trees are loopdiff's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import loopdiff.jax
from loopdiff import vectorize_grad

pytestmark = pytest.mark.part(2)


def loss(params, x, act, np=np):
    for layer in params:
        x = x @ layer["w"] + layer["b"]
        if act == "relu":
            x = np.maximum(x, 0.0)
    return {"loss": (x**2).sum(), "last": x}


@pytest.fixture(scope="module")
def params():
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = ((3, 4), (4,), (4, 2), (2,))
    w1, b1, w2, b2 = (jax.random.normal(k, s) for k, s in zip(keys, shapes, strict=True))
    return [{"w": w1, "b": b1}, {"b": b2, "w": w2}]


def test_gradients_by_trees_under_jit(params):
    wrapped = loopdiff.jax.wrap(vectorize_grad(loss))
    x = jnp.linspace(-1.0, 1.0, 15).reshape(5, 3)

    def total(f, p, x):
        found = f(p, x)
        return found["loss"] + found["last"][0, 0]

    mine = jax.jit(jax.grad(lambda p, x: total(lambda *a: wrapped(*a, "relu"), p, x), argnums=(0, 1)))(params, x)
    other = jax.grad(lambda p, x: total(lambda *a: loss(*a, "relu", np=jnp), p, x), argnums=(0, 1))(params, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-5), mine, other)


def step(s, dt):
    return {"x": s["x"] + dt * s["v"], "v": s["v"] - dt * s["x"]}


def test_a_state_goes_through_scan():
    wrapped, start = loopdiff.jax.wrap(vectorize_grad(step)), {"x": jnp.ones(3), "v": jnp.zeros(3)}
    mine, _ = jax.lax.scan(lambda s, _: (wrapped(s, 0.1), None), start, None, length=4)
    other = start
    for _ in range(4):
        other = step(other, 0.1)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), mine, other)
