"""Arrays that are overwritten, and of which several reads see one version: gathers, rotation, elimination in place."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def advected(f, u, v, steps):
    n, m = f.shape
    g = np.zeros_like(f)
    for _ in range(steps):
        for i in range(n):
            for j in range(m):
                x = i - u[i, j]
                y = j - v[i, j]
                i0 = int(np.floor(x))
                j0 = int(np.floor(y))
                a = x - i0
                b = y - j0
                i1, j1 = (i0 + 1) % n, (j0 + 1) % m
                i0, j0 = i0 % n, j0 % m
                g[i, j] = (1 - a) * ((1 - b) * f[i0, j0] + b * f[i0, j1]) + a * ((1 - b) * f[i1, j0] + b * f[i1, j1])
        for i in range(n):
            for j in range(m):
                f[i, j] = g[i, j]
    return np.sum(f * f)


def triangular_product_in_place(A, B):
    m, n = B.shape
    for i in range(m):
        for j in range(n):
            for k in range(i + 1, m):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = 1.5 * B[i, j]


def rotated_wave(u, v, c, steps):
    n, m = u.shape
    w = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j]
                w[i, j] = 2.0 * v[i, j] - u[i, j] + c * lap - 0.1 * v[i, j] ** 3
        u, v, w = v, w, u
    return np.sum(v * v) + np.sum(u)


def shorter_partner(u, v, steps):
    s = 0.0
    for _ in range(steps):
        for i in range(u.shape[0]):
            if i < v.shape[0]:
                s += u[i] * v[i] * v[i]
        for i in range(v.shape[0]):
            v[i] = v[i] * np.sin(v[i]) + 0.1
    return s


def moving_subscripts(f, p, steps):
    n = f.shape[0]
    s = 0.0
    for _ in range(steps):
        for i in range(n):
            s += f[p[i]] * f[p[(i + 1) % n]]
        for i in range(n):
            f[p[i]] = f[p[i]] * 0.9 + 0.1 * np.cos(f[i])
        for i in range(n):
            p[i] = (p[i] + i) % n
    return s


def two_fields_by_turns(u, v, c):
    n = u.shape[0]
    s = 0.0
    for t in range(c.shape[0]):
        if c[t] > 0.5:
            for i in range(1, n - 1):
                s += u[i - 1] * u[i] * u[i + 1]
            for i in range(n):
                v[i] = v[i] * u[i] + 0.1
        else:
            for i in range(1, n - 1):
                s += v[i - 1] * v[i] * v[i + 1]
            for i in range(n):
                u[i] = 0.5 * v[i] * v[i] + 0.2
    return s


def complex_neighbours(z, steps):
    n = z.shape[0]
    s = 0.0
    for _ in range(steps):
        for i in range(1, n - 1):
            w = z[i - 1] * z[i + 1] * z[i]
            s += w.real * w.imag
        for i in range(n):
            z[i] = z[i] * (0.9 + 0.1j) + 0.05 * z[i] * z[i]
    return s


def changed_between(u, steps):
    n = u.shape[0]
    s = 0.0
    for t in range(steps):
        u[t % n] = u[t % n] ** 2 * 0.5
        for i in range(n):
            s += u[i] * u[n - 1 - i] * u[(i + t) % n]
        u[(t + 1) % n] = np.cos(u[(t + 1) % n])
        for i in range(n - 1):
            s += u[i] * u[i + 1] ** 2
    return s


def shortest_paths(d):
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])


def steps_behind_a_gate(x, A, y):
    """A state that only some of the steps change, and what is made of it as it is after each of them."""
    w = np.zeros(x.shape[0])
    z = np.zeros(x.shape[0])
    total = 0.0
    for t in range(y.shape[0]):
        if y[t] > 0.6:
            for j in range(x.shape[0]):
                x[j] = x[j] * 0.5 + A[t, j]
                z[j] = z[j] * np.sin(x[j])
                w[j] += x[j] * x[j] * np.exp(0.1 * x[j])
        total += y[t] * y[t]
    return total + np.sum(w) + np.sum(z * w) + np.sum(x * x)


def running_extrema(a, b, steps):
    n = a.shape[0]
    for _ in range(steps):
        for i in range(n):
            a[i] = min(a[i], b[i] * a[(i + 1) % n])
            b[i] = max(b[i], a[i] * 0.5, 0.1)
    return np.sum(a * b)


def attention_rows(q, k, v):
    n, d = q.shape
    p = np.zeros((n, k.shape[0]))
    out = np.zeros((n, v.shape[1]))
    for i in range(n):
        top = -np.inf
        for j in range(k.shape[0]):
            s = 0.0
            for c in range(d):
                s += q[i, c] * k[j, c]
            p[i, j] = s / np.sqrt(d)
            top = max(top, p[i, j])
        z = 0.0
        for j in range(k.shape[0]):
            p[i, j] = np.exp(p[i, j] - top)
            z += p[i, j]
        for j in range(k.shape[0]):
            p[i, j] = p[i, j] / z
        for j in range(k.shape[0]):
            for c in range(v.shape[1]):
                out[i, c] += p[i, j] * v[j, c]
    return np.sum(out * out)


def rows_by_pairs(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[1]):
                s += x[i, j] * x[i, k] * x[i, k]
        for j in range(x.shape[1]):
            x[i, j] = np.sin(x[i, j]) * x[i, j]
    return s


def versioned(function, make, wrt, outputs, notes):
    return Entry(name=function.__name__, function=function, make=make, wrt=wrt, outputs=outputs, notes=notes)


ENTRIES: tuple[Entry, ...] = (
    versioned(
        attention_rows,
        lambda r, n=5, m=4, d=3: dict(q=r.random((n, d)), k=r.random((m, d)), v=r.random((m, d))),
        ("q", "k", "v"),
        (),
        "the scores that a loop makes are those that the next one takes exponentials of: one row for each iteration",
    ),
    versioned(
        rows_by_pairs,
        lambda r, n=4, m=3: dict(x=r.random((n, m))),
        ("x",),
        ("x",),
        "one row of an array, read in several loops, and overwritten then",
    ),
    versioned(
        advected,
        lambda r, n=5, m=4: dict(
            f=r.random((n, m)), u=r.uniform(0.6, 2.4, (n, m)), v=r.uniform(-1.4, 0.4, (n, m)), steps=3
        ),
        ("f", "u", "v"),
        ("f",),
        "semi-Lagrangian advection: four reads of a field at computed places, of which one copy for each step is kept",
    ),
    versioned(
        triangular_product_in_place,
        lambda r, m=5, n=3: dict(A=r.random((m, m)), B=r.random((m, n))),
        ("A", "B"),
        ("B",),
        "PolyBench's trmm: all rows are read as they were at first",
    ),
    versioned(
        rotated_wave,
        lambda r, n=5, m=6: dict(u=r.random((n, m)), v=r.random((n, m)), c=0.1, steps=5),
        ("u", "v", "c"),
        ("u", "v"),
        "three buffers that change places, of which one is read in each step",
    ),
    versioned(
        shorter_partner,
        lambda r, n=6, m=4: dict(u=r.random(n), v=r.random(m), steps=3),
        ("u", "v"),
        ("v",),
        "a condition keeps a loop from what an array has no elements for",
    ),
    versioned(
        moving_subscripts,
        lambda r, n=5: dict(f=r.random(n), p=r.permutation(n), steps=3),
        ("f",),
        ("f", "p"),
        "subscripts that are overwritten, and what is read by them",
    ),
    versioned(
        two_fields_by_turns,
        lambda r, n=5: dict(u=r.random(n), v=r.random(n), c=r.random(6)),
        ("u", "v"),
        ("u", "v"),
        "an iteration reads one array or the other",
    ),
    versioned(
        complex_neighbours,
        lambda r, n=5: dict(z=r.random(n) + 1j * r.random(n), steps=3),
        ("z",),
        ("z",),
        "complex elements and their neighbours",
    ),
    versioned(
        changed_between,
        lambda r, n=5: dict(u=r.random(n), steps=4),
        ("u",),
        ("u",),
        "two versions of an array in each iteration",
    ),
    versioned(
        shortest_paths,
        lambda r, n=5: dict(d=r.uniform(0.1, 1.0, (n, n))),
        ("d",),
        ("d",),
        "Floyd and Warshall: which of two was the smaller one",
    ),
    versioned(
        running_extrema,
        lambda r, n=5: dict(a=r.uniform(0.4, 0.9, n), b=r.uniform(0.4, 1.4, n), steps=3),
        ("a", "b"),
        ("a", "b"),
        "extrema of what is overwritten, of two and of three values",
    ),
    versioned(
        steps_behind_a_gate,
        lambda r, n=5, m=4: dict(x=r.random(n), A=r.random((m, n)), y=np.array([0.9, 0.2, 0.7, 0.8])),
        ("x", "A"),
        ("x",),
        "what a branch overwrites and then reads, before a statement behind the branch",
    ),
)
