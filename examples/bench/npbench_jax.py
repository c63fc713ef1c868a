"""Value and gradient of a benchmark of NPBench by its variant for JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from npbench_kernels import Benchmark, error, unjitted

if TYPE_CHECKING:
    from npbench_point import Own

CLOSE = 1e-5  # what is computed in another order differs by less, in units of the largest element


def gradient_of(at: Benchmark, own: Own) -> Callable[[], Any]:
    """Calls of the gradient of the loss, compiled at the first one. Outputs that JAX's variant does not give are left
    out of the loss: `own.weights` are changed.

    The variant is compiled as a whole with the loss, and numbers that are not differentiated are known to it, so that
    loops have trip counts and can be reversed. Raises ValueError where it computes none of the outputs.
    """
    function = unjitted(at.function("jax"))
    arrays = tuple(k for k, a in enumerate(at.args) if isinstance(a, np.ndarray) or k in own.wrt)
    traced = tuple(dict.fromkeys((*own.wrt, *arrays)))

    def outputs(*given: Any) -> list[Any]:
        args = list(at.args)
        for k, value in zip(traced, given, strict=True):
            args[k] = value
        return jax.tree.leaves(function(*args))

    # What is traced is no constant: XLA would multiply constant matrices when it compiles, element by element.
    given = tuple(jnp.asarray(at.args[k]) for k in traced)
    chosen = matched(own, [np.asarray(leaf) for leaf in jax.jit(outputs)(*given)])

    def loss(*given: Any) -> Any:
        leaves = outputs(*given)
        return sum(jnp.sum(own.weights[k] * leaves[place]).real for k, place in chosen.items())

    call = jax.jit(jax.value_and_grad(loss, argnums=tuple(range(len(own.wrt)))))
    return lambda: jax.block_until_ready(call(*given))[1]


def matched(own: Own, found: list[np.ndarray]) -> dict[int, int]:
    """Which of our outputs is which of JAX's, for those that count; the others' weights are forgotten."""
    chosen: dict[int, int] = {}
    for k, want in enumerate(own.expected.all):
        places = (p for p, leaf in enumerate(found) if p not in chosen.values() and error(leaf, want) <= CLOSE)
        place = next(places, None)
        if own.weights[k] is not None and place is not None:
            chosen[k] = place
    if not chosen:
        raise ValueError("it computes something else")
    own.weights = [w if k in chosen else None for k, w in enumerate(own.weights)]
    return chosen
