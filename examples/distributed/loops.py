"""The loops of the other files here, in a module of their own: processes that are sent a function import it."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad

START = np.log([0.1, 0.1, 0.8])


@vectorize_grad(wrt="p")
def surprise(p, returns):
    """How badly a model of volatility (GARCH) expects series, one in each row. `p` are logarithms of its parameters."""
    base, shock, memory = np.exp(p[0]), np.exp(p[1]), np.exp(p[2])
    loss = 0.0
    for row in range(returns.shape[0]):
        variance = 1.0
        for t in range(returns.shape[1]):
            loss += 0.5 * (np.log(variance) + returns[row, t] ** 2 / variance)
            variance = base + shock * returns[row, t] ** 2 + memory * variance
    return loss


def share(number: int, days: int = 20_000) -> np.ndarray:
    """The data that one process, or one batch, has."""
    return np.random.default_rng(number).standard_normal((64, days))


@vectorize_grad(wrt="u")
def spread(u, rate):
    """A step of Fisher's equation, which leaves the border as it is: what grows, and spreads to the neighbours."""
    v = u.copy()
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            neighbours = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            v[i, j] += 0.1 * u[i, j] * (1.0 - u[i, j]) + rate[i, j] * (neighbours - 4.0 * u[i, j])
    return v
