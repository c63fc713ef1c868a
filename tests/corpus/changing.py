"""Lists, heaps and dictionaries that change in other ways than at their ends."""

# pyright: reportOptionalSubscript=false, reportOptionalOperand=false

from __future__ import annotations

import heapq

import numpy as np

from tests.corpus.entry import Entry


def inserted_in_order(x):
    ordered = []
    for u in x:
        place = 0
        while place < len(ordered) and ordered[place] < u:
            place += 1
        ordered.insert(place, u)
    last = ordered.pop(len(ordered) // 2)
    ordered.remove(ordered[0])
    del ordered[-1]
    t = last * last
    for k, u in enumerate(ordered):
        t += (k + 1) * u
    return t


def inserted_in_order_oracle(xp, x):
    ordered = xp.sort(x)
    half = x.shape[0] // 2
    rest = xp.concatenate([ordered[1:half], ordered[half + 1 : -1]])
    return {"result": ordered[half] ** 2 + xp.sum(xp.arange(1, rest.shape[0] + 1) * rest)}


def weighted_by_rank(x, w):
    pairs = [(u, c) for u, c in zip(x, w)]
    pairs.sort(key=lambda pair: pair[1], reverse=True)
    t = 0.0
    for k, (u, c) in enumerate(pairs):
        t += u * c / (k + 1)
    first = min(range(len(x)), key=lambda i: x[i])
    return t + x[first] * w[first]


def weighted_by_rank_oracle(xp, x, w):
    order = xp.argsort(-w)
    ranked = xp.sum(x[order] * w[order] / xp.arange(1, x.shape[0] + 1))
    first = xp.argmin(x)
    return {"result": ranked + x[first] * w[first]}


def merged_in_pairs(x):
    heap = [u for u in x]
    heapq.heapify(heap)
    t = x[0] * 0
    while len(heap) > 1:
        a = heapq.heappop(heap)
        b = heapq.heappop(heap)
        t += a + b
        heapq.heappush(heap, a + b)
    return t


def filled_later(x):
    n = len(x)
    best = [None] * n
    best[0] = x[0]
    for i in range(1, n):
        best[i] = max(best[i - 1], x[i - 1]) * x[i]
    t = x[0] * 0
    for u in best:
        if u is not None:
            t += u * u
    return t


def filled_later_oracle(xp, x):
    best = [x[0]]
    for i in range(1, x.shape[0]):
        best.append(xp.maximum(best[-1], x[i - 1]) * x[i])
    return {"result": sum(u * u for u in best)}


# A filter and a smoother: states one after the other, and what follows from those behind (Rauch, Tung, Striebel 1965).
def smoothed_states(x, A, g):
    n = len(x)
    states, later = [None] * n, [None] * n
    states[0] = np.array([x[0], g])
    for k in range(1, n):
        states[k] = A @ states[k - 1] + np.array([x[k], g * x[0]])
    later[n - 1] = states[-1]
    for k in range(n - 2, -1, -1):
        later[k] = states[k] + g * A @ (later[k + 1] - states[k])
    return sum((u * v).sum() for u, v in zip(states, later)) * later[0][1]


def multiplied_in_pairs(x):
    level = [u for u in x]
    while len(level) > 1:
        above = []
        for k in range(0, len(level) - 1, 2):
            above.append(level[k] * level[k + 1])
        if len(level) % 2 == 1:
            above.append(level[-1])
        level = above
    path = [x[0]]
    for u in x[1:]:
        path = path + [path[-1] * u]
    return level[0] + sum(path)


def multiplied_in_pairs_oracle(xp, x):
    return {"result": xp.prod(x) + xp.sum(xp.cumprod(x))}


def odds_of_steps(x, labels):
    odds = {0: x[0]}
    for u in x[1:]:
        later = {}
        for k, p in odds.items():
            later[k + 1] = later.get(k + 1, 0) + p * u
            later[k] = later.get(k, 0) + p * (1 - u)
        odds = later
    kept = {}
    for k, u in zip(labels, x):
        kept[k] = kept.get(k, 0) + u
    t = kept.pop(labels[0]) * x[0]
    del kept[labels[1]]
    for v in kept.values():
        t += v * v
    for k, p in odds.items():
        t += k * p
    return t


def added_to(book, key, amount):
    book[key] = book.get(key, 0) + amount


def sums_by(labels, x):
    sums = {}
    for k, u in zip(labels, x):
        added_to(sums, k, u)
    return sums


def booked(x, labels):
    sums = sums_by(labels, x)
    added_to(sums, 0, x[0] * x[1])
    t = x[0] * 0
    for v in sums.values():
        t += v * v
    return t


LABELS = np.array([2, 0, 1, 2, 0, 3])

ENTRIES = (
    Entry(
        name="inserted_in_order",
        function=inserted_in_order,
        make=lambda r, n=7: dict(x=r.uniform(0.3, 1.2, n)),
        wrt=("x",),
        oracle=inserted_in_order_oracle,
        is_twin=True,
        constructs=("elements of lists in other places",),
    ),
    Entry(
        name="weighted_by_rank",
        function=weighted_by_rank,
        make=lambda r, n=6: dict(x=r.uniform(0.3, 1.2, n), w=r.uniform(0.3, 1.2, n)),
        wrt=("x", "w"),
        oracle=weighted_by_rank_oracle,
        is_twin=True,
        constructs=("sorting by a key, and the least by a key",),
    ),
    Entry(
        name="merged_in_pairs",
        function=merged_in_pairs,
        make=lambda r, n=6: dict(x=r.uniform(0.3, 1.2, n)),
        wrt=("x",),
        constructs=("heaps",),
    ),
    Entry(
        name="filled_later",
        function=filled_later,
        make=lambda r, n=5: dict(x=r.uniform(0.5, 1.2, n)),
        wrt=("x",),
        oracle=filled_later_oracle,
        is_twin=True,
        constructs=("lists of None",),
    ),
    Entry(
        name="smoothed_states",
        function=smoothed_states,
        make=lambda r, n=4: dict(x=r.uniform(0.5, 1.2, n), A=r.uniform(0.1, 0.6, (2, 2)), g=0.7),
        wrt=("x", "A", "g"),
        constructs=("lists of None",),
    ),
    Entry(
        name="multiplied_in_pairs",
        function=multiplied_in_pairs,
        make=lambda r, n=7: dict(x=r.uniform(0.5, 1.2, n)),
        wrt=("x",),
        oracle=multiplied_in_pairs_oracle,
        is_twin=True,
        constructs=("names for lists of other lengths",),
    ),
    Entry(
        name="odds_of_steps",
        function=odds_of_steps,
        make=lambda r: dict(x=r.uniform(0.2, 0.8, 6), labels=LABELS.copy()),
        wrt=("x",),
        constructs=("dictionaries that lose keys, or take over others",),
    ),
    Entry(
        name="booked",
        function=booked,
        make=lambda r: dict(x=r.uniform(0.2, 0.8, 6), labels=LABELS.copy()),
        wrt=("x",),
        constructs=("functions that change dictionaries and lists, or return them",),
    ),
)
