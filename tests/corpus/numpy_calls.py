"""Functions of NumPy that are written out as loops, in the middle of programs."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .entry import Entry


# The quadratic form of a Gaussian density, its matrix having a term on the diagonal.
def whitened_square(A, y):
    K = A @ A.T
    for i in range(A.shape[0]):
        K[i, i] += 1.0
    return 0.5 * np.sum(y * np.linalg.solve(K, y))


# A sum over order statistics (David and Nagaraja 2003, "Order Statistics", section 6.5).
def gini_mean_difference(x):
    ranked = np.sort(x)
    total = 0.0
    for i in range(x.shape[0]):
        total += (2.0 * i + 1.0 - x.shape[0]) * ranked[i]
    return total


# The group delay of a filter with two taps, from the angles of its response: a derivative through `np.unwrap`.
def group_delay(h, k, n):
    taps = np.array([[h[0], h[1] * k] * n, [k] * n + [h[2]] * n])
    w = 0.3 * np.arange(2 * n)
    re, im = np.ascontiguousarray(taps.T) @ np.r_[1.0, k], (taps * np.sin(w)).sum(axis=0)
    angles = np.unwrap(2.5 * np.arctan2(im, re) + 3.0 * w)
    steps = np.diff(angles) ** 2
    return steps.sum() + (steps[None, :] @ angles[1:, None]).item() * np.bincount([0, 2, 0], [k, h[0], h[1]])[0]


def every_other(x, s, y):
    y[:] = 2.0 * x[1::s][: y.shape[0]]
    return sum(v * v for v in x[::s])


def spread(x, y):
    if any(v > 0.9 for v in x) and all(y >= 0.0):
        return max(x) - min(y) + sum(x)
    return sum(x[i] * y[i] for i in range(x.shape[0]))


# A mixture of directions: rows of unit length, added up with weights.
def direction(p, s):
    return p / np.sqrt((p * p).sum() + s)


def mean_direction(P, w, s):
    U = np.array([direction(p, s) for p in P])
    total = 0.0
    for i in range(len(w)):
        total = total + w[i] * U[i]
    k = max(range(len(w)), key=lambda i: w[i])
    return (total * total).sum() + sum(p * s for p in P)[0] * w[k]


def mean_direction_oracle(xp, P, w, s):
    total = w @ (P / xp.sqrt((P * P).sum(axis=1) + s)[:, None])
    return {"result": xp.sum(total * total) + s * xp.sum(P[:, 0]) * xp.max(w)}


# A curve from its control points, by Bernstein's polynomials, under a window, without one of its parts.
def tapered_curve(P, u, k):
    n = P.shape[0] - 1
    B = np.empty((u.shape[0], n + 1))
    for i in range(n + 1):
        B[:, i] = math.comb(n, i) * u**i * (1.0 - u) ** (n - i)
    x, y = np.split(np.hanning(u.shape[0] + 2)[1:-1, None] * (B @ P), 2, axis=1)
    d = np.delete(x[:, 0] * y[:, 0], k)
    return (d * d).sum()


def tapered_curve_oracle(xp, P, u, k):
    n, m = P.shape[0] - 1, u.shape[0]
    B = xp.stack([math.comb(n, i) * u**i * (1.0 - u) ** (n - i) for i in range(n + 1)], axis=1)
    window = 0.5 - 0.5 * xp.cos(2.0 * xp.pi * xp.arange(1, m + 1) / (m + 1))
    C = window[:, None] * (B @ P)
    kept = xp.where(xp.arange(m) == k, 0.0, C[:, 0] * C[:, 1])
    return {"result": xp.sum(kept**2)}


def tracked(A, P, y):
    """A state that is predicted and corrected, with an identity made in each step."""
    s = 0.0
    x = y[0]
    for z in y:
        P = A @ P + np.eye(2)
        G = P @ np.linalg.inv(P + np.eye(2, k=1) + 3.0 * np.identity(2))
        x = A @ x + G @ (z - x)
        s += x @ x
    return s


def tracked_oracle(xp, A, P, y):
    s, x, one = 0.0, y[0], xp.array([[1.0, 0.0], [0.0, 1.0]])
    above = xp.array([[0.0, 1.0], [0.0, 0.0]])
    for k in range(y.shape[0]):
        P = xp.matmul(A, P) + one
        x = xp.matmul(A, x) + xp.matmul(xp.matmul(P, xp.linalg.inv(P + above + 3.0 * one)), y[k] - x)
        s = s + xp.sum(x * x)
    return {"result": s}


def smoothed(A, x, y, w):
    """A field on a grid, each value with its neighbours, in units of the spread of `x`."""
    X, Y = np.meshgrid(x, y, indexing="ij")
    B = np.pad(A * special.expit(X - Y), 1, mode="edge")
    C = np.zeros(A.shape)
    for i in range(3):
        for j in range(3):
            np.add(C, w[i, j] * B[i : i + A.shape[0], j : j + A.shape[1]], out=C)
    low, high = np.quantile(x, [0.25, 0.75])
    C *= np.broadcast_to(x[:, None], C.shape)
    return np.logaddexp.reduce(C, axis=None) / (high - low)


def smoothed_oracle(xp, A, x, y, w):
    B = xp.pad(A / (1.0 + xp.exp(y - x[:, None])), 1, mode="edge")
    n, m = A.shape
    C = sum(w[i, j] * B[i : i + n, j : j + m] for i in range(3) for j in range(3)) * x[:, None]
    return {"result": xp.log(xp.sum(xp.exp(C))) / (xp.quantile(x, 0.75) - xp.quantile(x, 0.25))}


# The sum of squares that a polynomial leaves, and the leverage of points on it (Hoaglin and Welsch 1978).
def sizes_by_order(x, p, n):
    return np.linalg.norm(x, p) * np.linalg.norm(x, n) + np.linalg.vector_norm(x, ord=p + 1.0) + np.linalg.norm(x, 2.0)


def sizes_by_order_oracle(xp, x, p, n):
    def size(q):
        return xp.sum(xp.abs(x) ** q) ** (1.0 / q)

    return {"result": size(p) * size(n) + size(p + 1.0) + size(2.0)}


def leverage(A, y):
    q, r = np.linalg.qr(A)
    x, left, rank, _ = np.linalg.lstsq(A, y, rcond=None)
    return left[0] + (q[0] * q[0]).sum() * x[0] / (y.shape[0] - rank)


def leverage_oracle(xp, A, y):
    inverse = xp.linalg.inv(A.T @ A)
    x = inverse @ (A.T @ y)
    rest = y - A @ x
    return {"result": xp.sum(rest * rest) + A[0] @ inverse @ A[0] * x[0] / (A.shape[0] - A.shape[1])}


# Best rotation of points onto others (Kabsch 1976), and the axes of their spread.
def ruled_superposed(P, Q):
    u, s, vh = np.linalg.svd(P.T @ Q)
    w, axes = np.linalg.eigh(Q.T @ Q)
    moved = P @ u @ vh
    spread = 0.0
    for k in range(w.shape[0]):
        for i in range(P.shape[0]):
            spread += (moved[i] @ axes[:, k]) ** 2 / (1.0 + w[k])
    return spread + s.sum()


def superposed_oracle(xp, P, Q):
    u, s, vh = xp.linalg.svd(P.T @ Q)
    moved = P @ u @ vh
    return {"result": xp.sum(moved * xp.linalg.solve(Q.T @ Q + xp.eye(Q.shape[1]), moved.T).T) + xp.sum(s)}


def sorted_in_place(x, A):
    y = x * x
    y.sort()
    A.sort(axis=0)
    A[1].sort()
    return np.sum(y * np.arange(1, len(y) + 1)) + A[0, 0] * A[1, 0] + A[1, -1]


def sorted_in_place_oracle(xp, x, A):
    B = xp.sort(A, axis=0)
    rows = xp.stack([B[0], xp.sort(B[1]), B[2]])
    total = xp.sum(xp.sort(x * x) * np.arange(1, 6)) + rows[0, 0] * rows[1, 0] + rows[1, -1]
    return {"A": rows, "result": total}


# Entropies of distributions in rows (Shannon 1948), and how they agree when read from the other end.
def entropies(A, w):
    p = np.exp(A - special.logsumexp(A, axis=1, keepdims=True))
    M = np.tensordot(p, np.flip(p, axis=1), axes=([0], [0]))
    return (M * M).sum() - (special.xlogy(p, p).sum(axis=1) * w).sum()


def entropies_oracle(xp, A, w):
    p = xp.exp(A) / xp.sum(xp.exp(A), axis=1)[:, None]
    return {"result": xp.sum((p.T @ p[:, ::-1]) ** 2) - xp.sum(xp.sum(p * xp.log(p), axis=1) * w)}


ENTRIES = (
    Entry(
        name="entropies",
        function=entropies,
        make=lambda r, n=4, k=3: dict(A=r.normal(size=(n, k)), w=r.random(n)),
        wrt=("A", "w"),
        oracle=entropies_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("functions of scipy.special",),
    ),
    Entry(
        name="ruled_superposed",
        function=ruled_superposed,
        make=lambda r, n=7, k=3: dict(P=r.random((n, k)), Q=r.random((n, k))),
        wrt=("P", "Q"),
        oracle=superposed_oracle,
        is_twin=True,
        constructs=("np.linalg.eigh, eigvalsh, svd, svdvals, cond, matrix_rank",),
    ),
    Entry(
        name="leverage",
        function=leverage,
        make=lambda r, n=6, k=2: dict(A=r.random((n, k)) + np.eye(n, k), y=r.random(n)),
        wrt=("A", "y"),
        oracle=leverage_oracle,
        is_twin=True,
        constructs=("np.linalg.qr, lstsq, pinv",),
    ),
    Entry(
        name="smoothed",
        function=smoothed,
        make=lambda r, n=5, m=4: dict(A=r.random((n, m)), x=r.random(n), y=r.random(m), w=r.random((3, 3))),
        wrt=("A", "x", "y", "w"),
        oracle=smoothed_oracle,
        is_twin=True,
        constructs=(
            "np.meshgrid, mgrid, ogrid, indices, atleast_1d, append, dstack, pad, select, take, fill_diagonal",
            "np.sort, argsort, median, quantile, percentile, histogram, bincount, digitize",
            "functions of scipy.special",
            "np.broadcast_to",
            "out, reduce, accumulate",
        ),
    ),
    Entry(
        name="tracked",
        function=tracked,
        make=lambda r, n=3: dict(A=r.random((2, 2)), P=r.random((2, 2)), y=r.random((n, 2))),
        wrt=("A", "P", "y"),
        oracle=tracked_oracle,
        is_twin=True,
        constructs=("np.linalg.solve, inv, det, slogdet, cholesky, matrix_power",),
    ),
    Entry(
        name="whitened_square",
        function=whitened_square,
        make=lambda r, n=4, k=3: dict(A=r.random((n, k)), y=r.random(n)),
        wrt=("A", "y"),
        oracle=lambda xp, A, y: {"result": 0.5 * xp.sum(y * xp.linalg.solve(A @ A.T + xp.eye(A.shape[0]), y))},
        is_twin=True,
        constructs=("np.linalg.solve, inv, det, slogdet, cholesky, matrix_power",),
    ),
    Entry(
        name="gini_mean_difference",
        function=gini_mean_difference,
        make=lambda r, n=7: dict(x=r.random(n)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": 0.5 * xp.sum(abs(x[:, None] - x))},
        is_twin=True,
        constructs=("np.sort, argsort, median, quantile, percentile, histogram, bincount, digitize",),
    ),
    Entry(
        name="group_delay",
        function=group_delay,
        make=lambda r: dict(h=r.uniform(0.5, 1.0, 3), k=0.8, n=3),
        wrt=("h", "k"),
        constructs=(
            "np.array of lists",
            "np.diff, ediff1d, unwrap, cumsum, cumprod, convolve, correlate, gradient, trapezoid, interp, searchsorted",
            "copies, and arrays in one piece",
            "map, filter, item",
        ),
    ),
    Entry(
        name="every_other",
        function=every_other,
        make=lambda r, n=9, s=3: dict(x=r.random(n), s=s, y=np.zeros((n + 1) // s)),
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, s, y: {"result": xp.sum(x[::s] ** 2), "y": 2.0 * x[1::s]},
        is_twin=True,
        is_analytic=True,
        constructs=("slices with an argument as the step", "sum, max, min, any, all of what is gone through"),
    ),
    Entry(
        name="spread",
        function=spread,
        make=lambda r, n=6: dict(x=r.random(n), y=r.random(n)),
        wrt=("x", "y"),
        oracle=lambda xp, x, y: {"result": xp.where(xp.max(x) > 0.9, xp.max(x) - xp.min(y) + xp.sum(x), xp.sum(x * y))},
        is_twin=True,
        constructs=("sum, max, min, any, all of what is gone through",),
    ),
    Entry(
        name="mean_direction",
        function=mean_direction,
        make=lambda r, n=5, k=3: dict(P=r.random((n, k)), w=r.random(n), s=0.25),
        wrt=("P", "w", "s"),
        oracle=mean_direction_oracle,
        is_twin=True,
        constructs=(
            "np.array, stack, concatenate of a comprehension",
            "numbers that become arrays",
            "sum, max, min, any, all of what is gone through",
        ),
    ),
    Entry(
        name="tapered_curve",
        function=tapered_curve,
        make=lambda r, n=4, m=7: dict(P=r.random((n, 2)), u=r.random(m), k=2),
        wrt=("P", "u"),
        oracle=tapered_curve_oracle,
        is_twin=True,
        constructs=(
            "np.split, array_split, delete, insert, block, triu_indices, diag_indices, hanning",
            "math.factorial, comb, gcd, prod",
        ),
    ),
    Entry(
        name="sizes_by_order",
        function=sizes_by_order,
        make=lambda r: dict(x=r.uniform(0.3, 2.0, 5), p=1.0, n=2),
        wrt=("x", "p"),
        oracle=sizes_by_order_oracle,
        is_twin=True,
        notes="the derivative by an order that a branch asks for was that of the branch: zero",
    ),
    Entry(
        name="sorted_in_place",
        function=sorted_in_place,
        make=lambda r: dict(x=r.uniform(0.3, 2.0, 5), A=r.random((3, 4))),
        wrt=("x", "A"),
        outputs=("A",),
        oracle=sorted_in_place_oracle,
        is_twin=True,
        constructs=("np.sort, argsort, median, quantile, percentile, histogram, bincount, digitize",),
    ),
)
