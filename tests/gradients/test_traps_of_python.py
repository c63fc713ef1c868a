"""Traps in what Python and NumPy do without a word: whose value an operand is, what is a view, what an integer becomes.

Values are those of plain Python, gradients those of its complex step. `examples/bench/traps_of_python.py` has a program
of each trap for other tools.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

Program = Callable[[Any], Any]
X = np.array([0.75, 1.5, -0.5, 1.25])


def agrees_with_python(program: Program) -> None:
    slopes = [np.imag(program(X + 1e-30j * one)) / 1e-30 for one in np.eye(X.size)]
    with interpreting():
        value, g = vectorize_grad(cache=False)(program).value_and_grad(X.copy())
    assert value == pytest.approx(program(X.copy()), rel=1e-14)
    np.testing.assert_allclose(g.x, slopes, rtol=1e-13, atol=1e-13)


# -- operands that later ones change ----------------------------------------------------------------------------------
def doubled(v):
    v *= 2.0
    return v[1]


def weighed(a, v, c):
    return (v * c).sum() + a.sum()


def array_is_handed_on(x):
    w = 1.0 * x
    return (w * doubled(w)).sum() + w[0]


def one_of_two_is_handed_on(x):
    w, z = 1.0 * x, 2.0 * x
    return weighed(x, w if len(x) > 3 else z, doubled(w)) + (z * w).sum()


def element_is_read_before(x):
    w = 1.0 * x
    return w[0] * doubled(w) + doubled(w) * w[0]


def power_is_computed_before(x):
    w = 1.0 * x
    return (w**2 * doubled(w) * w).sum()


def slice_and_transpose_are_views(x):
    w, A = 1.0 * x, np.outer(x, x)
    return (w[2:] * doubled(w)).sum() + (A.T * doubled(A[0])).sum()


def elements_of_a_list(x):
    w = 1.0 * x
    pair = [w[0], doubled(w), w]
    return pair[0] * pair[1] * pair[2].sum()


def target_comes_last(x):
    w = 1.0 * x
    w[1:] *= doubled(w)
    w[0] += doubled(w)
    return (w * x).sum()


@pytest.mark.parametrize(
    "program",
    [
        array_is_handed_on, one_of_two_is_handed_on, element_is_read_before, power_is_computed_before,
        slice_and_transpose_are_views, elements_of_a_list, target_comes_last,
    ],
)  # fmt: skip
def test_operands_that_later_ones_change(program: Program) -> None:
    agrees_with_python(program)


# -- what changes places ----------------------------------------------------------------------------------------------
def elements(x):
    w = 1.0 * x
    w[0], w[1], w[2] = w[1], w[2], w[0]
    return w[0] * w[0] * w[1] + w[2]


def ends(x):
    w = 1.0 * x
    for i in range(len(x) // 2):
        w[i], w[-1 - i] = w[-1 - i], w[i]
    return (w * x * np.arange(4)).sum()


def rows(x):
    A = np.outer(x, x + 1.0)
    A[0], A[1] = A[1], A[0]  # both are what the second was, as rows are views
    return (A[0] * A[1]).sum() * A[0, 2]


def rows_in_a_loop(x):
    A = np.outer(x, x + 1.0)
    for i in range(len(x) - 1):
        A[i], A[i + 1] = A[i + 1].copy(), A[i].copy()
    return (A * np.outer(x, np.arange(4.0))).sum()


def rows_by_a_list(x):
    A = np.outer(x, x + 1.0)
    A[[0, 1]] = A[[1, 0]]
    return (A[0] * A[1] * A[0]).sum()


@pytest.mark.parametrize("program", [elements, ends, rows, rows_in_a_loop, rows_by_a_list])
def test_elements_and_rows_that_change_places(program: Program) -> None:
    agrees_with_python(program)


# -- iterators --------------------------------------------------------------------------------------------------------
def zip_under_a_name(x):
    pairs = zip(x, 2.0 * x)  # noqa: B905
    return sum(a * b for a, b in pairs) + sum(a * a for a, _ in pairs)


def map_under_a_name(x):
    squares = map(lambda v: v * v, x)
    return sum(squares) * (1.0 + sum(squares))


def generator_that_is_given_away(x):
    def twice(items):
        return sum(items) + sum(items)

    return twice(v * v for v in x)


def iterator_beside_itself(x):
    it = iter(x)
    return sum(a * b for a, b in zip(it, it))  # noqa: B905


def resumed(x):
    numbered, s = enumerate(x), 0.0
    for _, v in numbered:
        s += v
        break
    for _, v in numbered:
        s += v * v
    return s


@pytest.mark.parametrize(
    "program",
    [zip_under_a_name, map_under_a_name, generator_that_is_given_away, iterator_beside_itself, resumed],
)
def test_iterators_used_twice_are_refused(program: Program) -> None:
    assert np.isfinite(program(X))
    with pytest.raises(UnsupportedLoopError, match=r"LD1(09|11|34)"):
        vectorize_grad(program).grad(X)


# -- integers ---------------------------------------------------------------------------------------------------------
def added(x):
    counts = np.array([-2, 3, -1, 0])
    for k, step in enumerate((0.5, -0.4, 0.7, -0.9)):
        counts[k] += step
    return (counts * x).sum()


def multiplied_and_stored(x):
    counts = np.array([-3, 7, -1, 9])
    for k in range(4):
        counts[k] *= 0.5
        counts[k] = max(counts[k], -0.5 * k)
    return (counts * x * x).sum()


def divided(x):
    s = 0.0
    for i in range(4):
        s = s + x[i] * ((i - 3) // 2) + x[i] * x[i] * ((i - 3) % 3) + x[i] ** 3 * (i // -2 + i % -3)
    return s


def divided_arrays(x):
    k = np.array([-3, -2, 1, 4])
    return ((k // 2) * x + (k % 3) * x * x + (k // -3) * x**3).sum()


def neighbours_on_a_ring(x):
    s = 0.0
    for i in range(len(x)):
        s = s + x[(i - 1) % len(x)] * x[i] * x[i]
    return s


@pytest.mark.parametrize("program", [added, multiplied_and_stored])
def test_floats_that_integers_take(program: Program) -> None:
    agrees_with_python(program)


@pytest.mark.parametrize("program", [divided, divided_arrays, neighbours_on_a_ring])
def test_negative_integers_are_divided_as_in_python(program: Program) -> None:
    agrees_with_python(program)


# -- views that nobody may write to -----------------------------------------------------------------------------------
def diagonal(x):
    A = np.outer(x, x)
    d = np.diag(A)
    d *= 2.0
    return (A * A).sum()


def part_of_a_diagonal(x):
    A = np.outer(x, x)
    d = A.diagonal()[1:]
    d[0] = 1.0
    return A.sum()


def diagonal_that_a_function_changes(x):
    A = np.outer(x, x)
    return doubled(np.diagonal(A)) + A.sum()


def broadcast(x):
    B = np.broadcast_to(1.0 * x, (2, 4))
    B[0] *= 2.0
    return (B * B).sum()


@pytest.mark.parametrize("program", [diagonal, part_of_a_diagonal, diagonal_that_a_function_changes, broadcast])
def test_stores_to_read_only_views_are_refused(program: Program) -> None:
    with pytest.raises(ValueError, match="read-only"):
        program(X)
    with pytest.raises(UnsupportedLoopError, match=r"LD121: .* that NumPy lets nobody write to"):
        vectorize_grad(program).grad(X)
