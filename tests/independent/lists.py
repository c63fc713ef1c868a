"""Short programs with lists that grow with the data, as people write them, to be varied."""

from __future__ import annotations

from typing import Any

from .expected import Program
from .idioms import IDX, A, B, V, W, rows

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "coefficients and moves by places": (
        """
def score(path, coefficients):
    total = 0.0
    for k in range(len(path)):
        total += coefficients[k % len(coefficients)] * path[k] ** 2
    return total


def f(x, y, rate):
    moves = [(1, 0), (0, 1), (1, 1)]
    bins, row = [0.0, rate, 0.5], (x[0], rate, 2.0)
    i = 0
    while i < len(x):
        di, dj = moves[i % 3]
        bins[(i * 2) % 3] += di * x[i] - 0.5 * dj * y[i]
        i += 1
    total = 0.0
    for v, b, k in zip(y, bins, (2, 0, 1)):
        total += v * b * x[k] + row[k] * bins[k]
    return total + score(x, bins) + score(y, [0.5, rate])
""",
        {"x": V, "y": W, "rate": 0.7},
    ),
    "losses in a list": (
        """
def f(x, y, rate):
    losses = []
    w = 0.3
    for i in range(len(x)):
        error = w * x[i] - y[i]
        losses.append(error * error)
        w = w - rate * error * x[i]
    worst = max(losses)
    return sum(losses) / len(losses) + 0.1 * worst * losses[-1] + sum(losses[1:])
""",
        {"x": V, "y": W, "rate": 0.2},
    ),
    "states of a recurrence": (
        """
def step(h, x, W):
    return np.tanh(W @ h + x)


def f(X, W, h0):
    h, states = h0, [h0]
    for x in X:
        h = step(h, x, W)
        states.append(h)
    H = np.stack(states)
    last, before = states[-1], states[len(states) - 2]
    return (H * H).mean() + last @ before
""",
        {"X": rows(21, 3, 4), "W": A, "h0": rows(22, 4)},
    ),
    "events above a threshold": (
        """
def f(x, y, level):
    times, heights = [], []
    for i in range(1, len(x)):
        if x[i] <= level:
            continue
        times.append(i)
        heights.append(x[i] * y[i])
    if not heights:
        return 0.1 * x.sum()
    gaps = [b - a for a, b in zip(times, times[1:])]
    total = sum(h * t for h, t in zip(heights, times))
    return total + sum(gaps) * heights[0] + max(heights) * len(heights)
""",
        {"x": V, "y": W, "level": 0.2},
    ),
    "dynamic programming": (
        """
def f(x, y, gap):
    before = [gap * j for j in range(len(y) + 1)]
    for i in range(len(x)):
        row = [gap * (i + 1)]
        for j in range(len(y)):
            match = before[j] + (x[i] - y[j]) ** 2
            row.append(min(match, before[j + 1] + gap, row[j] + gap))
        for j in range(len(row)):
            before[j] = row[j]
    return before[-1]
""",
        {"x": V, "y": W, "gap": 0.7},
    ),
    "table that is filled": (
        """
def f(x, n):
    best = [0] * (len(x) + 1)
    best[0] = 0.5
    for i in range(len(x)):
        best[i + 1] = best[i] * 0.9 + x[i]
        if best[i + 1] < 0.0 and i > 0:
            best[i + 1] = best[i - 1] * 0.3
    for k in range(n):
        best[k] *= 2.0
    return sum(best) + best[-1] * best[len(x) // 2]
""",
        {"x": V, "n": 2},
    ),
    "lists made by helpers": (
        """
def soft(scores):
    top = max(scores)
    e = [np.exp(s - top) for s in scores]
    total = sum(e)
    return [v / total for v in e]


def f(x, y):
    p, q = soft([2.0 * u for u in x]), soft(y)
    cross = sum(a * b for a, b in zip(p, q))
    return cross + sum(p[i] * i for i in range(len(p))) - max(q)
""",
        {"x": V, "y": W},
    ),
    "pairs that are near": (
        """
def f(x, r):
    near = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            d = (x[i] - x[j]) ** 2
            if d < r:
                near.append(d)
            elif d > 5.0 * r:
                break
    near = np.array(near)
    return (near * near).sum() + 0.1 * len(near) + x.sum()
""",
        {"x": V, "r": 1.1},
    ),
    "rows of a matrix in a list": (
        """
def f(M, x):
    kept = [row * row.sum() for row in M if row[0] > -0.5]
    scaled = []
    for k, row in enumerate(kept):
        scaled += [row * (k + 1.0)]
    later = kept[1:]
    total = sum(a @ b for a, b in zip(kept, later))
    for row in scaled:
        total += row @ x
    return total + sum(r[0] for r in kept) + len(scaled)
""",
        {"M": B, "x": V},
    ),
    "indices in a list": (
        """
def f(x, y, idx):
    chosen = [i for i in idx if i % 2 == 1]
    rest = [i for i in range(len(x)) if y[i] > 0.0]
    t = sum(x[i] * y[i] for i in chosen)
    for k in range(len(rest)):
        t += x[rest[k]] * (k + 1)
    return t + x[chosen].sum()
""",
        {"x": V, "y": W, "idx": IDX},
    ),
    "lists made anew in a loop": (
        """
def f(A, x):
    total = 0.0
    for i in range(A.shape[0]):
        row = [A[i, j] * x[j] for j in range(A.shape[1])]
        up = [v for v in row if v > 0.0]
        if up:
            total += max(up) * len(up)
        else:
            total += min(row)
        row[0] = total
        total += 0.1 * sum(row)
    return total
""",
        {"A": A, "x": rows(23, 4)},
    ),
    "sorted, and gone through": (
        """
def f(x, y):
    s = sorted(y)
    z = list(x)
    z[0] = s[-1] * 2.0
    z[-1] += s[0]
    middle = s[len(s) // 2]
    return middle * sum(z) + sum(a * b for a, b in zip(s, reversed(z))) + np.dot(z, s)
""",
        {"x": V, "y": W},
    ),
    "parts of a list that changes": (
        """
def f(x, y):
    v = [a * b for a, b in zip(x, y)]
    s = 0.0
    for a, b in zip(v, v[1:]):
        v[-1] = v[-1] + a * b
        s += a - b
    for k, a in enumerate(v[:-1]):
        v[k + 1] += 0.5 * a
    for k in range(len(v) // 2):
        v[k], v[len(v) - 1 - k] = v[len(v) - 1 - k], v[k]
    return s + sum(v[::2]) * v[0] + max(v[1:])
""",
        {"x": V, "y": W},
    ),
    "another name for a list": (
        """
def double(v):
    for i in range(len(v)):
        v[i] = 2.0 * v[i] + 0.1


def f(x, y):
    v = [a * b for a, b in zip(x, y)]
    u = v
    double(u)
    w = v[:]
    w[0] = 3.0 * x[0]
    return sum(v) + v[0] * w[0] + any(a > 0.0 for a in u) * sum(w)
""",
        {"x": V, "y": W},
    ),
}

TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "a table of best scores": (
        """
def f(x, y, gap):
    n, m = len(x), len(y)
    table = [[0.0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        table[i][0] = -gap * i
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            hit = table[i - 1][j - 1] + x[i - 1] * y[j - 1]
            table[i][j] = max(hit, table[i - 1][j] - gap, table[i][j - 1] - gap)
    best = max(max(row) for row in table)
    return table[-1][-1] + best + sum(table[n // 2])
""",
        {"x": V, "y": W, "gap": 0.4},
    ),
    "rows that follow from the last": (
        """
def f(x, n):
    rows = [[x[0], x[1], 1.0]]
    for k in range(n):
        a, b, c = rows[-1]
        rows.append([b, 0.5 * (a + c), a * b])
        if k > 0:
            rows[k - 1][0] += x[0] * k
    last = rows[-1]
    last[1] = last[1] * 2.0
    return sum(sum(r) for r in rows) + last[0] * rows[-1][1]
""",
        {"x": V, "n": 3},
    ),
    "products of matrices that are lists": (
        """
def product(A, B):
    C = [[0] * len(B[0]) for _ in range(len(A))]
    for i in range(len(A)):
        for j in range(len(B[0])):
            for k in range(len(B)):
                C[i][j] += A[i][k] * B[k][j]
    return C


def f(M, x):
    A = [[M[i, j] for j in range(M.shape[1])] for i in range(M.shape[0])]
    turned = [[row[j] for row in A] for j in range(len(A[0]))]
    P = product(A, turned)
    P[0] = [p * x[0] for p in P[0]]
    return sum(P[i][i] for i in range(len(P))) + np.array(P).sum() + P[0][-1] * len(turned)
""",
        {"M": B, "x": V},
    ),
    "pairs that are chosen": (
        """
def f(x, y):
    pairs = [(a, b) for a, b in zip(x, y) if a * b < 0.3]
    marked = []
    for i in range(len(x)):
        if y[i] > 0.0:
            marked.append((i, x[i]))
    total = 0.0
    for (a, b), (c, d) in zip(pairs, pairs[1:]):
        total += (a - c) * (b - d)
    for k, (i, v) in enumerate(marked):
        total += v * (i + k)
    if pairs:
        total += pairs[0][1] * pairs[-1][0]
    return total + len(pairs) + 0.1 * x.sum()
""",
        {"x": V, "y": W},
    ),
    "rows that take turns": (
        """
def f(x, y, n):
    old, new = [u * u for u in x], [0.0] * len(x)
    best = old
    for i in range(n):
        fresh = [0.5 * (a + b) for a, b in zip(old, x)]
        old, new = fresh, old
        if old[0] > y[0]:
            best = [a - b for a, b in zip(old, new)]
    row = [u for u in x]
    t = 0.0
    for v in y:
        if v < 0.0:
            continue
        then = row
        row = [a * v + 0.1 for a in then]
        t += then[-1] * row[0]
    return sum(best) + sum(old) * new[0] + t
""",
        {"x": V, "y": W, "n": 3},
    ),
    "a grid that is made anew": (
        """
def smooth(grid, n):
    new = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            new[i][j] = 0.5 * grid[i][j]
            if 0 < i and j + 1 < n:
                new[i][j] += 0.25 * (grid[i - 1][j] + grid[i][j + 1])
    return new


def f(x, n):
    grid = [[x[i % len(x)] * (j + 1) for j in range(n)] for i in range(n)]
    once = smooth(grid, n)
    twice = smooth(once, n)
    copies = [row[:] for row in twice]
    copies[0][0] = 3.0
    return sum(map(sum, twice)) + copies[0][0] * twice[0][0] + grid[1][0]
""",
        {"x": V, "n": 3},
    ),
}


def listed() -> list[Program]:
    return [Program(text.strip("\n") + "\n", args, name) for name, (text, args) in {**TEXTS, **TABLES}.items()]
