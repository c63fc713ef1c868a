"""Programs that bind arrays in branches, loops and helpers: each broke the first promise of loopdiff once."""

from __future__ import annotations

import numpy as np

from .expected import Program

X = np.array([0.5, 1.7, -0.3, 2.2])
M = np.array([[0.4, -1.2, 0.9], [1.1, 0.3, -0.7], [0.2, 0.8, 1.5]])
S = np.array([0.6, 1.4, 0.8])


def programs() -> list[Program]:
    """Every program, in the order of the text below."""
    return [Program(text_of(text), args, name) for name, (text, args) in TEXTS.items()]


def text_of(text: str) -> str:
    """The program `text`, or that of this name, which has other arguments there."""
    return TEXTS.get(text, (text,))[0].strip("\n") + "\n"


TEXTS = {
    "both branches": (
        """
def f(x, n):
    if n == 3:
        X = 2.0 * x
    else:
        X = 3.0 * x
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "local array made anew in a branch": (
        """
def f(x, n):
    X = 2 * x
    if n == 3:
        X = np.zeros_like(x)
        X[0] = x[1]
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "the same, branch not taken": (
        "local array made anew in a branch",
        {"x": X, "n": 4},
    ),
    "argument, or an array made of it": (
        """
def f(x, n):
    X = x
    if n == 3:
        X = 2 * x
    return (X * X).sum()
""",
        {"x": X, "n": 3},
    ),
    "argument, branch not taken": (
        "argument, or an array made of it",
        {"x": X, "n": 2},
    ),
    "conditional expression of arrays": (
        """
def f(x, n):
    X = x if n == 3 else 2 * x
    return (X * X).sum()
""",
        {"x": X, "n": 2},
    ),
    "conditional expression, first way": (
        "conditional expression of arrays",
        {"x": X, "n": 3},
    ),
    "negated by what the data say": (
        """
def f(x):
    X = 2 * x
    if x[0] < 1:
        X = -X
    return X.sum()
""",
        {"x": X},
    ),
    "negated twice": (
        """
def f(x, s):
    X = s * x
    if x[0] < 1:
        X = -X
    if x[1] > 1:
        X = X * X
    return X.sum()
""",
        {"x": X, "s": 0.7},
    ),
    "bound and negated in each iteration": (
        """
def f(x):
    P = np.zeros_like(x)
    for z in x:
        X = x * z
        if z < 1:
            X = -X
        P += X
    return P.sum()
""",
        {"x": X},
    ),
    "bound and negated, summed to a number": (
        """
def f(x):
    t = 0.0
    for z in x:
        X = x * z
        if z < 1:
            X = -X
        t += X[0] * X[-1]
    return t
""",
        {"x": X},
    ),
    "last of a loop": (
        """
def f(x, n):
    X = np.zeros_like(x)
    for i in range(n):
        X = (2 + i) * x
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "last of a loop, not bound before": (
        """
def f(x, n):
    for i in range(n):
        X = (2 + i) * x
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "last of a nest": (
        """
def f(x, n):
    for i in range(n):
        for j in range(n):
            X = (2 + i - j) * x
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "carried by a nest": (
        """
def f(x, n):
    X = x
    for i in range(n):
        for j in range(2):
            X = X * x + 0.5 * j
    return X.sum()
""",
        {"x": X, "n": 2},
    ),
    "left by break": (
        """
def f(x, n):
    X = x
    for i in range(n):
        X = (2 + i) * x * X
        if X[0] > 2.0 or i == 2:
            break
    return X.sum()
""",
        {"x": X, "n": 5},
    ),
    "left by break at once": (
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
    "skipped by continue": (
        """
def f(x, n):
    X = x
    for i in range(n):
        if i == 1:
            continue
        X = X * x + i
    return X.sum()
""",
        {"x": X, "n": 4},
    ),
    "matrix filled by loops in a branch": (
        """
def f(x, n):
    A = np.zeros((4, 4))
    if n == 3:
        A = np.empty((4, 4))
        for i in range(4):
            for j in range(4):
                A[i, j] = x[i] * x[j]
    t = 0.0
    for i in range(4):
        for j in range(4):
            t += A[i, j] * (i - j) ** 2
    return t
""",
        {"x": X, "n": 3},
    ),
    "matrix filled by loops in both branches": (
        """
def f(x, n):
    if n == 3:
        A = np.empty((4, 4))
        for i in range(4):
            for j in range(4):
                A[i, j] = x[i] * x[j]
    else:
        A = np.ones((4, 4))
        for i in range(4):
            A[i, i] += x[i]
    return (A * A).sum()
""",
        {"x": X, "n": 3},
    ),
    "matrix filled by loops in the other branch": (
        "matrix filled by loops in both branches",
        {"x": X, "n": 4},
    ),
    "chain of elif": (
        """
def f(x, n):
    if n == 0:
        X = x
    elif n == 1:
        X = x * x
    elif n == 2:
        X = np.exp(x)
    else:
        X = np.ones_like(x)
    X = X * x
    return X.sum()
""",
        {"x": X, "n": 2},
    ),
    "chain of elif, argument taken": (
        "chain of elif",
        {"x": X, "n": 0},
    ),
    "slices of what a branch made": (
        """
def f(x, n):
    if n == 3:
        X = 2.0 * x
    else:
        X = x * x
    return X[1:].sum() + 2.0 * X[::-1][0] + X[:2] @ X[2:]
""",
        {"x": X, "n": 3},
    ),
    "slice taken in a branch": (
        """
def f(x, n):
    X = x[1:]
    if n == 3:
        X = x[:-1] * x[1:]
    return (X * X).sum()
""",
        {"x": X, "n": 3},
    ),
    "product of matrices in a branch": (
        """
def f(A, n):
    if n > 2:
        A = A.T @ A
    return A.sum()
""",
        {"A": M, "n": 3},
    ),
    "product of matrices in a loop": (
        """
def f(A, v, n):
    for k in range(n):
        B = A @ A
        v = B @ v / (1.0 + (v * v).sum())
    return v.sum()
""",
        {"A": M, "v": S, "n": 2},
    ),
    "powers of a matrix": (
        """
def f(A, n):
    P = A
    for k in range(n):
        P = P @ A * 0.5
    return np.trace(P)
""",
        {"A": M, "n": 3},
    ),
    "helper that returns a local array": (
        """
def h(v):
    w = np.empty_like(v)
    for i in range(len(v)):
        w[i] = v[i] * v[i]
    return w


def f(x, n):
    if n == 3:
        X = h(x)
    else:
        X = h(x * x)
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "helper that returns a local array, returned": (
        """
def h(v):
    w = np.empty_like(v)
    for i in range(len(v)):
        w[i] = v[i] * v[i]
    return w


def f(x, n):
    if n == 3:
        X = h(x)
    else:
        X = h(x * x)
    return X
""",
        {"x": X, "n": 2},
    ),
    "acceleration computed again": (
        """
def h(v):
    return -0.5 * v


def f(x, n):
    v = x * 1.0
    a = h(v)
    for i in range(n):
        v += a
        a = h(v)
    return v.sum()
""",
        {"x": X, "n": 3},
    ),
    "velocity Verlet": (
        """
def force(q, k):
    return -k * q - 0.1 * q * q * q


def f(q0, p0, k, steps):
    q = q0.copy()
    p = p0.copy()
    a = force(q, k)
    for t in range(steps):
        p += 0.05 * a
        q += 0.1 * p
        a = force(q, k)
        p += 0.05 * a
    return 0.5 * (p * p).sum() + 0.5 * k * (q * q).sum()
""",
        {"q0": X, "p0": X[::-1].copy(), "k": 1.3, "steps": 3},
    ),
    "arrays of nested branches in a loop": (
        """
def f(x, n):
    s = 0.0
    for t in range(n):
        if t % 2 == 0:
            Y = t * x
        else:
            if x[0] > 1.0:
                Y = x * x
            else:
                Y = x + t
        s += Y.sum() * (t + 1)
    return s
""",
        {"x": X, "n": 4},
    ),
    "arrays of nested branches, used after the loop": (
        """
def f(x, n):
    Y = x
    for t in range(n):
        if t % 2 == 0:
            Y = t * x
        else:
            if x[0] < 1.0:
                Y = x * Y
            else:
                Y = x + t
    return (Y * x).sum()
""",
        {"x": X, "n": 4},
    ),
    "while": (
        """
def f(x, n):
    k = 0
    while k < n:
        X = (k + 1.0) * x
        k += 1
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "carried by while": (
        """
def f(x, n):
    k = 0
    X = x
    while k < n:
        X = X * x
        k += 1
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "while on the data": (
        """
def f(x):
    X = x
    while (X * X).sum() > 0.5:
        X = 0.5 * X - 0.05 * x
    return (X * x).sum()
""",
        {"x": X},
    ),
    "helper with two returns of new arrays": (
        """
def h(v, n):
    if n > 2:
        return 2.0 * v
    return v * v


def f(x, n):
    X = h(x, n)
    return X.sum()
""",
        {"x": X, "n": 3},
    ),
    "helper with two returns in a loop": (
        """
def h(v, n):
    if n > 1:
        return 2.0 * v
    w = np.zeros_like(v)
    for i in range(1, len(v)):
        w[i] = v[i] * v[i - 1]
    return w


def f(x, n):
    t = 0.0
    X = x
    for i in range(n):
        X = h(X, i)
        t += X.sum()
    return t
""",
        {"x": X, "n": 4},
    ),
    "early return of new arrays": (
        """
def f(x, n):
    if n == 3:
        return 2.0 * x
    return x * x
""",
        {"x": X, "n": 3},
    ),
    "buffers rotated by values": (
        """
def f(x, n):
    u = x
    v = 0.5 * x
    for t in range(n):
        w = u + v * x
        u = v
        v = w
    return (u * v).sum()
""",
        {"x": X, "n": 4},
    ),
    "in place and on the name": (
        """
def f(x, n):
    X = x * 1.0
    for i in range(n):
        if i % 2 == 0:
            X += x
        else:
            X = X + x * x
    return (X * X).sum()
""",
        {"x": X, "n": 5},
    ),
    "alias changed after a rebinding": (
        """
def f(x, n):
    X = x.copy()
    Y = X
    if n == 3:
        X = X * x
    Y[0] = 5.0 * x[1]
    X[1] += 1.5 * x[0]
    return (X * Y).sum()
""",
        {"x": X, "n": 3},
    ),
    "alias changed, branch not taken": (
        "alias changed after a rebinding",
        {"x": X, "n": 2},
    ),
    "tuple of arrays from a helper": (
        """
def halves(v, n):
    if n == 3:
        return v * 0.5, v * v
    return v * v, v + 1.0


def f(x, n):
    a, b = halves(x, n)
    a, b = b, a * b
    return (a * a * b).sum()
""",
        {"x": X, "n": 3},
    ),
    "swap under a condition": (
        """
def f(x, y, n):
    a = x * y
    b = x + y
    if x[0] < y[0]:
        a, b = b, a
    return (a * a - b).sum()
""",
        {"x": X, "y": X[::-1].copy(), "n": 3},
    ),
    "acceleration in a local array, computed again": (
        """
def h(v):
    w = np.empty_like(v)
    for i in range(len(v)):
        w[i] = -0.5 * v[i] * v[i]
    return w


def f(x, n):
    v = x * 1.0
    a = h(v)
    for i in range(n):
        v += a
        a = h(v)
    return v.sum()
""",
        {"x": X, "n": 3},
    ),
    "acceleration in a local array, both used": (
        """
def h(v):
    w = np.zeros(len(v))
    for i in range(len(v)):
        w[i] = np.sin(v[i])
    return w


def f(x, n):
    v = x * 1.0
    a = h(v)
    for i in range(n):
        v += a
        a = h(v)
    return (v * a).sum()
""",
        {"x": X, "n": 2},
    ),
    "arrays of nested branches, in place": (
        """
def f(x, n):
    P = np.zeros_like(x)
    for t in range(n):
        if t % 2 == 0:
            Y = t * x
        else:
            if t > 1:
                Y = x * x
            else:
                Y = np.zeros_like(x)
                Y[0] = x[1]
        Y += x
        for i in range(len(x)):
            P[i] += Y[i] * Y[i]
    return P.sum()
""",
        {"x": X, "n": 4},
    ),
    "arrays of nested branches, bound before": (
        """
def f(x, n):
    Y = x
    for t in range(n):
        if t % 2 == 0:
            Y = t * x
        else:
            if t > 1:
                Y = x * x
            else:
                Y = x + t
    return Y.sum()
""",
        {"x": X, "n": 4},
    ),
    "nested, with break": (
        """
def f(x, n):
    X = x
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            X = (2 + i + j) * x
    return (X * x).sum()
""",
        {"x": X, "n": 3},
    ),
    "one of two arguments": (
        """
def f(x, y, n):
    z = x if n > 2 else y
    w = x * y
    if n > 3:
        z = w
    return (z * z).sum() + w.sum()
""",
        {"x": X, "y": X[::-1].copy(), "n": 3},
    ),
    "filled by a helper in a branch": (
        """
def fill(w, v):
    for i in range(len(v)):
        w[i] = v[i] * v[i]


def f(x, n):
    X = np.ones(len(x))
    if n == 3:
        X = np.zeros(len(x))
        fill(X, x)
    return (X * x).sum()
""",
        {"x": X, "n": 3},
    ),
    "matrix and vector by branch": (
        """
def f(A, v, n):
    if n > 2:
        B = A.T @ A
        w = A @ v
    elif n > 1:
        B = A + A.T
        w = v
    else:
        B = A
        w = 2.0 * v
    return w @ B @ w
""",
        {"A": M, "v": S, "n": 3},
    ),
    "matrix and vector by branch, the second": (
        "matrix and vector by branch",
        {"A": M, "v": S, "n": 2},
    ),
    "argument changed after a conditional alias": (
        """
def f(x, n):
    X = x
    if n == 3:
        X = x.copy()
    X[0] = 3.0 * x[1] * x[1]
    return (X * x).sum()
""",
        {"x": X, "n": 2},
    ),
    "copy changed after a conditional alias": (
        "argument changed after a conditional alias",
        {"x": X, "n": 3},
    ),
    "rows bound in a loop": (
        """
def f(A, n):
    best = A[0]
    for row in A:
        if row.sum() > best.sum():
            best = row
    return (best * best).sum()
""",
        {"A": M, "n": 3},
    ),
}
