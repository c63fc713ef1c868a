"""Extents that are powers of a number that is no constant, `d**q`, in shapes that change from one iteration to the
next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import LoopdiffError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, A = np.linspace(0.2, 1.5, 9), np.arange(9.0).reshape(3, 3) / 9 + 0.1


def gates(x, a, d, q):
    v = np.ones(d**q) * x[0]
    for k in range(q):
        w = v.reshape(d**k, d, d ** (q - 1 - k))
        v = np.einsum("ij,ajb->aib", a, w).reshape(d**q)
    return v.sum() * x[1]


def gates_of_extents(x, a, d, q):
    n = a.shape[0]
    v = np.ones(n**q) * x[0]
    for k in range(q):
        w = v.reshape(n**k, n, -1)
        v = np.einsum("ij,ajb->aib", a, w).reshape(-1)
    return v.sum()


def shifted(x, a, d, q):
    v = np.zeros(d**q) + x[: d**q]
    for k in range(q):
        w = v.reshape(d**k, d, d ** (q - k - 1))
        b = np.empty_like(w)
        for i in range(d):
            b[:, i, :] = w[:, (i + 1) % d, :] * (i + 1)
        v = b.reshape(-1)
    return (v * np.arange(v.size)).sum()


def scaled(x, a, d, q):
    v = np.ones(d**q) * x[2]
    for k in range(q + 1):
        v = (v.reshape(d**k, -1) * x[k]).reshape(-1)
    return v.sum()


def turned(x, a, d, q):
    psi = x[: d**q].copy()
    for k in range(q):
        psi = psi.reshape(d**k, d, -1)
        psi = psi[:, ::-1, :] * (k + 1)
        psi = psi.reshape(d**q)
    return (psi * x[: d**q]).sum()


POWERS = [gates, gates_of_extents, shifted, scaled, turned]


@pytest.mark.parametrize("plain", POWERS)
def test_shapes_are_powers_of_a_number(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain, wrt=("x", "a"))
        for d, q in ((3, 2), (3, 1), (3, 0)):
            assert f(X, A, d, q) == pytest.approx(plain(X, A, d, q), rel=1e-12)
        if plain not in (gates, gates_of_extents):
            for d, q in ((2, 3), (1, 2), (1, 0)):
                assert f(X, A, d, q) == pytest.approx(plain(X, A, d, q), rel=1e-12)
        check_grads(f, (X, A, 3, 2))


def divided(x, d, q, k):
    v = np.ones(d**q) * x[0]
    w = v.reshape(d**k, -1)
    return w.sum() + 10.0 * w.shape[0] + w.shape[1]


def divided_in_a_loop(x, d, q, k):
    v, t = np.ones(d**q) * x[0], 0.0
    for i in range(q):
        v = (v.reshape(d**i, d, -1) * 1.5).reshape(-1)
        t += v.sum()
    return t


@pytest.mark.parametrize("plain", [divided, divided_in_a_loop])
def test_what_is_left_is_whole_or_an_error(plain: Callable[..., Any]) -> None:
    """As NumPy says, or refused: never another number."""
    f, taken = vectorize_grad(plain), 0
    for d in (-2, -1, 0, 1, 2, 3):
        for q in range(4):
            for k in range(4):
                try:
                    expected = plain(X, d, q, k)
                except (ValueError, TypeError, ZeroDivisionError):
                    with pytest.raises(LoopdiffError):
                        f(X, d, q, k)
                    continue
                try:
                    found = f(X, d, q, k)
                except LoopdiffError:
                    assert d < 1, (d, q, k)
                    continue
                taken += 1
                assert found == pytest.approx(expected, rel=1e-12), (d, q, k)
    assert taken > 20
