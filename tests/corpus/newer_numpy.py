"""Programs with `map` and `filter`, and with functions that NumPy has by newer names."""

from __future__ import annotations

import math

import numpy as np

from .entry import Entry


def hill(v):
    return v * v / (1.0 + v * v)


# Responses of a population to doses, and the mean of those that are above a threshold.
def responses(x, w, k):
    low, high = map(hill, (k, 2.0 * k))
    total = 0.0
    for r in map(hill, x):
        total += r * (high - low)
    weighed = sum(map(lambda v, u: hill(v) * u, x, w))
    above = sum(filter(lambda v: v > 0.5, x))
    return total + weighed * above + max(map(math.sin, w)) + np.mean(x).item()


def responses_oracle(xp, x, w, k):
    h, low, high = hill(x), hill(k), hill(2.0 * k)
    above = xp.sum(xp.where(x > 0.5, x, 0.0))
    weighed = xp.sum(h * w) * above
    return {"result": xp.sum(h) * (high - low) + weighed + xp.max(xp.sin(w)) + xp.mean(x)}


# A quadratic form, a polynomial with its derivative, and a ladder of scales.
def scales_and_forms(A, x, p, s):
    scales = np.geomspace(1.0, 1.0 + s * s, 4) + np.logspace(0.0, s, 4)
    form = np.linalg.multi_dot([x, A, A.T, x]) + np.vecdot(x, A[0])
    slope = np.polyval(np.polyder(p), s) + np.polyval(np.polyint(p), s)
    steps = np.cumulative_sum(x)
    if np.array_equal(steps, x):
        slope = 0.0
    return form * slope + np.sum(scales * scales) + np.sum(steps**2)


def scales_oracle(xp, A, x, p, s):
    k = xp.arange(4.0)
    top = 1.0 + s * s
    scales = top ** (k / 3.0) + 10.0 ** (s * k / 3.0)
    powers = xp.arange(p.shape[0] - 1.0, -1.0, -1.0)
    slope = xp.sum((p * powers)[:-1] * s ** (powers[:-1] - 1.0)) + xp.sum(p / (powers + 1.0) * s ** (powers + 1.0))
    form = x @ A @ A.T @ x + x @ A[0]
    return {"result": form * slope + xp.sum(scales**2) + xp.sum(xp.cumsum(x) ** 2)}


ENTRIES = (
    Entry(
        name="responses",
        function=responses,
        make=lambda r, n=6: dict(x=r.random(n), w=r.random(n), k=0.4),
        wrt=("x", "w", "k"),
        oracle=responses_oracle,
        is_twin=True,
        constructs=("map, filter, item",),
    ),
    Entry(
        name="scales_and_forms",
        function=scales_and_forms,
        make=lambda r, n=3: dict(A=r.random((n, n)), x=r.random(n), p=r.random(4), s=0.7),
        wrt=("A", "x", "p", "s"),
        oracle=scales_oracle,
        is_twin=True,
        constructs=(
            "np.vecdot, matvec, vecmat, cumulative_sum, multi_dot, logspace, geomspace, polyder, polyint, array_equal",
        ),
    ),
)
