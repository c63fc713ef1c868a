"""Loop nests for the CPU back end, each with a maker of arguments for a size and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Maker = Callable[[np.random.Generator, int, Any], dict[str, Any]]
PROGRAMS: dict[str, tuple[Callable[..., Any], Maker]] = {}


def program(make: Maker) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = (function, make)
        return function

    return register


def some(r: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    return (r.random(shape) - 0.3).astype(dtype)


def vectors(*names: str) -> Maker:
    return lambda r, n, d: {name: some(r, d, n) for name in names}


def matrices(*names: str) -> Maker:
    return lambda r, n, d: {name: some(r, d, n, n + 3) for name in names}


@program(vectors("x", "y"))
def elementwise(x, y):
    for i in range(x.shape[0]):
        v = np.tanh(x[i]) + 0.5 * x[i] ** 3
        y[i] = v * v if v > 0.1 else np.exp(v)


@program(vectors("x", "y"))
def reductions(x, y):
    s = 0.0
    m = -np.inf
    k = np.inf
    for i in range(x.shape[0]):
        s += x[i] * y[i]
        m = max(m, x[i])
        k = min(k, y[i])
    return s, m, k


@program(vectors("x", "y"))
def conditions(x, y):
    for i in range(x.shape[0]):
        v = 0.0
        if x[i] > 0.2:
            v = x[i] * 2.0
            if y[i] < 0.1:
                y[i] = -v
        else:
            v = x[i - 1] if i > 0 else 1.0
        y[i] += v


@program(lambda r, n, d: {"x": some(r, d, n), "s": some(r, d, n)[:1], "y": some(r, d, n)})
def read_anyway_or_not(x, s, y):
    """Under conditions: what the iteration reads anyway, what it writes later, and what may not be there."""
    n = x.shape[0]
    for i in range(n):
        v = 3.0 * x[i]
        w = x[i] * y[i] if v > 0.1 else (x[i + 1] if i + 1 < n else 0.5)
        if w < 0.3 and (x[i] > -0.4 or x[n - 1 - i] > 0.0):
            w += x[i] * s[0]
        y[i] = w


@program(lambda r, n, d: {"x": some(r, d, n), "y": some(r, d, n), "p": r.integers(0, max(n, 1), n)})
def indirect(x, y, p):
    for i in range(x.shape[0]):
        y[p[i]] += x[i] * x[p[i]]


@program(lambda r, n, d: {"x": some(r, d, 2 * n + 1), "y": some(r, d, n)})
def strided_and_reversed(x, y):
    n = y.shape[0]
    for i in range(n):
        y[i] = x[2 * i] - x[n - 1 - i]


@program(matrices("A", "B"))
def transposing(A, B):
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            B[i, j] = A[j, i] + 1.0


@program(matrices("A", "B"))
def triangular(A, B):
    for i in range(A.shape[0]):
        for j in range(i + 1):
            B[i, j] += A[i, j] * i


@program(lambda r, n, d: {"A": some(r, d, n, n + 3), "x": some(r, d, n + 3), "y": some(r, d, n)})
def row_maxima(A, x, y):
    for i in range(A.shape[0]):
        m = A[i, 0]
        for k in range(1, A.shape[1]):
            m = max(m, A[i, k] * x[k])
        s = 0.0
        for k in range(A.shape[1]):
            s += np.exp(A[i, k] - m)
        y[i] = m + np.log(s)


@program(vectors("x", "y"))
def descending(x, y):
    for i in range(x.shape[0] - 1, -1, -1):
        y[i] += 3.0 * x[i]


@program(vectors("x"))
def recurrence(x):
    for i in range(1, x.shape[0]):
        x[i] += 0.5 * x[i - 1]


@program(vectors("x", "y"))
def kept_by_one_iteration(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        if i == 3:
            s = x[i]
            y[0] = x[i]
    return s


@program(vectors("x", "y"))
def counted_in_every_lane(x, y):
    for i in range(x.shape[0]):
        k = 0.0
        for _ in range(3):
            k += 1.0
        y[i] = x[i] * k


@program(lambda r, n, d: {"x": some(r, d, n), "q": np.zeros(3, np.int64), "p": r.integers(-9, 9, n).astype(np.int16)})
def integers(x, q, p):
    m = -100
    c = 0
    for i in range(x.shape[0]):
        m = max(m, p[i] % 5)
        c += p[i] // 2
        if x[i] > 0.2:
            q[2] += 1
    q[0] = m
    q[1] = c


@program(lambda r, n, d: {"A": some(r, d, n, 5), "B": some(r, d, 5, n + 2), "C": some(r, d, n, n + 2)})
def product(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]


@program(lambda r, n, d: {"A": some(r, d, n, n + 2), "B": some(r, d, 11, n + 2), "C": some(r, d, n, 11)})
def product_of_rows(A, B, C):
    for m in range(A.shape[0]):
        for k in range(B.shape[0]):
            for n in range(A.shape[1]):
                C[m, k] += A[m, n] * B[k, n]


@program(lambda r, n, d: {"A": some(r, d, n, n + 2), "B": some(r, d, 11, n + 2), "C": some(r, d, 11, n)})
def distances_turned(A, B, C):
    for m in range(A.shape[0]):
        for k in range(B.shape[0]):
            for n in range(A.shape[1]):
                C[k, m] += (A[m, n] - B[k, n]) * (A[m, n] - B[k, n])


@program(lambda r, n, d: {x: some(r, d, n, n) for x in ("A", "B", "C", "A_tan", "B_tan")})
def product_tangent(A, B, C, A_tan, B_tan):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[m, n] += A_tan[m, k] * B[k, n] - A[m, k] * B_tan[k, n]


@program(lambda r, n, d: {"A": some(r, d, n, n + 2), "x": some(r, d, n + 2), "y": some(r, d, n), "c": d(1.5)})
def matrix_vector(A, x, y, c):
    for m in range(A.shape[0]):
        for n in range(A.shape[1]):
            y[m] -= c * A[m, n] * x[n]


@program(lambda r, n, d: {"A": some(r, d, n, n + 2), "y": some(r, d, n + 2)})
def weighted_by_index(A, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * j


@program(lambda r, n, d: {"A": some(r, d, n, n + 2), "y": some(r, d, n + 2)})
def chosen_summand(A, y):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            y[j] += A[i, j] * (2.0 if A[i, j] > 0.5 else 1.0)
