"""Loops in parts around the one iteration that their dependences go through: the same bits, and vectors beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.analysis.legality import AnyOrder, is_legal
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements, loops_in
from loopdiff.passes.loops import confined_dependences
from loopdiff.passes.loops.confined_dependences import split_at_dependences
from tests.gradients.interpreted import normal_form


def shortest_paths(A, x, m):
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            for j in range(A.shape[0]):
                A[i, j] = min(A[i, j], A[i, k] + A[k, j])


def gauss_jordan(A, x, m):
    for k in range(A.shape[0]):
        for i in range(A.shape[0]):
            if i != k:
                for j in range(A.shape[0]):
                    A[i, j] -= A[i, k] / (1.0 + A[k, k]) * A[k, j]


def backwards(A, x, m):
    for j in range(x.shape[0] - 1, -1, -1):
        x[j] = x[j] * x[m] + 0.5


def all_by_the_first(A, x, m):
    for j in range(x.shape[0]):
        x[j] = x[j] / (1.0 + x[0])


def by_a_shifted_place(A, x, m):
    for j in range(x.shape[0] - 1):
        x[j + 1] = 0.5 * x[j + 1] - x[m]


def into_one_place(A, x, m):
    for j in range(A.shape[0]):
        x[m] += A[0, j] * x[j]
        x[j] = 2.0 * x[j]


def with_a_cell(A, x, m):
    t = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            t = 0.0
            if A[i, m] > 0.5:
                t = A[i, m] * A[m, j]
            A[i, j] += t


def of_pivots(A, x, m):
    for s in range(A.shape[0]):
        p = A.shape[0] - 1 - s
        for j in range(A.shape[0]):
            A[s, j] = A[s, j] - A[s, p] * x[j]


SPLIT = [
    shortest_paths, gauss_jordan, backwards, all_by_the_first, by_a_shifted_place, into_one_place, with_a_cell,
    of_pivots,
]  # fmt: skip


def handed_on(A, x, m):
    for j in range(1, x.shape[0]):
        x[j] = x[j - 1] * x[m]


def behind_the_pivot(A, x, m):
    for j in range(m + 1, x.shape[0]):
        x[j] = x[j] * x[m]


def along_a_column(A, x, m):
    for i in range(A.shape[0]):
        A[i, 0] = A[i, 0] * A[m, 0]


def two_pivots(A, x, m):
    for j in range(x.shape[0]):
        x[j] = x[j] * x[m] + x[2 * m]


def at_a_computed_place(A, x, m):
    for j in range(x.shape[0]):
        x[j] = x[j] * x[int(x[m])]


def by_a_moving_offset(A, x, m):
    for j in range(A.shape[0]):
        k = min(int(x[j]), 0)
        A[0, j + k] = A[0, m] * x[j]


def three_times(A, x, m):
    for j in range(3):
        x[j] = x[j] * x[m]


LEFT = [handed_on, behind_the_pivot, along_a_column, two_pivots, at_a_computed_place, by_a_moving_offset, three_times]


def arrays(n: int = 5, m: int = 2) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"A": rng.random((n, n)), "x": rng.random(n), "m": m}


def innermost(ls: ir.LoopSet) -> list[ir.Loop]:
    return [p for p in loops_in(ls.body) if not any(True for _ in loops_in(p.body)) and writes(p)]


def writes(loop: ir.Loop) -> bool:
    return any(isinstance(s, ir.Assign | ir.Accumulate) for s in all_statements(loop.body))


def vectors(ls: ir.LoopSet) -> int:
    model = build_model(ls)
    found = innermost(ls)
    return sum(
        is_legal(model, AnyOrder(path, owned_cells(model, path)))
        for path, site in model.sites.items()
        if site.stmt in found
    )


@pytest.mark.parametrize("function", SPLIT)
def test_two_vectors_and_one_iteration(function: Callable[..., Any]) -> None:
    ls = normal_form(function, arrays())
    found = split_at_dependences(ls)
    verify(found, "split")
    assert (len(innermost(ls)), vectors(ls)) == (1, 0)
    assert (len(innermost(found)), vectors(found)) == (2, 2)


@pytest.mark.part(3)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("function", SPLIT)
def test_the_same_bits_wherever_the_iteration_is(function: Callable[..., Any], n: int) -> None:
    found = split_at_dependences(normal_form(function, arrays(n, 0)))
    for m in range(n):
        args, expected = arrays(n, m), arrays(n, m)
        function(**expected)
        run(found, args)
        for name in "Ax":
            np.testing.assert_array_equal(args[name], expected[name], err_msg=f"{name}, {m}")


@pytest.mark.parametrize("function", LEFT)
def test_loops_stay_that_gain_nothing(function: Callable[..., Any]) -> None:
    """Recurrences, what is a vector as it is, columns, two such iterations, places that data say, few iterations."""
    ls = normal_form(function, arrays())
    assert split_at_dependences(ls) is ls


def test_each_loop_has_its_own_point() -> None:
    """The first place that another access stays at has nothing to do with what orders the second loop."""

    def program(A, x, m):
        for j in range(x.shape[0]):
            x[j] = x[j] * x[m]
        for j in range(A.shape[0]):
            A[0, j] = 0.5 * A[1, 0]
            x[j] = x[j] + x[m] * A[0, j]

    found = split_at_dependences(normal_form(program, arrays()))
    assert (len(innermost(found)), vectors(found)) == (4, 4)


def test_a_range_that_the_loop_changes_is_read_once() -> None:
    text = """loopset f(c)
    argument c: int64[:]
require c.shape[0] > 4 else LD310: too short
for j in range(0, {}, 1):
    c[j] = c[j] + c[2]
"""
    changed, kept = (read_loopset(text.format(end)) for end in ("c[0]", "c.shape[0]"))
    assert split_at_dependences(changed) is changed
    assert len(innermost(split_at_dependences(kept))) == 2


def test_an_iteration_outside_of_the_loop_is_not_run() -> None:
    def short(A, x, m):
        for j in range(2, x.shape[0] - 2):
            x[j] = x[j] * x[m]

    found = split_at_dependences(normal_form(short, arrays(9, 0)))
    assert len(innermost(found)) == 2
    for m in range(9):
        args, expected = arrays(9, m), arrays(9, m)
        short(**expected)
        run(found, args)
        np.testing.assert_array_equal(args["x"], expected["x"])


def test_sums_in_order_are_no_vectors() -> None:
    ls = normal_form(into_one_place, arrays())
    assert split_at_dependences(ls, is_strict=True) is ls
    assert split_at_dependences(normal_form(shortest_paths, arrays()), is_strict=True) is not None


def test_there_are_only_so_many_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    def three(A, x, m):
        for j in range(x.shape[0]):
            x[j] = x[j] * x[m]
        for j in range(x.shape[0]):
            x[j] = x[j] + x[m]
        for j in range(x.shape[0]):
            x[j] = x[j] - x[m]

    ls = normal_form(three, arrays())
    assert len(innermost(split_at_dependences(ls))) == 6
    monkeypatch.setattr(confined_dependences, "MOST_ADDED", 4)
    found = split_at_dependences(ls)
    verify(found, "split")
    assert len(innermost(found)) == 5
    monkeypatch.setattr(confined_dependences, "MOST_INSIDE", 0)
    assert split_at_dependences(ls) is ls
