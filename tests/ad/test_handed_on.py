"""Sums of local arrays that are kept instead of the arrays: the same gradients, and only where less is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir.walk import read_arrays
from tests.ad.interpreted import vjp


def fluxes(x, c, y):
    N, M = y.shape
    p = np.empty((N + 1, M))
    q = np.empty((N, M))
    for i in range(N + 1):
        for j in range(M):
            p[i, j] = x[i, j] * x[i, j]
    for i in range(N):
        for j in range(M):
            q[i, j] = 3.0 * x[i, j]
    for i in range(N):
        for j in range(M):
            y[i, j] = x[i, j] - c[i, j] * (p[i + 1, j] - 2.0 * p[i, j] + q[i, j])


def one_array(x, c, y):
    N, M = y.shape
    p = np.empty((N + 1, M))
    for i in range(N + 1):
        for j in range(M):
            p[i, j] = x[i, j] * x[i, j]
    for i in range(N):
        for j in range(M):
            y[i, j] = c[i, j] * (p[i + 1, j] - p[i, j])


def also_a_factor(x, c, y):
    N, M = y.shape
    p = np.empty((N, M))
    q = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            p[i, j] = x[i, j] * x[i, j]
            q[i, j] = x[i, j] + 1.0
    for i in range(N):
        for j in range(M):
            y[i, j] = c[i, j] * (p[i, j] - q[i, j])
    for i in range(N):
        for j in range(M):
            y[i, j] += p[i, j] * q[i, j]


def in_one_nest(x, c, y):
    """Elements that are used where they are made."""
    N, M = y.shape
    p = np.empty((N, M))
    q = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            p[i, j] = x[i, j] * x[i, j]
            q[i, j] = 3.0 * x[i, j]
            y[i, j] = c[i, j] * (p[i, j] - q[i, j])


@pytest.mark.parametrize(
    ("function", "read"),
    [(fluxes, set()), (one_array, {"p"}), (also_a_factor, {"p", "q"}), (in_one_nest, {"p", "q"})],
)
def test_what_goes_to_the_reverse_sweep(function: Callable[..., Any], read: set[str]) -> None:
    rng = np.random.default_rng(0)
    args = {"x": rng.random((5, 3)), "c": rng.random((4, 3)), "y": np.zeros((4, 3))}
    seeds = {"y": rng.random((4, 3))}
    found = {p: vjp(function, args, cotangents=seeds, seeds=(), policy=p) for p in ("auto", "store", "recompute")}
    sweeps = found["auto"].sweeps
    assert read_arrays(sweeps.reverse.body) & {"p", "q"} == read
    assert len(sweeps.temporaries) == (0 if read else 1)
    for name in ("x", "c"):
        for other in ("store", "recompute"):
            np.testing.assert_allclose(found["auto"].gradients[name], found[other].gradients[name], rtol=1e-12)
