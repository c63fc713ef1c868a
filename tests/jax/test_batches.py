"""`vmap` makes a loop of the LoopSet: as a call for each example gives it, for programs of the corpus."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.corpus import BY_NAME
from tests.lengths import each_in_turns

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from loopdiff.jax import wrap  # noqa: E402

NAMES = (
    "rde_matmul_log1p", "jacobi_2d", "spmv_csr", "durbin", "cholesky", "softmax", "gmm", "hdiff", "weighted_histogram",
    "repeated_and_cut", "tables_of_levels", "roundings",
)  # fmt: skip


def floating(values: dict[str, Any]) -> list[str]:
    return [n for n, v in values.items() if isinstance(v, float | np.ndarray) and np.asarray(v).dtype.kind == "f"]


def number(found: Any) -> Any:
    """What all floating outputs decide, each element with a weight of its own."""
    leaves = [v for v in jax.tree.leaves(found) if jnp.issubdtype(jnp.asarray(v).dtype, jnp.floating)]
    return sum(jnp.sum(jnp.asarray(v) * jnp.cos(jnp.arange(jnp.asarray(v).size)).reshape(jnp.shape(v))) for v in leaves)


def examples(value: Any) -> Any:
    """Three of them that take the same ways through a program."""
    return jnp.stack([jnp.asarray(value) * k for k in (1.0, 1.0 + 1e-3, 1.0 - 2e-3)])


SHARED = ("none", "first", "all but the first")


@pytest.mark.part(11)
@pytest.mark.parametrize(("name", "shared"), each_in_turns(NAMES, SHARED))
def test_as_one_by_one(name: str, shared: str) -> None:
    """Values, gradients by what examples have and by what they share, and gradients of each example."""
    entry = BY_NAME[name]
    values = dict(zip(inspect.signature(entry.function).parameters, entry.args(0).values(), strict=False))
    f = wrap(vectorize_grad(entry.function, wrt=entry.wrt))
    known = floating(values)
    mapped = {"none": known, "first": known[1:] or known, "all but the first": known[:1]}[shared]
    axes = {n: 0 if n in mapped else None for n in values}
    given = {n: examples(v) if n in mapped else v for n, v in values.items()}
    static = {n: v for n, v in values.items() if isinstance(v, int | bool)}
    traced = {n: v for n, v in given.items() if n not in static}

    def call(some: dict[str, Any]) -> Any:
        return f(**{n: some[n] if n in some else static[n] for n in values})

    def each(some: dict[str, Any]) -> Any:
        return jax.vmap(call, ({n: axes[n] for n in traced},))(some)

    def one_by_one(some: dict[str, Any]) -> Any:
        found = [call({n: v[k] if axes[n] == 0 else v for n, v in some.items()}) for k in range(3)]
        return jax.tree.map(lambda *v: jnp.stack(v), *found)

    compare(each(traced), one_by_one(traced))
    wrt = [n for n in traced if n in (entry.wrt or known)] or mapped
    fixed = {n: v for n, v in traced.items() if n not in wrt}
    active = {n: jnp.asarray(traced[n]) for n in wrt}
    slopes = [jax.grad(lambda a, g=g: number(g({**fixed, **a})))(active) for g in (each, one_by_one)]
    compare(*slopes)

    def slope_of_each(some: dict[str, Any]) -> Any:
        own = {n: axes[n] for n in traced}
        return jax.vmap(lambda s: jax.grad(lambda a: number(call({**s, **a})))({n: s[n] for n in wrt}), (own,))(some)

    def alone(k: int) -> Any:
        one = lambda a: {n: v[k] if axes[n] == 0 else v for n, v in {**traced, **a}.items()}  # noqa: E731
        return jax.grad(lambda a: number(call(one(a))))(active)

    inner = [alone(k) for k in range(3)]
    expected = {n: jnp.stack([g[n][k] if axes[n] == 0 else g[n] for k, g in enumerate(inner)]) for n in wrt}
    compare(slope_of_each(traced), expected)


def compare(found: Any, expected: Any) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)


@vectorize_grad
def untouched(x, z):
    """The tangent of `x`, and its cotangent, stay as they are."""
    for i in range(x.shape[0]):
        x[i] += 1.0
    t = 0.0
    for i in range(z.shape[0]):
        t += z[i] ** 3
    return t


def untouched_twin(x, z):
    return jnp.sum(z**3), x + 1.0


def test_derivatives_that_stay_as_they_are_for_some_of_a_batch():
    """Of batches of batches, and of derivatives in a batch: what has an axis for some levels alone gets all others."""
    X, C, Z, T = (jnp.arange(float(n)).reshape(3, -1) + k for n, k in ((9, 0), (9, 10), (6, 1), (6, 2)))

    def tangents(f, X, C, Z, T):
        one = lambda x, c, z, t: jax.jvp(f, (x, z), (c, t))  # noqa: E731
        return jax.vmap(lambda x, c: jax.vmap(lambda z, t: one(x, c, z, t))(Z, T))(X, C)

    def gradients(f, X, C, Z, T):
        one = lambda x, c, z: jax.vjp(f, x, z)[1]((1.0, c))  # noqa: E731
        return jax.vmap(lambda x, c: jax.vmap(lambda z: one(x, c, z))(Z))(X, C)

    for way in (tangents, gradients):
        compare(way(wrap(untouched), X, C, Z, T), way(untouched_twin, X, C, Z, T))
        for derivative in (jax.jacfwd, jax.jacrev):
            found, expected = (derivative(way, (1, 2, 3, 4))(f, X, C, Z, T) for f in (wrap(untouched), untouched_twin))
            compare(found, expected)


@vectorize_grad
def in_local_array(x, a):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = np.sin(a * x[i])
    t = 0.0
    for i in range(1, x.shape[0]):
        y[i] = y[i] * y[i - 1]
        t += y[i] * y[i]
    return t


def test_gradients_by_numbers_beside_scratch():
    """The reverse sweep has the adjoint of a local array to itself, and a number to return for each example."""
    slope = jax.grad(wrap(in_local_array), (0, 1))
    x, a = jnp.linspace(0.5, 1.0, 4), jnp.array([0.5, 0.7])
    compare(jax.vmap(slope, (None, 0))(x, a), jax.tree.map(lambda *v: jnp.stack(v), *(slope(x, b) for b in a)))
