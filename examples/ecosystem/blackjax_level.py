"""BlackJAX: how a level wanders and how well it is measured, sampled by NUTS along the gradient of a Kalman filter."""

from __future__ import annotations

from functools import partial
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import loopdiff.jax
from loopdiff import vectorize_grad


@vectorize_grad(wrt="q")
def log_density(q, seen):
    """`q` are logarithms of two variances, with standard normal priors: of a step of the level, of a measurement."""
    step, error = np.exp(q[0]), np.exp(q[1])
    level, spread, total = 0.0, 1.0, -0.5 * (q[0] ** 2 + q[1] ** 2)
    for t in range(seen.shape[0]):
        spread += step
        surprise, expected = seen[t] - level, spread + error
        total -= 0.5 * (np.log(expected) + surprise**2 / expected)
        level += spread / expected * surprise
        spread *= error / expected
    return total


def by_quadrature(seen: np.ndarray) -> np.ndarray:
    """The posterior mean of `q` by a sum over a grid: the levels have a covariance in closed form."""
    t = np.arange(1.0, len(seen) + 1.0)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-5.0, 3.0, 33)]), axis=-1).reshape(-1, 2)
    step, error = np.exp(grid.T)[..., None, None]
    covariance = 1.0 + step * np.minimum.outer(t, t) + error * np.eye(len(t))
    squares = (grid**2).sum(1) + np.linalg.solve(covariance, np.stack([seen] * len(grid))[..., None])[..., 0] @ seen
    log_p = -0.5 * (squares + np.linalg.slogdet(covariance)[1])
    p = np.exp(log_p - log_p.max())
    return p @ grid / p.sum()


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    seen = np.cumsum(0.5 * rng.standard_normal(80)) + rng.standard_normal(80)
    density = partial(loopdiff.jax.wrap(log_density), seen=jnp.asarray(seen))
    warm_key, key = jax.random.split(jax.random.key(0))

    adaptation: Any = blackjax.window_adaptation(blackjax.nuts, density)
    adapted, _ = adaptation.run(warm_key, jnp.zeros(2), 500)
    sampler: Any = blackjax.nuts(density, **adapted.parameters)

    def step(state, key):
        state, _ = sampler.step(key, state)
        return state, state.position

    _, samples = jax.lax.scan(step, adapted.state, jax.random.split(key, 3000))
    found, exact = samples.mean(0), by_quadrature(seen)
    print(f"posterior mean {found.round(2)}, by quadrature {exact.round(2)}")
    assert np.allclose(found, exact, atol=0.06)


if __name__ == "__main__":
    main()
