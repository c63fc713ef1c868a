"""Memory limits through JAX: what the forward sweep hands over fits, and gradients stay what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError
from loopdiff.jax import wrap

pytestmark = pytest.mark.part(2)
STEPS = 400


def growth(u, r):
    for _ in range(STEPS):
        for i in range(u.shape[0]):
            u[i] += r * u[i] * (1.0 - u[i])


def twin(u: Any, r: Any) -> Any:
    return jax.lax.scan(lambda u, _: (u + r * u * (1.0 - u), None), u, None, STEPS)[0]


def weighed(f: Any) -> Any:
    return lambda u, r: jnp.sum(f(u, r) * jnp.linspace(1.0, 2.0, u.size).reshape(u.shape))


def largest_kept(f: Any, *args: Any) -> int:
    """Bytes of the largest array in the program of the gradient."""
    jaxpr = jax.make_jaxpr(jax.grad(f, (0, 1)))(*args)
    found = [jaxpr.jaxpr]
    sizes = [0]
    while found:
        for eqn in found.pop().eqns:
            found += [p.jaxpr for p in eqn.params.values() if hasattr(p, "jaxpr")]
            sizes += [v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars]
    return max(sizes)


def test_what_is_kept_fits() -> None:
    u, r = jnp.linspace(0.1, 0.9, 64), 0.01
    expected = jax.grad(weighed(twin), (0, 1))(u, r)
    for limit, is_whole in ((None, True), (1_000_000, True), (40_000, False), (20_000, False)):
        f = weighed(wrap(vectorize_grad(memory_limit=limit)(growth)))
        found = jax.grad(f, (0, 1))(u, r)
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)
        kept = largest_kept(f, u, r)
        assert (kept == STEPS * u.size * 8) is is_whole
        assert limit is None or kept <= limit


def test_of_a_batch_the_limit_is_for_all() -> None:
    u, r = jnp.linspace(0.1, 0.9, 8 * 64).reshape(8, 64), 0.01
    batch = jax.vmap(wrap(vectorize_grad(memory_limit=500_000)(growth)), (0, None))
    expected = jax.grad(weighed(jax.vmap(twin, (0, None))), (0, 1))(u, r)
    for own, other in zip(jax.grad(weighed(batch), (0, 1))(u, r), expected, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11)
    assert largest_kept(weighed(batch), u, r) <= 500_000


def test_what_never_fits_is_refused() -> None:
    f = weighed(wrap(vectorize_grad(memory_limit=100)(growth)))
    u = jnp.ones(64)
    with pytest.raises(ArgumentError, match=r"LD345.*the limit is 100"):
        jax.grad(f)(u, 0.01)
    assert f(u, 0.01).shape == ()
    assert jax.jvp(f, (u, 0.01), (u, 1.0))[1].shape == ()
