"""Calls with a subscript outside its array: refused in every mode, and nothing has been written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad


def too_far(x, n, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(n):
        y[i] += x[i + 1] * x[i]


def stored_too_far(x, n, y):
    for i in range(n):
        y[2 * i] = x[i] * x[i]


def second_axis(A, n, y):
    for i in range(A.shape[0]):
        y[i] = 0.0
        for j in range(n):
            y[i] += A[i, j] * A[i, j]


def before_the_start(x, n, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        if i >= n:
            y[i] += x[i - 2]


def from_the_end(x, y):
    y[0] = x[0]
    y[1] = x[-3] * x[-1]


def gathered_after_a_write(x, idx, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(idx.shape[0]):
        y[i] += x[idx[i]] ** 2


def scattered_after_a_write(x, idx, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
    for i in range(idx.shape[0]):
        y[idx[i]] += x[i] ** 2


def scattered_by_a_running_sum(x, idx, y):
    k = 0
    for i in range(idx.shape[0]):
        k += idx[i]
        y[k] += x[i] ** 2


def scattered_by_an_own_table(x, idx, y):
    m = idx.shape[0]
    count = np.zeros(m, dtype=np.int64)
    for i in range(m):
        y[i] = x[i] ** 2
        count[idx[i]] += 1
    for i in range(m):
        y[count[i]] += x[i]


def position_of_the_largest(x, y):
    k = 0
    m = x[0]
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        if x[i] > m:
            m = x[i]
            k = i
    y[k + 1] += m


def truncated(x, y):
    for i in range(y.shape[0]):
        y[i] = 1.0
    for i in range(x.shape[0]):
        y[int(x[i])] += x[i] ** 2


def ragged(x, idx, y):
    for i in range(y.shape[0]):
        y[i] = 0.0
        for p in range(idx[i], idx[i + 1]):
            y[i] += x[p] ** 2


def local_array(x, idx, y):
    t = np.zeros(3)
    for i in range(idx.shape[0]):
        y[i] = x[i]
        t[idx[i]] += x[i] ** 2
    for i in range(3):
        y[i] *= t[i]


def local_array_by_its_extent(x, n, y):
    t = np.zeros(n)
    for i in range(x.shape[0]):
        y[i] = x[i]
        t[i] = x[i] ** 2
    for i in range(n):
        y[i] *= t[i]


def result(x, idx, y):
    y[0] = x[0]
    return x[idx[0]] * x[1]


def rows_by_hand(x, n, m, y):
    for i in range(n):
        y[i] = 1.0
    for i in range(n):
        for j in range(m):
            y[i] += x[i * m + j] ** 2


def rows_by_hand_from(x, n, m, c, y):
    for i in range(n):
        for j in range(m):
            y[j] += x[(i + c) * m + j] ** 2


def far_rows_by_hand(x, n, m, y):
    for i in range(n):
        for j in range(m):
            y[4 * i * m + j] = x[j]


@dataclass(frozen=True)
class Case:
    """Arguments that fit, others that do not, with the code and the access that the report names."""

    function: Callable[..., Any]
    good: tuple[Any, ...]
    bad: tuple[Any, ...]
    access: str
    code: str = "LD310"


X, Y = np.array([0.5, 1.5, 2.5]), np.full(3, 7.0)


def indices(*values: int) -> np.ndarray:
    return np.array(values)


CASES = (
    Case(too_far, (X, 2, Y), (X, 3, Y), "x[i + 1]"),
    Case(stored_too_far, (X, 2, Y), (X, 3, Y), "y[2 * i]"),
    Case(second_axis, (np.ones((3, 2)), 2, Y), (np.ones((3, 2)), 3, Y), "A[i, j]"),
    Case(before_the_start, (X, 2, Y), (X, 1, Y), "x[i - 2]", "LD311"),
    Case(from_the_end, (X, Y), (X[:2], Y), "x[x.shape[0] - 3]", "LD311"),
    Case(gathered_after_a_write, (X, indices(0, 2, 2), Y), (X, indices(0, 2, 3), Y), "x[idx[i]]"),
    Case(gathered_after_a_write, (X, indices(0, 2, 2), Y), (X, indices(0, 2, -1), Y), "x[idx[i]]"),
    Case(scattered_after_a_write, (X, indices(1, 1, 2), Y), (X, indices(1, 1, 3), Y), "y[idx[i]]"),
    Case(scattered_after_a_write, (X, indices(1, 1, 2), Y), (X, indices(1, -1, 1), Y), "y[idx[i]]"),
    Case(scattered_by_a_running_sum, (X, indices(0, 1, 1), Y), (X, indices(0, 2, 1), Y), "y[k]"),
    Case(scattered_by_an_own_table, (X, indices(0, 1, 1), Y), (X, indices(1, 1, 1), Y), "y[count[i]]"),
    Case(position_of_the_largest, (X[::-1], Y), (X, Y), "y[k + 1]"),
    Case(truncated, (X, Y), (X + 1.0, Y), "y[int64(x[i])]"),
    Case(ragged, (X, indices(0, 1, 1, 3), Y), (X, indices(0, 1, 1, 4), Y), "x[p]"),
    Case(local_array, (X, indices(0, 1, 1), Y), (X, indices(0, 1, 3), Y), "t[idx[i]]"),
    Case(local_array_by_its_extent, (X, 3, Y), (X, 2, Y), "t[i]"),
    Case(rows_by_hand, (np.ones(6), 2, 3, Y), (np.ones(5), 2, 3, Y), "x[i * m + j]"),
    Case(rows_by_hand, (np.ones(6), 3, 2, Y), (np.ones(6), 3, 3, Y), "x[i * m + j]"),
    Case(rows_by_hand_from, (X, 2, 1, 1, Y), (X, 2, 1, 2, Y), "x[(i + c) * m + j]"),
    Case(rows_by_hand_from, (X, 2, 1, 1, Y), (X, 2, 1, -1, Y), "x[(i + c) * m + j]"),
    Case(rows_by_hand_from, (X, 2, 1, 1, Y), (X, 2, 1, 2**63 - 1, Y), "x[(i + c) * m + j]"),
    Case(far_rows_by_hand, (X, 1, 3, Y), (X, 2**62, 1, Y), "y[4 * i * m + j]"),
    Case(far_rows_by_hand, (X, 1, 3, Y), (X, 2**32, 2**32, Y), "x[j]"),
    Case(result, (X, indices(2), Y), (X, indices(3), Y), "x[idx[0]]"),
)
MODES: dict[str, Callable[..., Any]] = {
    "call": lambda f, args: f(*args),
    "vjp": lambda f, args: f.vjp(*args),
    "jvp": lambda f, args: f.jvp(args, {}),
}


def copies(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.copy(a) if isinstance(a, np.ndarray) else a for a in args)


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.function.__name__}-{c.access}")
def test_nothing_is_written_before_the_refusal(case: Case) -> None:
    f = vectorize_grad(case.function)
    for mode, run in MODES.items():
        good, reference = copies(case.good), copies(case.good)
        run(f, good)
        case.function(*reference)
        for found, expected in zip(good, reference, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14, err_msg=mode)
        bad = copies(case.bad)
        with pytest.raises(ArgumentError) as caught:
            run(f, bad)
        assert caught.value.codes == (case.code,), mode
        assert f"`{case.access}`" in str(caught.value)
        for found, before in zip(bad, case.bad, strict=True):
            np.testing.assert_array_equal(found, before, err_msg=mode)


@pytest.mark.part(3)
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.function.__name__}-{c.access}")
def test_generated_functions_check_themselves(case: Case) -> None:
    """Called with workspaces that fit; the reverse sweep runs on what a forward sweep has passed."""
    k = vectorize_grad(case.function).compile(*copies(case.good))
    bad = copies(case.bad)
    for function, extra in ((k.primal, ()), (k.forward, k.workspace(*copies(case.bad)))):
        with pytest.raises(ValueError, match=case.code):
            function(*bad, *extra)
        for found, before in zip(bad, case.bad, strict=True):
            np.testing.assert_array_equal(found, before)


def test_elements_that_the_nest_itself_writes_are_checked_in_place() -> None:
    """The one exception: what was written before the bad subscript stays; nothing outside arrays is touched."""

    @vectorize_grad
    def wandering(idx, x, y):
        for i in range(x.shape[0]):
            y[idx[i]] += x[i] ** 2
            idx[i] += 1
        for i in range(x.shape[0]):
            y[idx[i]] += x[i]

    guarded = np.full(5, 7.0)
    y = guarded[1:4]
    with pytest.raises(ArgumentError, match=r"LD310: `y\[idx\[i\]\]`"):
        wandering(indices(0, 1, 2), X.copy(), y)
    assert guarded[[0, 4]].tolist() == [7.0, 7.0]
    assert y.tolist() == [7.0 + v * v for v in X]


def up_to_a_product(x, n, m):
    for i in range(n * m):
        x[i] = 1.0


def from_an_offset(x, n, c):
    for i in range(n):
        x[i + c] = 1.0


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (up_to_a_product, (2**32, 2**32)),
        (from_an_offset, (2, 2**63 - 1)),
        (from_an_offset, (2**63 - 1, 2)),
    ],
)
def test_numbers_that_would_overflow_in_checks(function: Callable[..., Any], numbers: tuple[int, ...]) -> None:
    x = np.zeros(8)
    with pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(function)(x, *numbers)
    np.testing.assert_array_equal(x, 0.0)


def rows_of_a_converted_length(x, n, s, flag):
    for i in range(n):
        for j in range(2):
            x[i * int(s) + j] *= 1.5
        x[i * int(flag)] *= x[int(i * s)]


def test_lengths_of_rows_that_are_no_integers() -> None:
    """Numbers that are converted to integers, and truth values, are no radixes."""
    x = np.linspace(1.0, 2.0, 12)
    expected = x.copy()
    rows_of_a_converted_length(expected, 4, 2.5, True)
    vectorize_grad(rows_of_a_converted_length)(x, 4, 2.5, True)
    np.testing.assert_allclose(x, expected, rtol=1e-14)


def of_four_extents(v):
    return np.kron(np.kron(np.kron(v, v), v), v)[5] + np.kron(np.kron(v, v), v)[-2]


def test_elements_of_arrays_with_many_extents_are_read() -> None:
    v = np.array([0.5, 2.0])
    value, gradients = vectorize_grad(of_four_extents).value_and_grad(v)
    assert value == of_four_extents(v) == v[0] ** 2 * v[1] ** 2 + v[0] * v[1] ** 2
    a, b = v
    np.testing.assert_allclose(gradients.v, [2 * a * b * b + b * b, 2 * a * a * b + 2 * a * b], rtol=1e-14)
    with pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(of_four_extents)(v[:1])
