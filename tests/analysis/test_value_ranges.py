"""Ranges of integers in arrays: what they leave out of checks, and what they must not.

A program is checked where its generated source asks whether a subscript that data decide is inside. Programs that leave
their arrays have to say so, whatever was found of their numbers.
"""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad

pytestmark = pytest.mark.part(2)


def place_of_greatest(x, w):
    best = 0
    for i in range(1, x.shape[0]):
        if x[i] > x[best]:
            best = i
    return x[best] * w[best]


def rows_that_change_places(a, w):
    n = a.shape[0]
    rows = np.arange(n)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[rows[i], k]) > abs(a[rows[best], k]):
                best = i
        rows[k], rows[best] = rows[best], rows[k]
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += (i + 1.0) * a[rows[i], j] * w[j]
    return s


def sorted_weights(x, w):
    order = np.argsort(x)
    s = 0.0
    for i in range(x.shape[0]):
        s += x[order[i]] * w[i]
    return s


def places_by_remainder(x, w):
    n = x.shape[0]
    place = np.empty(n, dtype=int)
    for i in range(n):
        place[i] = (3 * i + 1) % n
    s = 0.0
    for i in range(n):
        s += x[place[i]] * w[i]
    return s


def nearest_of_two_lists(x, w):
    n = x.shape[0]
    near, far = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    for i in range(n):
        for j in range(n):
            if abs(w[i] - x[j]) < abs(w[i] - x[near[i]]):
                far[i] = near[i]
                near[i] = j
    s = 0.0
    for i in range(n):
        s += w[i] * x[near[i]] + x[far[i]] ** 2
    return s


def views_of_one_length(a, w):
    s = 0.0
    for k in range(a.shape[0]):
        row = a[k, k:]
        for i in range(row.shape[0]):
            s += row[i] * w[i] ** 2
    return s


VECTOR = np.array([0.3, -1.2, 2.5, 0.9, 1.7]), np.array([1.1, -0.4, 0.65, 2.0, -1.5])
MATRIX = np.cos(np.arange(25.0).reshape(5, 5) ** 2), VECTOR[1]
CERTAIN = [
    (place_of_greatest, VECTOR),
    (rows_that_change_places, MATRIX),
    (sorted_weights, VECTOR),
    (places_by_remainder, VECTOR),
    (nearest_of_two_lists, VECTOR),
    (views_of_one_length, MATRIX),
]


def central_differences(f, args, step=1e-6):
    """The gradient with respect to each array, element by element."""
    for number, array in enumerate(args):
        out = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = [a.copy() for a in args]
                moved[number][place] += sign * step
                ends.append(f(*moved))
            out[place] = (ends[0] - ends[1]) / (2.0 * step)
        yield out


def checks_inside(k, *args) -> list[str]:
    """Checks of subscripts in loops of the primal."""
    lines = k.compile(*args).source("primal").splitlines()
    return [s.strip() for s in lines if "raise ArgumentError('LD310" in s and len(s) - len(s.lstrip()) > 8]


@pytest.mark.parametrize(("f", "args"), CERTAIN, ids=lambda p: getattr(p, "__name__", ""))
def test_what_is_certainly_inside_is_not_asked_for(f, args) -> None:
    k = vectorize_grad(f)
    wanted = {"sorted_weights": "order_"}  # its own loops merge by counters
    own = [s for s in checks_inside(k, *args) if wanted.get(f.__name__, "nothing") not in s]
    assert own == []
    assert k(*args) == pytest.approx(f(*args), rel=1e-13)
    for found, other in zip(k.grad(*args), central_differences(f, args), strict=True):
        np.testing.assert_allclose(found, other, rtol=1e-6, atol=1e-7)


def one_behind_the_end(x, w):
    n = x.shape[0]
    place = np.zeros(n, dtype=int)
    for i in range(n):
        place[i] = i + 1
    s = 0.0
    for i in range(n):
        s += x[place[i]] * w[i]
    return s


def one_before_the_start(x, w):
    best = 0
    for i in range(x.shape[0]):
        if x[i] > 1.0:
            best = i - 4
    return x[best + 0 * best] * w[0]


def half_that_nobody_wrote(x, w):
    n = x.shape[0]
    place = np.empty(n, dtype=int)
    for i in range(n // 2):
        place[i] = i
    for i in range(n // 2, n):
        place[i] = 7
    s = 0.0
    for i in range(n):
        s += x[place[i]] * w[i]
    return s


def counted_upwards(x, w):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            k += 2
    return x[k] * w[0]


def from_an_argument(x, w, place):
    best = 0
    for i in range(place.shape[0]):
        if x[i] > 0.0:
            best = place[i]
    return x[best] * w[0]


def from_another_length(x, w):
    best = 0
    for i in range(w.shape[0]):
        if w[i] > w[best]:
            best = i
    return x[best]


LONG = np.array([1.0, 0.5, -0.5, 0.2, 0.1, 9.0])
OUTSIDE = [
    (one_behind_the_end, VECTOR),
    (one_before_the_start, (np.array([0.3, 0.2, 2.5]), VECTOR[1])),
    (half_that_nobody_wrote, VECTOR),
    (counted_upwards, VECTOR),
    (from_an_argument, (*VECTOR, np.array([1, 0, 9]))),
    (from_an_argument, (*VECTOR, np.array([1, 1, -6]))),
    (from_another_length, (VECTOR[0], LONG)),
]


@pytest.mark.parametrize(("f", "args"), OUTSIDE, ids=lambda p: getattr(p, "__name__", ""))
def test_what_may_be_outside_is_an_error_where_it_is(f, args) -> None:
    k = vectorize_grad(f)
    with pytest.raises(ArgumentError, match=r"LD31[01]"):
        k(*args)
    with pytest.raises(ArgumentError, match=r"LD31[01]"):
        k.value_and_grad(*args)


def made_again(x, w):
    n = x.shape[0]
    s = 0.0
    place = np.zeros(n, dtype=int)
    for t in range(3):
        if t == 1:
            place = np.full(n, 2 * n)
        s += x[place[t]] * w[t]
    return s


def given_by_a_branch(x, w):
    if w[0] > 0.0:
        best = 1
    else:
        best = 77
    return x[best]


@pytest.mark.parametrize(("f", "args"), [(made_again, VECTOR), (given_by_a_branch, (VECTOR[0], -VECTOR[1]))])
def test_all_that_is_stored_counts(f, args) -> None:
    with pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(f)(*args)


def test_a_subscript_of_another_axis_leaves_the_check_of_this_one_exact() -> None:
    def rows(a, place):
        s = 0.0
        for i in range(place.shape[0]):
            for j in range(a.shape[0]):
                s += a[place[i], j]
        return s

    k = vectorize_grad(rows)
    place = np.array([1, 0])
    assert k(np.ones((2, 3)), place) == 4.0
    with pytest.raises(ArgumentError, match=r"it needs a.shape\[1\] >= a.shape\[0\]"):
        k(np.ones((3, 2)), place)
    assert k(np.ones((3, 2)), place[:0]) == 0.0


def by_bits(t, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += t[idx[i] & (t.shape[0] - 1)]
    return s


def by_fixed_bits(t, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += t[idx[i] & 5]
    return s


def by_remainder(t, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += t[idx[i] % t.shape[0]]
    return s


def by_negative_bits(t, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += t[idx[i] & -8]
    return s


PLACES = np.array([9, 3, -5, 100])


@pytest.mark.parametrize("f", [by_bits, by_fixed_bits, by_remainder])
def test_bits_and_remainders_are_within_what_they_are_taken_of(f) -> None:
    k, t = vectorize_grad(f), np.arange(8.0) ** 2
    assert k(t, PLACES) == f(t, PLACES)
    assert f"t.shape[0] {'>= 6' if f is by_fixed_bits else '!= 0'}" in k.compile(t, PLACES).source("primal")
    with pytest.raises((ArgumentError, ZeroDivisionError), match=r"LD310|by zero"):
        k(t[:0], PLACES)
    assert k(t[:0], PLACES[:0]) == 0.0


def by_bits_of_a_power(t, idx):
    n, s = t.shape[0], 0.0
    if n == 0 or n & (n - 1) != 0:
        raise ValueError("no power of two")
    for i in range(idx.shape[0]):
        s += t[idx[i] * 5 & (n - 1)]
    return s


def by_remainder_of_some(t, idx):
    s = 0.0
    assert t.shape[0] != 0
    for i in range(idx.shape[0]):
        if t[0] > 0.5:
            s += t[idx[i] % t.shape[0]]
    return s


@pytest.mark.parametrize("f", [by_bits_of_a_power, by_remainder_of_some])
def test_what_a_program_refuses_of_sizes_is_known_of_bits_and_remainders(f) -> None:
    k, t = vectorize_grad(f), 1.0 + np.arange(8.0) ** 2
    assert k(t, PLACES) == f(t, PLACES)
    assert "LD310" not in k.compile(t, PLACES).source("primal")
    with pytest.raises(ArgumentError, match="LD332"):
        k(t[:0], PLACES)


def under_a_float(t, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        if t[0] * 0.1 > 0.5:
            s += t[idx[i] & 1023]
    return s


def test_a_table_may_be_shorter_than_the_bits_say() -> None:
    k, t = vectorize_grad(under_a_float), 10.0 + np.arange(8.0)
    assert k(t, np.array([3, 7, 1024])) == under_a_float(t, np.array([3, 7, 1024]))
    assert k(0.1 * t, PLACES) == 0.0
    with pytest.raises(ArgumentError, match="LD310"):
        k(t, PLACES)


def with_loops_that_floats_begin(t, idx):
    s = 0.0
    for n in range(idx.shape[0]):
        k = int(t[0] * 0.5)
        for i in range(k, k + 2):
            if t[i * 3 % t.shape[0]] > 0.5:
                s += t[idx[n] + i & 7]
    return s


@pytest.mark.parametrize("size", [6, 8, 20])
def test_where_floats_begin_a_loop_bits_are_checked_as_it_goes(size: int) -> None:
    k, t, few = vectorize_grad(with_loops_that_floats_begin), 1.0 + np.arange(size), np.array([0, 2, 4])
    assert k(t, few) == with_loops_that_floats_begin(t, few)
    if size < 8:
        with pytest.raises(ArgumentError, match="LD310"):
            k(t, few + 2)


def test_bits_of_negative_numbers_may_be_anywhere() -> None:
    k, t = vectorize_grad(by_negative_bits), np.arange(8.0)
    assert k(t, np.array([3, 7])) == 0.0
    for place in (-3, 8):
        with pytest.raises(ArgumentError, match="LD31"):
            k(t, np.array([place]))
    with pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(by_fixed_bits)(t[:5], PLACES + 4)
