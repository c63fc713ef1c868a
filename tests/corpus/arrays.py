"""Arrays: allocated inside the function, returned from it, of any rank, dtype and stride."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def local_arrays(x, A):
    M, N = A.shape
    t = np.empty(N)
    z = np.zeros((M, N))
    o = np.ones(M)
    f = np.full((N, 2), 0.5)
    for j in range(N):
        t[j] = x[j] * x[j]
        f[j, 1] = f[j, 0] * t[j]
    s = 0.0
    for i in range(M):
        for j in range(N):
            z[i, j] += A[i, j] * t[j]
            o[i] *= 1.0 + z[i, j] * f[j, 1]
        s += o[i] * o[i]
    return s


def local_arrays_like(x, A):
    t = np.empty_like(x)
    z = np.zeros_like(A)
    o = np.ones_like(x)
    f = np.full_like(x, 0.25)
    for i in range(x.shape[0]):
        t[i] = math.sin(x[i])
        o[i] = o[i] * t[i] + f[i]
        for j in range(A.shape[1]):
            z[i, j] = z[i, j] + A[i, j] * o[i]
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            s += z[i, j] * z[i, j]
    return s


def local_extents(x, n):
    pad = np.zeros((n + 2, 2 * n - 1), dtype=np.float64)
    m = min(n, x.shape[0]) // 2
    half = np.zeros(m)
    for i in range(n):
        pad[i + 1, 2 * i] = x[i]
    for i in range(1, n + 1):
        for j in range(2 * n - 1):
            pad[i, j] = pad[i - 1, j] * 0.5 + pad[i, j] * pad[i, j]
    s = 0.0
    for i in range(m):
        half[i] = pad[2 * i + 2, 4 * i]
        s += half[i] * pad[n, 2 * i]
    return s


def row_buffer(A, y):
    M, N = A.shape
    for i in range(M):
        t = np.zeros(N)
        for j in range(1, N):
            t[j] = t[j - 1] * 0.5 + A[i, j] * A[i, j - 1]
        s = 0.0
        for j in range(N):
            s += math.sin(t[j])
        y[i] = s * t[N - 1]


def return_array(A, x):
    M, N = A.shape
    y = np.zeros(M)
    for i in range(M):
        for j in range(N):
            y[i] += A[i, j] * x[j]
    return y


def return_tuple(x, w):
    n = x.shape[0]
    y = np.empty(n)
    s = 0.0
    for i in range(n):
        y[i] = x[i] * w[i]
        s += y[i] * y[i]
    return s, y, s * w[0]


def return_one_tuple(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return (s,)


def two_returned_arrays(x, y):
    n = x.shape[0]
    up = np.zeros(n)
    down = np.ones((n, 2))
    for i in range(n):
        up[i] = x[i] * x[i] + y[i]
        y[i] = up[i] * 2.0
        for k in range(2):
            down[i, k] = down[i, k] * up[i] - x[i]
    return down, up


def rank_four(T, w):
    I, J, K, L = T.shape
    s = 0.0
    for i in range(I):
        for j in range(J):
            for k in range(K):
                for l in range(L):
                    T[i, j, k, l] = T[i, j, k, l] * w[k, j]
                    s += T[i, j, k, l] * T[i, j, k, l]
    return s


def rank_zero(c, x):
    for i in range(x.shape[0]):
        c[()] += x[i] * x[i] * c[()]
    return c[()] * 2.0


def any_strides(A, B, x, y):
    M, N = A.shape
    for i in range(M):
        for j in range(N):
            y[i] += A[i, j] * B[j, i] * x[j]
        A[i, 0] = y[i] * y[i]


def strided_args(r):
    room = r.random((10, 9))
    return dict(
        A=room[::2, ::-3],
        B=np.asfortranarray(r.random((3, 5))),
        x=r.random((4, 3)).T[:, 1],
        y=r.random(10)[::-2],
    )


def mixed_floats(a, b, y, z):
    for i in range(a.shape[0]):
        y[i] = a[i] * b[i]
        z[i] = a[i] * 0.5 + y[i] * y[i]


def integer_arrays(x, n, k, flag, y):
    for i in range(x.shape[0]):
        if flag[i]:
            y[i] = x[i] * n[i] + k[i]
        else:
            y[i] = x[i] / (1 + n[i] * n[i])
        n[i] = n[i] + 1
        flag[i] = not flag[i]


ENTRIES = (
    Entry(
        name="local_arrays",
        function=local_arrays,
        make=lambda r: dict(x=r.random(4), A=r.random((3, 4))),
        wrt=("x", "A"),
        oracle=lambda xp, x, A: {"result": xp.sum(xp.prod(1 + A * x**2 * 0.5 * x**2, 1) ** 2)},
        is_twin=True,
        constructs=("np.empty, zeros, ones, full, ndarray",),
    ),
    Entry(
        name="local_arrays_like",
        function=local_arrays_like,
        make=lambda r: dict(x=r.random(3), A=r.random((3, 4))),
        wrt=("x", "A"),
        oracle=lambda xp, x, A: {"result": xp.sum((A * (xp.sin(x) + 0.25)[:, None]) ** 2)},
        is_twin=True,
        is_analytic=True,
        constructs=("np.empty_like and friends",),
    ),
    Entry(
        name="local_extents",
        function=local_extents,
        make=lambda r: dict(x=r.random(6), n=6),
        wrt=("x",),
        constructs=("np.empty, zeros, ones, full, ndarray",),
    ),
    Entry(
        name="row_buffer",
        function=row_buffer,
        make=lambda r: dict(A=r.random((4, 5)), y=np.zeros(4)),
        wrt=("A",),
        outputs=("y",),
        constructs=("array allocated in a loop",),
    ),
    Entry(
        name="return_array",
        function=return_array,
        make=lambda r: dict(A=r.random((3, 4)), x=r.random(4)),
        wrt=("A", "x"),
        oracle=lambda xp, A, x: {"result": A @ x},
        is_twin=True,
        constructs=("return of a tuple",),
    ),
    Entry(
        name="return_tuple",
        function=return_tuple,
        make=lambda r: dict(x=r.random(5), w=r.random(5)),
        wrt=("x", "w"),
        oracle=lambda xp, x, w: {
            "result": (xp.sum((x * w) ** 2), x * w, xp.sum((x * w) ** 2) * w[0]),
        },
        is_twin=True,
        constructs=("return of a tuple",),
    ),
    Entry(
        name="return_one_tuple",
        function=return_one_tuple,
        make=lambda r: dict(x=r.random(5)),
        wrt=("x",),
        is_analytic=True,
        constructs=("return of a tuple",),
    ),
    Entry(
        name="two_returned_arrays",
        function=two_returned_arrays,
        make=lambda r: dict(x=r.random(4), y=r.random(4)),
        wrt=("x", "y"),
        outputs=("y",),
        oracle=lambda xp, x, y: {
            "result": (xp.stack([x * x + y - x, x * x + y - x], 1), x * x + y),
            "y": 2 * (x * x + y),
        },
        is_twin=True,
        constructs=("return of a tuple",),
    ),
    Entry(
        name="rank_four",
        function=rank_four,
        make=lambda r: dict(T=r.random((2, 3, 2, 5)), w=r.random((2, 3))),
        wrt=("T", "w"),
        outputs=("T",),
        is_analytic=True,
        constructs=("arrays of any rank",),
    ),
    Entry(
        name="rank_zero",
        function=rank_zero,
        make=lambda r: dict(c=np.array(r.random()), x=r.random(4)),
        wrt=("c", "x"),
        outputs=("c",),
        is_analytic=True,
        constructs=("arrays of any rank",),
    ),
    Entry(
        name="any_strides",
        function=any_strides,
        make=strided_args,
        wrt=("A", "B", "x", "y"),
        outputs=("A", "y"),
        oracle=lambda xp, A, B, x, y: {
            "y": y + xp.sum(A * B.T * x, 1),
            "A": xp.concatenate([(y + xp.sum(A * B.T * x, 1))[:, None] ** 2, A[:, 1:]], 1),
        },
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="mixed_floats",
        function=mixed_floats,
        make=lambda r: dict(a=r.random(5).astype(np.float32), b=r.random(5), y=np.zeros(5), z=np.zeros(5, np.float32)),
        wrt=("a", "b"),
        outputs=("y", "z"),
    ),
    Entry(
        name="integer_arrays",
        function=integer_arrays,
        make=lambda r: dict(
            x=r.random(6),
            n=r.integers(-3, 4, 6),
            k=r.integers(0, 9, 6).astype(np.int32),
            flag=r.random(6) < 0.5,
            y=np.zeros(6),
        ),
        wrt=("x",),
        outputs=("n", "flag", "y"),
        constructs=("integer and boolean arrays",),
    ),
)
