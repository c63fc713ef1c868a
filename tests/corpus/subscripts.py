"""Subscripts: affine, negative, indirect, and computed by integer arithmetic."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def affine_subscripts(x, y):
    n = y.shape[0]
    for i in range(n):
        y[i] = x[2 * i + 1] * x[2 * i] + x[n - 1 - i]
    for i in range(1, n - 1):
        for j in range(2):
            y[i + j] += x[i - 1] * x[3 * j + i]


def negative_subscripts(x, A, y):
    n = x.shape[0]
    for i in range(n):
        y[-1 - i] = x[i] * x[-1]
        y[i - n] += A[-1, i] * A[i, -2]
    x[-1] = y[-1] * y[-2]


def rows_by_hand(A, B, C, n, m, k):
    s = 0.0
    for i in range(n):
        for j in range(m):
            t = 0.0
            for l in range(k):
                t += A[i * k + l] * B[l * m + j]
            C[i * m + j] = t * C[i * m + j]
            s += t * t
    return s


def rows_by_hand_oracle(xp, A, B, C, n, m, k):
    t = A.reshape(n, k) @ B.reshape(k, m)
    return {"C": (t * C.reshape(n, m)).reshape(-1), "result": (t * t).sum()}


def gather(tab, idx, x):
    s = 0.0
    for i in range(x.shape[0]):
        s += tab[idx[i]] * tab[idx[i]] * x[i]
    return s


def scatter_add(x, idx, y):
    for i in range(x.shape[0]):
        y[idx[i]] += x[i] * x[i]


def scatter_store(x, idx, y):
    for i in range(x.shape[0]):
        y[idx[i]] = x[i] * x[i] + 0.5 * y[idx[i]]
    s = 0.0
    for k in range(y.shape[0]):
        s += y[k] * y[k]
    return s


def scatter_matrix(x, rows, cols, A):
    for p in range(x.shape[0]):
        for q in range(cols.shape[1]):
            A[rows[p], cols[p, q]] -= x[p] * A[rows[p], q]


def doubly_indirect(x, idx, jdx, y):
    for i in range(jdx.shape[0]):
        y[i] = x[idx[jdx[i]]] * x[jdx[i]]


def message_passing(h, edges, w, m):
    for e in range(edges.shape[1]):
        source, target = edges[0, e], edges[1, e]
        for k in range(h.shape[1]):
            m[target, k] += w[e] * h[source, k]


def grouped_products(A, group, B, C):
    for i in range(A.shape[0]):
        g = group[i]
        for k in range(B.shape[1]):
            for j in range(A.shape[1]):
                C[g, k] += A[i, j] * B[j, k]


def integer_arithmetic(x, y):
    n = x.shape[0]
    for i in range(2 * n):
        y[i // 2] += x[i % n] * x[(i * 3 + 1) % n]
    for i in range(n):
        y[(i ^ 5) % n] += x[(i << 1) % n]
        y[(i & 3)] *= 1.0 + x[(7 * i) >> 3] * 0.1
        y[(-i) % n] += x[(-i - 1) // 2 + n - 1]


def float_to_index(x, tab, y):
    n = tab.shape[0]
    for i in range(x.shape[0]):
        p = x[i] * (n - 1)
        k = int(p)
        f = p - k
        y[i] = tab[k] * (1.0 - f) + tab[k + 1] * f


def shape_attributes(A, x, y):
    M, N = A.shape
    s = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[-1]):
            s += A[i, j] * x[(i * A.shape[1] + j) % x.size]
    y[0] = s * A.ndim + A.size
    y[1] = s * s / (M * N)


def overlapping_rows(A):
    M, N = A.shape
    for i in range(M - 1):
        for j in range(N):
            A[i, j] = A[i + 1, j] * A[i, j]
    for i in range(1, M):
        for j in range(1, N):
            A[i, j] += A[i - 1, j] * A[i, j - 1]


def uneven_stencils(u, v, w, out):
    I, J, K = out.shape
    flux = np.empty((I, J, K))
    for _ in range(2):
        for i in range(1, I - 1):
            for j in range(2, J):
                for k in range(1, K - 3):
                    flux[i, j, k] = (
                        u[i - 1, j, k] * v[i, j - 2, k + 3] - 0.5 * u[i, j - 1, k - 1] + 0.5 * u[i + 1, j, k]
                    )
        for i in range(1, I - 2):
            for j in range(2, J):
                for k in range(2, K - 4):
                    r = flux[i, j, k + 1] - flux[i + 1, j, k]
                    if r > 0.0:
                        out[i, j, k] = r * flux[i, j, k - 1]
                    else:
                        out[i, j, k] = 0.25 * r
        for i in range(1, I - 2):
            for j in range(2, J):
                for k in range(2, K - 4):
                    u[i, j, k] += 0.1 * (out[i, j, k] + out[i, j, k - 2])
    for k in range(4, K - 5):
        w[k] = 0.1 * (u[2, 2, k - 4] + 2.0 * u[2, 2, k - 3] - u[2, 2, k + 1] + u[2, 2, k + 5]) + w[k]


def meshes_and_items(x, A, y):
    n = x.shape[0]
    w = np.array([x[k] * x[n - 1 - k] for k in range(n)])
    B = A[np.ix_(np.array([0, 2]), np.array([1, -1]))]
    y[np.array([0, -1])] = B[0] * B[1] + w[:2]
    return (w * w).sum()


def tables_of_levels(index, table, w):
    s = 0.0
    for l in range(table.shape[0]):
        for p in range(index.shape[1]):
            s += w[p] * table[l, index[l, p]] * table[l, index[l, p]]
    return s


ENTRIES = (
    Entry(
        name="affine_subscripts",
        function=affine_subscripts,
        make=lambda r: dict(x=r.random(14), y=np.zeros(6)),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=(
            "affine, shifted, strided subscripts",
            "return of nothing",
        ),
    ),
    Entry(
        name="negative_subscripts",
        function=negative_subscripts,
        make=lambda r: dict(x=r.random(5), A=r.random((5, 5)), y=np.zeros(5)),
        wrt=("x", "A"),
        outputs=("x", "y"),
        is_analytic=True,
        constructs=("negative subscripts",),
    ),
    Entry(
        name="gather",
        function=gather,
        make=lambda r: dict(tab=r.random(5), idx=r.integers(0, 5, 12), x=r.random(12)),
        wrt=("tab", "x"),
        oracle=lambda xp, tab, idx, x: {"result": xp.sum(tab[idx] ** 2 * x)},
        is_twin=True,
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="scatter_add",
        function=scatter_add,
        make=lambda r: dict(x=r.random(12), idx=r.integers(0, 5, 12), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("y",),
        oracle=lambda xp, x, idx, y: {"y": y + (idx[None, :] == np.arange(5)[:, None]) @ (x * x)},
        is_twin=True,
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="scatter_store",
        function=scatter_store,
        make=lambda r: dict(x=r.random(12), idx=r.integers(0, 5, 12), y=r.random(6)),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="scatter_matrix",
        function=scatter_matrix,
        make=lambda r: dict(x=r.random(6), rows=r.integers(0, 3, 6), cols=r.integers(0, 4, (6, 2)), A=r.random((3, 4))),
        wrt=("x", "A"),
        outputs=("A",),
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="doubly_indirect",
        function=doubly_indirect,
        make=lambda r: dict(
            x=r.random(6), idx=r.integers(0, 6, 6), jdx=r.integers(0, 6, 9).astype(np.int32), y=np.zeros(9)
        ),
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, idx, jdx, y: {"y": x[idx[jdx]] * x[jdx]},
        is_twin=True,
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="message_passing",
        function=message_passing,
        make=lambda r: dict(h=r.random((6, 3)), edges=r.integers(0, 6, (2, 10)), w=r.random(10), m=r.random((6, 3))),
        wrt=("h", "w", "m"),
        outputs=("m",),
        is_analytic=True,
        constructs=("indirect subscripts",),
    ),
    Entry(
        name="grouped_products",
        function=grouped_products,
        make=lambda r: dict(A=r.random((24, 5)), group=r.integers(0, 3, 24), B=r.random((5, 17)), C=r.random((3, 17))),
        wrt=("A", "B", "C"),
        outputs=("C",),
        is_analytic=True,
        constructs=("indirect subscripts",),
        notes="The group that a row of sums goes to has a name of its own: no contraction over rows.",
    ),
    Entry(
        name="rows_by_hand",
        function=rows_by_hand,
        make=lambda r, n=5, m=6, k=7: dict(A=r.random(n * k), B=r.random(k * m), C=r.random(n * m), n=n, m=m, k=k),
        wrt=("A", "B", "C"),
        outputs=("C",),
        oracle=rows_by_hand_oracle,
        is_twin=True,
        is_analytic=True,
        constructs=("arrays laid out by hand",),
    ),
    Entry(
        name="integer_arithmetic",
        function=integer_arithmetic,
        make=lambda r: dict(x=r.random(9), y=r.random(9)),
        wrt=("x", "y"),
        outputs=("y",),
        is_analytic=True,
        constructs=(
            "integer arithmetic",
            "computed subscripts",
        ),
    ),
    Entry(
        name="float_to_index",
        function=float_to_index,
        make=lambda r: dict(x=r.random(8), tab=r.random(6), y=np.zeros(8)),
        wrt=("x", "tab"),
        outputs=("y",),
        constructs=("conversions",),
    ),
    Entry(
        name="shape_attributes",
        function=shape_attributes,
        make=lambda r: dict(A=r.random((3, 4)), x=r.random(5), y=np.zeros(2)),
        wrt=("A", "x"),
        outputs=("y",),
        is_analytic=True,
        constructs=("shape, ndim, size, len",),
    ),
    Entry(
        name="overlapping_rows",
        function=overlapping_rows,
        make=lambda r: dict(A=r.random((4, 5))),
        wrt=("A",),
        outputs=("A",),
        is_analytic=True,
        constructs=("affine, shifted, strided subscripts",),
    ),
    Entry(
        name="uneven_stencils",
        function=uneven_stencils,
        make=lambda r, I=5, J=5, K=21: dict(
            u=r.random((I, J, K)), v=r.random((I, J, K)), w=r.random(K), out=np.zeros((I, J, K))
        ),
        wrt=("u", "v", "w"),
        outputs=("u", "w", "out"),
        notes="shifts that differ from side to side and from array to array, terms that other arrays scale, branches",
    ),
    Entry(
        name="meshes_and_items",
        function=meshes_and_items,
        make=lambda r: dict(x=r.random(4), A=r.random((3, 4)), y=np.zeros(5)),
        wrt=("x", "A"),
        outputs=("y",),
        is_analytic=True,
        constructs=("np.array of a comprehension", "np.ix_, and ends in lists"),
    ),
    Entry(
        name="tables_of_levels",
        function=tables_of_levels,
        make=lambda r: dict(index=r.integers(0, 6, (3, 9)), table=r.random((3, 6)), w=r.random(9)),
        wrt=("table",),
        oracle=lambda xp, index, table, w: {"result": xp.sum(w * xp.take_along_axis(table, index, axis=1) ** 2)},
        is_twin=True,
        notes="a table for each level, looked up by data: gradients begin at zero level by level",
    ),
)
