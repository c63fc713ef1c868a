"""What drawn programs came down to that were wrong, or failed in the compiler, when they were drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expected import Program

X = np.array([-0.733, -0.703, 1.457, 1.337])
Y = np.array([1.377, -0.873, 0.997, -1.043])

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "left at once, carried value": (
        """
def f(x, n):
    X = x
    for i in range(n):
        if i == 1:
            break
        X = (2 + i) * X
    return (X * x).sum()
""",
        {"x": X, "n": 5},
    ),
    "signs of eigenvectors of float32": (
        """
def f(x, st):
    v = np.linalg.eigh(np.outer(x, x) + np.diag(st["d"]))[1] @ st["w"]
    u, s, vh = np.linalg.svd(np.outer(x, st["w"]) + np.diag(st["d"]))
    return np.dot(v, x[::-1]) + u[0] @ s + vh[1].sum()
""",
        {
            "x": X.astype(np.float32),
            "st": {"d": Y.astype(np.float32), "w": np.array([0.31, -0.62, 0.13, 0.94], np.float32)},
        },
    ),
    "like a local array, filled from integers": (
        """
def f(x, v):
    q = 0.1 * v
    F = np.zeros_like(q)
    for i in range(len(q)):
        F[i] += i / (0.5 + i * i)
    return (q * F).sum()
""",
        {"x": X, "v": Y},
    ),
    "write through a name from the middle of a chain": (
        """
def f(x, n):
    X = 2 * x
    if x.sum() > 1.57:
        X = np.zeros_like(x)
    elif n:
        X = x
    X[0] = 1
""",
        {"x": X, "n": 3},
    ),
    "iterated array bound anew inside": (
        """
def f(x):
    for xi in x:
        x = x[0] * x
    return x * 1.5
""",
        {"x": Y},
    ),
    "array for a number": (
        """
def f(x, y):
    for k in range(3):
        y = 0.7
    y *= x
    return y.mean()
""",
        {"x": X, "y": Y},
    ),
    "helper of an argument that is written and bound anew": (
        """
def part(X, j):
    result = X + j
    return result


def f(x, n):
    X = x
    for i in range(n):
        X[0] *= 0.7
        for j in range(2):
            X = part(X, j)
""",
        {"x": X, "n": 2},
    ),
    "helper with a local name and an early return": (
        """
def part(w, x):
    if x[1] > 0.0:
        return x
    result = w
    return result


def f(w, x, n):
    for k in range(n):
        w = np.tanh(w)
        w = part(w, x)
    return w.sum()
""",
        {"w": X, "x": Y, "n": 2},
    ),
    "helper that scales under a condition": (
        """
def part(v, B):
    result = B @ v / (3.0 + v.sum())
    if v[1] > 0.0:
        result = 0.5 * result
    return result


def f(A, v, n):
    for k in range(n):
        B = A
        v = part(v, B)
    return v.sum()
""",
        {"A": np.array([[-1.1, -0.9, 1.2], [-1.3, -0.4, 0.5], [0.6, 0.1, -0.3]]), "v": Y[:3].copy(), "n": 3},
    ),
    "written on one way, bound anew on the other": (
        """
def f(u, steps):
    for t in range(steps):
        un = 0.5 * np.zeros_like(u)
        if u[1] > 0.0:
            u[0] *= 0.7
        else:
            u = un
    return u.sum()
""",
        {"u": Y, "steps": 3},
    ),
    "name that an inner loop bound in an earlier turn": (
        """
def f(x, counts):
    for i in range(len(counts)):
        q = x * (i + 1.0)
        for j in range(counts[i]):
            r = q
    return (r * r).sum()
""",
        {"x": X, "counts": np.array([1, 0, 2, 0])},
    ),
    "array iterated, then bound anew in an inner loop": (
        """
def f(x, n):
    a = x * 1.0
    t = 0.0
    for v in a:
        for k in range(n):
            a = a * 1.1
        t += v * a[0]
    return t + a.sum()
""",
        {"x": X, "n": 2},
    ),
    "function that keeps an array": (
        """
def reader(w):
    return lambda i: w[i] * 2.0


def f(x, n):
    a = x * 1.0
    get = reader(a)
    at = lambda i, of=a, twice=a * 2.0: of[i] * twice[i]
    for k in range(n):
        a = a * 2.0
    if n > 1:
        a = a * x
    return get(1) * at(2) + (a * x).sum()
""",
        {"x": X, "n": 2},
    ),
    "result of a helper stored in a row": (
        """
def both(p):
    p[0] *= 1.5
    return p, p * 2.0


def f(A, x):
    B = A * 1.0
    c = x * x
    B[0], d = both(c)
    e, B[1] = both(d)
    return (B * A).sum() + (d * e).sum() + c[1]
""",
        {"A": np.array([[0.4, -1.2, 0.9, 0.3], [1.1, 0.3, -0.7, 0.8]]), "x": X},
    ),
    "row of the previous iteration": (
        """
def f(A, n):
    B = A * A
    r = B[0]
    best = B[1]
    for i in range(n):
        q = B[i]
        q += 0.5 * r
        if q[1] > best[1]:
            best = q
        r = q
    best[0] *= 2.0
    return (B * A).sum() + r[0] * best[2]
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]]), "n": 3},
    ),
    "one of two among other values": (
        """
def f(x, y, n):
    a = x * 1.0
    b = x * y
    u, v = a if n > 1 else b, a
    a[0] = 5.0 * y[1]
    v[1] += 1.0
    return (u * x).sum() + (v * b).sum()
""",
        {"x": X, "y": Y, "n": 2},
    ),
    "helper that gives back one of its arguments": (
        """
def larger(v, w):
    if v[0] > w[0]:
        return v
    return w


def f(x, y, n):
    a = x * 1.0
    b = y * 1.0
    for k in range(n):
        c = larger(a, b)
        c[0] = 0.5 * c[1] * a[2]
        c[3] += larger(b, a)[1]
    return (a * x).sum() + (b * y).sum()
""",
        {"x": X, "y": Y, "n": 3},
    ),
    "matrix of which gradients by both axes are taken": (
        """
def f(A, n):
    total = 0.0
    for k in range(n):
        G = np.gradient(A)
        A = A + 0.1 * G[0] * G[1]
        total += G[1].max()
    return total + (A * A).sum()
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]]), "n": 2},
    ),
    "integrals along the last axis of three": (
        """
def f(A, x):
    T = A[:, :, None] * x
    return (np.trapezoid(T) * A).sum() + (np.trapezoid(T, dx=0.5, axis=1)[:, 0] * A[:, 0]).sum()
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]]), "x": X[:3].copy()},
    ),
    "stack that is turned": (
        """
def f(A, x):
    T = np.rot90(A[:, :, None] * x)
    return (T[0] * T[1]).sum() + T[2, 1, 0] * x[1]
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]]), "x": X[:3].copy()},
    ),
    "norms of order zero and of minus infinity": (
        """
def f(x, n):
    for k in range(n):
        x = x * np.linalg.norm(x, -np.inf) + 0.5 * x / np.linalg.norm(x, 0)
    return x.sum()
""",
        {"x": X, "n": 2},
    ),
    "histogram between bounds": (
        """
def f(x, bounds):
    return (np.histogram(x, 3, bounds)[0] * np.arange(3)).sum() * x[0]
""",
        {"x": np.array([-0.5, 0.2]), "bounds": np.array([-1.0, 1.0])},
    ),
    "diagonal of a matrix that is changed": (
        """
def f(A):
    B = A * 1.0
    d = np.diag(B)
    for k in range(3):
        B[k] = B[k] / d[k]
    return (B * A).sum() + d.sum() + np.diagonal(B)[0]
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]])},
    ),
    "array that is one of floats already": (
        """
def f(x, y):
    z = np.asarray(x, dtype=np.float64)
    z[1:] *= y[:-1]
    return (x * z).sum()
""",
        {"x": X, "y": Y},
    ),
    "transpose by einsum": (
        """
def f(A):
    B = A * 1.0
    C = np.einsum("ij->ji", B)
    d = np.einsum("ii->i", B)
    B[0, 0] = 3.0 * B[1, 2]
    return (C * A).sum() + d.sum()
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]])},
    ),
    "turned along two axes, and the median along both": (
        """
def f(A, n):
    for k in range(n):
        A = 0.5 * A + np.roll(A, 1, axis=(0, 1)) * A
    return (A * A).sum() + np.sum(np.median(A, axis=(0, 1)))
""",
        {"A": np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]]), "n": 2},
    ),
}


def found() -> list[Program]:
    return [Program(text.strip("\n") + "\n", args, name) for name, (text, args) in TEXTS.items()]
