"""Values, shapes and types that are NumPy's where another reading is near: axes of taken parts, sums into integers,
extremes of booleans, when items of a reduction are read. Each was wrong once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

X = np.array([1.1, 0.7, 2.5, -1.2, 0.3])
K = np.arange(24.0).reshape(2, 3, 4)
J = np.array([0, 1, 1])
INFINITE = np.array([np.inf, -np.inf, 1.5, np.nan])


def taken(K, J):
    return np.take(K, 1, axis=1), np.take(K, 2, axis=2), np.take(K, J, axis=1), np.take(K, J, axis=-1), np.take(K, J, 0)


def extremes(x):
    a = np.maximum.accumulate(x > 0.5)
    b = np.minimum.accumulate(x > 0.5)
    return x[a].sum(), (~a).sum(), b, (x > 2.0).max(), np.minimum(x > 0.5, x > 1.0)


def reduced_while_written(x):
    def add(a, b):
        x[1] = x[1] * 2
        return a + b

    return reduce(add, [x[1], x[1]], 0.0)


def reduced_in_a_loop(x):
    s = 0.0
    for i in range(3):
        s += reduce(lambda a, b: a + 2.0 * b, (x[i], s, x[i + 1]))
    return s


def crossed(a, b, c):
    return np.cross(a, b), np.cross(b, c), np.cross(c, a)


def finite(x):
    return np.nan_to_num(x), np.nan_to_num(x, posinf=2.0), np.nan_to_num(x, neginf=-7.0, nan=1.0)


def into_integers(I, x):
    I[1] += x[3]
    for k in range(2):
        I[k] = I[k] + x[k]
    np.add.at(I, np.array([2, 2, 2]), x[:3])
    np.subtract.at(I, np.array([3, 3, 3]), x[2:])


def copies_of_small_integers(b):
    c, d, e = b.copy(), b[::-1].copy(), b[[1, 0, 2]]
    c += b
    d += b
    e += b
    f, g = np.array(b), np.sort(b)
    f *= 3
    g += g
    z = b
    for _ in range(3):
        z = z.copy()
        z += b
    return c, d, e, f, g, z


def integers_that_become_floats(x):
    k, s = 0, 0.0
    for i in range(3):
        s += np.nan_to_num(k)
        k = x[i]
    return s


def large_integers_in_order(k):
    counts = np.zeros(3)
    for i in range(3):
        counts[i] = np.searchsorted(k, k[i])
    return counts, np.searchsorted(k, k)


def first_of(c):
    c[0] += 1.0
    return 0


def replaced_by_its_own_parts(x):
    c, rows = np.zeros(1), []
    pairs = [[a, 2.0 * a, 3.0 * a] for a in x]
    for k in range(3):
        rows.append(x * (k + 1.0))
    pairs[0] = [pairs[0][2], pairs[0][0], pairs[0][1]]
    pairs[1] = pairs[1][::-1]
    pairs[2 + first_of(c)] = [c[0], c[0] + 1.0, pairs[2][0]]
    rows[0] = rows[0][::-1] * 2.0
    least = sorted(pairs[first_of(c)])
    return np.array(pairs), np.array(rows), least[0], c


def list_added_to_an_array(x, n):
    a, b = x.copy(), 2.0 * x
    z = a if n > 2 else b
    a += [1.0, 2.0, 3.0, 4.0, 5.0]
    return z


RNG = np.random.default_rng(0)
CROSSED = RNG.normal(size=(4, 4, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=3)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (taken, (K, J)),
    (extremes, (X,)),
    (reduced_while_written, (X,)),
    (reduced_in_a_loop, (X,)),
    (crossed, CROSSED),
    (finite, (INFINITE,)),
    (finite, (INFINITE.astype(np.float32),)),
    (finite, (np.array([3, -4]),)),
    (finite, (np.array([True, False]),)),
    *((copies_of_small_integers, (np.array([100, 120, 90], kind),)) for kind in (np.int8, np.uint8, np.int64)),
    (integers_that_become_floats, (INFINITE[3:0:-1],)),
    (replaced_by_its_own_parts, (X,)),
    (large_integers_in_order, (2**53 + np.arange(3),)),
    (list_added_to_an_array, (X, 3)),
    (into_integers, (np.array([2, 2, 2, 2]), X)),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("function", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_those_of_numpy(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
    found, wanted = vectorize_grad(function)(*ours), function(*theirs)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for got, want in [*pairs, *zip(ours, theirs, strict=True)]:
        assert got is want is None or np.asarray(got).dtype == np.asarray(want).dtype
        if want is not None:
            np.testing.assert_allclose(got, want, rtol=1e-6)


def test_taking_by_a_matrix_along_an_axis_is_refused() -> None:
    with pytest.raises(Exception, match=r"np\.take takes a number or a vector of indices along an axis"):
        vectorize_grad(lambda A, I: np.take(A, I, axis=1))(K[0], np.array([[0, 1], [2, 0]]))


@pytest.mark.parametrize("side", ["left", "right"])
def test_numbers_are_looked_for_among_float32_as_they_are(side: str) -> None:
    """0.1 is not the float32 that is nearest to it."""
    ascending = np.array([0.05, 0.1, 0.2], np.float32)

    def f(a, v):
        return np.searchsorted(a, v, side=side) + 10 * np.digitize(v, a)

    assert vectorize_grad(f)(ascending, 0.1) == f(ascending, 0.1)


def test_interpolation_of_float32_is_in_double_precision() -> None:
    knots, heights = np.array([0.1, 0.3, 0.7], np.float32), np.array([0.7, 0.2, 0.9], np.float32)

    def f(x, xp, fp):
        return np.interp(x, xp, fp)

    for x in (0.1, 0.25, 0.3, 0.55, 0.7):
        np.testing.assert_allclose(vectorize_grad(f)(x, knots, heights), f(x, knots, heights), rtol=1e-15)
