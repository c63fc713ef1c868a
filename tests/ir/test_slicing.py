"""Dead code: what goes, what stays, and that live values do not change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import read_arrays, statements, written_arrays
from tests.ad.interpreted import copied, lower
from tests.corpus.ruled import normalised, relax

ARGS = {"x": np.arange(1.0, 6.0), "y": np.zeros(5), "z": np.zeros(5)}


def two_outputs(x, y, z):
    w = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        w[i] = x[i] * 2.0
        z[i] = w[i] + 1.0
    for i in range(x.shape[0]):
        v = x[i] + 3.0
        if v > 4.0:
            y[i] = v
    for i in range(x.shape[0]):
        z[i] += x[i]


def chained(x, y, z):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        z[i] = s
    return s


def test_one_output_of_two() -> None:
    before = lower(two_outputs, ARGS)
    after = eliminate_dead(before, frozenset({"y"}))
    verify(after, "normal")
    assert written_arrays(after.body) == {"y"}
    assert not after.has_array("w")
    assert len(after.body) == 1
    expected, found = copied(ARGS), copied(ARGS)
    run(before, expected)
    run(after, found)
    np.testing.assert_array_equal(found["y"], expected["y"])


def test_what_a_live_array_is_made_from_stays() -> None:
    before = lower(two_outputs, ARGS)
    after = eliminate_dead(before, frozenset({"z"}))
    assert {"w", "z"} <= written_arrays(after.body)
    assert "y" not in written_arrays(after.body)
    found = copied(ARGS)
    run(after, found)
    np.testing.assert_array_equal(found["z"], 3.0 * ARGS["x"] + 1.0)


def test_results_are_live_and_parameters_stay() -> None:
    before = lower(chained, ARGS)
    after = eliminate_dead(before, frozenset())
    assert after.params == before.params
    assert "z" not in written_arrays(after.body)
    assert run(after, copied(ARGS)) == (15.0,)


def test_checks_are_never_dead() -> None:
    before = lower(two_outputs, ARGS)
    check = ir.Require(ir.Apply(Op.GT, (ir.Dim("x", 0), integer(0))), "LD310", "no elements")
    after = eliminate_dead(replace(before, body=(check, *before.body)), frozenset())
    assert after.body == (check,)


def calling(x, y, z):
    norm = normalised(x, y)
    relax(x[0], z[0], norm)


def test_a_call_leaves_all_that_it_returns() -> None:
    matrices = {name: np.ones((2, 2)) for name in ARGS}
    after = eliminate_dead(lower(calling, matrices), frozenset({"y"}))
    verify(after, "eliminate")
    *checks, call = after.body
    assert all(isinstance(s, ir.Require) for s in checks)
    assert isinstance(call, ir.Call)
    assert call.rule.name == "normalised"


def test_nothing_live_leaves_no_loop() -> None:
    after = eliminate_dead(lower(two_outputs, ARGS), frozenset())
    assert not any(isinstance(s.stmt, ir.Loop) for s in statements(after.body))
    assert read_arrays(after.body) == frozenset()
