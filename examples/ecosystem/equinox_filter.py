"""Equinox: a module whose parameters a recurrence uses, and a filter of signals that is found from what it does."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.signal

import loopdiff.jax
from loopdiff import vectorize_grad


@vectorize_grad(wrt=("b", "a", "x"))
def recursive_filter(b, a, x):
    """The direct form: each output is made of two inputs and the two outputs before it."""
    y = np.zeros(x.shape[0])
    y[0] = b[0] * x[0]
    y[1] = b[0] * x[1] + b[1] * x[0] - a[0] * y[0]
    for t in range(2, x.shape[0]):
        y[t] = b[0] * x[t] + b[1] * x[t - 1] - a[0] * y[t - 1] - a[1] * y[t - 2]
    return y


class Filter(eqx.Module):
    b: jax.Array
    a: jax.Array
    gain: float = eqx.field(static=True, default=1.0)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.gain * loopdiff.jax.wrap(recursive_filter)(self.b, self.a, x)


@eqx.filter_value_and_grad
def misfit(model: Filter, signals: jax.Array, heard: jax.Array) -> jax.Array:
    return jnp.mean((jax.vmap(model)(signals) - heard) ** 2)


@eqx.filter_jit
def step(model: Filter, signals: jax.Array, heard: jax.Array) -> tuple[Filter, jax.Array]:
    loss, g = misfit(model, signals, heard)
    return eqx.apply_updates(model, jax.tree.map(lambda v: -0.1 * v, g)), loss


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    signals = np.random.default_rng(0).standard_normal((8, 500))
    heard = scipy.signal.lfilter([0.5, 0.3], [1.0, -0.9, 0.4], signals)
    model, loss = Filter(b=jnp.array([1.0, 0.0]), a=jnp.zeros(2)), jnp.inf
    for _ in range(300):
        model, loss = step(model, jnp.asarray(signals), jnp.asarray(heard))
    assert jnp.allclose(model.b, jnp.array([0.5, 0.3]), atol=1e-4)
    assert jnp.allclose(model.a, jnp.array([-0.9, 0.4]), atol=1e-4)
    print(f"loss {loss:.1e}, b {model.b.round(3)}, a {model.a.round(3)}")


if __name__ == "__main__":
    main()
