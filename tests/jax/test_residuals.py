"""What JAX holds between the sweeps: the versions that are kept, each once, and under `jax.checkpoint` none of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff import vectorize_grad
from loopdiff.jax import wrap
from tests.corpus.versions import advected, rotated_wave, shortest_paths

pytestmark = pytest.mark.part(2)
N, STEPS = 8, 200
RNG = np.random.default_rng(7)


def closest(d):
    shortest_paths(d)
    return np.sum(d * d)


def waves(u, v):
    return rotated_wave(u, v, 0.1, STEPS)


def flow(f, u, v):
    return advected(f, u, v, STEPS)


FIELDS = (0.1 * RNG.random((N, N)), 0.1 * RNG.random((N, N)))
PROGRAMS: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
    "shortest paths": (closest, (RNG.uniform(0.1, 1.0, (N, N)),)),
    "wave": (waves, FIELDS),
    "advection": (flow, (RNG.random((N, N)), RNG.uniform(0.6, 2.4, (N, N)), RNG.uniform(-1.4, 0.4, (N, N)))),
}


def held(f: Any, *args: Any) -> int:
    """Bytes of what the pullback of JAX's holds, but for numbers."""
    return sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(jax.vjp(f, *args)[1]) if np.ndim(leaf))


def kept(f: Any, *args: Any) -> int:
    return sum(t.bytes for t in f.compile(*(a.copy() for a in args)).temporaries)


@pytest.mark.parametrize("name", PROGRAMS)
def test_residuals_are_the_versions(name: str) -> None:
    """And the arguments that the reverse sweep reads, as they came or as they became."""
    function, args = PROGRAMS[name]
    own = vectorize_grad(function)
    f, tape = wrap(own), kept(own, *args)
    found = held(lambda *a: f(*a)[0], *map(jnp.asarray, args))
    assert tape <= found <= tape + 6 * max(a.nbytes for a in args)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_checkpoint_holds_arguments_only(name: str) -> None:
    function, args = PROGRAMS[name]
    f = wrap(vectorize_grad(function))
    arrays = tuple(map(jnp.asarray, args))

    def value(*given: Any) -> Any:
        return f(*given)[0]

    again = jax.checkpoint(value)
    assert held(again, *arrays) <= sum(a.nbytes for a in args)
    expected = jax.grad(value, tuple(range(len(args))))(*arrays)
    for own, other in zip(jax.grad(again, tuple(range(len(args))))(*arrays), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-13)


def test_checkpoints_of_steps_hold_a_state_for_each() -> None:
    """In a loop of JAX's around a loop of ours; without one, each of these steps leaves its own tape."""
    f = wrap(vectorize_grad(waves))
    u, v = map(jnp.asarray, FIELDS)

    def chained(step: Any, u: Any, v: Any) -> Any:
        def body(state: Any, _: None) -> tuple[Any, None]:
            value = step(*state)[0]
            return (0.9 * state[0], state[1] + 0.01 * value), None

        return jnp.sum(jax.lax.scan(body, (u, v), None, 5)[0][1])

    whole = held(lambda u, v: chained(f, u, v), u, v)
    little = held(lambda u, v: chained(jax.checkpoint(f), u, v), u, v)
    assert whole >= 4 * STEPS * u[1:, 1:].nbytes
    assert little <= 5 * 3 * u.nbytes
    grads = [jax.grad(lambda u, v, s=s: chained(s, u, v), (0, 1))(u, v) for s in (f, jax.checkpoint(f))]
    for own, other in zip(*grads, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-12)


@pytest.mark.parametrize("limit", [40_000, 30_000])
def test_under_a_limit_residuals_are_states_at_the_starts_of_segments(limit: int) -> None:
    u, v = map(jnp.asarray, FIELDS)
    expected = jax.grad(lambda u, v: wrap(vectorize_grad(waves))(u, v)[0], (0, 1))(u, v)
    f = wrap(vectorize_grad(memory_limit=limit)(waves))
    assert held(lambda *a: f(*a)[0], u, v) <= limit + 6 * u.nbytes < STEPS * u[1:, 1:].nbytes
    for transformed in (lambda g: g, jax.jit, jax.checkpoint):
        found = jax.grad(transformed(lambda u, v: f(u, v)[0]), (0, 1))(u, v)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)
