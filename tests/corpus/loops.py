"""The ways to write a loop: every form of `range`, iteration over arrays, and the shapes nests may have."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np

from tests.corpus.entry import Entry


def range_forms(x, y):
    n = x.shape[0]
    for i in range(n):
        y[i] = x[i] * x[i]
    for i in range(1, n):
        y[i] += 0.5 * x[i - 1]
    for i in range(1, n, 3):
        y[i] *= x[i]


def range_descending(x, y):
    n = x.shape[0]
    s = 0.0
    for i in range(n - 1, -1, -1):
        s = 0.5 * s + x[i] * x[i]
        y[i] = s
    for i in range(n - 2, 0, -3):
        y[i] = y[i] * y[i + 1]


def range_runtime_step(x, y, start, stop, step):
    s = 1.0
    for i in range(start, stop, step):
        s = s * 0.7 + math.sin(x[i])
        y[i] = s * x[i]
    return s


def range_empty(x, y, lo, hi):
    s = x[0]
    for i in range(lo, hi):
        s += 100.0 * x[i]
    for i in range(5, 2):
        y[i] = 100.0
    for i in range(x.shape[0] - x.shape[0]):
        s *= x[i]
    y[0] = s * s
    return s


def over_len(x, w):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(w)):
            s += x[i] * x[i] * w[j]
    return s


def over_enumerate(x, w, y):
    for i, v in enumerate(x):
        y[i] = v * v * w[i]
    s = 0.0
    for k, v in enumerate(w, 1):
        s += k * v * x[k - 1]
    return s


def over_zip(x, w, y):
    s = 0.0
    for a, b in zip(x, w):
        s += a * b * b
    for i, (a, b) in enumerate(zip(x, y)):
        y[i] = a * b + s
    return s


def over_array(x, idx):
    s = 0.0
    for v in x:
        s += math.exp(0.1 * v) * s + v
    for k in idx:
        s += x[k] * x[k]
    return s


def over_slice(x, A):
    s = 0.0
    for v in x[1:-1]:
        s = s * 0.5 + v * v
    for v in x[::2]:
        s += math.sin(v)
    for v in A[1]:
        s += v * v * v
    for v in A[:, 0]:
        s -= v * s
    return s


def over_reversed(x, y):
    s = 0.0
    for i in reversed(range(x.shape[0])):
        s = 0.3 * s + x[i] * x[i]
        y[i] = s
    for v in reversed(x):
        s = s * v + 1.0
    return s


def imperfect_nest(A, x, y):
    M, N = A.shape
    total = 0.0
    for i in range(M):
        row = x[i] * x[i]
        y[i] = row
        for j in range(N):
            A[i, j] = A[i, j] * row
            row += 0.1 * A[i, j]
        y[i] += row
        for j in range(N - 1):
            y[i] += A[i, j] * A[i, j + 1]
        total += y[i] * row
    return total


def sibling_nests(x, A, y):
    M, N = A.shape
    for i in range(M):
        for j in range(N):
            A[i, j] = A[i, j] + x[j]
    for j in range(N):
        y[j] = 0.0
        for i in range(M):
            y[j] += A[i, j] * A[i, j]
    for i in range(M):
        for j in range(N):
            A[i, j] = A[i, j] * y[j]


def triangular_bounds(A, x):
    n = A.shape[0]
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            s += A[i, j] * x[i] * x[j]
        for j in range(i + 1, n):
            A[i, j] = x[i] * A[j, i]
    for i in range(n):
        for j in range(i, n):
            for k in range(i, j):
                s += A[i, k] * A[k, j]
    return s


def indirect_bounds(ptr, x, y):
    for i in range(ptr.shape[0] - 1):
        s = 1.0
        for p in range(ptr[i], ptr[i + 1]):
            s *= 1.0 + x[p]
        y[i] = s


def data_dependent_trips(count, x, y):
    for i in range(x.shape[0]):
        v = x[i]
        for k in range(count[i]):
            v = v * v * 0.5 + x[i]
        y[i] = v


def index_after_the_loop(x, y):
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * x[i + 1]
    y[i + 1] = x[i] * x[i]
    k = 0
    for k in range(2, x.shape[0]):
        k = k - 2
        y[k] += x[k]
    return x[k] * x[k]


def constant_trips(x, y):
    for i in range(x.shape[0]):
        v = x[i]
        for _ in range(3):
            v = math.cos(v) + x[i]
        y[i] = v


def ragged(r, n=9):
    return dict(ptr=np.array([0, 2, 2, 5, 6, n]), x=r.uniform(-0.5, 0.5, n), y=np.zeros(5))


def vector(r, n=11, **more):
    return dict(x=r.uniform(0.2, 1.2, n), y=np.zeros(n), **more)


def pairs_and_places(A, x):
    t, n = 0.0, len(x)
    for i, j in combinations(range(n), 2):
        t += A[i, j] * x[i] * x[j] ** 2
        n = 0
    for i, j, k in combinations(range(1, A.shape[0]), 3):
        t += A[i, j] * A[j, k] * x[i]
    for i, j in product(range(A.shape[0]), range(1, 3)):
        t += A[i, j] ** 3
    for i, j in np.ndindex(*A.shape):
        if i == j:
            continue
        A[i, j] *= 0.5
    for (i, j), v in np.ndenumerate(A):
        A[i, j] += v * x[i]
    inner = np.s_[1:-1]
    for k in range(2):
        part = slice(k, k + 2)
        row = (slice(None), k)
        t += x[part].sum() * A[row].sum() + A[inner, part].sum()
    return t


def pairs_and_places_oracle(xp, A, x):
    n = len(x)
    late = xp.triu(xp.ones((n, n)), 1)
    t = xp.sum(late * A * xp.outer(x, x**2))
    inside = late[1:, 1:] * A[1:, 1:]
    t = t + xp.sum(x[1:] @ inside @ inside) + xp.sum(A[:, 1:3] ** 3)
    B = xp.where(xp.eye(n) > 0.0, A, 0.5 * A) * (1.0 + x[:, None])
    for k in range(2):
        t = t + xp.sum(x[k : k + 2]) * xp.sum(B[:, k]) + xp.sum(B[1:-1, k : k + 2])
    return {"result": t, "A": B}


def by_classes(A, x):
    def total(v):
        if isinstance(v, np.ndarray):
            return (v * v).sum()
        return v if np.isscalar(v) else v[0] * v[1]

    w = np.zeros(A.shape, A.dtype)
    np.add.at(w, (slice(1, None), np.array([0, 2, 2])), x[:3])
    for ij in np.ndindex(2, 3):
        A[ij] *= x[ij[1]]
    A.shape, x[0]
    return total(x) + total((x[0], x[1])) * total(x[2]) + (w * A**2).sum()


def by_classes_oracle(xp, A, x):
    n = A.shape[0]
    inside = (xp.arange(n)[:, None] < 2) & (xp.arange(A.shape[1])[None, :] < 3)
    B = xp.where(inside, A * x[None, :], A)
    late = xp.where(xp.arange(n) > 0, 1.0, 0.0)
    t = xp.sum(x**2) + x[0] * x[1] * x[2]
    t = t + xp.sum(late * B[:, 0] ** 2) * x[0] + xp.sum(late * B[:, 2] ** 2) * (x[1] + x[2])
    return {"result": t, "A": B}


ENTRIES = (
    Entry(
        name="range_forms",
        function=range_forms,
        make=lambda r: vector(r),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("for over range",),
    ),
    Entry(
        name="range_descending",
        function=range_descending,
        make=lambda r: vector(r),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("negative step",),
    ),
    Entry(
        name="range_runtime_step_up",
        function=range_runtime_step,
        make=lambda r: vector(r, start=1, stop=11, step=3),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        constructs=("run-time step",),
    ),
    Entry(
        name="range_runtime_step_down",
        function=range_runtime_step,
        make=lambda r: vector(r, start=9, stop=-1, step=-2),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        constructs=("run-time step",),
    ),
    Entry(
        name="range_empty",
        function=range_empty,
        make=lambda r: vector(r, lo=4, hi=2),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("for over range",),
    ),
    Entry(
        name="over_len",
        function=over_len,
        make=lambda r: dict(x=r.random(6), w=r.random(4)),
        wrt=("x", "w"),
        oracle=lambda xp, x, w: {"result": xp.sum(x * x) * xp.sum(w)},
        is_twin=True,
        is_analytic=True,
        constructs=(
            "shape, ndim, size, len",
            "return of a scalar",
        ),
    ),
    Entry(
        name="over_enumerate",
        function=over_enumerate,
        make=lambda r: dict(x=r.random(6), w=r.random(6), y=np.zeros(6)),
        wrt=("x", "w"),
        outputs=("y",),
        oracle=lambda xp, x, w, y: {"y": x * x * w, "result": xp.sum(np.arange(1, 7) * w * x)},
        is_twin=True,
        is_analytic=True,
        constructs=("enumerate",),
    ),
    Entry(
        name="over_zip",
        function=over_zip,
        make=lambda r: dict(x=r.random(6), w=r.random(4), y=r.random(6)),
        wrt=("x", "w", "y"),
        outputs=("y",),
        oracle=lambda xp, x, w, y: {
            "y": x * y + xp.sum(x[:4] * w * w),
            "result": xp.sum(x[:4] * w * w),
        },
        is_twin=True,
        is_analytic=True,
        constructs=("zip",),
    ),
    Entry(
        name="over_array",
        function=over_array,
        make=lambda r: dict(x=r.random(6), idx=r.integers(0, 6, 8)),
        wrt=("x",),
        is_analytic=True,
        constructs=("for over an array",),
    ),
    Entry(
        name="over_slice",
        function=over_slice,
        make=lambda r: dict(x=r.random(7), A=r.random((3, 4))),
        wrt=("x", "A"),
        is_analytic=True,
        constructs=("for over a slice",),
    ),
    Entry(
        name="over_reversed",
        function=over_reversed,
        make=lambda r: vector(r, 6),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("reversed",),
    ),
    Entry(
        name="imperfect_nest",
        function=imperfect_nest,
        make=lambda r: dict(A=r.random((3, 4)), x=r.random(3), y=np.zeros(3)),
        wrt=("A", "x"),
        outputs=("A", "y"),
        is_analytic=True,
        constructs=("imperfect and sibling nests",),
    ),
    Entry(
        name="sibling_nests",
        function=sibling_nests,
        make=lambda r: dict(x=r.random(4), A=r.random((3, 4)), y=np.zeros(4)),
        wrt=("x", "A"),
        outputs=("A", "y"),
        oracle=lambda xp, x, A, y: {
            "y": xp.sum((A + x) ** 2, 0),
            "A": (A + x) * xp.sum((A + x) ** 2, 0),
        },
        is_twin=True,
        is_analytic=True,
        constructs=("imperfect and sibling nests",),
    ),
    Entry(
        name="triangular_bounds",
        function=triangular_bounds,
        make=lambda r: dict(A=r.random((5, 5)), x=r.random(5)),
        wrt=("A", "x"),
        outputs=("A",),
        is_analytic=True,
        constructs=("triangular bounds",),
    ),
    Entry(
        name="indirect_bounds",
        function=indirect_bounds,
        make=ragged,
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("indirect bounds",),
    ),
    Entry(
        name="data_dependent_trips",
        function=data_dependent_trips,
        make=lambda r: dict(count=np.array([0, 3, 1, 0, 4]), x=r.random(5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("indirect bounds",),
    ),
    Entry(
        name="index_after_the_loop",
        function=index_after_the_loop,
        make=lambda r: vector(r, 6),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("loop variable after the loop",),
    ),
    Entry(
        name="constant_trips",
        function=constant_trips,
        make=lambda r: vector(r),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("for over range",),
    ),
    Entry(
        name="pairs_and_places",
        function=pairs_and_places,
        make=lambda r: dict(A=r.normal(size=(5, 5)), x=r.normal(size=5)),
        wrt=("A", "x"),
        outputs=("A",),
        oracle=pairs_and_places_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("loops over several ranges", "names for slices"),
    ),
    Entry(
        name="by_classes",
        function=by_classes,
        make=lambda r: dict(A=r.normal(size=(5, 5)), x=r.normal(size=5)),
        wrt=("A", "x"),
        outputs=("A",),
        oracle=by_classes_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=(
            "of which class an argument is",
            "values that nobody uses",
            "loops over several ranges",
            "names for slices",
        ),
    ),
)
