"""Arrays that are updated in place by an element or a row among them: one iteration is unlike the others."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def widest_paths(w):
    n = w.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                w[i, j] = max(w[i, j], min(w[i, k], w[k, j]))
    return np.sum(w * w)


def gauss_jordan(A, b):
    n = A.shape[0]
    for k in range(n):
        for i in range(n):
            if i != k:
                for j in range(n):
                    A[i, j] -= A[i, k] / A[k, k] * A[k, j]
                b[i] -= 0.5 * b[k]
    return np.sum(A * A) + np.sum(b * b)


def closure_in_an_order(A, order):
    n = A.shape[0]
    for s in range(order.shape[0]):
        k = order[s]
        for i in range(n):
            for j in range(n):
                A[i, j] += 0.1 * A[i, k] * A[k, j]


def over_an_element(x, m):
    for i in range(x.shape[0] - 1, -1, -1):
        x[i] = np.sin(x[i]) - x[m] * x[i]


def grown_or_damped(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                t = A[i, k] * A[k, j]
                if t > 0.2:
                    A[i, j] += 0.1 * t
                else:
                    A[i, j] *= 0.9


def into_one_of_them(x, y, m):
    for i in range(y.shape[0]):
        x[m] += y[i] * x[i]
        x[i] = 0.5 * x[i]


def pivoted(function, make, wrt, outputs, notes):
    return Entry(name=function.__name__, function=function, make=make, wrt=wrt, outputs=outputs, notes=notes)


ENTRIES: tuple[Entry, ...] = (
    pivoted(
        widest_paths, lambda r, n=5: dict(w=r.random((n, n))), ("w",), ("w",),
        "bottleneck closure: row and column k are read while all is written",
    ),
    pivoted(
        gauss_jordan, lambda r, n=5: dict(A=r.random((n, n)) + 2.0 * n * np.eye(n), b=r.random(n)), ("A", "b"),
        ("A", "b"), "elimination with the pivot column inside of the sweep",
    ),
    pivoted(
        closure_in_an_order, lambda r, n=5: dict(A=r.random((n, n)), order=r.permutation(n)[:3]), ("A",), ("A",),
        "pivots that data say",
    ),
    pivoted(
        over_an_element, lambda r, n=7: dict(x=r.random(n), m=3), ("x",), ("x",),
        "all are divided by one of them, which changes on the way, backwards",
    ),
    pivoted(
        grown_or_damped, lambda r, n=5: dict(A=r.random((n, n))), ("A",), ("A",),
        "a choice between two updates of one element",
    ),
    pivoted(
        into_one_of_them, lambda r, n=7: dict(x=r.random(n), y=r.random(n), m=3), ("x", "y"), ("x",),
        "a sum into an element that the loop changes itself",
    ),
)  # fmt: skip
