"""Loops that an adjoint of zero has no use for: which run under a condition, and that values stay the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.walk import statements
from loopdiff.passes.sweeps.zero_adjoints import leave_out_idle
from tests.ad.interpreted import copied, lower


def shared(x, top, bar, out):
    for j in range(x.shape[0]):
        b = bar[j]
        ties = 0.0
        for k in range(j):
            if x[k] == top[j]:
                ties += 1.0
        share = b / ties if b != 0.0 else 0.0
        for k in range(j):
            if x[k] == top[j]:
                out[k] += share


def asked_for_elsewhere(x, top, bar, out):
    for j in range(x.shape[0]):
        b = bar[j]
        ties = 1.0
        for k in range(j):
            if x[k] == top[j]:
                ties += 1.0
        out[j] += b / ties if b != 0.0 else 0.5 * ties


def known_too_late(x, top, bar, out):
    for j in range(x.shape[0]):
        ties = 1.0
        for k in range(j):
            if x[k] == top[j]:
                ties += 1.0
        out[j] = 0.0
        b = out[j - 1] + bar[j] if j > 0 else bar[j]
        out[j] = b / ties if b != 0.0 else 0.0


def read_by_the_next(x, top, bar, out):
    ties = 1.0
    for j in range(x.shape[0]):
        b = bar[j]
        out[j] = b / ties if b != 0.0 else 0.0
        ties = 1.0
        for k in range(j):
            ties += x[k]


def counted_on(x, top, bar, out):
    ties = 1.0
    for j in range(x.shape[0]):
        b = bar[j]
        for k in range(j):
            ties += x[k]
        out[j] = b / ties if b != 0.0 else 0.0


def two_values(x, top, bar, out):
    for j in range(x.shape[0]):
        b = bar[j]
        c = 2.0 * b
        for k in range(j):
            out[k] += b
            out[j] += c


def rectangular(x, top, bar, out):
    for j in range(x.shape[0]):
        b = 2.0 * bar[j]
        for k in range(x.shape[0]):
            out[k] += b


def table_of_maxima(x, top, bar, out):
    """An iteration that has no adjoint adds nothing, and the next one need not wait for it."""
    for j in range(x.shape[0] - 1, 0, -1):
        t = x[j] + x[j - 1]
        b = bar[j]
        ties = 1.0 if t == top[j] else 0.5
        for k in range(j):
            if x[k] == top[j]:
                ties += 1.0
        share = b / ties if b != 0.0 else 0.0
        for k in range(j):
            if x[k] == top[j]:
                out[k] += share
        bar[j - 1] += share * (1.0 if x[j] > x[j - 1] else 0.5)


def stored_as_well(x, top, bar, out):
    """What holds something else gets its zero all the same."""
    for j in range(x.shape[0]):
        b = bar[j]
        for k in range(j):
            top[k] += b * x[k]
        if x[j] > 1.5:
            out[j] = b * x[j]


def kept_for_later(x, top, bar, out):
    """The next iteration looks at what this one leaves."""
    last = 1.0
    for j in range(x.shape[0]):
        b = bar[j]
        for k in range(j):
            out[k] += b * last
        last = x[j]


def more_than_multiples(x, top, bar, out):
    for j in range(x.shape[0]):
        b = bar[j]
        for k in range(j):
            out[k] += b * x[k] + 1.0


def decided_inside(x, top, bar, out):
    """Where zeros go depends on what is left out."""
    for j in range(x.shape[0]):
        b = bar[j]
        place = 0.0
        for k in range(j):
            place += x[k]
            top[k] += b
        if place > 2.5:
            out[j] = b


CASES: list[tuple[Callable[..., Any], int]] = [
    (shared, 2), (asked_for_elsewhere, 0), (known_too_late, 0), (read_by_the_next, 0), (counted_on, 0),
    (two_values, 1), (rectangular, 0), (table_of_maxima, 2), (stored_as_well, 1), (kept_for_later, 0),
    (more_than_multiples, 0), (decided_inside, 0),
]  # fmt: skip


def conditional(ls: ir.LoopSet) -> int:
    """How many loops run only if something is not zero."""
    loops = [s for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)]
    return sum(any(isinstance(e, ir.If) for e in site.enclosing) for site in loops)


def with_adjoint(ls: ir.LoopSet, name: str) -> ir.LoopSet:
    """`ls` with one of its arrays as what it would be in a reverse sweep."""
    return replace(ls, arrays=tuple(replace(a, role="adjoint") if a.name == name else a for a in ls.arrays))


def test_zero_times_infinity_is_seen_in_other_arrays() -> None:
    args = {n: np.ones(5) for n in ("x", "top", "bar", "out")}
    assert conditional(leave_out_idle(lower(stored_as_well, args))) == 0


@pytest.mark.parametrize(("function", "count"), CASES)
def test_loops_are_left_out(function: Callable[..., Any], count: int):
    x = np.array([1.0, 2.0, 2.0, 1.0, 2.0])
    args = {
        "x": x,
        "top": np.array([1.0, 1.0, 2.0, 2.0, 2.0]),
        "bar": np.array([0.0, 3.0, 0.0, 5.0, 7.0]),
        "out": np.ones(5),
    }
    ls = with_adjoint(lower(function, args), "bar")
    idle = leave_out_idle(ls)
    assert conditional(idle) == count
    plain, found = copied(args), copied(args)
    run(ls, plain)
    run(idle, found)
    for name in args:
        np.testing.assert_array_equal(plain[name], found[name])
