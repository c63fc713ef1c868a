"""Hard cases with values and gradients in closed form, which `tests/gradients/test_cases.py` states."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def matmul_loss(A, B, C):
    M, K = A.shape
    N = B.shape[1]
    for m in range(M):
        for n in range(N):
            C[m, n] = 0.0
            for k in range(K):
                C[m, n] += A[m, k] * B[k, n]
    t = 0.0
    for m in range(M):
        for n in range(N):
            t += np.log1p(0.25 * (C[m, n] - 18.0) ** 2)
    return -2.5 * t


def laplacian_energy(r):
    M, N = r.shape
    e = 0.0
    for i in range(1, M - 1):
        for j in range(1, N - 1):
            lap = r[i - 1, j] + r[i + 1, j] + r[i, j - 1] + r[i, j + 1] - 4.0 * r[i, j]
            e += lap * lap
    return e


def forward_substitution(L, x):
    n = L.shape[0]
    for i in range(n):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


def gathered_products(co, P, basis):
    D = P.shape[0]
    s = 0.0
    for c in range(co.shape[0]):
        p = co[c]
        for a in range(D):
            p *= P[a, basis[a, c]]
        s += p
    return s


def scatter_squares(idx, x, y):
    for i in range(x.shape[0]):
        y[idx[i]] += x[i] ** 2


def gather_sines(idx, tab, x):
    s = 0.0
    for i in range(x.shape[0]):
        s += math.sin(tab[idx[i]]) * x[i]
    return s


def largest(x):
    m = -math.inf
    for i in range(x.shape[0]):
        m = max(m, x[i])
    return m


def smallest(x):
    m = x[0]
    for i in range(1, x.shape[0]):
        m = min(m, x[i])
    return m


def elementwise_extremes(a, b, y):
    for i in range(a.shape[0]):
        y[i, 0] = max(a[i], b[i])
        y[i, 1] = min(a[i], b[i])


def max_pool(x, y):
    P, Q = y.shape
    for p in range(P):
        for q in range(Q):
            best = -1e300
            for i in range(3):
                for j in range(3):
                    if x[2 * p + i, 2 * q + j] > best:
                        best = x[2 * p + i, 2 * q + j]
            y[p, q] = best


def leaky_relu(x, slope, y):
    for i in range(x.shape[0]):
        y[i] = max(x[i], slope * x[i])


def linear_recurrence(a, b):
    s = 0.0
    total = 0.0
    for i in range(a.shape[0]):
        s = a[i] * s + b[i]
        total += s * s
    return total


def iterated_square(y):
    for _ in range(3):
        for i in range(y.shape[0]):
            y[i] *= y[i]


ENTRIES = (
    Entry(
        name="matmul_loss",
        function=matmul_loss,
        make=lambda r, M=5, K=4, N=6: dict(A=r.random((M, K)), B=r.random((K, N)), C=np.zeros((M, N))),
        wrt=("A", "B"),
        outputs=("C",),
        oracle=lambda xp, A, B, C: {
            "C": A @ B,
            "result": -2.5 * xp.sum(xp.log1p(0.25 * (A @ B - 18.0) ** 2)),
        },
        is_twin=True,
        sizes=dict(S=dict(M=72, K=72, N=72)),
        notes="case 1, the headline",
    ),
    Entry(
        name="laplacian_energy",
        function=laplacian_energy,
        make=lambda r, M=7, N=6: dict(r=r.standard_normal((M, N))),
        wrt=("r",),
        oracle=lambda xp, r: {
            "result": xp.sum((r[:-2, 1:-1] + r[2:, 1:-1] + r[1:-1, :-2] + r[1:-1, 2:] - 4 * r[1:-1, 1:-1]) ** 2)
        },
        is_twin=True,
        is_analytic=True,
        sizes=dict(S=dict(M=101, N=97)),
        notes="case 2",
    ),
    Entry(
        name="forward_substitution",
        function=forward_substitution,
        make=lambda r, n=6: dict(L=np.tril(r.random((n, n))) + 8 * np.eye(n), x=r.random(n)),
        wrt=("L", "x"),
        outputs=("x",),
        oracle=lambda xp, L, x: {"x": xp.linalg.solve(xp.tril(L), x)},
        is_twin=True,
        is_analytic=True,
        notes="case 3",
    ),
    Entry(
        name="gathered_products",
        function=gathered_products,
        make=lambda r, D=4, F=5, n=9: dict(
            co=r.random(n), P=zero_some(r.uniform(0.5, 1.5, (D, F))), basis=r.integers(0, F, (D, n))
        ),
        wrt=("co", "P"),
        is_analytic=True,
        notes="case 4: products with zero factors",
    ),
    Entry(
        name="scatter_squares",
        function=scatter_squares,
        make=lambda r, n=12, m=4: dict(idx=r.integers(0, m, n), x=r.standard_normal(n), y=np.zeros(m)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        notes="case 5",
    ),
    Entry(
        name="gather_sines",
        function=gather_sines,
        make=lambda r, n=12, m=4: dict(idx=r.integers(0, m, n), tab=r.standard_normal(m), x=r.standard_normal(n)),
        wrt=("tab", "x"),
        is_analytic=True,
        notes="case 5",
    ),
    Entry(
        name="largest",
        function=largest,
        make=lambda r: dict(x=r.standard_normal(7)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": xp.max(x)},
        is_twin=True,
        notes="case 6",
    ),
    Entry(
        name="smallest",
        function=smallest,
        make=lambda r: dict(x=r.standard_normal(7)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": xp.min(x)},
        is_twin=True,
        notes="case 6",
    ),
    Entry(
        name="elementwise_extremes",
        function=elementwise_extremes,
        make=lambda r: dict(a=r.random(5), b=r.random(5), y=np.zeros((5, 2))),
        wrt=("a", "b"),
        outputs=("y",),
        oracle=lambda xp, a, b, y: {"y": xp.stack([xp.maximum(a, b), xp.minimum(a, b)], 1)},
        is_twin=True,
        notes="case 6",
    ),
    Entry(
        name="max_pool",
        function=max_pool,
        make=lambda r: dict(x=r.standard_normal((7, 9)), y=np.zeros((3, 4))),
        wrt=("x",),
        outputs=("y",),
        notes="case 6: 3x3 windows, stride 2",
    ),
    Entry(
        name="leaky_relu",
        function=leaky_relu,
        make=lambda r: dict(x=r.standard_normal(7), slope=0.01, y=np.zeros(7)),
        wrt=("x",),
        outputs=("y",),
        notes="case 6",
    ),
    Entry(
        name="linear_recurrence",
        function=linear_recurrence,
        make=lambda r, n=9: dict(a=r.uniform(-0.9, 0.9, n), b=r.standard_normal(n)),
        wrt=("a", "b"),
        is_analytic=True,
        notes="case 7",
    ),
    Entry(
        name="iterated_square",
        function=iterated_square,
        make=lambda r: dict(y=r.uniform(0.9, 1.1, 4)),
        wrt=("y",),
        outputs=("y",),
        oracle=lambda xp, y: {"y": y**8},
        is_twin=True,
        is_analytic=True,
        notes="case 7",
    ),
)


def zero_some(P):
    P[0, 3] = 0.0
    P[1, 2] = 0.0
    return P
