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
}


def found() -> list[Program]:
    return [Program(text.strip("\n") + "\n", args, name) for name, (text, args) in TEXTS.items()]
