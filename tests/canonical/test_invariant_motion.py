"""What a loop computes anew in every iteration moves ahead of it, where reading it there is safe."""

from __future__ import annotations

import math

import numpy as np

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements
from tests.gradients.interpreted import normal_form


def moved(function, **args):
    ls = normal_form(function, args)
    return [s.stmt.value for s in statements(ls.body) if isinstance(s.stmt, ir.Let) and "invariant" in s.stmt.name]


def quotient(x, w, out):
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            out[j] += x[i] / x[0] * w[j]


def scaled(x, s):
    t = 0.0
    for i in range(x.shape[0]):
        t += math.sqrt(s) * x[i]
    return t


def overwritten(x, s):
    for i in range(x.shape[0]):
        x[i] = x[i] / x[0]


def conditional(x, w):
    t = 0.0
    for i in range(x.shape[0]):
        if i > 2:
            t += x[i] / w[0]
    return t


def test_elements_are_read_only_where_the_loop_runs():
    (value,) = moved(quotient, x=np.ones(3), w=np.ones(4), out=np.zeros(4))
    assert isinstance(value, ir.Select)
    f = vectorize_grad(quotient)
    f(np.zeros(0), np.ones(4), np.zeros(4))
    x, w, out = np.array([2.0, 3.0]), np.ones(4), np.zeros(4)
    _, pullback = f.vjp(x, w, out)
    g = pullback(out=np.ones(4))
    np.testing.assert_allclose(out, 2.5)
    np.testing.assert_allclose(g.x, [-4 * 3.0 / 4.0, 4 / 2.0])
    np.testing.assert_allclose(g.w, 2.5)


def test_what_needs_no_element_moves_as_it_is():
    (value,) = moved(scaled, x=np.ones(3), s=4.0)
    assert not isinstance(value, ir.Select)
    g = vectorize_grad(scaled).grad(np.ones(3), 4.0)
    np.testing.assert_allclose(g.x, 2.0)
    np.testing.assert_allclose(g.s, 0.75)


def test_what_the_loop_writes_or_may_not_reach_stays():
    assert moved(overwritten, x=np.ones(3), s=1.0) == []
    assert moved(conditional, x=np.ones(3), w=np.ones(1)) == []
