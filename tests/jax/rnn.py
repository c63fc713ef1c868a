"""A recurrent network with written outputs and a state that is overwritten, and the same in JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff import vectorize_grad
from loopdiff.jax import wrap


@vectorize_grad
def cells(W, x, h, y):
    """`h` starts as the state before and ends as the last one; `y` gets all of them."""
    for t in range(x.shape[0]):
        for i in range(W.shape[0]):
            s = x[t, i]
            for j in range(W.shape[1]):
                s += W[i, j] * h[j]
            y[t, i] = np.tanh(s)
        for i in range(W.shape[0]):
            h[i] = y[t, i]


rnn = wrap(cells, outputs={"y": lambda W, x, h: x.shape})


def twin(W: Any, x: Any, h: Any) -> Any:
    def step(state: Any, given: Any) -> Any:
        new = jnp.tanh(W @ state + given)
        return new, new

    return jax.lax.scan(step, h, x)


def arguments(dtype: str, steps: int = 5, width: int = 3) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    shapes = (width, width), (steps, width), (width,)
    W, x, h = (jnp.asarray(0.7 * rng.standard_normal(shape), dtype) for shape in shapes)
    return W, x, h


def loss(f: Any) -> Any:
    """A number that all outputs decide, nonlinearly."""

    def value(W: Any, x: Any, h: Any) -> Any:
        last, every = f(W, x, h)
        return jnp.sum(jnp.sin(last)) + jnp.sum(every**2 * jnp.arange(1.0, 1.0 + every.size).reshape(every.shape))

    return value
