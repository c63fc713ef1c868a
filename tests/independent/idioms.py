"""Short programs as people write them, to be varied: integrators, relaxations, filters, layers, tables, scans."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expected import Program


def rows(seed: int, *shape: int) -> np.ndarray:
    return (np.random.default_rng(seed).uniform(-1.5, 1.5, shape).round(2) + 0.007).round(3)


V, W, U = rows(1, 5), rows(2, 5), rows(3, 4)
A, B, T = rows(4, 4, 4), rows(5, 3, 5), rows(6, 2, 3, 4)
IDX = np.array([1, 3, 0, 3, 2])

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "rk4": (
        """
def rate(q, k):
    return -k * q + 0.1 * q * q


def f(q0, k, h, steps):
    q = q0.copy()
    for step in range(steps):
        k1 = rate(q, k)
        k2 = rate(q + 0.5 * h * k1, k)
        k3 = rate(q + 0.5 * h * k2, k)
        k4 = rate(q + h * k3, k)
        q = q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return (q * q).sum()
""",
        {"q0": U, "k": 0.8, "h": 0.1, "steps": 2},
    ),
    "pairs and parts": (
        """
def f(M, x, rate):
    total = 0.0
    for i, j in np.ndindex(M.shape):
        if i != j:
            total += rate * M[i, j] * x[i]
    for (i, j), v in np.ndenumerate(M):
        M[i, j] = v * x[j] + 0.1
    inner = np.s_[1:-1, :2]
    for k in range(2):
        part = slice(k, k + 2)
        total += M[inner][0, 1] * x[part].sum() - M[k, part].max()
        x[part] *= 0.5
    return total + (x * x).sum()
""",
        {"M": A, "x": U, "rate": 0.3},
    ),
    "ratios without warnings": (
        """
def share(v, w):
    with np.errstate(invalid="ignore"):
        return np.where(w > 0.0, v / (w + 2.5), 0.1 * v)


def f(x, y):
    total = 0.0
    with np.errstate(divide="ignore", over="warn"):
        z = np.log(np.abs(x) + 0.5) * share(x, y)
        for i in range(len(x)):
            if y[i] < 0.0:
                continue
            total += z[i] * x[i]
    return total + (z * y).sum()
""",
        {"x": V, "y": W},
    ),
    "lattice": (
        """
def f(values, up, n):
    prices = np.abs(values)
    for step in range(n):
        prices = 0.9 * (up * prices[1:] + (1.0 - up) * prices[:-1])
        prices = np.maximum(prices, values[: len(prices)])
    while len(prices) > 1:
        prices = 0.5 * (prices[:-1] + prices[1:])
    return prices[0] * len(prices)
""",
        {"values": V, "up": 0.45, "n": 2},
    ),
    "merged and three terms": (
        """
def f(x, y, rate):
    a, b = x, y
    out = np.array([0.1])
    while len(a) > 0 and len(b) > 0:
        if a[0] < b[0]:
            out = np.concatenate((out, a[:1] * out[-1]))
            a = a[1:]
        else:
            out = np.concatenate((out, b[:1]))
            b = b[1:]
    before, now = np.ones(1), np.array([rate, 1.0])
    for k in range(3):
        new = np.concatenate((np.zeros(1), now * x[k]))
        new[: len(before)] -= rate * before
        before, now = now, new
    return out.sum() * len(out) + a.sum() - b.sum() + now @ now + before[0]
""",
        {"x": V, "y": W, "rate": 0.6},
    ),
    "a path that is kept": (
        """
def f(x, v, limit):
    path = np.array([0.5])
    kept = np.zeros(0)
    for i in range(len(v)):
        path = np.concatenate((path, np.array([path[-1] * 0.9 + v[i] * x[i]])))
        if path[-1] > limit:
            kept = np.concatenate((kept, path[-1:] ** 2))
        if len(path) > 3:
            path = path[1:]
    return path.sum() * len(kept) + kept.sum()
""",
        {"x": V, "v": W, "limit": 0.2},
    ),
    "leapfrog with two buffers": (
        """
def f(u, c, steps):
    old = u.copy()
    now = u.copy()
    new = np.zeros_like(u)
    for t in range(steps):
        for i in range(1, len(u) - 1):
            new[i] = 2.0 * now[i] - old[i] + c * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        old, now, new = now, new, old
    return (now * now).sum()
""",
        {"u": V, "c": 0.3, "steps": 3},
    ),
    "relaxation until it settles": (
        """
def f(b, x, tol):
    for sweep in range(20):
        y = x.copy()
        for i in range(1, len(x) - 1):
            y[i] = 0.5 * (x[i - 1] + x[i + 1] - b[i])
        change = ((y - x) ** 2).sum()
        x = y
        if change < tol:
            break
    return (x * x).sum()
""",
        {"b": V, "x": W, "tol": 0.2},
    ),
    "layers of a net": (
        """
def layer(x, W, last):
    z = W @ x
    if last:
        return z
    return np.tanh(z)


def f(x, A, B, target):
    h = layer(x, A, False)
    h = layer(h, B, False)
    h = h + x
    err = layer(h, A, True) - target
    return 0.5 * (err * err).sum()
""",
        {"x": U, "A": A, "B": A.T.copy(), "target": rows(7, 4)},
    ),
    "net with a choice of activation": (
        """
def f(x, A, kind):
    h = x
    for layer in range(3):
        z = A @ h
        if kind == 0:
            h = np.maximum(z, 0.0)
        elif kind == 1:
            h = np.tanh(z)
        else:
            h = z / (1.0 + abs(z))
    return h.sum()
""",
        {"x": U, "A": A, "kind": 2},
    ),
    "softmax": (
        """
def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def f(z, w):
    p = softmax(z)
    loss = 0.0
    for i in range(len(z)):
        loss -= w[i] * np.log(p[i])
    return loss
""",
        {"z": V, "w": W},
    ),
    "normalised unless it is small": (
        """
def f(x, w):
    s = np.sqrt((x * x).sum())
    if s > 1.0:
        y = x / s
    else:
        y = x
    return (y * w).sum() + y[0] * y[1]
""",
        {"x": V, "w": W},
    ),
    "power iteration": (
        """
def f(A, v, n):
    for k in range(n):
        w = A @ v
        v = w / np.sqrt(w @ w + 0.1)
    return v @ A @ v
""",
        {"A": A, "v": U, "n": 3},
    ),
    "exponential filter": (
        """
def f(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = a * x[i] + (1.0 - a) * y[i - 1]
    return (y * y).sum()
""",
        {"x": V, "a": 0.4},
    ),
    "moving averages over and over": (
        """
def smooth(v):
    w = v.copy()
    w[1:-1] = (v[:-2] + v[1:-1] + v[2:]) / 3.0
    return w


def f(x, n):
    y = x
    for k in range(n):
        y = smooth(y)
    return ((y - x) ** 2).sum()
""",
        {"x": V, "n": 2},
    ),
    "edit distance, softened": (
        """
def f(x, y, gap):
    n, m = len(x), len(y)
    D = np.zeros((n + 1, m + 1))
    for i in range(1, n + 1):
        D[i, 0] = D[i - 1, 0] + gap
    for j in range(1, m + 1):
        D[0, j] = D[0, j - 1] + gap
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            best = min(D[i - 1, j] + gap, D[i, j - 1] + gap)
            D[i, j] = min(best, D[i - 1, j - 1] + abs(x[i - 1] - y[j - 1]))
    return D[n, m]
""",
        {"x": V, "y": U, "gap": 0.7},
    ),
    "two rows of a table": (
        """
def f(c):
    n, m = c.shape
    prev = c[0].copy()
    for i in range(1, n):
        cur = np.empty(m)
        cur[0] = prev[0] + c[i, 0]
        for j in range(1, m):
            cur[j] = c[i, j] + min(prev[j], min(prev[j - 1], cur[j - 1]))
        prev = cur
    return prev[-1]
""",
        {"c": B},
    ),
    "Viterbi": (
        """
def f(start, A, E):
    score = start
    for t in range(E.shape[0]):
        new = np.zeros(len(start))
        for j in range(len(start)):
            m = score[0] + A[0, j]
            for i in range(1, len(start)):
                m = max(m, score[i] + A[i, j])
            new[j] = m + E[t, j]
        score = new
    return score.max()
""",
        {"start": U, "A": A, "E": rows(8, 3, 4)},
    ),
    "scan of matrices": (
        """
def f(A, x, n):
    P = np.zeros_like(A)
    for i in range(A.shape[0]):
        P[i, i] = 1.0
    total = 0.0
    for k in range(n):
        P = P @ A * 0.4
        total += x @ P @ x
    return total
""",
        {"A": A, "x": U, "n": 3},
    ),
    "fast power": (
        """
def f(A, n):
    R = np.ones_like(A)
    Q = 0.5 * A
    while n > 0:
        if n % 2 == 1:
            R = R @ Q
        Q = Q @ Q
        n = n // 2
    return R.sum()
""",
        {"A": A, "n": 5},
    ),
    "conjugate gradients": (
        """
def f(A, b, n):
    M = A.T @ A
    for i in range(len(b)):
        M[i, i] += 2.0
    x = np.zeros_like(b)
    r = b.copy()
    p = r
    rr = r @ r
    for k in range(n):
        q = M @ p
        alpha = rr / (p @ q)
        x += alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x @ b
""",
        {"A": A, "b": U, "n": 2},
    ),
    "gradient descent with momentum": (
        """
def slope(A, x, b):
    return A.T @ (A @ x - b)


def f(A, b, x0, rate, n):
    x = x0
    m = np.zeros_like(x0)
    for k in range(n):
        g = slope(A, x, b)
        m = 0.9 * m + 0.1 * g
        if (g * g).sum() > 4.0:
            g = g / np.sqrt((g * g).sum())
        x = x - rate * (m + g)
    return (x * x).sum()
""",
        {"A": A, "b": U, "x0": rows(9, 4), "rate": 0.1, "n": 3},
    ),
    "particles that bounce": (
        """
def f(q, p, dt, steps):
    for t in range(steps):
        a = -q
        p += dt * a
        q += dt * p
        for i in range(len(q)):
            if q[i] > 1.0:
                q[i] = 2.0 - q[i]
                p[i] = -p[i]
    return (q * q + p * p).sum()
""",
        {"q": V, "p": W, "dt": 0.3, "steps": 3},
    ),
    "pair forces": (
        """
def forces(q):
    F = np.zeros_like(q)
    for i in range(len(q)):
        for j in range(i):
            d = q[i] - q[j]
            w = d / (0.5 + d * d)
            F[i] += w
            F[j] -= w
    return F


def f(q, v, n):
    F = forces(q)
    for t in range(n):
        v = v + 0.05 * F
        q = q + 0.1 * v
        F = forces(q)
    return (v * v).sum() + (q * F).sum()
""",
        {"q": U, "v": rows(10, 4), "n": 2},
    ),
    "kinds of penalty": (
        """
def penalty(r, kind, d):
    if kind == 0:
        return r * r
    if kind == 1:
        return abs(r)
    return np.where(abs(r) < d, r * r, 2.0 * d * abs(r) - d * d)


def f(A, x, b, kind):
    r = A @ x - b
    return penalty(r, kind, 0.8).sum()
""",
        {"A": A, "x": U, "b": rows(11, 4), "kind": 2},
    ),
    "totals by label": (
        """
def f(x, y, idx):
    totals = {}
    counts = {}
    for k, v in zip(idx, x):
        totals[k] = totals.get(k, 0.0) + v * v
        if k in counts:
            counts[k] += 1
        else:
            counts[k] = 1
    best = idx[0]
    s = 0.0
    for k, v in totals.items():
        if v > totals[best]:
            best = k
        s += np.tanh(v) / counts[k] * (k + 1)
    return s + totals[best] * y[0]
""",
        {"x": V, "y": W, "idx": IDX},
    ),
    "lists by label": (
        """
def f(x, y, idx):
    groups = {}
    for i in range(len(x)):
        groups.setdefault(idx[i], []).append(x[i] * y[i])
    s = 0.0
    for k in sorted(groups):
        mean = sum(groups[k]) / len(groups[k])
        for v in groups[k]:
            s += (v - mean) ** 2 + 0.1 * mean * k
    return s
""",
        {"x": V, "y": W, "idx": IDX},
    ),
    "entries by pairs": (
        """
def f(x, y, n):
    entries = {}
    for i in range(n):
        entries[i, i] = 2.0 + x[i]
        if i > 0:
            entries[i, i - 1] = -x[i - 1]
            entries[i - 1, i] = -1.0
    r = np.zeros(n)
    for (i, j), v in entries.items():
        r[i] += v * y[j]
    return (r * r).sum() + sum(entries.values())
""",
        {"x": V, "y": W, "n": 5},
    ),
    "a memo": (
        """
def f(x, n):
    memo = {0: x[0], 1: x[1]}
    for i in range(2, n):
        if i not in memo:
            memo[i] = 0.5 * memo[i - 1] + memo[i - 2] * x[i % 5]
    return memo[n - 1] * memo[n - 2]
""",
        {"x": V, "n": 7},
    ),
    "rows by label": (
        """
def f(x, y, idx):
    at = {}
    for i in range(len(x)):
        at[i] = np.array([x[i], y[i]])
    for i in range(1, len(x)):
        at[i] += 0.5 * at[i - 1]
    s = 0.0
    for i in at:
        s += at[i][0] * at[i][1]
    return s
""",
        {"x": V, "y": W, "idx": IDX},
    ),
    "standardised columns": (
        """
def f(X, w):
    mean = X.mean(axis=0)
    Z = X - mean
    var = (Z * Z).mean(axis=0)
    Z = Z / np.sqrt(var + 0.1)
    s = 0.0
    for row in Z:
        s += np.tanh(row @ w)
    return s
""",
        {"X": B, "w": V},
    ),
    "batches of three axes": (
        """
def f(T, w):
    total = 0.0
    for k in range(T.shape[0]):
        M = T[k]
        if M.sum() > 0.0:
            M = M * 2.0
        v = M @ w
        total += v @ v
    return total
""",
        {"T": T, "w": U},
    ),
    "rows chosen by indices": (
        """
def f(x, w, idx):
    picked = x[idx]
    acc = np.zeros_like(x)
    np.add.at(acc, idx, w * picked)
    if acc[0] > acc[1]:
        acc = acc[::-1]
    return (acc * x).sum()
""",
        {"x": V, "w": W, "idx": IDX},
    ),
    "masked update": (
        """
def f(x, y):
    big = x > 0.2
    z = x.copy()
    z[big] = y[big] * x[big]
    if big.any():
        z[~big] *= 0.5
    return (z * z).sum()
""",
        {"x": V, "y": W},
    ),
    "in place for the caller": (
        """
def update(w, g, rate):
    for i in range(len(w)):
        w[i] -= rate * g[i]


def f(w, x, rate, n):
    for k in range(n):
        g = (w @ x - 1.0) * x
        update(w, g, rate)
    w[0] = w[0] * 2.0
""",
        {"w": V, "x": W, "rate": 0.1, "n": 2},
    ),
    "result written and returned": (
        """
def f(x, out):
    best = x[0]
    for i in range(len(x)):
        best = max(best, x[i])
        out[i] = best
    y = out - x
    return y
""",
        {"x": V, "out": np.zeros(5)},
    ),
    "Gram-Schmidt": (
        """
def f(A):
    n = A.shape[0]
    Q = A.copy()
    for i in range(n):
        v = Q[i]
        for j in range(i):
            v -= (v @ Q[j]) * Q[j]
        v /= np.sqrt(v @ v + 0.01)
    return Q[n - 1].sum() + Q[0] @ A[1]
""",
        {"A": rows(12, 3, 4)},
    ),
    "Cholesky": (
        """
def f(B, b):
    A = B @ B.T
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        A[i, i] += 1.0
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    y = b.copy()
    for i in range(n):
        for k in range(i):
            y[i] -= L[i, k] * y[k]
        y[i] /= L[i, i]
    return y @ y
""",
        {"B": B, "b": rows(13, 3)},
    ),
    "Horner for arrays": (
        """
def f(c, x):
    p = np.full(len(x), 0.5)
    for a in c:
        p = p * x + a
    return p.sum()
""",
        {"c": U, "x": V},
    ),
    "bisection by elements": (
        """
def f(x, n):
    lo = x - 1.0
    hi = x + 2.0
    for k in range(n):
        mid = 0.5 * (lo + hi)
        low = mid * mid * mid + mid < x
        lo = np.where(low, mid, lo)
        hi = np.where(low, hi, mid)
    return (0.5 * (lo + hi)).sum()
""",
        {"x": V, "n": 3},
    ),
    "upwind advection": (
        """
def f(u, c, steps):
    for t in range(steps):
        un = np.zeros_like(u)
        if c > 0.0:
            un[1:] = u[1:] - c * (u[1:] - u[:-1])
            un[0] = u[0]
        else:
            un[:-1] = u[:-1] - c * (u[1:] - u[:-1])
            un[-1] = u[-1]
        u = un
    return (u * u).sum()
""",
        {"u": V, "c": 0.4, "steps": 3},
    ),
    "adaptive steps": (
        """
def f(y, tend):
    t = 0.0
    h = 0.3
    while t < tend:
        full = y - h * y * y
        half = y - 0.5 * h * y * y
        two = half - 0.5 * h * half * half
        err = abs(two - full).max()
        if err > 0.05:
            h = 0.5 * h
            continue
        y = two
        t += h
        if err < 0.01:
            h *= 1.5
    return y.sum()
""",
        {"y": U, "tend": 0.8},
    ),
    "first row that fits": (
        """
def f(A, v):
    for i in range(A.shape[0]):
        r = A[i] * v
        if r.sum() > 0.5:
            return r @ r
    return v.sum()
""",
        {"A": A, "v": U},
    ),
    "heat with boundary rows": (
        """
def f(u, k, n):
    for t in range(n):
        v = u.copy()
        v[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1])
        v[0] = v[1]
        u = v
    return (u * u).sum()
""",
        {"u": A, "k": 0.1, "n": 2},
    ),
    "attention": (
        """
def f(Q, K, V):
    S = Q @ K.T
    out = np.zeros_like(Q)
    for i in range(Q.shape[0]):
        e = np.exp(S[i] - S[i].max())
        p = e / e.sum()
        out[i] = p @ V
    return (out * out).sum()
""",
        {"Q": B, "K": rows(14, 3, 5), "V": rows(15, 3, 5)},
    ),
    "recurrent cell": (
        """
def cell(h, x, W, gate):
    new = np.tanh(W @ h + x)
    if gate > 0.0:
        return gate * new + (1.0 - gate) * h
    return new


def f(X, W, gate):
    h = np.zeros(W.shape[0])
    loss = 0.0
    for x in X:
        h = cell(h, x, W, gate)
        loss += h[0] * h[-1]
    return loss
""",
        {"X": rows(16, 3, 4), "W": A, "gate": 0.6},
    ),
}


def idioms() -> list[Program]:
    return [Program(text.strip("\n") + "\n", args, name) for name, (text, args) in TEXTS.items()]
