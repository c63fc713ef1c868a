"""Lists whose length only the arguments say."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def grown(x, w):
    kept = [u * u for u in x if u > 0.5]
    steps = [w[0]]
    for u in x:
        steps.append(steps[-1] * u)
    best = [0.0] * len(x)
    for i in range(1, len(x)):
        best[i] = best[i - 1] + w[i] * x[i]
    t = max(kept) * len(kept) if kept else 0.0
    return t + sum(kept) + sum(a * b for a, b in zip(steps[1:], steps[:-1])) + np.mean(best)


def grown_oracle(xp, x, w):
    kept = xp.where(x > 0.5, x * x, 0.0)
    steps = xp.concatenate([w[:1], w[0] * xp.cumprod(x)])
    best = xp.concatenate([xp.zeros(1), xp.cumsum(w[1:] * x[1:])])
    count = xp.sum(xp.where(x > 0.5, 1.0, 0.0))
    total = xp.max(kept) * count + xp.sum(kept) + xp.sum(steps[:-1] * steps[1:]) + xp.mean(best)
    return {"result": total}


def states(W, x):
    h = np.zeros(W.shape[0])
    seen = []
    for t in range(x.shape[0]):
        h = np.tanh(W @ h + x[t])
        seen.append(h)
    later = np.stack(seen[1:])
    return (later * later).sum() + seen[-1][0] * seen[0].sum()


def states_oracle(xp, W, x):
    h, seen = xp.zeros(W.shape[0]), []
    for t in range(x.shape[0]):
        h = xp.tanh(W @ h + x[t])
        seen.append(h)
    later = xp.stack(seen[1:])
    return {"result": xp.sum(later * later) + seen[-1][0] * xp.sum(seen[0])}


def among_pairs(x, r):
    near = []
    for i in range(x.shape[0]):
        for j in range(i):
            d = abs(x[i] - x[j])
            if d < r:
                near.append(d * d)
    far = [1.0 / abs(a - b) for i, a in enumerate(x) for b in x[:i]]
    return sum(near) + len(near) * sum(far) / len(far)


def among_pairs_oracle(xp, x, r):
    rows, columns = np.tril_indices(x.shape[0], -1)
    d = xp.abs(x[rows] - x[columns])
    near = d < r
    count = xp.sum(xp.where(near, 1.0, 0.0))
    return {"result": xp.sum(xp.where(near, d * d, 0.0)) + count * xp.mean(1.0 / d)}


ENTRIES = (
    Entry(
        name="grown",
        function=grown,
        make=lambda r, n=7: dict(x=r.uniform(0.6, 1.4, n) * np.where(r.random(n) < 0.6, 1.0, 0.3), w=r.random(n)),
        wrt=("x", "w"),
        oracle=grown_oracle,
        is_twin=True,
        constructs=("lists of any length",),
    ),
    Entry(
        name="states",
        function=states,
        make=lambda r, n=3, m=5: dict(W=r.uniform(-1.0, 1.0, (n, n)), x=r.uniform(-1.0, 1.0, (m, n))),
        wrt=("W", "x"),
        oracle=states_oracle,
        is_twin=True,
        constructs=("lists of any length",),
    ),
    Entry(
        name="among_pairs",
        function=among_pairs,
        make=lambda r, n=6: dict(x=np.arange(n) + 0.3 * r.random(n), r=2.5),
        wrt=("x",),
        oracle=among_pairs_oracle,
        is_twin=True,
        constructs=("lists of any length",),
    ),
)
