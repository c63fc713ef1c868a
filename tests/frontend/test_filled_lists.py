"""Lists of None that arrays are put into one after the other."""

# pyright: reportOptionalSubscript=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, H = np.linspace(0.3, 1.1, 3), np.arange(9.0).reshape(3, 3) / 9 - 0.3


def of_displays(x, h, n):
    g = [None] * n
    for i in range(n):
        g[i] = np.array([x[i % 3], 2.0 * x[0]])
    s = 0.0
    for i in range(n):
        s += g[i][0] * g[i][1] * i
    return s


def powers(x, h, n):
    g = [None for _ in range(n + 1)]
    g[0] = x
    for i in range(n):
        g[i + 1] = h @ g[i]
    return g[n].sum() + g[-1][0] * g[-2][1]


def by_branches(x, h, n):
    g = n * [None]
    g[0] = x * 1.0
    for i in range(1, len(g)):
        if i % 2 == 0:
            g[i] = g[i - 1] * x
        else:
            g[i] = g[i - 1] + h[0]
    return sum(a.sum() * k for k, a in enumerate(g)) + len(g)


def of_what_was_before(x, h, n):
    g, f = [None] * n, [None] * n
    for i in range(n):
        g[i] = h @ (x if i == 0 else g[i - 1])
        before = np.tanh(f[i - 1]) if i > 0 and f[i - 1][0] > -9.0 else x
        f[i] = before * g[i] + (f[i - 2] if not (i == 0 or i < 2) else g[0])
    return g[n - 1].sum() + f[-1] @ g[0]


def two_of_them(x, h, n):
    g, t, w = [None] * n, 0.0, [None] * n
    for i in range(n):
        g[i] = t
        w[i] = np.outer(x, x) * i + h
        t += w[i][0, 1]
    for i in range(n):
        t += w[i].sum() * w[0][1, 1]
    return t + np.stack(w).sum() * g[-1]


def both_ways(x, h, n):
    """The one is filled from its start, the other from its end, of what is in the first."""
    f, b = [None] * n, [None] * (n + 1)
    f[0] = x
    for k in range(1, n):
        f[k] = np.tanh(h @ f[k - 1])
    b[n] = x * 2.0
    for k in range(n - 1, -1, -1):
        b[k] = b[k + 1] * f[k] + k
    return b[0].sum() * b[-1][0] + sum(v.sum() for v in b) + np.array(b)[1, 2] + b[n][1]


def from_its_end(x, h, n):
    v, t = [None] * n, 0.0
    v[-1] = x
    for k in reversed(range(n - 1)):
        v[k] = np.sin(v[k + 1]) @ h
    for u in v:
        t = t * 0.5 + u[0]
    for i in range(len(v)):
        t += v[i][1] * i
    return t


def not_all_of_it(x, h, n):
    g = [None] * (n + 2)
    for i in range(n):
        g[i] = x * i
    return g[n - 1].sum() + len(g)


FILLED = [of_displays, powers, by_branches, of_what_was_before, two_of_them, both_ways, from_its_end, not_all_of_it]


@pytest.mark.parametrize("plain", FILLED)
def test_arrays_are_put_into_lists_of_none(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        for n in (2, 3, 5):
            assert f(X, H, n) == pytest.approx(plain(X, H, n), rel=1e-12)
        check_grads(f, (X, H, 4))


def test_so_they_are_beside_structures() -> None:
    def run(p, n):
        g = [None] * n
        for i in range(n):
            g[i] = p["x"] * p["a"] * i
        return g[0].sum() + g[n - 1].sum() * g[1][0]

    def whole(p, n):
        g = [None] * n
        for i in range(n):
            g[i] = p["x"] * p["a"] * i
        return np.array(g).sum() * p["a"]

    given = {"x": X, "a": 0.7}
    with interpreting():
        for plain in (run, whole):
            f = vectorize_grad(plain)
            assert f(given, 4) == pytest.approx(plain(given, 4), rel=1e-13)
            check_grads(f, (given, 4))


def read_too_early(x, n, k):
    g = [None] * n
    for i in range(n):
        if i > 0:
            x = x * g[k]
        g[i] = x * 1.0
    return g[0].sum()


def missing_at_the_end(x, n, k):
    g = [None] * (n + k)
    for i in range(n):
        g[i] = x * 1.0
    return sum(a.sum() for a in g)


def in_another_order(x, n, k):
    g = [None] * n
    for i in range(n):
        g[(i + k) % n] = x * i
    return g[0].sum() + g[n - 1][1]


def too_many(x, n, k):
    g = [None] * n
    for i in range(n + k):
        g[i] = x * i
    return g[0].sum() + g[n - 1][1]


def read_under_a_condition(x, n, k):
    g = [None] * n
    for i in range(n):
        g[i] = x * (g[i - 2] if i > k else 1.0)
    return g[n - 1].sum()


@pytest.mark.parametrize(
    ("plain", "fits", "fails"),
    [
        (read_under_a_condition, 1, 0),
        (read_too_early, 0, -1),
        (missing_at_the_end, 0, 1),
        (in_another_order, 0, 1),
        (too_many, 0, 1),
    ],
)
def test_what_is_not_there_is_an_error(plain: Callable[..., Any], fits: int, fails: int) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        assert f(X, 4, fits) == pytest.approx(plain(X, 4, fits), rel=1e-13)
        with pytest.raises(ArgumentError, match=r"LD332.*(None is asked for as an array|one after the other)"):
            f(X, 4, fails)


def twice(x, n):
    g = [None] * n
    for i in range(n):
        g[i] = x * i
    for i in range(n):
        g[i] = g[i] * 2.0
    return g[n - 1].sum()


def asked(x, n):
    g = [None] * n
    for i in range(n):
        if g[i] is None:
            g[i] = x * i
    return g[n - 1].sum()


def inside(x, n):
    g = [None] * n

    def put(i):
        g[i] = x * i

    for i in range(n):
        put(i)
    return g[n - 1].sum()


@pytest.mark.parametrize("plain", [twice, asked, inside])
def test_what_is_not_put_in_once_and_in_turn_is_refused(plain: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedLoopError):
        vectorize_grad(plain)(X, 4)
