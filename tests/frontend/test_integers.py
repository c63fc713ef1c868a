"""Integers beyond what holds them: Python's have no end, NumPy's narrow ones wrap. Plain Python is the oracle."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

pytestmark = pytest.mark.part(2)
X = np.arange(1.0, 9.0)
A = np.array([200, 250, 7], np.int64)
B = np.array([201, 251, 77], np.int64)


# -- Python's --------------------------------------------------------------------------------------------------
def hashed(x, n):
    h, t = 5381, 0.0
    for i in range(n):
        h = h * 33 + i
        t += x[h % 8]
    return t


def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x[a % 8]


def powers(x, n):
    k = 1
    while k < 10**n:
        k *= 10
    return x[k % 7] + x[n**9 % 5]


def squares(x, n):
    s = 0
    for i in range(n):
        s += i * i * i * i * i * i * i * i * i * i
    return x[s % 8]


def shifts(x, n):
    t = 0.0
    for i in range(n):
        t += x[(3 << i) % 7] if i < 70 else x[(1 << i) % 5]
    return t


OUTGROWN = [(hashed, 10, 30), (fibonacci, 90, 95), (powers, 17, 19), (squares, 50, 90), (shifts, 30, 64)]


@pytest.mark.parametrize(("function", "few", "many"), OUTGROWN, ids=lambda v: getattr(v, "__name__", ""))
def test_integers_of_python_that_outgrow_64_bits_are_an_error(
    function: Callable[..., Any], few: int, many: int
) -> None:
    f = vectorize_grad(function)
    assert f(X, few) == function(X, few)
    for call in (f, f.grad):
        with pytest.raises(ArgumentError, match="LD335"):
            call(X, many)


def bounded(x, n, seed):
    h, state, k, total, low, high = 2166136261, seed, 0, 0, 0, 1000
    t = 0.0
    for i in range(n):
        h = ((h ^ i) * 16777619) & 0xFFFFFFFF
        state = (1103515245 * state + 12345) % 2**31
        k = k + 1
        total += 2 * i
        mid = (low + high) // 2
        low, high = (mid, high) if state % 2 == 0 else (low, mid)
        t += x[h % 8] * x[state % 8] + x[(k + total + mid) % 8]
    return t


def test_integers_that_stay_small_are_not_looked_at() -> None:
    f = vectorize_grad(bounded)
    assert np.isclose(f(X, 50, 7), bounded(X, 50, 7), rtol=1e-12)
    assert "LD335" not in str(f.compile(X, 50, 7).ir("normal"))


def choosing(x, n):
    k = 1
    for i in range(n):
        k = k * 3 if i < 30 else k
    return x[k % 8] if n < 40 or n**20 > 5 else 0.0


def test_only_what_is_computed_is_looked_at() -> None:
    assert vectorize_grad(choosing)(X, 39) == choosing(X, 39)


# -- in lists of floats -------------------------------------------------------------------------------------------
def beside_floats(x, k, n):
    v, w = [n, x[0], n * 2 - 1], [0.5]
    for i in range(3):
        w.append(k[i] if x[i] > 1.5 else x[i])
        w.append(k[i] // 2)
    w.append(n)
    return sum(v[i % 3] * w[i] * x[i] for i in range(len(w)))


def of_what_is_given(x, k, n):
    """What grows is an integer of the call in one place, and a float in others."""
    times = [n]
    for u in x:
        times.append(times[-1] + u)
    i, t = 0, 0.0
    while i + 1 < len(times) and times[i + 1] < 25.5 + n:
        t += (times[i + 1] - times[i]) * x[i] * times[i + 1]
        i += 1
    return t


@pytest.mark.parametrize("function", [beside_floats, of_what_is_given])
def test_integers_of_a_call_are_elements_of_lists_of_floats(function: Callable[..., Any]) -> None:
    k, few, h = np.array([3, 1, 2**26]), np.array([3, 1, 5]), 1e-5
    with interpreting():
        f = vectorize_grad(wrt=("x",))(function)
        assert f(X, k, 2**25) == pytest.approx(function(X, k, 2**25), rel=1e-14)
        expected = [(function(X + step, few, 7) - function(X - step, few, 7)) / (2 * h) for step in h * np.eye(8)]
        np.testing.assert_allclose(f.grad(X, few, 7).x, expected, rtol=1e-6)
        for at in (2**26 + 1, -(2**26) - 1, -(2**63)):
            with pytest.raises(ArgumentError, match=r"LD335.*2\*\*26"):
                f(X, k, at)


def remainder_of_a_cube(x, k, n):
    v = [n, 0.5]
    return x[0] * (v[k[0]] ** 3 % 7)


def remainder_of_a_product(x, k, n):
    v = [0.5, n, n + 1]
    a = v[k[1]]
    return x[0] * (1000 * a * v[k[1] + 1] % 7)


def difference_of_cubes(x, k, n):
    v = [0.5, n, n + 1]
    return x[0] * (v[k[1] + 1] ** 3 - v[k[1]] ** 3)


def comparison_of_a_cube(x, k, n):
    v = [0.5, n, n + 1]
    return x[0] if v[k[1]] ** 3 + 1 > v[k[1]] ** 3 else x[1]


def comparison_with_a_cube(x, k, n):
    v, cube = [0.5, n, n + 1], n * n * n
    return x[0] if v[k[1]] ** 3 == cube + (k[0] + 1) else x[1]


def comparison_with_a_float(x, k, n):
    v = [0.5, n, n + 1]
    return x[0] if v[k[1]] ** 3 > float(n * n * n) + x[0] else x[1]


@pytest.mark.parametrize(
    ("function", "most"),
    [
        (remainder_of_a_cube, 17),
        (remainder_of_a_product, 20),
        (difference_of_cubes, 17),
        (comparison_of_a_cube, 17),
        (comparison_with_a_cube, 17),
        (comparison_with_a_float, 17),
    ],
)
def test_products_of_more_are_exact_where_that_shows(function: Callable[..., Any], most: int) -> None:
    k = np.array([0, 1])
    with interpreting():
        f = vectorize_grad(wrt=("x",))(function)
        for n in (3, -5, 2**most - 1, -(2**most)):
            assert f(X, k, n) == function(X, k, n)
        for n in (2**most + 1, 2**24 + 1):
            with pytest.raises(ArgumentError, match=rf"LD335.*2\*\*{most}:"):
                f(X, k, n)


def comparison_with_little(x, k, n):
    v = [0.5, n, n + 1]
    return x[0] if v[k[1]] ** 3 > 1e9 and v[k[1]] ** 2 != n else x[1]


def test_comparisons_with_what_is_small_ask_for_no_more() -> None:
    k = np.array([0, 1])
    with interpreting():
        f = vectorize_grad(wrt=("x",))(comparison_with_little)
        for n in (3, 1000, 1001, -2000, 2**25 + 1):
            assert f(X, k, n) == comparison_with_little(X, k, n)


def product_of_all(x, k, n):
    v, p = [n, 0.5, 3], 1
    for i in k:
        p *= v[i]
    return x[0] * p - v[k[0]] ** 3 * 0.5


def remainder_of_all(x, k, n):
    v, p = [n, 0.5, 3], 1
    for i in k:
        p *= v[i]
    return x[0] * (p % 7)


def comparison_of_all(x, k, n):
    v, p = [n, 0.5, 3], 1
    for i in k:
        p *= v[i]
    return x[0] if p == n else x[1]


def difference_from_integers(x, k, n):
    v, cube = [0.5, n, n + 1], n * n * n + 1
    return x[0] * (v[k[1]] ** 3 + 0 * cube - v[k[1]] ** 3) + x[0] * (max(v[k[1]] ** 3, cube) - cube)


def sums_of_sums(x):
    v = [0] * len(x)
    for i in range(len(x)):
        for j in range(len(x)):
            v[i] += x[j] * x[i]
    return sum(v) - sum(v[i] for i in range(1, len(v)))


def test_zeros_that_floats_are_added_to_are_small() -> None:
    with interpreting():
        assert vectorize_grad(sums_of_sums)(X) == pytest.approx(sums_of_sums(X), rel=1e-14)


def test_products_of_any_number_are_floats_or_refused() -> None:
    k, n = np.array([0, 2, 0, 0]), 2**25
    with interpreting():
        assert vectorize_grad(product_of_all)(X, k, n) == pytest.approx(product_of_all(X, k, n), rel=1e-15)
        for function in (remainder_of_all, comparison_of_all, difference_from_integers):
            with pytest.raises(UnsupportedLoopError, match="LD134: integers of a list that also holds floats"):
                vectorize_grad(function)(X, k, n)


# -- in names of floats, and beside floats --------------------------------------------------------------------------
def best_of_some(x, k, n):
    best = -np.inf
    for i in range(3):
        if x[i] < 2.5 and k[i] ** 3 > best:
            best = k[i] ** 3 + 1
    return x[0] * (best - k[1] ** 3)


def largest(x, k, n):
    return x[1] * (max(k[1] ** 3 + 1, x[0]) - k[1] ** 3) + x[0] * (max([n**3 + 2, x[1]]) - n**3)


def chosen(x, k, n):
    t = n**3 + 1 if x[0] < 5.0 else 0.5
    s = x[1]
    if t > x[0]:
        s = k[1] ** 3
    return x[0] * (t - n**3) + x[1] * (s - k[1] ** 3 + 1)


def given_back(x, k, n):
    def cube(u):
        if u > 0.0:
            return k[1] ** 3 + 1
        return 0.5

    return x[0] * (cube(x[0]) - k[1] ** 3) + x[1] * (cube(x[0]) ** 2 % 7)


def among_sorted(x, k, n):
    return x[0] * (sorted([k[1] ** 3 + 1, x[0], x[1]])[2] - k[1] ** 3)


def added_to_zero(x, k, n):
    s = 0
    for i in range(3):
        if x[i] < 2.5:
            s += k[i] ** 3
        else:
            s += x[i] - x[i]
    return x[0] * (s - k[1] ** 3 - k[0] ** 3 + 1)


def of_their_size(x, k, n):
    return x[0] if float(n**3 + 1) == n**3 + 1 else x[1]


OF_FLOATS = [best_of_some, largest, chosen, given_back, among_sorted, added_to_zero, of_their_size]
LARGE = np.array([300_001, 1_500_001, 2_000_001])


@pytest.mark.parametrize("function", OF_FLOATS)
def test_integers_that_become_floats_are_exact_where_that_shows(function: Callable[..., Any]) -> None:
    """In double precision 1500001**3 + 1 and 1500001**3 are the same."""
    small, h = np.array([3, 5, 7]), 1e-5
    with interpreting():
        f = vectorize_grad(wrt=("x",))(function)
        assert f(X, small, 5) == function(X, small, 5)
        expected = [(function(X + step, small, 5) - function(X - step, small, 5)) / (2 * h) for step in h * np.eye(8)]
        np.testing.assert_allclose(f.grad(X, small, 5).x, expected, rtol=1e-6, atol=1e-9)
        with pytest.raises(ArgumentError, match=r"LD335.* is too large for the float that it"):
            f(X, LARGE, int(LARGE[1]))


def floats_for_certain(x, k, n):
    s = 0.0
    for i in range(3):
        s += k[i] ** 3
    t = float(k[1] ** 3) if x[0] < 5.0 else 0.5
    y = np.zeros(3)
    y[1] = k[1] ** 3
    best = max(k[1] ** 3, x[0]) * x[1]
    return x[0] * (s > k[1] ** 3) + x[1] * (t - k[1] ** 3) + (y[1] - k[1] ** 3) + 1e-15 * best


def not_rounded(x, k, n):
    cube = k[1] ** 3 + 1
    found = sorted([cube, k[0] ** 3])[1] - k[1] ** 3 + np.array([cube])[0] - k[1] ** 3 + max([cube, k[0]]) - k[1] ** 3
    whole = round(n**3 + 1) - n**3 + np.floor(cube) - k[1] ** 3 + np.round(cube) - k[1] ** 3 + math.trunc(n**3) - n**3
    return x[0] * found + x[1] * whole + x[2] * (np.ceil(k**3 + 1) - k**3)[1] + x[3] * (int(np.fix(cube)) % 2)


@pytest.mark.parametrize("function", [floats_for_certain, not_rounded])
def test_floats_and_integers_that_stay_so_are_not_looked_at(function: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(wrt=("x",))(function)
        for k in (LARGE, np.array([3, 5, 7])):
            assert f(X, k, int(k[1])) == pytest.approx(function(X, k, int(k[1])), rel=1e-14)
        if function is not_rounded:
            assert f.grad(X, LARGE, int(LARGE[1])).x[:4].tolist() == [3.0, 3.0, 1.0, float((LARGE[1] ** 3 + 1) % 2)]


def test_numpy_converts_what_it_chooses_element_by_element() -> None:
    def chosen_elements(x, k):
        return (2.0 * np.where(x > 2.5, k**3 + 1, 0.5) - k**3).sum() + (np.maximum(k, x) % 2.0).sum() * x[0]

    x = X[:3].copy()
    with interpreting():
        f = vectorize_grad(wrt=("x",))(chosen_elements)
        assert f(x, LARGE) == pytest.approx(chosen_elements(x, LARGE), rel=1e-14)
        assert "LD335" not in str(f.compile(x, LARGE).ir("normal"))


def test_integers_that_are_rounded_have_the_type_that_numpys_have() -> None:
    def rounded(x, k):
        return 2.0 * x, np.floor(k), np.rint(k), np.round(k), np.fix(k), np.trunc(k) * k

    with interpreting():
        found = vectorize_grad(rounded)(X, A)
    for ours, theirs in zip(found, rounded(X, A), strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


# -- NumPy's -----------------------------------------------------------------------------------------------------
def added(x, a, b):
    s = 0
    for v in a:
        s += v
    t = a[0]
    for i in range(1, 3):
        t = t * a[i] - b[i]
    return x[0] * s + x[1] * (a[0] - b[1]) + x[t % 8] * (a + 100)[1]


def of_whole_arrays(x, a, b):
    d = a - b
    for i in range(3):
        d[i] += 200
    m = np.maximum(a, b)
    return x[0] * d[0] + x[1] * (m + m)[1] + x[2] * (-a)[0] + x[3] * (~a)[1] + x[4] * np.abs(a - b)[0] + (a**2)[1]


def by_functions_of_numpy(x, a, b):
    sums = np.sum(a) * x[0] + a.sum() * x[1] + np.prod(a[:2]) * x[2] + np.mean(a) + np.cumsum(a)[-1] + np.max(a)
    return sums + x[3] * (a @ b) + x[4] * np.diff(a)[0] + x[5] * np.outer(a, b)[1, 2] + (a / 2)[0]


def by_sums_of_python(x, a, b):
    return x[0] * sum(a) + x[1] * sum(v * w for v, w in zip(a, b, strict=True))


def with_conversions(x, a, b):
    wide = a.astype(np.int64) + b
    return x[0] * (int(a[0]) + int(b[1])) + x[1] * wide[1] + x[2] * (int(a[2]) + b[1]) + x[3] * (np.int64(a[0]) + b[0])


NARROW = (added, of_whole_arrays, by_functions_of_numpy, by_sums_of_python, with_conversions)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int64])
def test_narrow_integers_wrap_as_numpys_do(kind: type[np.integer[Any]]) -> None:
    a, b = A.astype(kind), B.astype(kind)
    for function in NARROW:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = function(X, a.copy(), b.copy())
            except OverflowError:
                continue  # Python's integer does not fit in the type that it meets
        assert np.isclose(vectorize_grad(function)(X, a.copy(), b.copy()), expected, rtol=1e-14), function.__name__


def best_of(x, a):
    best = 0
    for v in a:
        if v > best:
            best = v
    return x[0] * (best + 1)


def test_a_name_for_integers_of_both_is_refused() -> None:
    with pytest.raises(UnsupportedLoopError, match="LD214"):
        vectorize_grad(best_of)(X, A.astype(np.uint8))
    assert vectorize_grad(best_of)(X, A) == best_of(X, A)
