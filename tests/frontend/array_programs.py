"""Programs of whole arrays: one for each row of the language table that is about them, and the corners of views."""

# ruff: noqa: B905, PLR, RUF005, RUF046, RUF059, SIM, UP

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .programs import shows, vector


def matrix(rows: int = 4, columns: int = 5) -> np.ndarray:
    return np.random.default_rng(rows * columns).standard_normal((rows, columns))


@shows("slices and views", vector(7), 3)
def slices(x, n):
    a = x[n:]
    b = a[-2:]
    c = x[5:1:-2][::-1]
    a[0] += b[1] * c[-1]
    b *= 2.0
    d = x[n : n + 2]
    d[:] = x[:-n][:2]
    e = x[100:]
    return len(a), b.shape[0], c.size, x[-100:3].sum(), len(e), x[:-100].sum(), x[4:2].ndim, x[n - 9 :].sum()


@shows("slices and views", np.arange(2.0), -1)
def short_slices(x, n):
    return len(x[:n]), len(x[n:]), len(x[n - 2 :]), len(x[: x.shape[0] - 1]), len(x[: x.shape[0] - 3]), x[n:].sum()


@shows("slices and views", np.arange(3.0), 1)
def steps_of_short_arrays(x, n):
    k = x.shape[0] - 2 * n
    return len(x[k::-1]), len(x[x.shape[0] - 2 :: -1]), len(x[: x.shape[0] - 2 : -1]), len(x[3::-2]), x[::2].sum()


@shows("transposes and new axes", matrix(2, 3), vector(3))
def transposes(A, x):
    B = A.T[:, ::-1]
    B[0] = 2.0
    C = np.transpose(A[:, None, :], (2, 0, 1))
    C[1, 1, 0] = x[0]
    D = np.expand_dims(x, 1) * A.T + A.swapaxes(0, 1)
    return D * x[..., None], C.shape[0] * 100 + C.shape[2], B.T[1].sum()


@shows("reshape", np.arange(12.0), 3)
def reshapes(x, n):
    A = x.reshape(n, -1)
    A[1, 2] = 100.0
    A[0].reshape(2, 2)[1] = 5.0
    B = x.reshape((2, 2, 3))
    B[:, 0, :] += 1.0
    C = (A * 2.0).reshape(4, 3)
    return C, x.reshape(1, 12)[0, 3], A.ravel()[5], A.T.ravel()[1], np.reshape(x, (1, -1, 1))[0, :, 0] + 0.0


@shows("rows", matrix(), vector(5))
def rows(A, x):
    r = A[1]
    r[0] = 3.0
    for i, row in enumerate(A):
        row[i] = x[i]
        for v in row[1:]:
            x[0] += v
    for a, b in zip(A, A[::-1]):
        a += b
    A[0], A[1] = A[1], A[0]
    return r[0], r.sum()


@shows("whole-array and slice assignment", vector(6), matrix(3, 3))
def assignments(x, A):
    x[2:] = x[:-2]
    x[:-1] = x[1:]
    x[1:] = x[0]
    A[1:] = A[0]
    A[:, :2] = A[:2].T[:, 1:2] + A[1, 1]
    A[...] = A[::-1]
    y = z = A[0] + 1.0
    y[0] = 7.0
    A[2, 1:] = 4
    return z


@shows("elementwise expressions", matrix(3, 1), vector(4), 2.5, matrix(1, 4))
def broadcasts(A, x, s, B):
    z = A + x
    w = -z * B / s + (A > 0.0)
    n = ~(x > s) & (x < 1.0) | (x == x[0])
    return z**2 // 1.0, w % 2.0, n, np.exp(x) * A, A[0] + B[:, :1]


@shows("elementwise functions of arrays", vector(5), vector(5))
def functions(x, y):
    z = np.where(x > y, x, y) + np.hypot(x, 1.0)
    u = (z if x[0] > 0.0 else y) + 0.0
    return np.minimum(z, 0.5), np.sign(x) * abs(y), u.clip(0.0, 1.0), np.floor(y).astype(np.int64), x.astype(np.float32)


@shows("augmented assignment of arrays", vector(5), np.arange(5), 2)
def augmented(x, k, n):
    y = x
    y += 1.0
    x[n:] *= x[0]
    x[:-1] -= x[1:]
    x[::2] /= 2
    k //= 2
    k[k > 0] <<= 1
    x **= 2
    s = 1.0
    s += x
    return s


@shows("reductions", matrix(3, 4), np.array([True, False, True]), np.arange(4), np.float32([0.5, 1.5]))
def reductions(A, m, k, v):
    n = np.count_nonzero(A > 0.0, axis=1)
    k[0] += n[0] + np.count_nonzero(A)
    return (
        A.sum(), A.sum(axis=0), A.sum(axis=(1, 0)), A.sum(axis=1, keepdims=True), np.sum(k), m.sum(), v.sum(),
        A.max(axis=-1), np.amin(A), k.max(), v.min(), m.any(), m.all(), A.prod(axis=0), k.prod(), v.prod(),
        k.mean(), v.mean(), m.mean(), A.mean(axis=1), (A > 0.0).any(axis=0), m.max(), np.mean(A, keepdims=True),
    )  # fmt: skip


@shows("argmax and argmin", matrix(3, 4), np.array([1.0, np.nan, 3.0, np.nan]), np.array([2, 7, 7, 0]))
def places(A, v, k):
    return A.argmax(), A.argmin(axis=0), np.argmax(A, axis=-1), v.argmax(), v.argmin(), k.argmax(), k.argmin()


@shows("products of arrays", matrix(3, 4), matrix(4, 2), vector(3), np.random.default_rng(5).random((2, 3, 4)))
def products(A, B, x, T):
    return (
        A @ B, x @ A, T @ B, A @ B[:, 0], x @ x, np.dot(T, B), np.inner(A, B.T), np.outer(x, B),
        np.einsum("ijk,kl->il", T, B), np.einsum("ii->i", A[:, :3]), np.einsum("ij", A),
        np.trace(A[:3, :3]) + np.trace(A) * np.trace(2.0 * A.T),
    )  # fmt: skip


@shows("arrays put together", vector(4), matrix(3, 4), 4)
def put_together(x, A, n):
    E = np.eye(n, 3) + np.eye(n, dtype=np.float32)[:, 1:] + np.identity(n)[1:, :3].sum()
    T = np.triu(A) - np.triu(A, k=2) + np.tril(A, -1) * np.linspace(x[0], x[1], n)
    L = np.linspace(0, 1, 1)[0] + np.linspace(start=-1.0, stop=2.0, num=7)[6]
    J = np.hstack((A, A[:, :1])) + np.concatenate((A, 2.0 * A[:, :1]), axis=-1)
    K = np.vstack((x, A, x * x)) + np.concatenate([A, A])[:5]
    S = np.stack((x, x)) @ np.stack([x, -x], axis=1) + np.column_stack((x, x))[:2]
    h = np.hstack((x, x[:0], x[1:])) * np.flip(x[:7])[0]
    x[1:] += 0.5 * np.flip(x[1:])
    np.flip(A, axis=1)[0, 0] = 7.0
    h[:3] += np.minimum.outer(A[:, 0], x[:2])[:, 1] + np.add.outer(A, x)[0, 1, 2]
    h += np.flip(A)[0, 0] + np.flip(A * A, 0)[0, 1]
    return E, T, L, J, K, S, h, np.cov(A), A.std(), np.std(A, axis=1), A.var(axis=0, ddof=1), x.var(keepdims=True)


@shows("np.array of lists", vector(4), matrix(3, 4), 4)
def lists(x, A, n):
    R = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
    k = np.array([1, 0, n - 1])
    B = np.array((x, A[1], 2.0 * x))
    c = np.array([3, 1], dtype=np.float64) / 2 + np.asarray(x)[:2] * np.array([True, False])
    B[0] += np.array(x)
    r = np.array([[x[0]] * n, [2] * n, [x[1], 3.0] * (n // 2), [0.5] * (n - 1) + [x[2]]])
    return R @ x[:2], x[k], B, c, np.array([[[1.0], [x[1]]]]), np.array([x[2]]), r, np.vstack(((x[3],) * n, [1] * n))


@shows("np.arange, tri, diag, diagflat, diagonal", vector(4), matrix(3, 4), 4)
def counters(x, A, n):
    return np.arange(n) * x, np.arange(1, n, 2), np.arange(n, 0, -1), np.tri(n, 3, 1), np.diag(x, -1), np.diagonal(A)


@shows("unpacking of arrays", vector(3), matrix(3, 2), 2)
def unpacked(x, A, n):
    a, b, c = x
    x[0], x[1], x[2] = 2.0 * x[::-1]
    (d, e), f = A[n], x[2]
    for i, (u, v) in enumerate(A):
        a += u * v * i
    for row, (u, v) in zip(A, A[::-1]):
        row[0] += v
        b -= u
    first, second, third = A
    first[:] = third
    for _ in range(n):
        u, v, w = x
        x = x * u + v * w
        for (p, q), r in zip(A, A[0]):
            c += p * q * r
        A = A * 0.5
    return a, b, c, d, e, f, second[0], w


@shows("np.flipud, fliplr, rot90, roll, repeat, tile", vector(4), matrix(3, 4), 2)
def turned(x, A, n):
    np.fliplr(A)[0] = x
    return (
        np.flipud(A) + 0.0, np.rot90(A, -1) * x[0], np.roll(x, n), np.roll(A, -n, axis=1), np.repeat(A, n, axis=0),
        np.tile(x, n),
    )  # fmt: skip


@shows(
    "np.diff, ediff1d, unwrap, cumsum, cumprod, convolve, correlate, gradient, trapezoid, interp, searchsorted",
    vector(5),
    matrix(3, 4),
    2,
)
def neighbours(x, A, n):
    s = np.cumsum(x * x)
    for row in A:
        row[1:] += np.diff(row)
    return (
        np.cumsum(A, axis=0), np.cumprod(x), np.convolve(x, x[:n]), np.gradient(x), np.trapezoid(A), np.ediff1d(A),
        np.interp(0.5, s, x), np.searchsorted(s, x[0]), np.unwrap(7.0 * x), np.unwrap(5.0 * A, axis=0, period=2.0),
    )  # fmt: skip


@shows(
    "np.ptp, average, cov, corrcoef, nansum, nanmean, linalg.norm, vdot, cross, kron, polyval, vander, logaddexp, "
    "sinc, heaviside, nan_to_num, isclose, allclose, deg2rad, rad2deg",
    vector(4), matrix(3, 4), 2,
)  # fmt: skip
def formulas(x, A, n):
    return (
        np.ptp(x), np.average(A, 1, x), np.nansum(x), np.nanmean(A, axis=0), np.linalg.norm(A, axis=1), np.vdot(x, x),
        np.cross(A[0, 1:], A[1, 1:]), np.kron(x, x[:n]), np.polyval(x, 0.5), np.vander(x, 3), np.logaddexp(x, A),
        np.sinc(x), np.heaviside(x, 0.5), np.nan_to_num(x), np.isclose(x, x[0]), np.rad2deg(np.deg2rad(x)),
    )  # fmt: skip


@shows(
    "np.meshgrid, mgrid, ogrid, indices, atleast_1d, append, dstack, pad, select, take, fill_diagonal",
    vector(4),
    matrix(3, 4),
)
def placed(x, A):
    X, Y = np.meshgrid(x[:3], x, indexing="ij")
    J, K = np.mgrid[0:3, 0:1:4j]
    L, M = np.indices(A.shape, dtype=float)
    L += np.indices((4,))[0] * M
    u, v = np.ogrid[:3, :4]
    np.fill_diagonal(A, x[:2])
    padded = np.pad(x, 3, "reflect") * np.pad(x, (2, 4), constant_values=x[0])
    chosen = np.select([A > 0.5, A > 0.0], [A, x], default=X * Y)
    return (
        chosen, padded, J * K + u * v, L * A, np.append(A, x), np.atleast_2d(x) * 2.0, np.dstack((x, x)),
        np.take(A, [2, 0], 1),
        np.arange(0.0, 1.0, 0.3) * x, np.atleast_1d(x[0]), np.pad(A, ((0, 1), (1, 0)), mode="wrap"),
    )  # fmt: skip


@shows("functions of scipy.special", vector(4), matrix(3, 4))
def special_functions(x, A):
    rows = special.softmax(A, axis=1) + special.logsumexp(A, axis=1, keepdims=True) - special.log_softmax(A, axis=0)
    p = special.expit(x)
    entropy = special.entr(p) + special.rel_entr(p, x * x) + special.kl_div(p, x * x) + special.xlogy(p - p, 0.0)
    return (
        rows,
        entropy,
        special.logit(p),
        special.log_expit(40.0 * x),
        special.xlog1py(x, p),
        special.logsumexp(x, b=p),
        special.comb(5, 2) * x[0] + special.binom(x[1], 3),
    )


@shows("np.broadcast_to", vector(4), 3)
def repeated(x, n):
    B = np.broadcast_to(x, (n, 4))
    x[0] = 2.0
    return B.sum(axis=0), np.broadcast_to(x[:, None], (2, 4, n)) * 1.0, np.broadcast_to(x[1], (n,)) + 0.0


@shows("out, reduce, accumulate", vector(4), matrix(3, 4))
def stored(x, A):
    y = np.zeros(4)
    z = np.add(x, A[0], out=y)
    np.multiply(A, y, A)
    np.sum(A, axis=0, out=x)
    z[0] = 3.0
    return (
        y,
        np.add.reduce(A),
        np.maximum.reduce(A, axis=1),
        np.multiply.accumulate(x),
        np.logaddexp.reduce(A, axis=None),
    )


@shows("np.linalg.solve, inv, det, slogdet, cholesky, matrix_power", matrix(4, 4), vector(4), -2)
def linear_algebra(A, x, n):
    S = A @ A.T + np.eye(4)
    return (
        np.linalg.solve(A, x), np.linalg.inv(S), np.linalg.det(S), np.linalg.slogdet(S)[1], np.linalg.cholesky(S),
        np.linalg.matrix_power(S, n),
    )  # fmt: skip


@shows("np.linalg.qr, lstsq, pinv", matrix(4, 3), vector(4))
def factors_and_least_squares(A, x):
    q, r = np.linalg.qr(A)
    z = np.linalg.lstsq(A, x, rcond=None)[0]
    return q, np.diag(r), z, np.linalg.pinv(A)


@shows("np.linalg.eigh, eigvalsh, svd, svdvals, cond, matrix_rank", matrix(4, 3), vector(3))
def spectra_of_matrices(A, x):
    w, V = np.linalg.eigh(A.T @ A)
    u, s, vh = np.linalg.svd(A, full_matrices=False)
    return w, (V * w) @ V.T @ x, (u * s) @ vh @ x, np.linalg.cond(A), np.linalg.matrix_rank(A), np.linalg.norm(A, 2)


@shows("np.sort, argsort, median, quantile, percentile, histogram, bincount, digitize", vector(7), matrix(3, 4), 4)
def numbers_in_order(x, A, n):
    places = np.argsort(x)
    return (
        places, np.sort(A, axis=0), np.median(A, axis=1), np.histogram(x, n)[1], np.bincount(places, x, 7),
        np.digitize(x, np.sort(A[0])),
    )  # fmt: skip


@shows("names for slices", vector(9), matrix(4, 6), 2)
def slices_by_name(x, A, n):
    inner = np.s_[1:-1, n:]
    t = 0.0
    column = (slice(None), n)
    for k in range(n):
        part = slice(2 * k, 2 * k + 3)
        t += x[part].sum() * A[0, part].max()
        x[part] *= 2.0
    last, first = slice(n, len(x), n), slice(None, n)
    end = len(x) - n
    tail = slice(end, None)
    end = 0
    every = np.s_[::2]
    A[column] -= x[slice(1, 5)]
    return (
        A[inner] * t,
        x[last],
        x[tail].sum() + A[first, first].sum(),
        x[every] + x[slice(5)],
        A[np.s_[1, ...]],
        A[slice(2, None), 1],
    )


@shows("slices with an argument as the step", vector(9), matrix(4, 6), 3, 2)
def steps_given(x, A, n, m):
    y = np.zeros(9)
    for k in range(n):
        y[k::n] = k * x[k::n]
    x[-5:-1:n] = A[::m, 1][:2]
    return y, x[::n][1:] * 2.0, A[::n, 1::m].sum(), 1.0 * x[20::n], 1.0 * x[::n][::m]


@shows("sizes that loops change", vector(12), 3)
def sizes_changed(x, k):
    n, t = len(x), 0.0
    while n > 1:
        h = (n + 1) // 2
        a = np.zeros(h)
        a[: n - h] = x[h:n]
        t += np.sum(a * np.arange(h))
        n = h
    size = 1
    while size <= k and t < 1e9:
        t += np.sum(np.ones(size) * x[:size])
        size += 1
    for s in range(1, int(np.log2(x.shape[0])) + 1):
        t += np.sum(np.arange(2**s) * x[: 2**s])
    return t


@shows("sum, max, min, any, all of what is gone through", vector(4), matrix(3, 4), 2)
def totals(x, A, n):
    i = 1
    big = any(v > 1.0 for row in A for v in row)
    near = max(abs(A[i, j] - x[j]) for j in range(n) for i in range(3))
    low = sum([min(A[i]), max(x[k] for k in range(i, n + 2)), max(v for v in x if v < 9.0)])
    return sum(A), sum(x[i] * x[i] for i in range(n)), sum((x[0], x[1]), start=n), big, all(x), near, low, i


@shows("copies, and arrays in one piece", vector(4), matrix(2, 2))
def copies(x, A):
    F = np.asfortranarray(A)
    B = np.ascontiguousarray(F.T @ np.ascontiguousarray(A.T))
    B[0] = np.ascontiguousarray(x[::2]) * np.asfortranarray(x)[1]
    y = x.copy()
    x[0] = 9.0
    z = np.copy(x[1:])
    x[1] = 8.0
    w = A.T.flatten()
    A[0, 1] = 7.0
    return y, z, w, B, np.ones_like(A[0]) * np.full(x[1:].shape, 2.0)[0] + np.zeros((2, 2)).sum()


@shows("boolean masks", vector(6), np.array([True, False, True, True, False, True]), matrix(6, 2))
def masks(x, m, A):
    z = x[m] * 2.0
    x[~m] = z[:2]
    x[x > 0.5] -= 1.0
    A[m] = A[~m][0] + z[:, None]
    A[A < 0.0] *= -1.0
    A[m] += 1.0
    return z.max(), len(z), x[m & (x < 0.0)].sum(), A[m].sum(axis=0)


@shows("index arrays", vector(6), matrix(4, 4), np.array([3, 0, 3]), np.array([[0, 1], [2, 3]]))
def index_arrays(x, A, i, k):
    x[i] += 1.0
    x[k] = x[k] * 2.0
    A[i, 0] = x[i]
    A[:, i] *= 2.0
    A[1, i[:2]] = 5.0
    y = x[1:][i]
    return y, A[i], A[i, i], A[:, k].sum(axis=0), A[k, :1], A[i, None, 1], x[k][0], (x * 2.0)[i]


@shows("np.add.at", vector(5), np.array([1, 1, 4]), matrix(3, 3))
def scatters(x, i, A):
    np.add.at(x, i, x[:3])
    np.subtract.at(x, i, 1.0)
    np.add.at(A, (0, i[:2]), 2.0)
    np.add.at(A, 1, A[2])
    np.add.at(x, 0, 1.0)
    np.maximum.at(A, i[:2], x[:3] * 0.5)
    np.copyto(A[2], x[:3], where=x[:3] > 0.0)
    np.put(A, i, x[1])
    np.put_along_axis(A, i[None, :] % 3, 0.25, axis=0)
    return (
        np.take_along_axis(A, i[:, None] % 3, axis=1)[:, 0],
        np.add.reduceat(x, [0, 3]),
        np.apply_along_axis(np.max, 0, A),
    )


@shows("names for several arrays", vector(6), vector(6), 3, 0.5)
def swaps(x, y, n, s):
    u, v = x, y
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + s * (u[i + 1] - 2.0 * u[i] + u[i - 1])
        if v[1] > u[1]:
            u, v = v, u
    z = u if u[0] > v[1] else v
    z[0] = 9.0
    return u.sum() + 2.0 * v[1], z.sum()


@shows("names for several arrays", vector(6), vector(6), 3, 0.5)
def arrays_assigned_anew(x, y, n, s):
    def step(u, s):
        w = u * s
        w[0] = 1.0
        return w

    u, k = x, 0
    while (u * u).sum() > 1.0:
        w = u
        u = step(u, s) + step(u, 0.25)
        k += 1
        if k > n:
            break
        if k > 2:
            u = y
            continue
        u[1:] = w[:-1] * u[1]
    total = np.zeros(3)
    for row in x.reshape(2, 3):
        total = total + row
    best = np.zeros(6)
    for t in range(n):
        r = x * t
        if r.sum() > s:
            best = r
    return u * 1.0, best.sum(), total


@shows("names whose arrays loops resize", vector(9), vector(4), 3)
def arrays_of_other_lengths(x, y, n):
    w, total = x[1:], 0.0
    for k in range(n):
        w = w[:-1] * w[1:]
        if w[0] > 0.5 + k:
            w = w[1:]
        elif k > 0:
            w = np.concatenate((w, y[:2]))
        total += w.sum() * len(w)
    kept = np.zeros(0)
    for v in y:
        kept = np.append(kept, v * total)
    while len(w) > 2:
        w = w[::2]
    return kept, w.sum() * len(w)


@shows("arrays bound in branches and loops", vector(6), vector(6), 3, 0.5)
def arrays_bound_anywhere(x, y, n, s):
    def half_or_square(v, k):
        if k % 2:
            return 0.5 * v
        return v * v

    before, now = x, 1.5 * x
    for k in range(n):
        if now[0] > 9.0:
            break
        new = half_or_square(now, k) - s * before
        before = now
        now = new
    while n > 0:
        last = now * n
        n -= 1
    P = last[1:] if s > 1.0 else y[:-1]
    y[0] = before.sum()
    return now, P.sum(), last


@shows("numbers that become arrays", matrix(4, 3), vector(4))
def numbers_that_become_arrays(A, w):
    total = 0.0
    for i in range(w.size):
        total = total + w[i] * A[i]
    count = 0
    for row in A:
        if row[0] > 0.5:
            count = count + row
    return total.mean(), total, sum(row * row for row in A)


@shows("np.array, stack, concatenate of a comprehension", matrix(4, 3), vector(4))
def arrays_of_comprehensions(A, w):
    def both(p, s):
        return np.array([p[0] * s, p[1] - s])

    R = np.array([both(p, s) for p, s in zip(A, w)])
    D = np.array([[((p - q) ** 2).sum() for q in A] for p in A])
    S = np.stack([row * w[k] for k, row in enumerate(A)])
    return R, D, S, np.vstack([2.0 * row for row in A]), np.concatenate([row[1:] for row in A])


@shows("np.split, array_split, delete, insert, block, triu_indices, diag_indices, hanning", matrix(4, 4), vector(7), 2)
def arrays_in_parts(A, x, n):
    first, second, third = np.split(np.delete(x, n), 3)
    parts = np.array_split(A, 3, axis=1)
    long = np.insert(x, -1, first[0] * n)
    B = np.block([[A, second[0] * A], [np.eye(2, 4), A[:2]]])
    B[np.diag_indices(6)] *= third[1]
    i, j = np.tril_indices(4, -1)
    for part in parts:
        part += 1.0
    return B, long * np.hamming(8), A[i, j], np.delete(A, 0, axis=1), sum(p.sum() for p in parts)


@shows("math.factorial, comb, gcd, prod", vector(5), 4)
def bernstein(x, n):
    total = 0.0
    for k in range(n + 1):
        total += math.comb(n, k) * x[0] ** k * (1.0 - x[0]) ** (n - k) * math.gcd(n, k) / math.factorial(k)
    return total, math.prod(x), math.prod([x[1], 2.0])
