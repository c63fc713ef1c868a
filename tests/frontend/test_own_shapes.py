"""Shapes of arrays that a function makes, as tuples: right, or refused (LD119) where the text does not say how many
axes there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import UnsupportedLoopError

GRID = np.full((2, 5), 0.5)


def total(shape, v):
    d = np.zeros(shape)
    for i in range(shape[0]):
        d[i] += v * (i + 1)
    return d.sum() * len(shape)


def products(x, c):
    w, u, v = np.matmul(x, x.T), x @ x[0], np.dot(x[0], x.T)
    return total(w.shape, c) + total(u.shape, c) + total(v.shape, u.sum())


def made(x, c):
    w, u = np.zeros((len(x), 4)), np.full(3, c)
    w += c
    z = np.ones_like(w) * c
    return total(w.shape, c) + total(u.shape, c) + total(z.shape, x[0, 0]) + w.sum()


def parts(x, c):
    y = 2.0 * x
    a, b, d = y[0, 1:], y[:, None, 1:-1], y[-1].copy()
    return total(a.shape, c) + total(b.shape, c) + total(d.shape[::-1], c) + y[0, 0] * y.ndim


def elements(x, c):
    y = np.hypot(x, 1.0) - np.sin(-x) + GRID[:1, :4]
    size = (*y.shape, 2)
    return total(size, c) + total(y.shape[1:], c) * (y.shape == x.shape) + (y * y).sum()


def bound_again(x, c):
    shape = x.shape
    x = x[0] * 2.0
    before = total(x.shape, c)
    for _ in range(2):
        x = np.zeros((3, 3)) + x[:3]
    return before + total(shape, c) + total(x.shape, c)


def of_another_rank_in_a_branch(x, c):
    w = np.zeros((3, 4))
    if c > 0.5:
        w = np.zeros(3)
    return total(w.shape, c)


def of_another_rank_in_a_loop(x, c):
    w = np.zeros((3, 4))
    s = 0.0
    for _ in range(2):
        s += total(w.shape, c)
        w = np.zeros((3, 4, 2))[0]
    return s


def stored_in_more_axes(x, c):
    z = np.sqrt(x[0], out=np.zeros((2, 4)))
    return total(z.shape, c) + z.sum()


def sums(x, c):
    w = np.zeros((3, 4))
    w = w.sum(axis=0) + c
    return total(w.shape, c)


def number_or_array(x, c):
    w = np.zeros(4) + grown(c, x)
    return total(w.shape, x[0, 0])


def grown(v, x):
    v = v * x
    v += x
    return v


KNOWN = [products, made, parts, elements]
OPEN = [bound_again, of_another_rank_in_a_branch, of_another_rank_in_a_loop, stored_in_more_axes, sums, number_or_array]


@pytest.mark.part(2)
@pytest.mark.parametrize("function", KNOWN)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    x, c = np.random.default_rng(0).uniform(0.5, 1.0, (3, 4)), 0.7
    value, gradients = vectorize_grad(function).value_and_grad(x, c)
    assert value == pytest.approx(function(x, c), rel=1e-14)
    way = np.random.default_rng(1).normal(size=(3, 4))
    for tape in ("store", "recompute"):
        found = vectorize_grad(function, tape=tape).grad(x, c)
        np.testing.assert_allclose(found.x, gradients.x, rtol=1e-13)
    h = 1e-6
    slope = (function(x + h * way, c + h) - function(x - h * way, c - h)) / (2 * h)
    assert (gradients.x * way).sum() + gradients.c == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("function", OPEN)
def test_nothing_is_supposed(function: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).uniform(0.5, 1.0, (3, 4))
    for c in (0.3, 0.7):
        codes: tuple[str, ...] = ()
        try:
            found = vectorize_grad(function)(x, c)
        except UnsupportedLoopError as refused:
            found, codes = function(x, c), refused.codes
        assert found == pytest.approx(function(x, c), rel=1e-14)
        assert {"LD119"}.issuperset(codes)
