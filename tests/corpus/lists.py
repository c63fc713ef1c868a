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


def stacked(x, w):
    stack, queue = [], []
    for u in x:
        stack.append(u)
        queue.append(u * w)
    while len(stack) > 1:
        a = stack.pop()
        stack.append(stack.pop() * a + a)
    while len(queue) > 1:
        a = queue.pop(0)
        queue.append(a - queue.pop(0) * w)
    return stack[0] * queue[-1]


def stacked_oracle(xp, x, w):
    stack, queue = [*x], [u * w for u in x]
    while len(stack) > 1:
        a = stack.pop()
        stack.append(stack.pop() * a + a)
    while len(queue) > 1:
        a = queue.pop(0)
        queue.append(a - queue.pop(0) * w)
    return {"result": stack[0] * queue[-1]}


def in_bins(x):
    pairs = 0.0
    bins = [[] for _ in range(3)]
    links = [[] for _ in range(len(x))]
    for i, u in enumerate(x):
        bins[i * i % 3].append(u * u)
        links[i // 2].append((u, i))
    for k, b in enumerate(bins):
        if not b:
            continue
        pairs += k * sum(b) / len(b) + b[0] * b[-1]
    for i in range(len(x)):
        for u, j in links[i]:
            pairs += u * x[j] * x[i]
    return pairs


def in_bins_oracle(xp, x):
    bins = [[x[i] * x[i] for i in range(len(x)) if i * i % 3 == k] for k in range(2)]
    pairs = sum(k * sum(b) / len(b) + b[0] * b[-1] for k, b in enumerate(bins))
    return {"result": pairs + sum(x[i] * x[i] * x[i // 2] for i in range(len(x)))}


def doubled(x):
    steps, large = [], [False] * len(x)
    t = x[0]
    while t < 5.0:
        t = 2.0 * t
        steps.append(t)
    for i, u in enumerate(x):
        large[i] = u > 0.8
    return sum(steps) * len(steps) + sum(large) * x[1] + (0.0 if large[0] else x[0])


def doubled_oracle(xp, x):
    large = xp.where(x > 0.8, 1.0, 0.0)
    return {"result": 42.0 * x[0] + xp.sum(large) * x[1] + xp.where(x[0] > 0.8, 0.0, x[0])}


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


def edit_distance(x, y, gap):
    best = [[0.0] * (len(y) + 1) for _ in range(len(x) + 1)]
    for i in range(1, len(x) + 1):
        best[i][0] = best[i - 1][0] + gap
    for j in range(1, len(y) + 1):
        best[0][j] = best[0][j - 1] + gap
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            matched = best[i - 1][j - 1] + (x[i - 1] - y[j - 1]) ** 2
            best[i][j] = min(matched, best[i - 1][j] + gap, best[i][j - 1] + gap)
    return best[-1][-1]


def edit_distance_oracle(xp, x, y, gap):
    rows = [[gap * j for j in range(len(y) + 1)]]
    for i in range(len(x)):
        rows.append([gap * (i + 1)])
        for j in range(len(y)):
            matched = rows[i][j] + (x[i] - y[j]) ** 2
            rows[-1].append(xp.minimum(xp.minimum(matched, rows[i][j + 1] + gap), rows[-1][j] + gap))
    return {"result": rows[-1][-1]}


def edit_distance_by_rows(x, y, gap):
    before = [gap * j for j in range(len(y) + 1)]
    for i in range(len(x)):
        row = [gap * (i + 1)]
        for j in range(len(y)):
            row.append(min(before[j] + (x[i] - y[j]) ** 2, before[j + 1] + gap, row[j] + gap))
        before = row
    return before[-1]


def along_a_path(x, y):
    points = [(a, b, a * b) for a, b in zip(x, y) if a > 0.0]
    turned = [[b, -a] for a, b, _ in points]
    turned[0] = [2.0 * c for c in turned[0]]
    length = 0.0
    for (a, b, _), (c, d, _) in zip(points[1:], points[:-1]):
        length += (c - a) ** 2 + (d - b) ** 2
    return length + sum(p[2] for p in points) * turned[0][1] + len(points) * max(turned[-1])


def along_a_path_oracle(xp, x, y):
    chosen = np.flatnonzero(np.array([float(v) > 0.0 for v in x]))
    a, b = xp.stack([x[i] for i in chosen]), xp.stack([y[i] for i in chosen])
    length = xp.sum((a[1:] - a[:-1]) ** 2 + (b[1:] - b[:-1]) ** 2)
    return {"result": length - 2.0 * a[0] * xp.sum(a * b) + len(chosen) * xp.maximum(b[-1], -a[-1])}


def changed_while_gone_through(x):
    t, s = [x[0], x[1], x[2]], 0.0
    for a in t[:]:
        t[2] = 2.0 * a
        s += a * a
    for a, b in zip(t[1:], t):
        t[1] = t[1] + a
        s += a * b
    for a in t:
        t[2] = t[2] * a
        s += a
    for a in t.copy():
        t.append(a * s)
    return s + t[2] * t[-1]


def tables_made_anew(A, n):
    m = len(A)
    P = [[A[i, j] for j in range(m)] for i in range(m)]
    for _ in range(n):
        P = [[0.3 * sum(A[i, k] * P[k][j] for k in range(m)) for j in range(m)] for i in range(m)]
        above = []
        for i in range(m):
            above.append([P[i][j] + A[j, i] for j in range(m)])
        P = above
    return sum(sum(row) for row in P)


def tables_made_anew_oracle(xp, A, n):
    P = A
    for _ in range(n):
        P = 0.3 * A @ P + A.T
    return {"result": P.sum()}


def eliminated(A, b):
    n = len(b)
    M, y = [[A[i, j] for j in range(n)] for i in range(n)], [v for v in b]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(M[i][k]) > abs(M[p][k]):
                p = i
        M[k], M[p] = M[p], M[k]
        y[k], y[p] = y[p], y[k]
        for i in range(k + 1, n):
            m = M[i][k] / M[k][k]
            for j in range(k, n):
                M[i][j] -= m * M[k][j]
            y[i] -= m * y[k]
    x = [0.0] * n
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - sum(M[i][j] * x[j] for j in range(i + 1, n))) / M[i][i]
    return sum(v * v for v in x)


def eliminated_oracle(xp, A, b):
    return {"result": (xp.linalg.solve(A, b) ** 2).sum()}


def steps_until_enough(x, n):
    i, product = 0, 1.0
    found, doubled = [], [x[0]]
    while product > 0.05 and i < n:
        product = product * x[i]
        found.append(product)
        i += 1
    while len(doubled) < len(x):
        doubled.append(2.0 * doubled[-1] * x[len(doubled)])
    return np.sum(np.array(found) ** 2) * len(found) + sum(doubled)


def steps_until_enough_oracle(xp, x, n):
    products = xp.cumprod(x)[:4]
    return {"result": 4.0 * xp.sum(products**2) + xp.sum(xp.cumprod(2.0 * x)) / 2.0}


def changed_places(x, order):
    slots = {k: x[k] for k in range(3)}
    steps = range(len(order))
    for i in steps:
        slots[i % 3], slots[order[i]] = 1.1 * slots[order[i]], slots[i % 3]
    return slots[0] + 2.0 * slots[1] + 4.0 * slots[2] ** 2


def changed_places_oracle(xp, x, order):
    a, b, c = x[0], x[1], x[2]
    a, c = 1.1 * c, a
    b, a = 1.1 * a, b
    c, b = 1.1 * b, c
    return {"result": a + 2.0 * b + 4.0 * c**2}


def states_with_times(x, n):
    path = []
    v, t = x * 1.0, 0.0
    for k in range(n):
        v = v * v + 0.1 * k
        t += v[0]
        path.append((t, v.copy()))
    total = 0.0
    for i, (time, state) in enumerate(path[1:]):
        total += i * time + state[1]
    times = np.array([p[0] for p in path])
    _, states = zip(*path, strict=True)
    return total + np.sum(times**2) + np.sum(np.array(states) ** 3) + path[-1][1][0] * len(path)


def states_with_times_oracle(xp, x, n):
    states, times, t = [], [], 0.0
    for k in range(n):
        x = x * x + 0.1 * k
        t = t + x[0]
        states, times = [*states, x], [*times, t]
    total = sum(k * times[k + 1] + states[k + 1][1] for k in range(n - 1))
    squares, cubes = sum(t * t for t in times), sum(xp.sum(s**3) for s in states)
    return {"result": total + squares + cubes + states[-1][0] * n}


def by_places(x, b):
    stages = ((0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (-1.0, 2.0, 0.0))
    weights, k = [b, 4.0 * b, b], np.zeros((3, len(x)))
    for _ in range(4):
        for i in range(len(k)):
            y = x.copy()
            for j in range(i):
                y += 0.1 * stages[i][j] * k[j]
            k[i] = np.sin(y)
        i = 0
        while i < len(k):
            x = x + 0.1 * weights[i] * k[i]
            i += 1
    return np.sum(x * x)


def by_places_oracle(xp, x, b):
    for _ in range(4):
        k1 = xp.sin(x)
        k2 = xp.sin(x + 0.05 * k1)
        k3 = xp.sin(x - 0.1 * k1 + 0.2 * k2)
        x = x + 0.1 * b * (k1 + 4.0 * k2 + k3)
    return {"result": xp.sum(x * x)}


def logged(x, w):
    log = {"path": [], "turns": [x[0]]}
    at = 0.0
    for u in x:
        at = at + w * u
        log["path"].append(at)
        if u > 1.0:
            log["turns"].append(at * u)
    return np.mean(log["path"]) + sum(log["turns"]) * log["turns"][-1]


def logged_oracle(xp, x, w):
    path = w * xp.cumsum(x)
    turns = xp.where(x > 1.0, path * x, 0.0)
    count = xp.sum(xp.where(x > 1.0, 1, 0))
    last = xp.where(count > 0, turns[x.shape[0] - 1 - xp.argmax((x > 1.0)[::-1])], x[0])
    return {"result": xp.mean(path) + (x[0] + xp.sum(turns)) * last}


ENTRIES = (
    Entry(
        name="logged",
        function=logged,
        make=lambda r, n=7: dict(x=r.uniform(0.5, 1.5, n), w=0.7),
        wrt=("x", "w"),
        oracle=logged_oracle,
        is_twin=True,
        constructs=("lists in dictionaries and objects that grow",),
    ),
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
        name="stacked",
        function=stacked,
        make=lambda r, n=5: dict(x=r.uniform(0.5, 1.5, n), w=0.7),
        wrt=("x", "w"),
        oracle=stacked_oracle,
        is_twin=True,
        constructs=("stacks and queues",),
    ),
    Entry(
        name="in_bins",
        function=in_bins,
        make=lambda r, n=6: dict(x=r.uniform(0.5, 1.5, n)),
        wrt=("x",),
        oracle=in_bins_oracle,
        is_twin=True,
        constructs=("lists of lists that grow",),
    ),
    Entry(
        name="doubled",
        function=doubled,
        make=lambda r, n=5: dict(x=r.uniform(0.7, 0.9, n)),
        wrt=("x",),
        oracle=doubled_oracle,
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
    Entry(
        name="edit_distance",
        function=edit_distance,
        make=lambda r, n=5, m=4: dict(x=r.normal(size=n), y=r.normal(size=m), gap=0.6),
        wrt=("x", "y", "gap"),
        oracle=edit_distance_oracle,
        is_twin=True,
        constructs=("lists of lists, and of tuples",),
    ),
    Entry(
        name="edit_distance_by_rows",
        function=edit_distance_by_rows,
        make=lambda r, n=5, m=4: dict(x=r.normal(size=n), y=r.normal(size=m), gap=0.6),
        wrt=("x", "y", "gap"),
        oracle=edit_distance_oracle,
        is_twin=True,
        constructs=("names for other lists",),
    ),
    Entry(
        name="along_a_path",
        function=along_a_path,
        make=lambda r: dict(x=np.array([0.5, -0.3, 1.2, 0.7, -1.0, 0.9]), y=r.normal(size=6)),
        wrt=("x", "y"),
        oracle=along_a_path_oracle,
        constructs=("lists of lists, and of tuples",),
    ),
    Entry(
        name="tables_made_anew",
        function=tables_made_anew,
        make=lambda r: dict(A=r.normal(size=(3, 3)), n=3),
        wrt=("A",),
        oracle=tables_made_anew_oracle,
        is_twin=True,
        constructs=("names for other lists",),
    ),
    Entry(
        name="eliminated",
        function=eliminated,
        make=lambda r: dict(A=r.normal(size=(4, 4)), b=r.normal(size=4)),
        wrt=("A", "b"),
        oracle=eliminated_oracle,
        is_twin=True,
        constructs=("lists of lists, and of tuples",),
    ),
    Entry(
        name="changed_while_gone_through",
        function=changed_while_gone_through,
        make=lambda r: dict(x=r.uniform(0.3, 1.2, 4)),
        wrt=("x",),
        notes="copies of lists of known length, as `t[:]`, were what the list had become",
    ),
    Entry(
        name="steps_until_enough",
        function=steps_until_enough,
        make=lambda r: dict(x=np.array([0.5, 0.4, 0.6, 0.3, 0.7, 0.2]), n=6),
        wrt=("x",),
        oracle=steps_until_enough_oracle,
        is_twin=True,
        constructs=("lists of any length",),
    ),
    Entry(
        name="changed_places",
        function=changed_places,
        make=lambda r: dict(x=r.uniform(0.3, 1.2, 3), order=np.array([2, 0, 1])),
        wrt=("x",),
        oracle=changed_places_oracle,
        is_twin=True,
        constructs=("dictionaries by integers that the run says", "for over range"),
    ),
    Entry(
        name="states_with_times",
        function=states_with_times,
        make=lambda r: dict(x=r.uniform(0.3, 0.9, 3), n=3),
        wrt=("x",),
        oracle=states_with_times_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("lists of lists, and of tuples",),
    ),
    Entry(
        name="by_places",
        function=by_places,
        make=lambda r: dict(x=r.uniform(0.3, 0.9, 3), b=1.0 / 6.0),
        wrt=("x", "b"),
        oracle=by_places_oracle,
        is_twin=True,
        constructs=("elements of lists and tuples that the run says",),
    ),
)
