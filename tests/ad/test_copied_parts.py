"""Copies of arrays have the elements that an iteration reads, and are made where a loop reads these anyway."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import statements
from loopdiff.testing import check_grads
from tests.ad.interpreted import lower
from tests.gradients.interpreted import interpreting

N = 7
X = np.random.default_rng(0).uniform(0.5, 1.5, N)


def mirrored(x):
    y = x.copy()
    for k in range(1, y.shape[0]):
        s = 0.0
        for i in range(k):
            s += y[i] * y[k - i - 1]
        for i in range(k):
            y[i] = y[i] + 0.1 * s
    return y


def from_behind(x):
    y = x.copy()
    for k in range(1, y.shape[0]):
        s = 0.0
        for i in range(k):
            s += y[k - i - 1] ** 2
        for i in range(k):
            s += x[i] * y[k - i - 1] ** 3
        for i in range(k):
            y[i] = x[i] + 0.01 * s
    return y


def upper_part(x):
    y = x.copy()
    for k in range(y.shape[0] - 1):
        s = 0.0
        for i in range(k + 1, y.shape[0]):
            s += y[i] * y[i] * y[k]
        for i in range(k + 1, y.shape[0]):
            y[i] = x[i] + 0.01 * s
    return y


def where_it_is_large(x):
    """Only some of the elements are read by the loop, and some are new when it would come to them."""
    y = x.copy()
    for k in range(1, y.shape[0]):
        s = 0.0
        for i in range(k):
            s += y[k - i - 1] ** 2
        for i in range(k):
            if x[i] > 1.0:
                s += y[i] * y[i]
        for i in range(k):
            y[i] = x[i] + 0.01 * s
    return y


def until_it_is_enough(x):
    """The loop may come to its end before it has read all that the one before it did."""
    y = x.copy()
    for k in range(1, y.shape[0]):
        s = 0.0
        for i in range(k):
            s += y[k - i - 1] ** 2
        for i in range(k):
            s += y[i] * y[i]
            if s > 3.0:
                break
        for i in range(k):
            y[i] = x[i] + 0.01 * s
    return y


def unless_it_is_enough(x):
    y = x.copy()
    for k in range(1, y.shape[0]):
        s = 0.0
        for i in range(k):
            s += y[k - i - 1] ** 2
        if s > 5.0:
            break
        for i in range(k):
            s += y[i] * y[i]
        for i in range(k):
            y[i] = x[i] + 0.01 * s
    return y


def as_far_as_asked(x, m):
    """The part ends where an argument says; the loop that reads it may not run."""
    y = x.copy()
    for _ in range(3):
        s = 0.0
        if m < y.shape[0]:
            for i in range(m):
                s += y[m - i] ** 2 * y[i]
        for i in range(y.shape[0]):
            y[i] = y[i] * (1.0 + 0.1 * s)
    return y


def backwards(x):
    y = x.copy()
    for k in range(y.shape[0] - 1, 0, -1):
        s = 0.0
        for i in range(k - 1, -1, -1):
            s += y[i] * y[k - i]
        for i in range(k + 1):
            y[i] = y[i] + 0.1 * s
    return y


def plane(x):
    y = np.empty((x.shape[0], x.shape[0]))
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            y[i, j] = x[i] * x[j]
    for k in range(1, x.shape[0]):
        s = 0.0
        for i in range(k):
            for j in range(i):
                s += y[i, j] * y[j, i]
        for i in range(k):
            for j in range(k):
                y[i, j] = y[i, j] * s * y[j, i]
    return y


PROGRAMS = (
    mirrored, from_behind, upper_part, where_it_is_large, until_it_is_enough, unless_it_is_enough, backwards, plane
)  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.parametrize("tape", ["auto", "store"])
def test_the_gradients_are_right(function: Callable[..., object], tape: str) -> None:
    with interpreting():
        check_grads(vectorize_grad(tape=tape)(function), (X,))


@pytest.mark.parametrize("m", [-3, 0, 1, N - 1, N, 5 * N])
def test_parts_that_arguments_end(m: int) -> None:
    with interpreting():
        check_grads(vectorize_grad(wrt=("x",))(as_far_as_asked), (X, m))


def copied_in(function: Callable[..., object]) -> dict[str, str]:
    """For each tape that is filled from `y` in loops: the range of the innermost one, if nothing else is in it, and of
    another one what it reads at first."""
    found: dict[str, str] = {}
    for site in statements(build_sweeps(lower(function, {"x": X}), ("x",), "auto").forward.body):
        match site.stmt, site.enclosing:
            case ir.Assign(ir.Access(name), ir.Load(ir.Access("y"))), (*_, ir.Loop() as loop) if name.startswith(
                "y_tape"
            ):
                found[name] = f"{print_expr(loop.lower)}:{print_expr(loop.upper)}" if len(loop.body) == 1 else "carried"
            case _:
                pass
    return found


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (mirrored, {"carried"}),
        (from_behind, {"0:k"}),
        (upper_part, {"carried"}),
        (where_it_is_large, {"0:k"}),
        (until_it_is_enough, {"0:k"}),
        (unless_it_is_enough, set()),  # each is on its own: the second may not come
    ],
)
def test_where_copies_are_made(function: Callable[..., object], expected: set[str]) -> None:
    assert {*copied_in(function).values()} == expected
