"""Loops that an adjoint of zero has no use for: which run under a condition, and that values stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ir.interpret import run
from loopdiff.ir.nodes import Exit, If, Loop, LoopSet
from loopdiff.ir.walk import statements
from loopdiff.transform.idle import leave_out_idle, leave_out_others
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


CASES: list[tuple[Callable[..., Any], int]] = [
    (shared, 2), (asked_for_elsewhere, 0), (known_too_late, 0), (read_by_the_next, 0), (counted_on, 0),
    (two_values, 0), (rectangular, 0),
]  # fmt: skip


def conditional(ls: LoopSet) -> int:
    """How many loops run only if something is not zero."""
    return sum(isinstance(s.stmt, If) and isinstance(s.stmt.then[0], Loop) for s in statements(ls.body))


@pytest.mark.parametrize(("function", "count"), CASES)
def test_loops_are_left_out(function: Callable[..., Any], count: int):
    x = np.array([1.0, 2.0, 2.0, 1.0, 2.0])
    args = {
        "x": x,
        "top": np.array([1.0, 1.0, 2.0, 2.0, 2.0]),
        "bar": np.array([0.0, 3.0, 0.0, 5.0, 7.0]),
        "out": np.ones(5),
    }
    ls = lower(function, args)
    idle = leave_out_idle(ls)
    assert conditional(idle) == count
    plain, found = copied(args), copied(args)
    run(ls, plain)
    run(idle, found)
    np.testing.assert_array_equal(plain["out"], found["out"])


# -- adjoints that one iteration takes -------------------------------------------------------------------------
def nearest(x, taken, bar, out):
    for i in range(x.shape[0]):
        b = bar[i]
        for k in range(out.shape[0] - 1, -1, -1):
            s = 0.0
            if taken[i, k] > 0.5:
                t = b
                b = 0.0
                s = t
            for a in range(x.shape[1]):
                out[k, a] += s * x[i, a] - 2.0 * s * out[0, a]


def used_afterwards(x, taken, bar, out):
    for i in range(x.shape[0]):
        b = bar[i]
        s = 0.0
        for k in range(out.shape[0]):
            s = 0.0
            if taken[i, k] > 0.5:
                t = b
                b = 0.0
                s = t
            for a in range(x.shape[1]):
                out[k, a] += s * x[i, a]
        out[0, 0] += s


def given_to_all(x, taken, bar, out):
    for i in range(x.shape[0]):
        b = bar[i]
        for k in range(out.shape[0]):
            s = 0.0
            if taken[i, k] > 0.5:
                s = b
            for a in range(x.shape[1]):
                out[k, a] += s * x[i, a]


def given_back(x, taken, bar, out):
    for i in range(x.shape[0]):
        b = bar[i]
        for k in range(out.shape[0]):
            s = 0.0
            if taken[i, k] > 0.5:
                t = b
                b = 0.0
                s = t
            for a in range(x.shape[1]):
                out[k, a] += s * x[i, a]
            b = b + out[k, 0]


def more_than_that(x, taken, bar, out):
    for i in range(x.shape[0]):
        b = bar[i]
        for k in range(out.shape[0]):
            s = 0.0
            if taken[i, k] > 0.5:
                t = b
                b = 0.0
                s = t
            for a in range(x.shape[1]):
                out[k, a] += s * x[i, a] + 1.0


OTHERS: list[tuple[Callable[..., Any], int, int]] = [
    (nearest, 1, 1), (used_afterwards, 1, 0), (given_to_all, 0, 0), (given_back, 0, 0), (more_than_that, 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("function", "count", "ends"), OTHERS)
def test_others_are_left_out(function: Callable[..., Any], count: int, ends: int):
    r = np.random.default_rng(3)
    args = {"x": r.random((6, 2)), "taken": r.random((6, 4)), "bar": r.random(6), "out": r.random((4, 2))}
    ls = lower(function, args)
    fewer = leave_out_others(ls)
    assert conditional(fewer) == count
    assert sum(isinstance(s.stmt, Exit) for s in statements(fewer.body)) == ends
    plain, found = copied(args), copied(args)
    run(ls, plain)
    run(fewer, found)
    np.testing.assert_array_equal(plain["out"], found["out"])
