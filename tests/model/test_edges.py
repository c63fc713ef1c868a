"""Edges of long programs: loops along rows and columns, but for those as deep as the nests that take the time."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements
from loopdiff.model import tuning
from loopdiff.model.edges import edges_of
from tests.gradients.interpreted import normal_form


def along_edges(p):
    for i in range(p.shape[0]):
        p[i, 0] = p[i, 1] * p[i, 2]
    for j in range(p.shape[1]):
        p[0, j] += 0.5 * p[1, j]


def smoothed(p):
    for i in range(1, p.shape[0]):
        for j in range(p.shape[1]):
            p[i, j] = 0.5 * (p[i, j] + p[i - 1, j])


def short(p, n):
    for _ in range(n):
        smoothed(p)
        along_edges(p)
    return p.sum()


def long(p, n):
    for _ in range(n):
        smoothed(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
        along_edges(p)
    return p.sum()


def test_edges_are_loops_that_are_less_deep_and_leave_an_axis_out() -> None:
    p = np.random.default_rng(0).random((5, 4))
    assert edges_of(normal_form(short, {"p": p, "n": 2})) == frozenset()
    ls = normal_form(long, {"p": p, "n": 2})
    edges = [s for s in statements(ls.body) if s.path in edges_of(ls)]
    assert len(edges) >= tuning.LONG_PROGRAM
    assert all(isinstance(s.stmt, ir.Loop) and len(s.loops) == 1 for s in edges)


def test_a_long_program_has_the_values_and_gradients_of_a_short_one() -> None:
    p = np.random.default_rng(0).random((9, 7))
    direction = np.random.default_rng(1).standard_normal(p.shape)
    f = vectorize_grad(cache=False)(long)
    value, (slope,) = f.value_and_grad(p.copy(), 2)
    np.testing.assert_allclose(value, long(p.copy(), 2), rtol=1e-12)
    step = 1e-6
    difference = (long(p + step * direction, 2) - long(p - step * direction, 2)) / (2 * step)
    np.testing.assert_allclose(np.sum(slope * direction), difference, rtol=1e-6)
