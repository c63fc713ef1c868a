"""The run that sizes tapes: it counts, and checks only what it touches itself."""

from __future__ import annotations

import numpy as np

from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.walk import statements
from loopdiff.passes.checks.bounds_checks import add_checks
from tests.ad.interpreted import lower


def doubling(x):
    stride = 1
    for _ in range(3):
        for i in range(0, x.shape[0], stride):
            x[i] = np.sin(x[i]) * x[i]
        stride *= 2


def ragged(ptr, x):
    for i in range(ptr.shape[0] - 1):
        s = 1.0
        for k in range(ptr[i], ptr[i + 1]):
            s = s * s + x[k]
        x[i] = s


def counts_of(function, args) -> ir.LoopSet:
    counts = build_sweeps(add_checks(lower(function, args)), ("x",), "store").counts
    assert counts is not None
    return counts


def checks(ls: ir.LoopSet) -> list[ir.Require]:
    return [s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Require)]


def test_counting_by_shapes_checks_no_subscripts():
    args = {"x": np.ones(8)}
    counts = counts_of(doubling, args)
    assert [c.code for c in checks(counts)] == ["LD330", "LD335"]  # the step, and that it stays an integer
    assert run(counts, args)[0] == 8 + 4 + 2


def test_counting_by_elements_checks_what_it_reads():
    args = {"ptr": np.array([0, 2, 5]), "x": np.ones(6)}
    counts = counts_of(ragged, args)
    assert checks(counts)
    assert run(counts, args)[0] == 5
