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


class Spring:
    """A model with what no program reads, and a method that writes into an array that is given."""

    def __init__(self, k, names):
        self.k = k
        self.names = names

    @vectorize_grad(wrt=("x", "h"))
    def energy(self, x, h=2.0):
        return self.k * (x**2).sum() + h * x[0]

    @vectorize_grad
    def forces(self, x, out):
        for i in range(len(x)):
            out[i] = -2.0 * self.k * x[i]


def test_methods_of_instances_take_what_follows_them():
    model, x = Spring(3.0, ["a", {}]), jnp.linspace(1.0, 2.0, 4)
    energy = loopdiff.jax.wrap(model.energy)

    def twin(x, h=2.0):
        return model.k * (x**2).sum() + h * x[0]

    for f in (energy, jax.jit(energy)):
        np.testing.assert_allclose(f(x), twin(x), rtol=1e-6)
        np.testing.assert_allclose(f(x, h=0.5), twin(x, 0.5), rtol=1e-6)
    mine, other = (jax.jit(jax.grad(f, argnums=(0, 1)))(x, 0.5) for f in (energy, twin))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), mine, other)
    model.k = 5.0
    np.testing.assert_allclose(energy(x), twin(x), rtol=1e-6)
    for shape in (lambda x: x.shape, (4,)):
        forces = loopdiff.jax.wrap(model.forces, outputs={"out": shape})
        np.testing.assert_allclose(forces(x), -10.0 * x, rtol=1e-6)
        np.testing.assert_allclose(jax.grad(lambda x, f=forces: f(x)[1])(x), [0.0, -10.0, 0.0, 0.0], rtol=1e-6)
