"""Dictionaries whose keys the run says: totals, groups, sparse matrices and memos."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def shares_of_labels(x, labels):
    total, count = {}, {}
    for k, v in zip(labels, x):
        total[k] = total.get(k, 0.0) + v
        count[k] = count.get(k, 0) + 1
    best = max(total, key=total.get)
    r = 0.0
    for k, v in total.items():
        r += v * v / count[k]
    return r + total[best]


def shares_of_labels_oracle(xp, x, labels):
    one_hot = np.asarray(labels)[:, None] == np.unique(labels)
    totals, counts = x @ one_hot.astype(float), one_hot.sum(axis=0)
    return {"result": xp.sum(totals**2 / counts) + xp.max(totals)}


def spread_in_groups(x, labels):
    groups = {}
    for k, v in zip(labels, x):
        groups.setdefault(k, []).append(v)
    r = 0.0
    for k in sorted(groups):
        mean = sum(groups[k]) / len(groups[k])
        for v in groups[k]:
            r += (v - mean) ** 2
    return r


def spread_in_groups_oracle(xp, x, labels):
    one_hot = (np.asarray(labels)[:, None] == np.unique(labels)).astype(float)
    means = (x @ one_hot) / one_hot.sum(axis=0)
    return {"result": xp.sum((x - one_hot @ means) ** 2)}


def sparse_product(x, y, n):
    entries = {}
    for i in range(n):
        entries[i, i] = 2.0 + x[i]
        if i > 0:
            entries[i, i - 1] = -x[i] * x[i - 1]
            entries[i - 1, i] = -1.0
    r = np.zeros(n)
    for (i, j), v in entries.items():
        r[i] += v * y[j]
    return r @ r


def sparse_product_oracle(xp, x, y, n):
    lower, upper = xp.zeros(1), xp.zeros(1)
    below = xp.concatenate([lower, -x[1:] * x[:-1] * y[:-1]])
    above = xp.concatenate([-y[1:], upper])
    return {"result": xp.sum(((2.0 + x) * y + below + above) ** 2)}


def memo_of_steps(x, n):
    memo = {0: x[0], 1: x[1]}
    for i in range(2, n):
        if i not in memo:
            memo[i] = 0.5 * memo[i - 1] + memo[i - 2] * x[i]
    return memo[n - 1]


def memo_of_steps_oracle(xp, x, n):
    first, second = x[0], x[1]
    for i in range(2, n):
        first, second = second, 0.5 * second + first * x[i]
    return {"result": second}


def labelled(r, n=6):
    return dict(x=r.uniform(0.3, 1.2, n), labels=np.array([3, 1, 3, 8, 1, 1, 5, 8])[:n])


ENTRIES = (
    Entry(
        name="shares_of_labels",
        function=shares_of_labels,
        make=labelled,
        wrt=("x",),
        oracle=shares_of_labels_oracle,
        is_twin=True,
        constructs=("dictionaries of any keys",),
    ),
    Entry(
        name="spread_in_groups",
        function=spread_in_groups,
        make=labelled,
        wrt=("x",),
        oracle=spread_in_groups_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("dictionaries of any keys",),
    ),
    Entry(
        name="sparse_product",
        function=sparse_product,
        make=lambda r, n=5: dict(x=r.uniform(0.3, 1.2, n), y=r.normal(size=n), n=n),
        wrt=("x", "y"),
        oracle=sparse_product_oracle,
        is_twin=True,
        constructs=("dictionaries of any keys",),
    ),
    Entry(
        name="memo_of_steps",
        function=memo_of_steps,
        make=lambda r, n=6: dict(x=r.uniform(0.3, 1.2, n), n=n),
        wrt=("x",),
        oracle=memo_of_steps_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("dictionaries of any keys",),
    ),
)
