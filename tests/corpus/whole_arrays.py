"""Whole arrays: views, slices, broadcasting, reductions, products, masks and index arrays."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def heat_slices(u, k, T):
    for _ in range(T):
        u[1:-1] = u[1:-1] + k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def views(x, A, n):
    v = x[n:]
    v[0] = v[1] * v[-1]
    w = v[1:]
    w *= 2.0
    x[::-2] += 0.5
    C = A.T
    C[1, 2:] = A[0, 1:3] * w[0]
    r = A[1]
    for row in A:
        row[0] = row[0] * r[1]
        row += x[: A.shape[1]]
    M = x[:6].reshape(2, 3)
    M[1] = M[0] * M[1, ::-1]
    for i, v in enumerate(x[2:-1]):
        x[0] += i * v
    a, b = x[1:3], 3.0 * x[:2]
    x[:2], x[4:6] = x[4:6], x[:2]
    np.transpose(M)[0, :] *= a[0]
    A.swapaxes(0, 1)[2] = b[1] + b.shape[0] * len(a)
    return A[:, None, 1:].ndim + M.size + C.shape[0]


def normalized_rows(x, g, b, row):
    m = x.mean(axis=1, keepdims=True)
    v = ((x - m) ** 2).mean(axis=1)[:, np.newaxis]
    y = (x - m) / np.sqrt(v + 1e-3) * g + b
    z = y * row
    z[:, 1:] = z[:, 1:] - z[:, :1]
    return z.copy(), np.exp(-y[0]) @ np.sin(row[0, :4])


def overlapping(x, y):
    x[1:] = x[:-1] * y[1:]
    x[:-1] = x[1:] + y[0]
    x[:] = x[::-1] * x[0]
    y[2:] *= y[:-2]
    y[:] = y + x[1] * y
    y -= y[1] * y


def reductions(A, x):
    t = A.sum(axis=0) * A.prod(axis=(0, -1))
    u = A.max(axis=1) + np.min(A, axis=1, keepdims=True)[:, 0]
    s = A.max() * A.min() + np.prod(x) + x.mean() + np.amax(x * x)
    i, j = A.argmin(), np.argmax(A, axis=1)
    n = np.count_nonzero(A > 0.5) + (x > 0.3).sum()
    if (x > 0.2).all() and not np.any(A > 5.0):
        s += A.flatten()[i] + A[1, j[1]]
    return t.sum(axis=0), u, s * n


def products(A, B, x, y):
    C = A @ B
    A @= B @ B.T
    A[:] = A @ A
    r = np.dot(A, x) + (y @ B.T)[: A.shape[1]] * B[:, -1:].sum(axis=1)
    return C, r, np.matmul(x, B)


def contractions(A, B, x, y):
    o = np.outer(x, y)
    e = np.einsum("ij,jk,k->i", A, B, y) + np.einsum("i,i", x, x)
    t = np.trace(B[:3, :3]) + np.inner(x, x) * np.einsum("ii", B[:3, :3])
    return o, e * t, np.dot(x, 2.0).dot(x)


def masks(x, y, m):
    z = x[m]
    x[x > 0.5] = 0.25
    y[m] += 2.0 * z
    y[~m & (x < 0.2)] *= 3.0
    x[m] = z * z
    return z.sum() * len(z) + y[m].max()


def index_arrays(x, A, idx, v):
    g = x[idx] * v
    A[idx[:2], 1] += g[:2]
    x[idx] = g + 1.0
    np.add.at(x, idx, v * g)
    np.subtract.at(A, (idx[1:3], idx[:2]), 0.5)
    np.add.at(A, 0, A[1])
    return A[idx][:, 0] + A[idx[:, None], idx[None, :2]].sum(axis=1) + x[idx, None].T[0]


def choices(x, y, s):
    z = np.where(x > y, x * s, np.clip(y, -0.5, 0.5))
    w = np.maximum(x, y[::-1]) - np.minimum(z, s)
    z[1:] *= np.abs(w[:-1]).clip(0.1, 0.9)
    m = (x > 0.0) == (y < s)
    c = (z if s > 0.5 else w) * 2.0
    w.fill(0.5)
    return z, c * w, m.sum(), 2.0 * x.astype(np.float64)


def swapped_buffers(x, y, k, T):
    u, v = x, y
    for _ in range(T):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + k * u[i] * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        u, v = v, u
    return u.sum() + 2.0 * v[1]


def assigned_anew(x, y, k, T):
    u = x
    for t in range(T):
        w = u
        u = u * (1.0 + k * u) + 0.1 * y
        if u[1] > 1.2:
            continue
        u[t] = w[-1] * y[0]
    return u * y


def chosen_elements(x, y, z, bins):
    top = y.max() * 1.01
    means = np.zeros(bins)
    for b in range(bins):
        low, high = top * b / bins, top * (b + 1) / bins
        inside = np.logical_and(low <= y, y < high)
        values = x[inside]
        means[b] = (values * values).sum() / (len(values) + 1.0)
    good = z > 0.3
    d = x[good] - z[good]
    for _ in range(2):
        on = z * z < 0.5
        z[on] = z[on] ** 2 + 0.5 * x[on]
    return means, np.sum(d * d) / good.sum()


def put_together(x, A, n):
    s = np.std(A, axis=0).sum() + A.var(axis=1, ddof=1)[1] + np.var(x * x, keepdims=True)[0]
    E = np.eye(n, dtype=A.dtype) + np.identity(n) * np.linspace(x[0], x[1], n)
    T = np.triu(A, 1) + np.tril(A, -1) * 2.0
    c = np.concatenate((E, A), axis=0) @ np.hstack((x[1:3], x[:2]))
    r = np.vstack((x, A)) * np.column_stack((x, x * x))[0, 1] + np.stack((x, -x), axis=1)[1, 1]
    return s, c, r, T, np.cov(A)


def packed_by_hand(x, w):
    """Those above a threshold in an array of their own, then the energy of these."""
    packed = np.empty(x.shape[0])
    n = 0
    for i in range(x.shape[0]):
        if x[i] > 0.3:
            packed[n] = w * x[i]
            n += 1
    s = 0.0
    for k in range(n):
        s += packed[k] * packed[k] / (1.0 + packed[k])
    return s


def written_out(x, A, n):
    R = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    z = np.roll(np.cumsum(x), 1) + np.diag(A) * np.arange(n) + np.repeat(R @ x[:2], 2)
    w = np.convolve(z, np.diff(x), "same") + np.cumprod(np.fliplr(A), axis=0)[-1]
    s = np.linalg.norm(A - np.tri(n)) + np.logaddexp(z, w).sum() + np.trapezoid(w) + np.average(z, weights=x)
    return s * np.interp(x[1], np.cumsum(x), w), np.kron(R, A[:2, :2]), np.cross(x[1:], z[:3])


def rows_reshaped(n, m, k, A, B):
    A[:] = np.reshape(np.reshape(A, (n, m, 1, k)) @ B, (n, m, k))


def walsh(x, y, q):
    y[:] = x
    for s in range(q):
        pairs = np.reshape(y, (2**s, 2, 2 ** (q - s - 1)))
        first = np.reshape(np.transpose(pairs, axes=(1, 0, 2)).copy(), (2, 2 ** (q - 1)))
        y[:] = np.reshape(np.array([[1.0, 1.0], [1.0, -1.0]]) @ first, 2**q)


def element_by_element(A, x, y):
    n, m = A.shape
    for k in range(n * m):
        y[k] = A[k // m, k % m] * x[k % m]


ENTRIES = (
    Entry(
        name="chosen_elements",
        function=chosen_elements,
        make=lambda r: dict(x=r.random(11), y=r.random(11), z=r.random(11), bins=3),
        wrt=("x", "y", "z"),
        outputs=("z",),
        constructs=("boolean masks",),
    ),
    Entry(
        name="put_together",
        function=put_together,
        make=lambda r: dict(x=r.random(4), A=r.random((3, 4)), n=4),
        wrt=("x", "A"),
        constructs=("arrays put together", "reductions"),
    ),
    Entry(
        name="packed_by_hand",
        function=packed_by_hand,
        make=lambda r: dict(x=r.random(9), w=1.5),
        wrt=("x", "w"),
    ),
    Entry(
        name="written_out",
        function=written_out,
        make=lambda r: dict(x=r.uniform(0.5, 1.0, 4), A=r.uniform(0.5, 1.0, (4, 4)), n=4),
        wrt=("x", "A"),
        constructs=(
            "np.array of lists",
            "np.arange, tri, diag, diagflat, diagonal",
            "np.flipud, fliplr, rot90, roll, repeat, tile",
            "np.diff, ediff1d, unwrap, cumsum, cumprod, convolve, correlate, gradient, trapezoid, interp, searchsorted",
            "np.ptp, average, cov, corrcoef, nansum, nanmean, linalg.norm, vdot, cross, kron, polyval, vander, "
            "logaddexp, sinc, heaviside, nan_to_num, isclose, allclose, deg2rad, rad2deg",
        ),
    ),
    Entry(
        name="rows_reshaped",
        function=rows_reshaped,
        make=lambda r: dict(n=2, m=3, k=4, A=r.random((2, 3, 4)), B=r.random((4, 4))),
        wrt=("A", "B"),
        outputs=("A",),
        is_analytic=True,
        constructs=("reshape", "products of arrays"),
    ),
    Entry(
        name="swapped_buffers",
        function=swapped_buffers,
        make=lambda r: dict(x=r.random(6), y=r.random(6), k=0.3, T=3),
        wrt=("x", "y", "k"),
        outputs=("x", "y"),
        is_analytic=True,
        constructs=("names for several arrays",),
    ),
    Entry(
        name="assigned_anew",
        function=assigned_anew,
        make=lambda r: dict(x=r.random(5), y=r.random(5), k=0.5, T=4),
        wrt=("x", "y", "k"),
        constructs=("names for several arrays",),
    ),
    Entry(
        name="heat_slices",
        function=heat_slices,
        make=lambda r: dict(u=r.random(7), k=0.3, T=4),
        wrt=("u", "k"),
        outputs=("u",),
        is_analytic=True,
        constructs=("whole-array and slice assignment",),
    ),
    Entry(
        name="views",
        function=views,
        make=lambda r: dict(x=r.random(9), A=r.random((4, 4)), n=2),
        wrt=("x", "A"),
        outputs=("x", "A"),
        is_analytic=True,
        constructs=("slices and views", "transposes and new axes", "reshape", "rows"),
    ),
    Entry(
        name="normalized_rows",
        function=normalized_rows,
        make=lambda r: dict(x=r.random((3, 4)), g=r.random(4), b=r.random(4), row=r.random((1, 4))),
        wrt=("x", "g", "b", "row"),
        is_analytic=True,
        constructs=("elementwise expressions", "copies, and arrays in one piece"),
    ),
    Entry(
        name="overlapping",
        function=overlapping,
        make=lambda r: dict(x=r.random(6), y=r.random(6)),
        wrt=("x", "y"),
        outputs=("x", "y"),
        is_analytic=True,
        constructs=("augmented assignment of arrays",),
    ),
    Entry(
        name="reductions",
        function=reductions,
        make=lambda r: dict(A=r.random((3, 4)) + 0.2, x=r.random(5) + 0.25),
        wrt=("A", "x"),
        constructs=("reductions", "argmax and argmin"),
    ),
    Entry(
        name="products",
        function=products,
        make=lambda r: dict(A=r.random((3, 3)), B=r.random((3, 4)), x=r.random(3), y=r.random(4)),
        wrt=("A", "B", "x", "y"),
        outputs=("A",),
        constructs=("products of arrays",),
    ),
    Entry(
        name="contractions",
        function=contractions,
        make=lambda r: dict(A=r.random((3, 3)), B=r.random((3, 4)), x=r.random(3), y=r.random(4)),
        wrt=("A", "B", "x", "y"),
        constructs=("products of arrays",),
    ),
    Entry(
        name="masks",
        function=masks,
        make=lambda r: dict(x=r.random(9), y=r.random(9), m=r.random(9) < 0.6),
        wrt=("x", "y"),
        outputs=("x", "y"),
        constructs=("boolean masks",),
    ),
    Entry(
        name="index_arrays",
        function=index_arrays,
        make=lambda r: dict(x=r.random(6), A=r.random((4, 4)), idx=np.array([2, 0, 3, 2]), v=r.random(4)),
        wrt=("x", "A", "v"),
        outputs=("x", "A"),
        is_analytic=True,
        constructs=("index arrays", "np.add.at"),
    ),
    Entry(
        name="choices",
        function=choices,
        make=lambda r: dict(x=r.standard_normal(6), y=r.standard_normal(6), s=0.7),
        wrt=("x", "y", "s"),
        constructs=("elementwise functions of arrays",),
    ),
    Entry(
        name="walsh",
        function=walsh,
        make=lambda r: dict(x=r.random(8), y=np.zeros(8), q=3),
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("reshape",),
    ),
    Entry(
        name="element_by_element",
        function=element_by_element,
        make=lambda r: dict(A=r.random((3, 4)), x=r.random(4), y=np.zeros(12)),
        wrt=("A", "x"),
        outputs=("y",),
        is_analytic=True,
    ),
)
