"""`np.linalg` of arrays of numbers with derivatives.

By the methods of textbooks that differ from what a compiler would do: elimination, Gram and Schmidt, normal equations,
Jacobi's rotations. Signs of vectors, which no definition gives, are those that NumPy has for the floats below.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import numbers
from .arrays import array, floats_of, plain, total, wrapped
from .numbers import Undecided, primal

SWEEPS = 8
LEAST_GAP = 1e-2


def eliminated(a: Any, b: Any) -> tuple[Any, Any]:
    """The solution of `a @ x = b` and the determinant of `a`, by elimination with pivots by size."""
    a, b = np.asarray(plain(a), dtype=object).copy(), np.asarray(plain(b), dtype=object).copy()
    determinant: Any = 1.0
    for k in range(len(a)):
        pivot = k + int(np.argmax(np.abs(floats_of(a[k:, k]))))
        if pivot != k:
            a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
            determinant = -determinant
        if abs(primal(a[k, k])) < 1e-6:
            raise Undecided("a matrix that is nearly singular")
        determinant = determinant * a[k, k]
        for i in range(k + 1, len(a)):
            factor = a[i, k] / a[k, k]
            a[i], b[i] = a[i] - factor * a[k], b[i] - factor * b[k]
    for k in reversed(range(len(a))):
        for j in range(k + 1, len(a)):
            b[k] = b[k] - a[k, j] * b[j]
        b[k] = b[k] / a[k, k]
    return b, determinant


def stacked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices, also of stacks of them."""

    def apply(a: Any, *others: Any) -> Any:
        if a.ndim == 2:
            return function(a, *others)
        return array([apply(one, *(o[i] for o in others)) for i, one in enumerate(a)])

    return apply


@stacked
def solve(a: Any, b: Any) -> Any:
    return wrapped(eliminated(a, b)[0])


@stacked
def inverse(a: Any) -> Any:
    return wrapped(eliminated(a, np.eye(len(a)))[0])


@stacked
def determinant(a: Any) -> Any:
    return eliminated(a, np.eye(len(a)))[1]


def slogdet(a: Any) -> Any:
    value = determinant(a)
    return float(np.sign(primal(value))), numbers.log(abs(value))


@stacked
def cholesky(a: Any) -> Any:
    n = len(a)
    lower = np.zeros((n, n)).astype(object)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - total([lower[i, k] * lower[j, k] for k in range(j)])
            if i == j and primal(rest) < 1e-3:
                raise Undecided("a matrix that is hardly positive definite")
            lower[i, j] = numbers.sqrt(rest) if i == j else rest / lower[j, j]
    return wrapped(lower)


@stacked
def matrix_power(a: Any, n: int) -> Any:
    result = array(np.eye(len(a)))
    for _ in range(abs(n)):
        result = result @ a
    return inverse(result) if n < 0 else result


def qr(a: Any, mode: str = "reduced") -> Any:
    k = min(a.shape)
    signs = np.sign(np.diagonal(np.linalg.qr(floats_of(a))[1]))
    columns: list[Any] = []
    for j in range(k):
        rest = a[:, j]
        for _ in range(2):  # once more, so that nothing of the others is left
            for q in columns:
                rest = rest - q * total(list(q * rest))
        length = numbers.sqrt(total(list(rest * rest)))
        if primal(length) < LEAST_GAP:
            raise Undecided("columns that nearly depend on each other")
        columns.append(rest * (signs[j] / length))
    q = wrapped(np.array([plain(c) for c in columns], dtype=object).T)
    r = wrapped(np.triu(plain(q.T @ a)) + np.zeros((k, a.shape[1])).astype(object))
    return r if mode == "r" else (q, r)


def pinv(a: Any) -> Any:
    return inverse(a.T @ a) @ a.T if a.shape[0] >= a.shape[1] else a.T @ inverse(a @ a.T)


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    x = pinv(a) @ b
    rest = a @ x - b
    left = (rest * rest).sum(axis=0, keepdims=b.ndim == 1) if a.shape[0] > a.shape[1] else np.zeros(0)
    return x, left, min(a.shape), None


def eigh(a: Any) -> Any:
    """By cyclic rotations of the symmetric matrix with the lower triangle of `a`."""
    n = len(a)
    s, v = np.zeros((n, n)).astype(object), np.eye(n).astype(object)
    for i in range(n):
        for j in range(i + 1):
            s[i, j] = s[j, i] = a[i, j]
    with np.errstate(under="ignore"):
        for _ in range(SWEEPS):
            for p, q in itertools.combinations(range(n), 2):
                turn(s, v, p, q)
    order = np.argsort(floats_of(np.diagonal(s)), kind="stable")
    values = [s[k, k] for k in order]
    if any(primal(y) - primal(x) < LEAST_GAP for x, y in itertools.pairwise(values)):
        raise Undecided("eigenvalues that are nearly equal")
    v = v[:, order]
    signs = np.sign((floats_of(v) * np.linalg.eigh(floats_of(a))[1]).sum(axis=0))
    return array(values), wrapped(v * signs)


def turn(s: Any, v: Any, p: int, q: int) -> None:
    """Make `s[p, q]` zero by a rotation of axes, in place."""
    gap = s[q, q] - s[p, p]
    root = numbers.sqrt(gap * gap + 4.0 * s[p, q] * s[p, q])
    if primal(root) < 1e-6:
        raise Undecided("eigenvalues that are nearly equal")
    tangent = 2.0 * s[p, q] / (gap + root if primal(gap) >= 0.0 else gap - root)
    c = 1.0 / numbers.sqrt(1.0 + tangent * tangent)
    r = tangent * c
    for matrix in (s, s.T, v):
        one, other = matrix[:, p].copy(), matrix[:, q].copy()
        matrix[:, p], matrix[:, q] = c * one - r * other, r * one + c * other


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if a.shape[0] < a.shape[1]:
        if not compute_uv:
            return svd(a.T, False, False)
        u, s, vh = svd(a.T, False)
        return vh.T, s, u.T
    w, v = eigh(a.T @ a)
    if primal(w[0]) < LEAST_GAP:
        raise Undecided("a singular value that is nearly zero")
    s = array([numbers.sqrt(x) for x in w][::-1])
    if not compute_uv:
        return s
    v = v[:, ::-1]
    u = a @ v / s
    signs = np.sign((floats_of(u) * np.linalg.svd(floats_of(a), False)[0]).sum(axis=0))
    return u * signs, s, (v * signs).T


def cond(a: Any, p: Any = None) -> Any:
    if p not in (None, 2):
        return norm(a, p) * norm(inverse(a), p)
    s = svd(a, False, False)
    return s[0] / s[-1]


def norm(a: Any, order: Any = None, axis: Any = None, keepdims: bool = False, ord: Any = None) -> Any:
    order = ord if order is None else order
    if order in (None, 2, "fro") and not (order == 2 and a.ndim == 2 and axis is None):
        return np.sqrt((a * a).sum(axis=axis, keepdims=keepdims))
    if a.ndim == 2 and axis is None:
        if order in (1, np.inf) and not keepdims:
            return abs(a).sum(axis=0 if order == 1 else 1).max()
        if order not in ("nuc", 2, -2) or keepdims:
            raise Undecided(f"norm of a matrix by {order}")
        s = svd(a, False, False)
        return total(list(s)) if order == "nuc" else s[0 if order == 2 else -1]
    if order == 1:
        return abs(a).sum(axis=axis, keepdims=keepdims)
    if order in (np.inf, -np.inf):
        return abs(a).max(axis=axis, keepdims=keepdims) if order > 0 else abs(a).min(axis=axis, keepdims=keepdims)
    if order == 0:
        return (a != 0.0).sum(axis=axis, keepdims=keepdims) * 1.0
    raise Undecided(f"norm by {order}")


LINALG: dict[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (slogdet, norm, qr, pinv, lstsq, eigh, svd, cond)},
    "solve": solve,
    "cholesky": cholesky,
    "matrix_power": matrix_power,
    "inv": inverse,
    "det": determinant,
    "eigvalsh": lambda a: eigh(a)[0],
    "matrix_rank": lambda a: int(np.linalg.matrix_rank(floats_of(a))),
}
