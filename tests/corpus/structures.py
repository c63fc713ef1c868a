"""Programs with lists, tuples and dictionaries of known length."""

from __future__ import annotations

import copy

import numpy as np

from .entry import Entry
from .helpers import Walker


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
    sums = dict.fromkeys(("x", "y"), x.sum())
    sums["y"] = y.sum()
    total = sum(v for v in sums.values()) + max([c * w.sum() for c, w in zip((1.0, 2.0), (x, y))])
    place, v = [(0, x[1]), (2, y[1])][n % 2]
    return total + state[0] * state[1] + out.sum() + x[place] * v


def coupled_oracle(xp, x, y, n):
    u, v = x[0], y[0]
    for _ in range(n):
        u, v = u - 0.1 * x[1] ** 2 * v, v + 0.1 * x[1] ** 2 * u
    total = xp.sum(x) + xp.sum(y) + xp.maximum(xp.sum(x), 2.0 * xp.sum(y))
    place, w = ((0, x[1]), (2, y[1]))[n % 2]
    return {"result": total + u * v + xp.sum(x**2) + xp.sum(y**2) + x[place] * w}


def blended(a, b, c):
    return a * b - c


# Walkers that push each other, one of which is looked at.
def walkers(x, s):
    w, v = Walker(x[0], s), Walker(x[1], 2.0 * s)
    for u in x[1:]:
        w.step(u)
        v.step(w.at)
    before = copy.copy(v)
    w += v
    w.pace *= 1.5
    best = w if w.at > v.at else v
    firsts, seconds = zip(*[(u.at, u.speed) for u in [Walker(u, s * u) for u in x[:3]]])
    pairs = [(u, u * s) for u in x]
    here, there = zip(*pairs)
    return best.speed + before.at * sum(firsts) + max(seconds) + blended(*x[:3]) + here[1] * max(*there)


def walkers_oracle(xp, x, s):
    at, other = x[0], x[1]
    for k in range(1, x.shape[0]):
        at = at + s * x[k]
        other = other + 2.0 * s * at
    speed, total = 3.0 * s * 1.5, at + other
    last = xp.where(total > other, speed, 2.0 * s)
    sums = other * (x[0] + x[1] + x[2]) + s * xp.maximum(xp.maximum(x[0], x[1]), x[2])
    return {"result": last + sums + x[0] * x[1] - x[2] + x[1] * s * xp.max(x)}


ENTRIES = (
    Entry(
        name="walkers",
        function=walkers,
        make=lambda r: dict(x=r.random(4) + 0.1, s=0.7),
        wrt=("x", "s"),
        oracle=walkers_oracle,
        is_twin=True,
        constructs=(
            "objects of classes",
            "arrays behind stars",
            "copies of lists, dictionaries and objects",
        ),
    ),
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
            "which item, where only the run says",
            "structures as arguments and results of functions",
        ),
    ),
)
