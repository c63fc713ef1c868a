"""Scalar variables: assignment in all its forms, constants from outside, and scalar arguments."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry

GLOBAL_SCALE = 1.75
GLOBAL_STEPS = 3


def scalar_locals(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        a = x[i] * x[i]
        b = a
        a = math.sin(b) + a
        b += a * total
        total = total * 0.5 + b
        y[i] = a * b
    return total


def tuple_assignment(x):
    a, b = 1.0, x[0]
    for i in range(x.shape[0]):
        a, b = b * x[i], a + 0.5 * b
        p = q = a * b
        a, (b, c) = a + p, (b - q, 0.1 * a)
        b += c
    return a * b


def lorenz(x, A, n):
    def slope(state):
        p, q, r = state
        return np.array([10.0 * (q - p), p * (28.0 - r) - q, p * q - 8.0 / 3.0 * r])

    y = x
    for i in range(n):
        y = y + 0.01 * slope(y + 0.005 * slope(y))
    s = 0.0
    for i, (u, v) in enumerate(A):
        s += u * v * (i + 1)
    p, q, r = y
    (a, b), top = A[1], A[0]
    return p * q + r * s + a * b * (top @ top)


def swaps(x, p, y):
    n = x.shape[0]
    for i in range(n // 2):
        x[i], x[n - 1 - i] = x[n - 1 - i], x[i]
    for i in range(p.shape[0]):
        y[i], y[p[i]] = y[p[i]] * x[i], y[i]


def augmented_elements(A, x):
    M, N = A.shape
    for i in range(M):
        for j in range(N):
            A[i, j] += x[j]
            A[i, j] -= 0.5 * x[j] * A[i, j]
            A[i, j] *= A[i, j]
            A[i, j] /= 1.0 + x[j]
            A[i, j] **= 1.5
    x[0] *= 2.0


def augmented_scalars(x):
    s = 1.0
    for i in range(x.shape[0]):
        s += x[i]
        s *= 1.0 + 0.1 * s
        s -= 0.3 * s * s
        s /= 1.0 + x[i] * x[i]
        s **= 2
    return s


def augmented_integers(x, y):
    k = 5
    for i in range(x.shape[0]):
        k += i
        k *= 3
        k //= 2
        k ^= 7
        k |= 1
        k &= 63
        k <<= 1
        k >>= 1
        k %= y.shape[0]
        k -= y.shape[0]
        y[k + y.shape[0]] += x[i] * x[i]


def counter_subscript(x, y):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[k] = x[i] * x[i]
            k += 1
    return y[0] * k


def running_extremes(x, y):
    lo = x[0]
    hi = x[0]
    for i in range(1, x.shape[0]):
        lo = min(lo, x[i])
        if x[i] > hi:
            hi = x[i]
        y[i] = hi - lo
    return hi * lo


def global_constants(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2 * GLOBAL_SCALE + math.pi
        for _ in range(GLOBAL_STEPS):
            y[i] = y[i] * np.e * 0.1


def make_closure(scale, power):
    def closure_constants(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += scale * x[i] ** power
        return s

    return closure_constants


def scalar_arguments(x, alpha, beta, n, y):
    beta = beta * alpha
    for i in range(n):
        y[i] = alpha * x[i] * x[i] + beta
    return alpha * beta


def scalar_only(a, b):
    s = a
    for i in range(4):
        s = s * b + a / (1 + i)
    return s


def reused_names(x):
    t = 0.0
    for i in range(x.shape[0]):
        t = x[i]
        t = t * t
        t = t + 1.0
        x[i] = t
    t = 1.0
    for j in range(x.shape[0]):
        t = t * x[j]
    return t


ENTRIES = (
    Entry(
        name="scalar_locals",
        function=scalar_locals,
        make=lambda r: dict(x=r.random(7), y=np.zeros(7)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("scalar locals",),
    ),
    Entry(
        name="tuple_assignment",
        function=tuple_assignment,
        make=lambda r: dict(x=r.random(6)),
        wrt=("x",),
        is_analytic=True,
        constructs=("tuple assignment and swap",),
    ),
    Entry(
        name="lorenz",
        function=lorenz,
        make=lambda r: dict(x=r.uniform(0.5, 2.0, 3), A=r.random((4, 2)), n=3),
        wrt=("x", "A"),
        is_analytic=True,
        constructs=("unpacking of arrays",),
    ),
    Entry(
        name="swaps",
        function=swaps,
        make=lambda r: dict(x=r.random(7), p=r.integers(0, 5, 5), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("x", "y"),
        is_analytic=True,
        constructs=("tuple assignment and swap",),
    ),
    Entry(
        name="augmented_elements",
        function=augmented_elements,
        make=lambda r: dict(A=r.uniform(1, 2, (3, 4)), x=r.random(4)),
        wrt=("A", "x"),
        outputs=("A", "x"),
        is_analytic=True,
        constructs=("augmented assignments",),
    ),
    Entry(
        name="augmented_scalars",
        function=augmented_scalars,
        make=lambda r: dict(x=r.random(6)),
        wrt=("x",),
        is_analytic=True,
        constructs=("augmented assignments",),
    ),
    Entry(
        name="augmented_integers",
        function=augmented_integers,
        make=lambda r: dict(x=r.random(8), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        constructs=(
            "augmented assignments",
            "integer arithmetic",
        ),
    ),
    Entry(
        name="counter_subscript",
        function=counter_subscript,
        make=lambda r: dict(x=r.uniform(-1, 1, 8), y=r.random(8)),
        wrt=("x", "y"),
        outputs=("y",),
        constructs=("computed subscripts",),
    ),
    Entry(
        name="running_extremes",
        function=running_extremes,
        make=lambda r: dict(x=r.standard_normal(8), y=np.zeros(8)),
        wrt=("x",),
        outputs=("y",),
        constructs=(
            "min and max",
            "accumulation spelt out",
        ),
    ),
    Entry(
        name="global_constants",
        function=global_constants,
        make=lambda r: dict(x=r.random(6), y=np.zeros(6)),
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, y: {"y": (x**2 * 1.75 + math.pi) * (math.e * 0.1) ** 3},
        is_twin=True,
        is_analytic=True,
        constructs=("global and closure constants",),
    ),
    Entry(
        name="closure_constants",
        function=make_closure(2.5, 3),
        make=lambda r: dict(x=r.random(6)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": 2.5 * xp.sum(x**3)},
        is_twin=True,
        is_analytic=True,
        constructs=("global and closure constants",),
    ),
    Entry(
        name="scalar_arguments",
        function=scalar_arguments,
        make=lambda r: dict(x=r.random(6), alpha=r.random(), beta=r.random(), n=5, y=np.zeros(6)),
        wrt=("x", "alpha", "beta"),
        outputs=("y",),
        is_analytic=True,
        constructs=("reassigned argument",),
    ),
    Entry(
        name="scalar_only",
        function=scalar_only,
        make=lambda r: dict(a=r.random(), b=r.random()),
        wrt=("a", "b"),
        is_analytic=True,
        constructs=("reassigned argument",),
    ),
    Entry(
        name="reused_names",
        function=reused_names,
        make=lambda r: dict(x=r.random(6)),
        wrt=("x",),
        outputs=("x",),
        is_analytic=True,
        constructs=("scalar locals",),
    ),
)
