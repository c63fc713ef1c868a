"""Products of matrices and vectors, and updates of matrices, one after the other."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def biconjugate(A, p, r, steps):
    for _ in range(steps):
        q = A @ p
        s = r @ A
        a = (p @ s) / (q @ q)
        p, r = p - a * s, r - a * q
        A = A + 0.1 * np.outer(q, s)
    return (A * A).sum() + (p * p).sum()


def biconjugate_oracle(xp, A, p, r, steps):
    for _ in range(steps):
        q, s = A @ p, A.T @ r
        a = (p * s).sum() / (q * q).sum()
        p, r, A = p - a * s, r - a * q, A + 0.1 * q[:, None] * s
    return {"result": (A * A).sum() + (p * p).sum()}


def left_between_updates(G, u, v, w, k):
    for t in range(4):
        G += np.outer(u, v)
        if t >= k:
            break
        for j in range(G.shape[1]):
            for i in range(G.shape[0]):
                G[i, j] = 0.5 * G[i, j] - w[i] * v[j]


def left_oracle(xp, G, u, v, w, k):
    for _ in range(k):
        G = 0.5 * (G + u[:, None] * v) - w[:, None] * v
    return {"G": G + u[:, None] * v}


def overlapping_frames(F, w, y):
    e = np.zeros(F.shape[0])
    for t in range(F.shape[0]):
        for k in range(F.shape[1]):
            y[2 * t + k] += F[t, k] * w[k]
    for t in range(F.shape[0]):
        for k in range(F.shape[1]):
            e[t] += F[t, k] * y[2 * t + k]
    return (e * e).sum()


def frames_oracle(xp, F, w, y):
    n, m = F.shape
    place = np.zeros((n * m, len(y)))
    at = 2 * np.arange(n)[:, None] + np.arange(m)
    place[np.arange(n * m), at.ravel()] = 1.0
    y = y + (F * w).reshape(n * m) @ place
    e = (F * y[at]).sum(1)
    return {"y": y, "result": (e * e).sum()}


def riccati(A, B, x, n):
    P, K = np.eye(3), np.zeros((2, 3))
    for _ in range(n):
        K = np.linalg.solve(np.eye(2) + B.T @ P @ B, B.T @ P @ A)
        P = np.eye(3) + 0.3 * A.T @ P @ (A - B @ K)
    cost = 0.0
    for _ in range(n):
        u = -K @ x
        cost += x @ x + u @ u
        x = A @ x + B @ u
    return cost


def turned_by_a_matrix(A, B, x, n):
    """A vector of three numbers becomes one of as many as the matrix has rows."""
    p, seen = np.array([1.0, 0.5, 0.0]), 0.0
    for k in range(n):
        p = np.tanh(A @ p) + 0.1 * x
        seen += p[k % 3] * B[0, k % 2]
    return seen + p @ p


def either_way(A, B, x, n):
    v = A @ x if n > 3 else x
    if x[0] > 0.3:
        v = B @ (v[:2] * x[:2])
    else:
        v = x + v
    for _ in range(n):
        x = A.T @ v
        v = np.sin(x) + B[:, 0]
    return v @ v


ENTRIES: tuple[Entry, ...] = (
    *(
        Entry(
            name=function.__name__,
            function=function,
            make=lambda r: dict(A=0.5 * r.random((3, 3)), B=r.random((3, 2)), x=r.random(3), n=3),
            wrt=("A", "B", "x"),
            is_analytic=function is not either_way,
            constructs=("arrays bound in branches and loops",),
            notes="whether names stand for arrays of one shape depends on extents of arguments",
        )
        for function in (riccati, turned_by_a_matrix, either_way)
    ),
    Entry(
        name="biconjugate",
        function=biconjugate,
        make=lambda r, n=4: dict(A=r.random((n, n)), p=r.random(n), r=r.random(n), steps=2),
        wrt=("A", "p", "r"),
        oracle=biconjugate_oracle,
        is_twin=True,
        is_analytic=True,
        notes="both products of a step of biconjugate gradients, and an update of rank one",
    ),
    Entry(
        name="left_between_updates",
        function=left_between_updates,
        make=lambda r, n=3, m=4, k=1: dict(G=r.random((n, m)), u=r.random(n), v=r.random(m), w=r.random(n), k=k),
        wrt=("G", "u", "v", "w"),
        outputs=("G",),
        oracle=left_oracle,
        is_twin=True,
        is_analytic=True,
        notes="an update went along with one behind a `break`, which was then left out with it",
    ),
    Entry(
        name="overlapping_frames",
        function=overlapping_frames,
        make=lambda r, n=3, m=4: dict(F=r.random((n, m)), w=r.random(m), y=r.random(2 * n + m - 2)),
        wrt=("F", "w", "y"),
        outputs=("y",),
        oracle=frames_oracle,
        is_twin=True,
        notes="overlap-add: `y[2 * t + k]`, where frames meet, was taken for an element of a matrix",
    ),
)
