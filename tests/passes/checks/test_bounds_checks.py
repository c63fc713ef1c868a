"""Subscripts that would leave their arrays are refused before the nest that uses them writes anything."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopdiff.errors import ArgumentError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.checks.bounds_checks import add_checks
from tests.ad.interpreted import lower
from tests.api import programs
from tests.gradients.interpreted import normal_form


def checked(function, args) -> ir.LoopSet:
    ls = add_checks(lower(function, args))
    verify(ls, "checked")
    return ls


def requires(ls: ir.LoopSet) -> list[tuple[int, str]]:
    """Nesting depth and code of each check."""
    return [(len(s.path) - 1, s.stmt.code) for s in statements(ls.body) if isinstance(s.stmt, ir.Require)]


def refused(ls: ir.LoopSet, args: dict, code: str) -> None:
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


def in_threes(x, y, n):
    if x.shape[0] != 3 * n or not y.shape[0] >= n:
        raise ValueError("three for each")
    for i in range(n):
        y[i] = x[3 * i] * x[3 * i + 2]


def test_what_the_program_asks_for_is_known_to_checks():
    args = {"x": np.arange(6.0), "y": np.zeros(2), "n": 2}
    ls = checked(in_threes, args)
    assert requires(ls) == [(0, "LD332")]
    run(ls, args)
    assert args["y"].tolist() == [0.0, 15.0]
    refused(ls, {"x": np.ones(5), "y": np.zeros(2), "n": 2}, "LD332")
    refused(ls, {"x": np.ones(6), "y": np.zeros(1), "n": 2}, "LD332")


def in_a_buffer(x, buffer):
    start, y = 0, np.zeros(x.shape[0])
    if buffer.shape[0] != 24:
        raise ValueError("a matrix, and then a vector")
    w = buffer[start : start + 5 * 4].reshape(5, 4)
    start += 5 * 4
    b = buffer[start : start + 4]
    for n in range(x.shape[0]):
        for i in range(4):
            y[n] += b[i] * x[n]
            for j in range(5):
                y[n] += w[j, i] * x[n]
    return y


def test_views_whose_places_have_become_constants_are_checked_by_shapes():
    args = {"x": np.ones(3), "buffer": np.arange(24.0)}
    ls = normal_form(in_a_buffer, args)
    assert all(depth == 0 for depth, _ in requires(ls))
    (result,) = run(ls, args)
    np.testing.assert_allclose(result, np.full(3, np.arange(24.0).sum()))
    with pytest.raises(ArgumentError, match="LD332"):
        run(ls, {**args, "buffer": np.ones(23)})


def test_index_arrays_are_checked_ahead_of_the_nest():
    args = {"x": np.arange(3.0), "idx": np.array([2, 0]), "y": np.zeros(2)}
    ls = checked(programs.gathered, args)
    inspector, nest = (s for s in ls.body if isinstance(s, ir.Loop))
    assert any(isinstance(s, ir.Require) for s in inspector.body)
    assert not any(isinstance(s, ir.Require) for s in nest.body)
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


def used_twice(x, idx, y):
    for i in range(idx.shape[0]):
        k = idx[i] - 1
        y[k] += x[i]
        y[k] *= 2.0


def table_moves(x, count, y):
    for i in range(x.shape[0]):
        y[count[0]] += x[i]
        count[0] += 1
        y[count[0]] += x[i]


def test_what_holds_already_is_not_checked_again():
    args = {"x": np.ones(2), "idx": np.array([2, 1]), "y": np.zeros(2)}
    ls = checked(used_twice, args)
    run(ls, args)
    assert args["y"].tolist() == [2.0, 2.0]
    assert [code for depth, code in requires(ls) if depth] == ["LD310"]
    refused(ls, {**args, "idx": np.array([2, 0])}, "LD310")


def test_elements_that_change_are_checked_again():
    args = {"x": np.ones(2), "count": np.zeros(1, int), "y": np.zeros(3)}
    ls = checked(table_moves, args)
    run(ls, args)
    assert args["y"].tolist() == [1.0, 2.0, 1.0]
    with pytest.raises(ArgumentError, match="LD310"):
        run(ls, {**args, "count": np.zeros(1, int), "y": np.zeros(2)})


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


def convolved(x, w, pad, stride, y):
    for i in range((x.shape[0] + 2 * pad - w.shape[0]) // stride + 1):
        s = 0.0
        for k in range(w.shape[0]):
            if 0 <= i * stride + k - pad < x.shape[0]:
                s += w[k] * x[i * stride + k - pad]
        y[i] = s


def chosen_by_arithmetic(x, w, b, is_on):
    s = 0.0
    if is_on > 0:
        for i in range(x.shape[0]):
            if x[i] * x[i] + b > 0.0:
                s += w[i]
    return s


def first_chosen(x, w, b):
    for i in range(x.shape[0]):
        if x[i] * x[i] + b > 0.0:
            return w[i]
    return b


def compacted(x, w, b):
    count = 0
    for i in range(x.shape[0]):
        if x[i] * x[i] + b > 0.0:
            w[count] = x[i]
            count += 1
    return count


def powers_of_all(x, n):
    table = np.zeros(x.shape[0] // n)
    for i in range(x.shape[0] // n):
        table[i] = x[n * i] if x[i] > 0.0 else 1.0
    return table


def chosen(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            s += w[i]
    return s


def test_an_inspector_runs_only_where_shapes_do_not_decide():
    args = {"x": np.array([1.0, -1.0]), "w": np.array([3.0, 4.0])}
    ls = checked(chosen, args)
    (guard,) = (s for s in ls.body if isinstance(s, ir.If))
    assert any(isinstance(s.stmt, ir.Require) for s in statements(guard.then))
    assert run(ls, args) == (3.0,)
    assert run(ls, {**args, "w": np.array([3.0])}) == (3.0,)
    refused(ls, {"x": np.ones(2), "w": np.ones(1)}, "LD310")


def test_where_arithmetic_decides_shapes_are_asked_for_as_much_as_it_may_use():
    args = {"x": np.array([2.0, 0.1]), "w": np.array([3.0, 4.0]), "b": -1.0, "is_on": 1}
    ls = checked(chosen_by_arithmetic, args)
    assert len(requires(ls)) == 1
    assert run(ls, args) == (3.0,)
    refused(ls, {**args, "w": np.array([3.0])}, "LD310")
    (check,) = (s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Require))
    assert "needs w.shape[0] >= x.shape[0] or is_on <= 0, or a condition of its own" in check.message
    assert run(ls, {**args, "w": np.array([]), "is_on": 0}) == (0.0,)


def chosen_place(x, w, b):
    s = x[0] * x[1] + b
    if s < 0.0:
        s += w[min(int(s + x[0] * x[0]), w.shape[0] - 1)]
    return s


def beside_arithmetic(x, mode, w, u, b):
    s = 0.0
    for i in range(x.shape[0]):
        if mode[i] > 0:
            s += w[i]
        if x[i] * x[i] + b > 0.0:
            s += u[i]
    return s


def under_arithmetic(x, mode, w, u, b):
    s = 0.0
    for i in range(x.shape[0]):
        if mode[i] > 0:
            r = x[i] * x[i] + b
            if r > 0.0:
                s += w[i] * u[i]
    return s


@pytest.mark.parametrize(("function", "result"), [(beside_arithmetic, 5.0), (under_arithmetic, 6.0)])
def test_what_arithmetic_does_not_decide_is_asked_as_ever(function: Callable[..., float], result: float):
    args = {"x": np.array([2.0, 3.0]), "mode": np.array([1, 0]), "w": np.array([3.0]), "u": np.array([2.0, 0.0])}
    ls = checked(function, {**args, "b": -1.0})
    assert run(ls, {**args, "b": -1.0}) == (result,)
    refused(ls, {**args, "b": -1.0, "mode": np.array([1, 1])}, "LD310")
    refused(ls, {**args, "b": -1.0, "u": np.array([])}, "LD310")


@pytest.mark.parametrize(("function", "result"), [(first_chosen, 3.0), (compacted, 1.0), (chosen_place, 2.2)])
def test_where_arithmetic_decides_how_far_the_check_is_in_place(function: Callable[..., float], result: float):
    args = {"x": np.array([2.0, 0.1]), "w": np.array([3.0]), "b": -1.0}
    ls = checked(function, args)
    assert run(ls, args) == (result,)
    refused(ls, {**args, "w": np.array([])}, "LD310")


def test_the_index_of_a_loop_over_an_extent_is_inside_whatever_the_extent_is():
    args = {"x": np.ones(6), "n": 2}
    texts = [s.stmt.message for s in statements(checked(powers_of_all, args).body) if isinstance(s.stmt, ir.Require)]
    assert texts
    assert not any("`table`" in text for text in texts)


def test_checks_of_a_convolution_with_runtime_stride():
    args = {"x": np.arange(1.0, 6.0), "w": np.ones(3), "pad": 1, "stride": 2, "y": np.zeros(3)}
    ls = checked(convolved, args)
    run(ls, args)
    assert args["y"].tolist() == [3.0, 9.0, 9.0]
    refused(ls, {**args, "y": np.zeros(2)}, "LD310")


def read_for_nothing(x, k):
    def first(a, b):
        return a

    def element(v, i):
        return v[i]

    for i in range(x.shape[0]):
        t = x[k + i]
        t = t - t
        element(x, i - k)
    return first(x[0], x[2 * k + 1])


def test_elements_read_for_nothing_are_checked_and_then_forgotten():
    args = {"x": np.ones(3), "k": 0}
    ls = normal_form(read_for_nothing, args)
    assert run(ls, args) == (1.0,)
    assert not any(isinstance(s.stmt, ir.Loop) for s in statements(ls.body))
    for k in (1, -1):
        refused(ls, {"x": np.ones(3), "k": k}, "LD310")
    refused(ls, {"x": np.ones(1), "k": 0}, "LD310")


def asked_for_nothing(x, k):
    for i in range(x.shape[0]):
        if x[i + k] > 0.5:
            t = 1.0
        else:
            t = 2.0
    t = x[0]
    return t


def gone_through_for_nothing(x, n, k):
    for i in range(x.shape[0]):
        for j in range(n[i + k]):
            t = 2.0 * j
    t = x[0]
    return t


def test_what_conditions_and_bounds_ask_for_is_checked_though_nothing_comes_of_it():
    x, n = np.ones(3), np.ones(3, int)
    for function, args in ((asked_for_nothing, {"x": x}), (gone_through_for_nothing, {"x": x, "n": n})):
        ls = normal_form(function, {**args, "k": 0})
        assert run(ls, {**args, "k": 0}) == (1.0,)
        refused(ls, {**args, "k": 1}, "LD310")


def added_for_nothing(x, k):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            total += x[i + k]
        total *= 0.5
    return x[0]


def test_elements_added_up_for_nothing_are_checked():
    args = {"x": np.ones(3), "k": 0}
    ls = normal_form(added_for_nothing, args)
    assert run(ls, args) == (1.0,)
    for k in (1, -1):
        refused(ls, {"x": np.ones(3), "k": k}, "LD310")


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


def add_triangle(C, A):
    C[:, 0] = 0.0
    for i in range(A.shape[0]):
        C[i, : i + 1] += A[i, : i + 1]


def test_shapes_that_meet_in_loops_are_checked_once_per_call():
    args = {"C": np.ones((3, 3)), "A": np.ones((3, 4))}
    ls = checked(add_triangle, args)
    assert {depth for depth, _ in requires(ls)} == {0}
    expected = {k: v.copy() for k, v in args.items()}
    add_triangle(**expected)
    run(ls, args)
    np.testing.assert_array_equal(args["C"], expected["C"])
    refused(ls, {"C": np.ones((3, 2)), "A": np.ones((3, 3))}, "LD320")
    run(ls, {"C": np.ones((3, 1)), "A": np.ones((0, 3))})
