"""Loops of a few iterations around gathers and choices are written out: the same results, and nothing to decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements
from tests.gradients.interpreted import normal_form


def sampled(x, p, c, y):
    for n in range(p.shape[0]):
        i = int(p[n])
        t = p[n] - i
        for a in range(2):
            y[n] += (t if a == 1 else 1.0 - t) * x[i + a]


def corners(x, p, c, y):
    for n in range(c.shape[0]):
        for a in range(3):
            i, j = c[n, a], c[n, (a + 1) % 3]
            y[n] += x[i] * x[i] - x[j]


def sides(x, p, c, y):
    for n in range(1, y.shape[0] - 1):
        for side in range(-1, 2, 2):
            other = x[n - 1] if side < 0 else x[n + 1]
            y[n] += side * max(other - x[n], 0.0)


def last_one_known(x, p, c, y):
    for n in range(p.shape[0]):
        found = 0.0
        for a in range(3, 0, -1):
            if a == 2:
                found = x[a] * p[n]
        y[n] = found + a


def in_a_nest(x, p, c, y):
    for n in range(p.shape[0]):
        i = int(p[n])
        for a in range(2):
            for b in range(2):
                w = p[n] if a == b else 0.5
                y[n] += w * x[i + a] * x[i + 2 * b]


def affine(x, p, c, y):
    for n in range(y.shape[0]):
        for a in range(3):
            y[n] += x[n + a]


def long(x, p, c, y):
    for n in range(p.shape[0]):
        for a in range(7):
            y[n] += x[int(p[n]) + a]


def left_early(x, p, c, y):
    for n in range(p.shape[0]):
        for a in range(3):
            if x[int(p[n]) + a] > 0.5:
                break
            y[n] += 1.0


def once(x, p, c, y):
    for n in range(y.shape[0]):
        for a in range(2, 3):
            y[n] += x[n + a]
        for b in range(1, 0, -3):
            y[n] *= b + 1


def once_at_most(x, p, c, y):
    for n in range(y.shape[0]):
        for a in range(1):
            if y[n] > 0.0:
                break
            y[n] += x[n + a]


def given() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.normal(size=9),
        "p": rng.uniform(0.0, 2.9, 6),
        "c": rng.integers(0, 9, (6, 3)),
        "y": rng.normal(size=6),
    }


@pytest.mark.parametrize(
    ("function", "left"),
    [(sampled, 1), (corners, 1), (sides, 1), (last_one_known, 1), (in_a_nest, 1),
     (affine, 2), (long, 2), (left_early, 2),
     (once, 1)],
)  # fmt: skip
def test_the_same_values_from_loops_that_are_left(function: Any, left: int) -> None:
    mine, theirs = given(), given()
    found = normal_form(function, given())
    verify(found, "short loops")
    function(**theirs)
    run(found, mine)
    np.testing.assert_allclose(mine["y"], theirs["y"], rtol=1e-14, atol=1e-14)
    assert sum(isinstance(s, ir.Loop) and writes(s) for s in all_statements(found.body)) == left


def test_what_leaves_a_loop_of_one_iteration_stays_in_it() -> None:
    mine, theirs = given(), given()
    run(normal_form(once_at_most, given()), mine)
    once_at_most(**theirs)
    np.testing.assert_allclose(mine["y"], theirs["y"], rtol=1e-14)


def writes(loop: ir.Loop) -> bool:
    return any(isinstance(s, ir.Assign | ir.Accumulate) for s in all_statements(loop.body))


def test_choices_are_made() -> None:
    found = normal_form(sampled, given())
    assert not any(isinstance(e, ir.Select) for s in all_statements(found.body) for e in values(s))


def values(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    return (stmt.value,) if isinstance(stmt, ir.Let | ir.Assign | ir.Accumulate) else ()
