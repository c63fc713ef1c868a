"""Loops of checks are screened: nothing is refused or accepted that the checks themselves would not, nor read."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.errors import ArgumentError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.walk import statements
from loopdiff.passes.checks.screening import screen
from loopdiff.pipeline.cpu import compile_loopset
from tests.corpus import BY_NAME
from tests.passes.checks.test_bounds_checks import checked

spmv_csr = BY_NAME["spmv_csr"].function


def gathered_twice(x, idx, jdx, y):
    for i in range(jdx.shape[0]):
        y[0] += x[idx[jdx[i]]]


def gathered_one_by_one(x, idx, jdx, y):
    for i in range(idx.shape[0]):
        y[0] += x[idx[i]]
        y[1] += x[jdx[i]] * x[idx[i]]


def rows_of_vectors(x, ptr, idx, y):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            for k in range(x.shape[1]):
                y[i, k] += x[idx[p], k]


def rows_that_need_their_number(x, ptr, idx, y):
    for i in range(ptr.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            y[i] += x[idx[p] + i]


def counted_by_an_argument(x, idx, y, n):
    for i in range(n):
        y[0] += x[idx[i]]


def matrix(indptr, indices, n=4) -> dict:
    indices = np.array(indices, np.int64)
    return dict(
        indptr=np.array(indptr),
        indices=indices,
        vals=np.ones(len(indices)),
        x=np.arange(1.0, n + 1.0),
        y=np.full(3, 7.0),
    )


GOOD = {
    "rows": matrix([0, 2, 2, 3], [0, 3, 1]),
    "empty rows": matrix([0, 0, 0, 0], []),
    "rows with gaps that hold nonsense": matrix([4, 5, 1, 2], [99, 3, -7, 99, 1]),
    "a row again": matrix([0, 2, 0, 2], [0, 3]),
    "rows that end before they begin": matrix([2, 0, -5, -9], [0, 3]),
    "bounds far away of no row": matrix([1 << 62, 0, -(1 << 62), -(1 << 62)], [0, 3]),
}
BAD = {
    "place": matrix([0, 2, 2, 3], [0, 4, 1]),
    "negative place": matrix([0, 2, 2, 3], [0, 3, -1]),
    "end": matrix([0, 2, 2, 4], [0, 3, 1]),
    "begin": matrix([-1, 2, 2, 3], [0, 3, 1]),
    "far end": matrix([0, 1 << 62, 0, 1 << 62], [0, 3, 1]),
}


def same_as_checks(function, args: dict) -> None:
    """Screened or not, `function` computes the same, or is refused with the same words and leaves all as it was."""
    outcomes = []
    for prepare in (lambda ls: ls, screen):
        own = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
        try:
            run(prepare(checked(function, own)), own)
            words = ""
        except ArgumentError as error:
            words = str(error)
            for name, value in args.items():
                np.testing.assert_array_equal(own[name], value)
        outcomes.append((words, own))
    (words, plain), (found, screened) = outcomes
    assert words == found
    for name in args:
        np.testing.assert_array_equal(plain[name], screened[name])


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_rows(name: str) -> None:
    same_as_checks(spmv_csr, {**GOOD, **BAD}[name])


def test_what_a_check_allows_is_read_under_it():
    args = {"x": np.arange(3.0), "idx": np.array([2, 0]), "jdx": np.array([1, 0, 0]), "y": np.zeros(1)}
    same_as_checks(gathered_twice, args)
    for jdx in ([0, 2], [-3, 0]):
        same_as_checks(gathered_twice, {**args, "jdx": np.array(jdx)})
    same_as_checks(gathered_twice, {**args, "idx": np.array([2, 3])})


def test_checks_with_reads_between_them_are_asked_together():
    good = dict(x=np.arange(4.0), idx=np.array([3, 0]), jdx=np.array([1, 2]), y=np.zeros(2))
    same_as_checks(gathered_one_by_one, good)
    for wrong in (dict(idx=np.array([4, 0])), dict(jdx=np.array([1, -9])), dict(jdx=np.array([1]))):
        same_as_checks(gathered_one_by_one, {**good, **wrong})
    found = screen(checked(gathered_one_by_one, good))
    assert not any(isinstance(s.stmt, ir.If) and s.loops for s in statements(found.body))


def test_rows_with_loops_inside():
    args = {"x": np.ones((3, 3)), "ptr": np.array([0, 1, 2]), "idx": np.array([0, 2]), "y": np.zeros((2, 3))}
    assert len(screened_loops(checked(rows_of_vectors, args))) == 1
    same_as_checks(rows_of_vectors, args)
    same_as_checks(rows_of_vectors, {**args, "idx": np.array([0, 3])})
    same_as_checks(rows_of_vectors, {**args, "y": np.zeros((1, 3))})


def test_rows_that_check_with_their_own_number_are_left_alone():
    args = {"x": np.ones(4), "ptr": np.array([0, 1, 2]), "idx": np.array([0, 2]), "y": np.zeros(2)}
    assert not screened_loops(checked(rows_that_need_their_number, args))
    same_as_checks(rows_that_need_their_number, args)
    same_as_checks(rows_that_need_their_number, {**args, "idx": np.array([0, 3])})


def test_a_loop_that_shapes_do_not_bound_is_left_alone():
    args = {"x": np.ones(2), "idx": np.array([0, 1]), "y": np.zeros(1), "n": 2}
    assert not screened_loops(checked(counted_by_an_argument, args))
    same_as_checks(counted_by_an_argument, args)


def screened_loops(ls: ir.LoopSet) -> list[ir.Loop]:
    """Loops of checks that run only if something was found to be wrong."""
    guards = [s for s in screen(ls).body if isinstance(s, ir.If) and any(isinstance(c, ir.Loop) for c in s.then)]
    return [c for g in guards for c in g.then if isinstance(c, ir.Loop) and has_checks(c)]


def has_checks(loop: ir.Loop) -> bool:
    inside = [s.stmt for s in statements((loop,))]
    return any(isinstance(s, ir.Require) for s in inside) and not any(isinstance(s, ir.Accumulate) for s in inside)


def test_compiled_checks_leave_memory_alone():
    compiled = compile_loopset(checked(spmv_csr, BAD["end"]))
    for args in GOOD.values():
        own = {k: v.copy() for k, v in args.items()}
        expected = {k: v.copy() for k, v in args.items()}
        compiled.dispatcher(*own.values())
        run(checked(spmv_csr, expected), expected)
        np.testing.assert_array_equal(own["y"], expected["y"])
    for args in BAD.values():
        with pytest.raises(ArgumentError):
            compiled.dispatcher(*args.values())
        np.testing.assert_array_equal(args["y"], 7.0)
