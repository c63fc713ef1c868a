"""Eigenvalues and singular values, found by LAPACK (Numba calls the one of SciPy), whose numbers carry no derivative.

As in `factors`, zeros are added that change as the matrix does, and Newton's steps follow such a change: each squares
the error (Ogita and Aishima, "Iterative refinement for symmetric eigenvalue decomposition", JJIAM 2018, and "... for
singular value decomposition based on matrix multiplication", JCAM 2020). They are made in the basis that was found, in
which all that should be zero is exactly zero: where nobody asks for vectors, equal values do no harm.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from loopdiff.numpy_functions.factors import fill_turned, share, without_derivative
from loopdiff.rules.definitions import nondifferentiable

STEPS = 3  # derivatives up to the fifth are exact
HAS_LAPACK = find_spec("scipy") is not None


# Numba compiles these, and loops much faster than slices. LAPACK has the numbers in float64, as NumPy gives it those of
# float32: signs of vectors are what roundings made of them.
@nondifferentiable(outputs=("w", "v"))
def find_eigenvectors(a, w, v):
    found, vectors = np.linalg.eigh(a.astype(np.float64))
    for i in range(w.shape[0]):
        w[i] = found[i]
        for j in range(w.shape[0]):
            v[i, j] = vectors[i, j]


@nondifferentiable(outputs=("first", "s", "second"))
def find_singular_vectors(a, first, s, second):
    left, found, right = np.linalg.svd(a.astype(np.float64), False)
    if a.shape[0] < a.shape[1]:
        left, right = right.T.copy(), left.T.copy()
    for j in range(s.shape[0]):
        s[j] = found[j]
        for i in range(first.shape[0]):
            first[i, j] = left[i, j]
        for i in range(s.shape[0]):
            second[i, j] = right[j, i]


@nondifferentiable(result="float64")
def precision_of(s):
    return np.finfo(s.dtype).eps


def eigh(a, UPLO="L"):
    """Eigenvalues, ascending, and eigenvectors of the symmetric matrix with the lower triangle of `a`."""
    assert HAS_LAPACK, "np.linalg.eigh calls LAPACK through SciPy, which is not installed"
    assert a.ndim == 2, "np.linalg.eigh takes a matrix"
    n = a.shape[0]
    assert a.shape[1] == n, "Last 2 dimensions of the array must be square"
    assert UPLO == "L", "np.linalg.eigh reads the lower triangle here: pass `a.T` to have the upper one read"
    s = 1.0 * a
    for i in range(n):
        for j in range(i):
            s[j, i] = s[i, j]
    w, v = np.empty(n, dtype=s.dtype), np.empty(s.shape, dtype=s.dtype)
    found = without_derivative(s)
    assert np.isfinite(found).all(), "np.linalg.eigh takes finite numbers"
    find_eigenvectors(found, w, v)
    seen = v.T @ ((s - found) @ v)
    for i in range(n):
        seen[i, i] += w[i]
    turn = np.eye(n, dtype=s.dtype)
    for _ in range(STEPS):
        short, turned = -(turn.T @ turn), turn.T @ (seen @ turn)
        for i in range(n):
            short[i, i] += 1.0
            w[i] = turned[i, i] / (1.0 - short[i, i])
        for i in range(n):
            for j in range(n):
                if i == j:
                    short[i, i] *= 0.5
                else:
                    short[i, j] = share(turned[i, j] + w[j] * short[i, j], w[j] - w[i])
        turn += turn @ short
    return w, v @ turn


def eigvalsh(a, UPLO="L"):
    assert UPLO == "L" or UPLO == "U", "`UPLO` of np.linalg.eigvalsh is 'L' or 'U' here"
    return eigh(a.T if UPLO == "U" else a)[0]


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    """`u`, singular values, descending, and `vh` with (u * s) @ vh = a; of `u` and `vh` the first columns and rows."""
    assert HAS_LAPACK, "np.linalg.svd calls LAPACK through SciPy, which is not installed"
    assert a.ndim == 2, "np.linalg.svd takes a matrix"
    assert not hermitian, "np.linalg.svd has no `hermitian` here: call np.linalg.eigh"
    m, n = a.shape[0], a.shape[1]
    k, is_wide = min(m, n), m < n
    if compute_uv and full_matrices:
        assert m == n, "np.linalg.svd of a matrix that is not square takes full_matrices=False here"
    found = without_derivative(1.0 * a)
    assert np.isfinite(found).all(), "np.linalg.svd takes finite numbers"
    first, s = np.zeros((max(m, n), k), dtype=found.dtype), np.empty(k, dtype=found.dtype)
    second, change = np.zeros((k, k), dtype=found.dtype), np.zeros(first.shape, dtype=found.dtype)
    find_singular_vectors(found, first, s, second)
    fill_turned(a - found, change, is_wide)
    follow_singular_vectors(change, first, s, second)
    if not compute_uv:
        return s
    u, vh = np.empty((m, k), dtype=found.dtype), np.empty((k, n), dtype=found.dtype)
    for j in range(k):
        for i in range(m):
            u[i, j] = second[i, j] if is_wide else first[i, j]
        for i in range(n):
            vh[j, i] = first[i, j] if is_wide else second[i, j]
    return u, s, vh


def follow_singular_vectors(change, u, s, v):
    """Where factors of a matrix of no fewer rows than columns are after a `change` of the matrix.

    Rows of `seen` and `left` below the square are those outside of what `u` reaches.
    """
    m, n = change.shape[0], change.shape[1]
    seen, left, right = (
        np.zeros((n + m, n), dtype=s.dtype),
        np.zeros((n + m, n), dtype=s.dtype),
        np.eye(n, dtype=s.dtype),
    )
    seen[n:] = change @ v
    seen[:n] = u.T @ seen[n:]
    seen[n:] -= u @ seen[:n]
    for i in range(n):
        seen[i, i] += s[i]
        left[i, i] = 1.0
    for _ in range(STEPS):
        moved = seen @ right
        fill_outside(moved, s, left)
        turned, p, q = np.zeros(v.shape, dtype=s.dtype), np.eye(n, dtype=s.dtype), np.eye(n, dtype=s.dtype)
        for i in range(n):
            for j in range(n):
                for k in range(n + m):
                    turned[i, j] += left[k, i] * moved[k, j]
                    p[i, j] -= left[k, i] * left[k, j]
                for k in range(n):
                    q[i, j] -= right[k, i] * right[k, j]
        for i in range(n):
            s[i] = turned[i, i] / (1.0 - 0.5 * (p[i, i] + q[i, i]))
        turn_towards(turned, s, p, q)
        left[:n] += left[:n] @ p
        right += right @ q
    fill_outside(seen @ right, s, left)
    u[:] = u @ left[:n] + left[n:]
    v[:] = v @ right


def fill_outside(moved, s, left):
    """The parts of columns outside of what `u` reaches, which there are if it is no square."""
    n = s.shape[0]
    if left.shape[0] > 2 * n:
        for i in range(n, left.shape[0]):
            for j in range(n):
                left[i, j] = share(moved[i, j], s[j])


def turn_towards(turned, s, p, q):
    """The rotations that make `turned` diagonal, in `p` and `q`, which hold how far columns are from right angles."""
    for i in range(s.shape[0]):
        for j in range(s.shape[0]):
            if i == j:
                p[i, i] *= 0.5
                q[i, i] *= 0.5
            else:
                a, b = turned[i, j] + s[j] * p[i, j], turned[j, i] + s[j] * q[i, j]
                gap = (s[j] - s[i]) * (s[j] + s[i])
                p[i, j] = share(a * s[j] + b * s[i], gap)
                q[i, j] = share(a * s[i] + b * s[j], gap)


def svdvals(x):
    return svd(x, True, False)


def cond(x, p=None):
    """The greatest singular value by the least, or the product of norms of the matrix and its inverse."""
    if p is None or p == 2:
        s = svdvals(x)
        return s[0] / s[-1]
    if p == -2:
        s = svdvals(x)
        return s[-1] / s[0]
    return np.linalg.norm(x, p) * np.linalg.norm(np.linalg.inv(x), p)


def matrix_rank(A, tol=None, hermitian=False, rtol=None):
    """How many singular values are greater than `tol`, or than `rtol` times the greatest."""
    assert A.ndim == 2, "np.linalg.matrix_rank takes a matrix"
    assert not hermitian, "np.linalg.matrix_rank has no `hermitian` here"
    assert tol is None or rtol is None, "`tol` and `rtol` can't be both set."
    s = svdvals(A)
    least = s[0] * max(A.shape[0], A.shape[1]) * precision_of(s)
    if tol is not None:
        least = tol
    if rtol is not None:
        least = s[0] * rtol
    return (s > least).sum()
