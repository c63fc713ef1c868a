"""Loops that count through packed storage: triangles, pairs, and parameters in one array."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def packed_product(P, x, y):
    n = x.shape[0]
    p = 0
    for i in range(n):
        for j in range(i):
            y[i] += P[p] * x[j]
            y[j] += P[p] * x[i]
            p += 1
        y[i] += P[p] * x[i]
        p += 1


def packed_oracle(xp, P, x, y):
    n = len(x)
    rows, columns = np.tril_indices(n)
    place = np.zeros((n, n), int)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    return {"y": y + P[place] @ x}


def condensed_distances(X, d):
    n = X.shape[0]
    k = 0
    for i in range(n):
        for j in range(i + 1, n):
            d[k] = np.sqrt(((X[i] - X[j]) ** 2).sum())
            k += 1
    return (d * d[::-1]).sum()


def distances_oracle(xp, X, d):
    i, j = np.triu_indices(len(X), 1)
    d = xp.sqrt(((X[i] - X[j]) ** 2).sum(1))
    return {"d": d, "result": (d * d[::-1]).sum()}


def unpacked_network(theta, x, n):
    m = x.shape[0]
    p = 0
    h = np.zeros(n)
    for i in range(n):
        for j in range(m):
            h[i] += theta[p] * x[j]
            p += 1
    for i in range(n):
        h[i] = np.tanh(h[i] + theta[p])
        p += 1
    out = theta[p]
    for i in range(n):
        out += theta[p + 1 + i] * h[i]
    return out


def network_oracle(xp, theta, x, n):
    m = len(x)
    W, b, c = theta[: n * m].reshape(n, m), theta[n * m : n * (m + 1)], theta[n * (m + 1) :]
    return {"result": c[0] + c[1 : n + 1] @ xp.tanh(W @ x + b)}


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="packed_product",
        function=packed_product,
        make=lambda r, n=5: dict(P=r.random(n * (n + 1) // 2), x=r.random(n), y=r.random(n)),
        wrt=("P", "x", "y"),
        outputs=("y",),
        oracle=packed_oracle,
        is_twin=True,
        is_analytic=True,
        notes="BLAS spmv, lower triangle by rows",
    ),
    Entry(
        name="condensed_distances",
        function=condensed_distances,
        make=lambda r, n=4: dict(X=r.normal(size=(n, 3)), d=np.zeros(n * (n - 1) // 2)),
        wrt=("X",),
        outputs=("d",),
        oracle=distances_oracle,
        is_twin=True,
        is_analytic=True,
        notes="scipy.spatial.distance.pdist",
    ),
    Entry(
        name="unpacked_network",
        function=unpacked_network,
        make=lambda r, n=3, m=4: dict(theta=r.normal(size=n * (m + 2) + 1), x=r.normal(size=m), n=n),
        wrt=("theta", "x"),
        oracle=network_oracle,
        is_twin=True,
        notes="layers whose parameters lie in one array, as optimisers want them",
    ),
)
