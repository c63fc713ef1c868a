"""Factors of matrices and what follows from them, each found by loops whose numbers carry no derivative.

A derivative follows from what defines the factors, not from how they were found: to what is found, zeros are added
that change as the matrix does (`a - without_derivative(a)`), and formulas correct for such changes do the rest.
"""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.linear_algebra import factor_symmetric
from loopdiff.rules.marks import stop_gradient


def qr(a, mode="reduced"):
    """`q` and `r` with q @ r = a, columns of `q` at right angles, `r` an upper triangle; its signs are LAPACK's."""
    assert mode == "reduced" or mode == "r", "`mode` of np.linalg.qr is 'reduced' or 'r' here"
    assert a.ndim == 2, "np.linalg.qr takes a matrix"
    k = min(a.shape[0], a.shape[1])
    first = 1.0 * a[:, :k]
    q, r = np.zeros(first.shape, dtype=first.dtype), np.zeros((k, a.shape[1]), dtype=first.dtype)
    orthogonalize(first, q, r)
    r[:, k:] = q.T @ a[:, k:]
    if mode == "r":
        return r
    return q, r


def orthogonalize(a, q, r):
    """`q` and the first columns of `r` for a matrix of no fewer rows than columns.

    With a = b r0 for the `r0` that was found, `b` is as good as orthogonal, and L of its products b' b = L L' as good
    as the identity: b inverse(L') is `q`, and L' r0 is `r`, whatever changes.
    """
    n = a.shape[1]
    r0 = np.zeros((n, n), dtype=a.dtype)
    found = without_derivative(a)
    b = a - found
    reflect(found, q, r0)
    for k in range(a.shape[0]):
        for i in range(n):
            for j in range(i):
                b[k, i] -= b[k, j] * r0[j, i]
            b[k, i] = share(b[k, i], r0[i, i])
    b += q
    products = b.T @ b
    low = np.zeros((n, n), dtype=a.dtype)
    factor_symmetric(products, low)
    r[:, :n] = low.T @ r0
    for k in range(a.shape[0]):
        for i in range(n):
            q[k, i] = b[k, i]
            for j in range(i):
                q[k, i] -= q[k, j] * low[i, j]
            q[k, i] /= low[i, i]


def without_derivative(a):
    """A copy of a matrix without its derivative."""
    out = np.empty(a.shape, dtype=a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = stop_gradient(a[i, j])
    return out


def share(zero, part):
    """`zero`, a change, as a share of `part`: of nothing, its derivative is infinite."""
    return zero / part if part != 0.0 else np.sqrt(zero)


def reflect(a, q, r):
    """Householder's reflections, as in LAPACK: what they make of `a` is `r`, what they make of the identity `q`."""
    m, n = a.shape[0], a.shape[1]
    v = np.zeros((n, m), dtype=a.dtype)
    for k in range(n):
        rest = (a[k + 1 :, k] ** 2).sum()
        v[k, k:] = a[k:, k]
        if rest > 0.0:
            length = np.sqrt(a[k, k] ** 2 + rest)
            v[k, k] += np.copysign(length, a[k, k])
            v[k] /= np.sqrt(rest + v[k, k] ** 2)
        else:
            v[k] = 0.0
        for j in range(k, n):
            mirror(v[k, k:], a[k:, j])
            r[k, j] = a[k, j]
    for k in range(n):
        q[k, k] = 1.0
    for k in range(n - 1, -1, -1):
        for j in range(k, n):
            mirror(v[k, k:], q[k:, j])


def mirror(v, x):
    length = 2.0 * (v * x).sum()
    for i in range(v.shape[0]):
        x[i] -= length * v[i]


def lstsq(a, b, rcond=None):
    """`x` whose a @ x is nearest to `b`, or the smallest such; squares left, the rank; no singular values."""
    assert rcond is None, "np.linalg.lstsq has no `rcond` here: it takes matrices of full rank"
    assert a.ndim == 2, "np.linalg.lstsq takes a matrix"
    m, n = a.shape[0], a.shape[1]
    assert b.shape[0] == m, "Incompatible dimensions"
    x = pinv(a) @ b
    if b.ndim == 1:
        left = np.zeros(1 if m > n else 0, dtype=x.dtype)
    else:
        assert b.ndim == 2, "np.linalg.lstsq takes a vector or a matrix on the right"
        left = np.zeros(b.shape[1] if m > n else 0, dtype=x.dtype)
    if m > n:
        left[:] = ((b - a @ x) ** 2).sum(axis=0)
    return x, left, min(m, n), None


def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Coefficients, of the highest power first, of the polynomials nearest to `y`, or its columns, at the places `x`;
    `w` says how much each place counts."""
    assert rcond is None, "np.polyfit has no `rcond` here: it takes places that tell the powers apart"
    assert not full, "np.polyfit gives coefficients alone here"
    assert not cov, "np.polyfit gives coefficients alone here"
    assert x.ndim == 1, "expected 1D vector for x"
    assert x.shape[0] == y.shape[0], "expected x and y to have same length"
    powers, right = np.vander(x.astype("float64"), deg + 1), 1.0 * y
    if w is not None:
        powers = powers * w[:, None]
        right = (right.T * w).T
    scale = np.sqrt((powers * powers).sum(axis=0))
    found = pinv(powers / scale) @ right
    return (found.T / scale).T


def pinv(a, rcond=None):
    """The pseudo-inverse of a matrix of full rank, by its `qr` or that of its transpose."""
    assert rcond is None, "np.linalg.pinv has no `rcond` here: it takes matrices of full rank"
    assert a.ndim == 2, "np.linalg.pinv takes a matrix"
    m, n = max(a.shape[0], a.shape[1]), min(a.shape[0], a.shape[1])
    one = 1.0 * a[:0, :0]
    tall, q = np.zeros((m, n), dtype=one.dtype), np.zeros((m, n), dtype=one.dtype)
    fill_turned(a, tall, a.shape[0] < a.shape[1])
    r, inverse = np.zeros((n, n), dtype=one.dtype), np.eye(n, dtype=one.dtype)
    orthogonalize(tall, q, r)
    for i in range(n - 1, -1, -1):
        for k in range(i, n):
            for j in range(i + 1, n):
                inverse[i, k] -= r[i, j] * inverse[j, k]
            inverse[i, k] /= r[i, i]
    # no less than the condition: of a lower rank are, for NumPy, matrices of a greater one than this
    condition = np.sqrt((r * r).sum() * (inverse * inverse).sum()) * m
    assert condition + 1.0 > condition, "np.linalg.pinv and lstsq take matrices of full rank"
    found = q @ inverse.T
    out = np.empty((a.shape[1], a.shape[0]), dtype=one.dtype)
    fill_turned(found, out, a.shape[0] >= a.shape[1])
    return out


def fill_turned(a, out, is_turned):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if is_turned:
                out[j, i] = a[i, j]
            else:
                out[i, j] = a[i, j]
