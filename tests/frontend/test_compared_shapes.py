"""Shapes that are compared as wholes, and sets of tuples that are known: plain Python is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, Y, A = np.linspace(0.3, 1.5, 6), np.linspace(1.0, 2.0, 6), np.linspace(0.1, 0.9, 6).reshape(2, 3)
EDGES = [(1, 2), (0, 1), (1, 2), (0, 1)]


def either(x, y):
    t = (x + y) if x.shape == y.shape else x * y.sum()
    return t.sum() + (x[0] if x.shape != y.shape else y[0])


def in_functions(x, y):
    def one(n, h):
        return (n * h).sum() if n.shape == h.shape else n.sum() * h[0]

    return one(x, y) + one(x, x[:2]) + one(x[1:3], y[:2]) * one(x[1:], x[:-1])


def of_other_ranks(x, y):
    parts = [x, x[:3], x.reshape(2, -1), np.outer(y, y)]
    return sum([(x * h).sum() if x.shape == h.shape else h.sum() ** 2 for h in parts])


def beside_tuples(x, y):
    t = x[1] if x.shape == (6,) else x[2]
    if (y.shape[0], 1) == y.reshape(-1, 1).shape and x.shape != (2, 3):
        t = t * y[0]
    return t * (2.0 if y.shape != (len(x),) else 3.0)


COMPARED = [either, in_functions, of_other_ranks, beside_tuples]


@pytest.mark.parametrize("plain", COMPARED)
def test_shapes_are_compared_extent_by_extent(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        for y in (Y, Y[:3].copy()):
            assert f(X, y) == pytest.approx(plain(X, y), rel=1e-13)
            check_grads(f, (X, y))


def test_arrays_of_other_ranks_have_other_shapes() -> None:
    with interpreting():
        f = vectorize_grad(lambda x, a: x[0] if x.shape == a.shape else a[0, 1])
        assert f(X, A) == A[0, 1]


def of_displays(x):
    a, b = [(0, 1), (1, 2), (0, 1)], [(2, 3), (1, 2)]
    return sum(x[i] * x[j] * k for k, (i, j) in enumerate(sorted(set(a + b)), 1))


def of_edges(x):
    t = 0.0
    for i, j in sorted(set(EDGES)):
        t = t * 0.5 + x[i] * x[j]
    for (name, k), v in zip(sorted(set([("b", 1), ("a", 2), ("b", 1)])), x, strict=False):
        t = t * v + (x[k] if name == "a" else 2.0)
    return t


def in_order_as_they_are(x):
    t = 0.0
    for i, j in sorted([(2, 1), (0, 3), (2, 0)]):
        t = t * 0.5 + x[i] * x[j]
    return t


@pytest.mark.parametrize("plain", [of_displays, of_edges, in_order_as_they_are])
def test_tuples_that_are_known_are_sorted(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        assert f(X) == pytest.approx(plain(X), rel=1e-13)
        check_grads(f, (X,))


def test_sets_of_tuples_that_the_run_says_are_refused() -> None:
    def of_arguments(x, edges):
        return sum(x[i] * x[j] for i, j in sorted(set(edges)))

    with pytest.raises(UnsupportedLoopError, match="LD1"):
        vectorize_grad(wrt="x")(of_arguments)(X, EDGES)
