"""Programs with lists, tuples and dictionaries of known length."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def rotated(state, p, rate=0.1):
    u, v = state
    return u - rate * p["k"] * v, v + rate * p["k"] * u


# Two oscillators that are coupled by what they start with: semi-explicit steps of a pair.
def coupled(x, y, n):
    n_values = x.shape[0]
    shape = (2, n_values)
    out = np.zeros(shape)
    for row, v in enumerate([x, y]):
        for i in range(shape[1]):
            out[row, i] = v[i] ** 2
    state = (x[0], y[0])
    for _ in range(n):
        state = rotated(state, {"k": out[0, 1]})
    sums = {"x": x.sum(), "y": y.sum()}
    total = sum(v for v in sums.values()) + max([c * w.sum() for c, w in zip((1.0, 2.0), (x, y))])
    return total + state[0] * state[1] + out.sum()


def coupled_oracle(xp, x, y, n):
    u, v = x[0], y[0]
    for _ in range(n):
        u, v = u - 0.1 * x[1] ** 2 * v, v + 0.1 * x[1] ** 2 * u
    total = xp.sum(x) + xp.sum(y) + xp.maximum(xp.sum(x), 2.0 * xp.sum(y))
    return {"result": total + u * v + xp.sum(x**2) + xp.sum(y**2)}


ENTRIES = (
    Entry(
        name="coupled",
        function=coupled,
        make=lambda r, n=3: dict(x=r.random(4), y=r.random(4), n=n),
        wrt=("x", "y"),
        oracle=coupled_oracle,
        is_twin=True,
        constructs=(
            "lists, tuples and dictionaries of known length",
            "for over lists, zip, enumerate and dictionaries",
            "comprehensions of known length",
            "structures as arguments and results of functions",
        ),
    ),
)
