"""Triangular nests: factorisations, recursions over orders, and dynamic programming.

Each kernel was defined by the source its entry names; `S` and `M` are the sizes used for timing.
"""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def cholesky(A):
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k in range(i):
            A[i, i] -= A[i, k] * A[i, k]
        A[i, i] = math.sqrt(A[i, i])


def positive_definite(r, N):
    M = r.random((N, N))
    return M @ M.T / N + np.eye(N)


def syrk(alpha, beta, C, A):
    N, M = A.shape
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def durbin(r, y):
    n = r.shape[0]
    z = np.empty(n, r.dtype)
    y[0] = -r[0]
    beta = 1.0
    alpha = -r[0]
    for k in range(1, n):
        beta = (1.0 - alpha * alpha) * beta
        s = 0.0
        for i in range(k):
            s += r[k - i - 1] * y[i]
        alpha = -(r[k] + s) / beta
        for i in range(k):
            z[i] = y[i] + alpha * y[k - i - 1]
        for i in range(k):
            y[i] = z[i]
        y[k] = alpha


def durbin_oracle(xp, r, y):
    n = r.shape[0]
    c = xp.concatenate([xp.ones(1), r[:-1]])
    T = c[np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])]
    return {"y": xp.linalg.solve(T, -r)}


def nussinov_real(w, table):
    N = w.shape[0]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            t = max(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                t = max(t, table[i + 1, j - 1] + w[i, j])
            for k in range(i + 1, j):
                t = max(t, table[i, k] + table[k + 1, j])
            table[i, j] = t
    return table[0, N - 1]


def nussinov_oracle(xp, w, table):
    N = w.shape[0]
    t = {(i, j): table[i, j] for i in range(N) for j in range(N)}
    for span in range(1, N):
        for i in range(N - span):
            j = i + span
            c = [t[i, j - 1], t[i + 1, j]] + [t[i, k] + t[k + 1, j] for k in range(i + 1, j)]
            if span > 1:
                c.append(t[i + 1, j - 1] + w[i, j])
            m = c[0]
            for v in c[1:]:
                m = xp.maximum(m, v)
            t[i, j] = m
    rows = [xp.stack([t[i, j] for j in range(N)]) for i in range(N)]
    return {"table": xp.stack(rows), "result": t[0, N - 1]}


ENTRIES = (
    Entry(
        name="cholesky",
        function=cholesky,
        make=lambda r, N=5: dict(A=positive_definite(r, N)),
        wrt=("A",),
        outputs=("A",),
        oracle=lambda xp, A: {"A": xp.linalg.cholesky(xp.tril(A) + xp.tril(A, -1).T) + xp.triu(A, 1)},
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(N=100), M=dict(N=300)),
        notes="PolyBench/NPBench cholesky (upper part untouched; only the lower part of A is read)",
    ),
    Entry(
        name="syrk",
        function=syrk,
        make=lambda r, M=4, N=5: dict(alpha=1.5, beta=1.2, C=r.random((N, N)), A=r.random((N, M))),
        wrt=("C", "A"),
        outputs=("C",),
        oracle=lambda xp, alpha, beta, C, A: {"C": xp.tril(beta * C + alpha * A @ A.T) + xp.triu(C, 1)},
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=50, N=70), M=dict(M=150, N=200)),
        notes="PolyBench/NPBench syrk",
    ),
    Entry(
        name="durbin",
        function=durbin,
        make=lambda r, N=6: dict(r=0.4 * 0.8 ** np.arange(N) * r.uniform(0.5, 1.0, N), y=np.zeros(N)),
        wrt=("r",),
        outputs=("y",),
        oracle=durbin_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(N=1000), M=dict(N=6000)),
        notes="PolyBench/NPBench durbin (Yule-Walker), with decaying r: PolyBench's is ill conditioned",
    ),
    Entry(
        name="nussinov_real",
        function=nussinov_real,
        make=lambda r, N=7: dict(w=r.random((N, N)), table=np.zeros((N, N))),
        wrt=("w",),
        outputs=("table",),
        oracle=nussinov_oracle,
        is_twin=True,
        sizes=dict(S=dict(N=40), M=dict(N=90)),
        notes="PolyBench/NPBench nussinov with real pair scores in place of the 0/1 match",
    ),
)
