"""Buffers of iterations on the tape: when nothing is copied, and that gradients stay the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir.walk import read_arrays, written_arrays
from tests.gradients.interpreted import normal_form


def solved(x, out):
    """A recurrence with a division: solving it again takes longer than keeping it."""
    c = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        c[0] = x[i, 0]
        for k in range(1, x.shape[1]):
            c[k] = x[i, k] / (2.0 + c[k - 1])
        for k in range(x.shape[1]):
            out[i, k] = c[k] * c[k]


def solved_twice(x, out):
    """Part of it was written by the iteration before."""
    c = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        for k in range(1, x.shape[1]):
            c[k] = x[i, k] / (2.0 + c[k - 1] * c[k])
        for k in range(x.shape[1]):
            out[i, k] = c[k] * c[k]


def used_afterwards(x, out):
    c = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        c[0] = x[i, 0]
        for k in range(1, x.shape[1]):
            c[k] = x[i, k] / (2.0 + c[k - 1])
        for k in range(x.shape[1]):
            out[i, k] = c[k] * c[k]
    for k in range(x.shape[1]):
        out[0, k] += c[k] if x.shape[0] > 0 else 0.0


def cleared_each_time(x, out):
    for i in range(x.shape[0]):
        c = np.zeros(x.shape[1])
        for k in range(1, x.shape[1]):
            c[k] = x[i, k] / (2.0 + c[k - 1])
        for k in range(x.shape[1]):
            out[i, k] = c[k] * c[k]


def made_each_time(x, out):
    for i in range(x.shape[0]):
        if x[i, 0] > 0.1:
            c = np.empty(x.shape[1])
            c[0] = x[i, 0]
            for k in range(1, x.shape[1]):
                c[k] = x[i, k] / (2.0 + c[k - 1])
            for k in range(x.shape[1]):
                out[i, k] = c[k] * c[k]


def simple(x, out):
    """Solving it again takes no division."""
    c = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        c[0] = x[i, 0]
        for k in range(1, x.shape[1]):
            c[k] = x[i, k] + 0.5 * c[k - 1]
        for k in range(x.shape[1]):
            out[i, k] = c[k] * c[k]


ALL = (solved, solved_twice, used_afterwards, cleared_each_time, made_each_time, simple)
EXPANDED = (solved, made_each_time)


@pytest.mark.part(3)
@pytest.mark.parametrize("function", ALL)
@pytest.mark.parametrize("shape", [(5, 7), (1, 2), (18, 33)])
def test_gradients(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    x, weight = rng.random(shape), rng.random(shape)
    found = [
        vectorize_grad(wrt="x", tape=tape)(function).vjp(x, np.zeros(shape))[1](out=weight).x
        for tape in ("auto", "recompute")
    ]
    along = rng.random(shape)
    ends = []
    for h in (1e-6, -1e-6):
        out = np.zeros(shape)
        function(x + h * along, out)
        ends.append(np.sum(weight * out))
    assert np.sum(found[0] * along) == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=1e-12)


@pytest.mark.parametrize(("function", "is_expanded"), [(f, f in EXPANDED) for f in ALL])
def test_what_is_written_on_the_tape_at_once(function: Callable[..., Any], is_expanded: bool) -> None:
    ls = normal_form(function, {"x": np.ones((3, 4)), "out": np.ones((3, 4))})
    sweeps = build_sweeps(ls, ("x",))
    used = read_arrays(sweeps.forward.body) | written_arrays(sweeps.forward.body)
    buffers = {a.name for a in sweeps.forward.arrays if a.role == "local" and a.type is not None and a.type.rank}
    assert (not buffers & used) == is_expanded


def test_short_recurrences_are_solved_again() -> None:
    kept = {}
    for function in (solved, simple):
        k = vectorize_grad(wrt="x")(function).compile(np.ones((6, 50)), np.ones((6, 50)))
        kept[function] = sum(t.bytes or 0 for t in k.temporaries if t.decision == "store")
    assert kept[simple] < 400 < 2400 <= kept[solved]


def test_iterations_on_the_tape_are_independent() -> None:
    """Rows of one tape by lanes of a vector."""
    shape = (64, 20)
    text = vectorize_grad(wrt="x")(solved).explain(np.ones(shape), np.ones(shape))
    assert "vectorised" in text.split("reverse sweep")[0]
