"""Programs of lists, heaps, queues and dictionaries that change, as people write them."""

# pyright: reportOptionalSubscript=false, reportOptionalOperand=false

from __future__ import annotations

import heapq
import math
from collections import deque

import numpy as np

from tests.frontend.programs import shows

X = np.array([0.9, 0.31, 1.27, 0.55, 1.9, 0.12, 0.77, 1.41])
Y = np.array([0.4, 1.3, 0.2, 0.81, 1.1, 0.93, 0.35, 0.66])
IDX = np.array([2, 0, 1, 2, 0, 3, 1, 0])
W = np.array([[1.0, 2.0, 0.5, 1.5], [0.7, 0.3, 1.1, 2.2], [0.4, 0.9, 1.3, 0.8], [1.6, 0.2, 0.6, 1.2]])


@shows("heaps", W)
def dijkstra(W):
    n = W.shape[0]
    dist = [float("inf")] * n
    dist[0] = 0.0
    done = [False] * n
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if done[u]:
            continue
        done[u] = True
        for v in range(n):
            nd = d + W[u, v]
            if nd < dist[v]:
                dist[v] = nd
                heapq.heappush(heap, (nd, v))
    return sum(dist)


def merge_cost(x):
    heap = [v for v in x]
    heapq.heapify(heap)
    total = 0.0
    while len(heap) > 1:
        a = heapq.heappop(heap)
        b = heapq.heappop(heap)
        total += a + b
        heapq.heappush(heap, a + b)
    return total


def moving_average(x, n):
    window = deque(maxlen=n)
    out = 0.0
    for v in x:
        window.append(v)
        out += (sum(window) / len(window)) ** 2
    return out


@shows("names for lists of other lengths", X)
def tree_levels(x):
    level = [v for v in x]
    while len(level) > 1:
        next_level = []
        for i in range(0, len(level) - 1, 2):
            next_level.append(level[i] * level[i + 1] + 0.1)
        if len(level) % 2 == 1:
            next_level.append(level[-1])
        level = next_level
    return level[0]


@shows("sorting by a key, and the least by a key", X, Y)
def weighted_sorted(x, y):
    pairs = [(a, b) for a, b in zip(x, y)]
    pairs.sort(key=lambda p: p[1])
    total = 0.0
    for k, (a, b) in enumerate(pairs):
        total += (k + 1) * a * b
    return total


def order_stat(x, w):
    order = sorted(range(len(x)), key=lambda i: x[i], reverse=True)
    acc = 0.0
    for rank, i in enumerate(order):
        acc += w[i] * x[i] / (rank + 1)
    return acc


def memo_fill(x):
    n = len(x)
    best = [None] * n
    best[0] = x[0]
    for i in range(1, n):
        best[i] = max(best[i - 1], 0.0) * 0.5 + x[i]
    return sum(b * b for b in best)


@shows("lists of None", X, IDX)
def cached(x, idx):
    memo = [None] * 4
    total = 0.0
    for k in idx:
        if memo[k] is None:
            memo[k] = math.exp(-x[k])
        total += memo[k] * x[k]
    return total


@shows("lists of None", X, IDX)
def swept_both_ways(x, idx):
    n, there, back = len(idx), [None] * len(idx), [None] * (len(idx) + 1)
    for i in range(n):
        there[i] = np.array([x[i], x[idx[i]] * x[0]])
    back[n] = there[-1] * 2.0
    for i in range(n - 1, -1, -1):
        back[i] = back[i + 1] * 0.5 + there[i] * x[i]
    return back[0].sum() + back[1][1] * sum(a.sum() for a in there)


@shows("elements of lists in other places", X)
def insertion(x):
    out = []
    for v in x:
        k = 0
        while k < len(out) and out[k] < v:
            k += 1
        out.insert(k, v)
    return sum((i + 1) * v for i, v in enumerate(out))


def poly_mul(roots):
    coeffs = [1.0]
    for r in roots:
        new = [0.0] * (len(coeffs) + 1)
        for i, c in enumerate(coeffs):
            new[i] += c
            new[i + 1] -= r * c
        coeffs = new
    return sum(c * c for c in coeffs)


def random_walk(x, n):
    probs = {0: 1.0}
    for t in range(n):
        new = {}
        for pos, p in probs.items():
            up = x[t]
            new[pos + 1] = new.get(pos + 1, 0.0) + p * up
            new[pos - 1] = new.get(pos - 1, 0.0) + p * (1 - up)
        probs = new
    return sum(k * k * p for k, p in probs.items())


@shows("dictionaries that lose keys, or take over others", X, IDX)
def ledger(x, idx):
    acc = {}
    total = 0.0
    for k, v in zip(idx, x):
        if k in acc and acc[k] > 1.0:
            total += acc.pop(k) ** 2
        acc[k] = acc.get(k, 0.0) + v
    del acc[idx[0]]
    return total + sum(acc.values())


def deposit(book, key, amount):
    book[key] = book.get(key, 0.0) + amount


@shows("functions that change dictionaries and lists, or return them", X, IDX)
def bank(x, idx):
    book = {}
    for k, v in zip(idx, x):
        deposit(book, k, v * v)
    return sum(v * v for v in book.values())


def group_sums(x, idx):
    sums = {}
    for k, v in zip(idx, x):
        sums[k] = sums.get(k, 0.0) + v
    return sums


def uses_group(x, idx):
    sums = group_sums(x, idx)
    return sum(v * v for v in sums.values())


def rollout(x):
    path = [x[0]]
    for v in x[1:]:
        path = path + [0.5 * path[-1] + v]
    return sum(p * p for p in path)


def peel(x):
    v = [a for a in x]
    total = 0.0
    while len(v) > 0:
        total += v[0] * len(v)
        v = v[1:]
    return total


def nearest_tour(x):
    left = [v for v in x]
    here = left.pop(0)
    total = 0.0
    while left:
        best = 0
        for k in range(1, len(left)):
            if abs(left[k] - here) < abs(left[best] - here):
                best = k
        nxt = left.pop(best)
        total += (nxt - here) ** 2
        here = nxt
    return total


def bfs(W, x):
    n = len(x)
    seen = [False] * n
    seen[0] = True
    front = [0]
    depth, total = 0, 0.0
    while front:
        new_front = []
        for u in front:
            total += x[u] * 0.5**depth
            for v in range(4):
                if W[u, v] > 1.0 and not seen[v]:
                    seen[v] = True
                    new_front.append(v)
        front = new_front
        depth += 1
    return total


def tour_remove(W):
    n = W.shape[0]
    unvisited = list(range(1, n))
    cur, total = 0, 0.0
    while unvisited:
        best = unvisited[0]
        for j in unvisited:
            if W[cur, j] < W[cur, best]:
                best = j
        total += W[cur, best]
        unvisited.remove(best)
        cur = best
    return total


def intervals(x, y):
    spans = []
    for a, b in zip(x, y):
        spans.append((a, a + b))
    spans.sort()
    total, (lo, hi) = 0.0, spans[0]
    for a, b in spans[1:]:
        if a <= hi:
            hi = max(hi, b)
        else:
            total += hi - lo
            lo, hi = a, b
    total += hi - lo
    return total * total


def grid(x):
    n = len(x)
    dp = [[None] * n for _ in range(n)]
    for i in range(n):
        dp[i][0] = x[i]
    for j in range(1, n):
        for i in range(n):
            best = dp[i][j - 1]
            if i > 0 and dp[i - 1][j] is not None:
                best = max(best, 0.5 * dp[i - 1][j])
            dp[i][j] = best * x[j]
    return dp[-1][-1] + dp[n - 1][n - 1]


def prev(x):
    n = len(x)
    parent = [None] * n
    for i in range(1, n):
        parent[i] = i // 2
    t = 0.0
    node = n - 1
    while parent[node] is not None:
        t += x[node]
        node = parent[node]
    return t


def skip(x, idx):
    last = [None] * 5
    for k, v in zip(idx, x):
        last[k] = v
    t = 0.0
    for u in last:
        if u is not None:
            t += u * u
    return t + sum(v for v in last if v is not None)


def aug(x, idx):
    last = [None] * 4
    for k, v in zip(idx, x):
        if last[k] is None:
            last[k] = 0.0
        last[k] += v * v
    return np.sum(np.array(last)) + len(last)


def popd(x, idx):
    acc = {}
    for k, v in zip(idx, x):
        acc[k] = acc.get(k, 0.0) + v
    t = acc.pop(7, x[0]) + 2 * acc.pop(2, 0.0)
    for k in list(acc):
        if acc[k] > 2.0:
            del acc[k]
    for k, v in acc.items():
        t += k * v
    return t + len(acc)


def sets(x, idx):
    left = set()
    for k in idx:
        left.add(k)
    t = 0.0
    for k in idx:
        if k in left:
            t += x[k]
            left.remove(k)
        left.discard(9)
    return t * (1 + len(left))


def again(x, idx):
    acc = {}
    t = 0.0
    for k, v in zip(idx, x):
        acc[k] = v
        if len(acc) == 3:
            t += sum(acc.values()) ** 2
            acc.clear()
    return t + sum(acc.values())


CASES = {
    dijkstra: (W,), merge_cost: (X,), moving_average: (X, 3), tree_levels: (X,), weighted_sorted: (X, Y),
    order_stat: (X, Y), memo_fill: (X,), cached: (X, IDX), insertion: (X,), poly_mul: (X,), random_walk: (X, 5),
    ledger: (X, IDX), bank: (X, IDX), uses_group: (X, IDX), rollout: (X,), peel: (X,), nearest_tour: (X,), bfs: (W, X),
    tour_remove: (W,), intervals: (X, Y), grid: (X,), prev: (X,), skip: (X, IDX), aug: (X, IDX), popd: (X, IDX),
    sets: (X, IDX), again: (X, IDX),
}  # fmt: skip
