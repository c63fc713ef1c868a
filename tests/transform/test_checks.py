"""Subscripts that would leave their arrays are refused before the nest that uses them writes anything."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.errors import ArgumentError
from loopdiff.ir.interpret import run
from loopdiff.ir.nodes import Loop, LoopSet, Require
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.transform.checks import add_checks
from tests.ad.interpreted import lower
from tests.api import programs


def checked(function, args) -> LoopSet:
    ls = add_checks(lower(function, args))
    verify(ls, "checked")
    return ls


def requires(ls: LoopSet) -> list[tuple[int, str]]:
    """Nesting depth and code of each check."""
    return [(len(s.path) - 1, s.stmt.code) for s in statements(ls.body) if isinstance(s.stmt, Require)]


def refused(ls: LoopSet, args: dict, code: str) -> None:
    before = {k: np.copy(v) for k, v in args.items()}
    with pytest.raises(ArgumentError) as caught:
        run(ls, args)
    assert caught.value.codes == (code,)
    for name, value in before.items():
        np.testing.assert_array_equal(args[name], value)


def test_shapes_are_checked_once_per_call():
    args = {"x": np.ones(5), "y": np.zeros(4), "n": 4}
    ls = checked(programs.shifted, args)
    assert all(depth == 0 for depth, _ in requires(ls))
    run(ls, args)
    assert args["y"].tolist() == [1.0] * 4
    refused(ls, {"x": np.ones(4), "y": np.zeros(4), "n": 4}, "LD310")
    refused(ls, {"x": np.ones(9), "y": np.zeros(3), "n": 4}, "LD310")
    run(ls, {"x": np.ones(0), "y": np.zeros(0), "n": 0})


def test_index_arrays_are_checked_ahead_of_the_nest():
    args = {"x": np.arange(3.0), "idx": np.array([2, 0]), "y": np.zeros(2)}
    ls = checked(programs.gathered, args)
    inspector, nest = (s for s in ls.body if isinstance(s, Loop))
    assert any(isinstance(s, Require) for s in inspector.body)
    assert not any(isinstance(s, Require) for s in nest.body)
    run(ls, args)
    assert args["y"].tolist() == [4.0, 0.0]
    refused(ls, {**args, "idx": np.array([0, 3]), "y": np.zeros(2)}, "LD310")
    refused(ls, {**args, "idx": np.array([0, -1]), "y": np.zeros(2)}, "LD310")


def test_subscripts_that_the_nest_computes_are_checked_in_place():
    args = {"x": np.ones(3), "steps": np.array([0, 1, 1]), "y": np.zeros(3)}
    ls = checked(programs.built_in_place, args)
    run(ls, args)
    assert args["y"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ArgumentError, match="LD310"):
        run(ls, {**args, "steps": np.array([0, 1, 2])})


def guarded(x, n, y):
    for i in range(y.shape[0]):
        y[i] = x[i + n] if i + n < x.shape[0] and x[i + n] > 0.0 else 0.0


def ends(x):
    return x[-1] * x[0 - 2]


def test_accesses_behind_a_condition_count_only_where_it_holds():
    args = {"x": np.ones(3), "n": 1, "y": np.zeros(5)}
    ls = checked(guarded, args)
    run(ls, args)
    assert args["y"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    refused(ls, {"x": np.ones(3), "n": -1, "y": np.zeros(5)}, "LD311")


def test_subscripts_from_the_end():
    ls = checked(ends, {"x": np.ones(3)})
    assert run(ls, {"x": np.array([5.0, 2.0, 3.0])}) == (6.0,)
    with pytest.raises(ArgumentError):
        run(ls, {"x": np.ones(1)})


def test_compiled_code_raises_the_same_error():
    with pytest.raises(ArgumentError) as caught:
        programs.gathered(np.ones(3), np.array([0, 7]), np.zeros(2))
    assert caught.value.codes == ("LD310",)
    y = np.zeros(2)
    with pytest.raises(ArgumentError, match="`y"):
        programs.shifted.vjp(np.ones(9), y, 4)
    assert not y.any()
