"""Programs that people write about what conditions choose: places and sets of labels, short forms of Python, items by
keys that the run says, states that the first step begins."""

from __future__ import annotations

import numpy as np

from .entry import Entry


# Peaks of a signal, and how far they are apart.
def peaks(x):
    slope = np.diff(x)
    (at,) = np.nonzero((slope[:-1] > 0.0) & (slope[1:] < 0.0))
    if len(at) == 0:
        return 0.0
    low = np.where(x < 0.4)[0]
    return x[at + 1].mean() + np.diff(at).sum() * x[low].sum() + x[np.flatnonzero(x > 0.5)].prod()


def peaks_oracle(xp, x):
    at = [k for k in range(1, len(x) - 1) if x[k] > x[k - 1] and x[k] > x[k + 1]]
    low, high = sum(v for v in x if v < 0.4), np.prod([v for v in x if v > 0.5])
    return {"result": sum(x[k] for k in at) / len(at) + (at[-1] - at[0]) * low + high if at else 0.0}


# Means of groups, by labels, with their weights; what lies in places that a training set leaves over.
def group_means(x, labels):
    names, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.zeros(len(names))
    for k in range(len(names)):
        means[k] = x[labels == names[k]].mean()
    within = np.sum((x - means[inverse]) ** 2)
    rest = np.setdiff1d(np.arange(len(x)), np.intersect1d(labels, [0, 2, 6, 7]))
    both = np.union1d(labels[:2], labels[-2:])
    return within + (counts * means**2).sum() + x[rest].sum() * x[both].sum() + x[np.isin(labels, rest)].sum()


def group_means_oracle(xp, x, labels):
    names = sorted(set(labels.tolist()))
    means = {k: np.mean(x[labels == k]) for k in names}
    within = sum((v - means[k]) ** 2 for v, k in zip(x, labels.tolist(), strict=True))
    rest = [k for k in range(len(x)) if k not in (0, 2, 6)]
    both = sorted({*labels[:2].tolist(), *labels[-2:].tolist()})
    total = sum((labels == k).sum() * means[k] ** 2 for k in names)
    own = sum(v for v, k in zip(x, labels.tolist(), strict=True) if k in rest)
    return {"result": within + total + sum(x[k] for k in rest) * sum(x[k] for k in both) + own}


# Impurity of the two parts of a split, with the labels that are in neither.
def split_impurity(x, labels):
    total = 0.0
    for at in np.linspace(0.2, 0.8, 3):
        for part in (np.where(x <= at)[0], np.where(x > at)[0]):
            if len(part) > 0:
                names, counts = np.unique(labels[part], return_counts=True)
                share = counts / len(part)
                missing = len(np.setdiff1d(np.unique(labels), names))
                total += (1.0 - np.sum(share**2)) * x[part].sum() + missing * at * x[0]
    return total


def split_impurity_oracle(xp, x, labels):
    total, names = 0.0, set(labels.tolist())
    for at in (0.2, 0.5, 0.8):
        for part in (labels[x <= at].tolist(), labels[x > at].tolist()):
            shares = [part.count(k) / len(part) for k in set(part)]
            own = x[x <= at] if part == labels[x <= at].tolist() else x[x > at]
            total += (
                (1.0 - sum(s * s for s in shares)) * own.sum() + len(names - set(part)) * at * x[0] if part else 0.0
            )
    return {"result": total}


# Where a matrix is large, as pairs of places.
def large_places(A):
    i, j = np.where(A > 0.5)
    total = (A[i, j] * (i + 1)).sum()
    for row, column in np.argwhere(A > 0.8):
        total += A[row, column] ** 2 * column
    return total


def large_places_oracle(xp, A):
    m, n = A.shape
    rows, columns = xp.arange(m)[:, None] + 1.0, xp.arange(n)[None, :]
    return {"result": xp.sum(xp.where(A > 0.5, A * rows, 0.0)) + xp.sum(xp.where(A > 0.8, A**2 * columns, 0.0))}


# Until a sum is large enough, or the numbers are over.
def named_on_the_way(x, s):
    total, i = 0.0, 0
    if (n := len(x)) > 2 and (first := x[0] * s) > 0.0:
        total += first
    while i < n and (step := x[i] * x[i]) < 0.9:
        total += step * s
        i += 1
    return total + sum([w for v in x if (w := v * s) > 0.2])


def named_on_the_way_oracle(xp, x, s):
    squares = x * x
    before = xp.cumprod(xp.where(squares < 0.9, 1.0, 0.0))
    return {"result": x[0] * s + s * xp.sum(squares * before) + xp.sum(xp.where(x * s > 0.2, x * s, 0.0))}


# The first number against the others, and borders around them, in one row and in columns.
def first_and_rest(x, w):
    first, *rest = x
    *_, last = w
    grid, step = np.linspace(first, last, 5, retstep=True)
    row = np.r_[0.5, x, 1:3, last]
    columns = np.c_[np.ones(len(w)), w, x]
    return first * sum(rest) + (grid * grid).sum() * step + row @ row + (columns @ np.r_[first, 2, 3.0]).std()


def first_and_rest_oracle(xp, x, w):
    step = (w[-1] - x[0]) / 4.0
    grid = x[0] + step * xp.arange(5.0)
    row = 0.25 + xp.sum(x * x) + 5.0 + w[-1] ** 2
    fitted = x[0] + 2.0 * w + 3.0 * x
    spread = xp.sqrt(xp.mean((fitted - xp.mean(fitted)) ** 2))
    return {"result": x[0] * xp.sum(x[1:]) + xp.sum(grid**2) * step + row + spread}


# Smoothing by Holt and Winters, with one season in a dictionary.
def smoothed_seasons(x, a, b):
    seasons = {}
    for k in range(3):
        seasons[k] = x[k] - (x[0] + x[1] + x[2]) / 3.0
    errors = []
    for i in range(len(x)):
        if i == 0:
            level, trend = x[0], (x[3] - x[0]) / 3.0
            continue
        before, level = level, a * (x[i] - seasons[i % 3]) + (1.0 - a) * (level + trend)
        trend = b * (level - before) + (1.0 - b) * trend
        seasons[i % 3] += 0.5 * (x[i] - level - seasons[i % 3])
        errors.append(level + trend + seasons[i % 3] - x[i])
    return np.mean(np.array(errors) ** 2) + seasons[len(x) % 3]


def smoothed_seasons_oracle(xp, x, a, b):
    mean = (x[0] + x[1] + x[2]) / 3.0
    seasons, level, trend = [x[0] - mean, x[1] - mean, x[2] - mean], x[0], (x[3] - x[0]) / 3.0
    squares = 0.0
    for i in range(1, len(x)):
        old, k = level, i % 3
        level = a * (x[i] - seasons[k]) + (1.0 - a) * (level + trend)
        trend = b * (level - old) + (1.0 - b) * trend
        seasons[k] = 0.5 * seasons[k] + 0.5 * (x[i] - level)
        squares = squares + (level + trend + seasons[k] - x[i]) ** 2
    return {"result": squares / (len(x) - 1) + seasons[len(x) % 3]}


# Likelihood of a hidden Markov chain, whose first step begins the state.
def hidden_chain(x, A, p, m):
    total = 0.0
    for t, v in enumerate(x):
        seen = np.exp(-0.5 * (v - m) ** 2)
        alpha = p * seen if t == 0 else (alpha @ A) * seen  # noqa: F821 - the first iteration binds it
        scale = alpha.sum()
        alpha /= scale
        total += np.log(scale)
    return total


def hidden_chain_oracle(xp, x, A, p, m):
    alpha = p * xp.exp(-0.5 * (x[0] - m) ** 2)
    for v in x[1:]:
        alpha = (alpha @ A) * xp.exp(-0.5 * (v - m) ** 2)
    return {"result": xp.log(xp.sum(alpha))}


# Weights in few bits, and states in a dictionary by their step.
def states_by_step(x, w):
    states = {-1: np.zeros(2)}
    total, scale = 0.0, np.uint8(3)
    for t in range(3):
        states[t], gain = recurrent(states[t - 1], x[t], w)
        total += gain * np.int32(t + 1.5)
    parts = tuple(v * v for v in x)
    return total * scale + (states[2] * states[1]).sum() + parts[0] * sum(parts)


def recurrent(state, v, w):
    new = np.tanh(w * state + v)
    return new, new[0] * v


def states_by_step_oracle(xp, x, w):
    states, total = [xp.zeros(2)], 0.0
    for t in range(3):
        states.append(xp.tanh(w * states[-1] + x[t]))
        total = total + states[-1][0] * x[t] * (t + 1.0)
    return {"result": total * 3.0 + xp.sum(states[3] * states[2]) + x[0] ** 2 * xp.sum(x * x)}


# Arrays called like what generated code calls, which both sweeps have: the greater of two rows was kept in a number.
def taken_names(x, y):
    load = np.empty((2, x.shape[0]))
    load[0] = x
    load[1] = y * x
    select = (load * load).max(axis=0)
    return select + np.array([x, 3.0 * y]).min(axis=0)


def taken_names_oracle(xp, x, y):
    return {"result": xp.maximum(x * x, (y * x) ** 2) + xp.minimum(x, 3.0 * y)}


ENTRIES = (
    Entry(
        name="taken_names",
        function=taken_names,
        make=lambda r, n=7: dict(x=r.random(n), y=0.5 + r.random(n)),
        wrt=("x", "y"),
        oracle=taken_names_oracle,
        is_twin=True,
    ),
    Entry(
        name="peaks",
        function=peaks,
        make=lambda r, n=9: dict(x=r.random(n)),
        wrt=("x",),
        oracle=peaks_oracle,
        constructs=("np.nonzero, where, unique, isin, setdiff1d",),
    ),
    Entry(
        name="group_means",
        function=group_means,
        make=lambda r, n=8: dict(x=r.random(n), labels=np.resize([2, 0, 4, 2, 0, 6], n)),
        wrt=("x",),
        oracle=group_means_oracle,
        constructs=("np.nonzero, where, unique, isin, setdiff1d",),
    ),
    Entry(
        name="split_impurity",
        function=split_impurity,
        make=lambda r, n=8: dict(x=r.random(n), labels=np.resize([2, 0, 4, 2, 0, 6], n)),
        wrt=("x",),
        oracle=split_impurity_oracle,
        constructs=("np.nonzero, where, unique, isin, setdiff1d",),
    ),
    Entry(
        name="large_places",
        function=large_places,
        make=lambda r, m=4, n=5: dict(A=r.random((m, n))),
        wrt=("A",),
        oracle=large_places_oracle,
        is_twin=True,
    ),
    Entry(
        name="named_on_the_way",
        function=named_on_the_way,
        make=lambda r, n=7: dict(x=0.1 + r.random(n), s=0.7),
        wrt=("x", "s"),
        oracle=named_on_the_way_oracle,
        is_twin=True,
        constructs=("assignment in an expression",),
    ),
    Entry(
        name="first_and_rest",
        function=first_and_rest,
        make=lambda r, n=6: dict(x=r.random(n), w=1.0 + r.random(n)),
        wrt=("x", "w"),
        oracle=first_and_rest_oracle,
        is_twin=True,
        constructs=("np.r_, np.c_", "unpacking of arrays"),
    ),
    Entry(
        name="smoothed_seasons",
        function=smoothed_seasons,
        make=lambda r, n=8: dict(x=r.random(n), a=0.4, b=0.3),
        wrt=("x", "a", "b"),
        oracle=smoothed_seasons_oracle,
        is_twin=True,
        constructs=("dictionaries by integers that the run says", "names that the first iteration binds"),
    ),
    Entry(
        name="hidden_chain",
        function=hidden_chain,
        make=lambda r, n=5, k=3: dict(x=r.random(n), A=r.random((k, k)), p=r.random(k), m=r.random(k)),
        wrt=("x", "A", "p", "m"),
        oracle=hidden_chain_oracle,
        is_twin=True,
        constructs=("names that the first iteration binds",),
    ),
    Entry(
        name="states_by_step",
        function=states_by_step,
        make=lambda r, n=4: dict(x=r.random(n), w=0.6),
        wrt=("x", "w"),
        oracle=states_by_step_oracle,
        is_twin=True,
    ),
)
