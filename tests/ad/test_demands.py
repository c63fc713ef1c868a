"""What is kept is the least of values, of what they are made of, and of copies: counted by hand; gradients right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.tape.cut import minimum_cut
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, stmt_exprs, subexprs
from loopdiff.testing import check_grads
from tests.ad.interpreted import lower, verified_sweeps
from tests.gradients.interpreted import interpreting

N, T = 5, 3
STATE = T * N


def three_factors(x, y, z):
    """Derivatives by all of them: two products of pairs more would be five."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i] * y[i] * z[i]
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def exponential(x, y, z):
    """It is its own derivative, and nobody asks for `x`."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * np.exp(x[i]) + y[i] + z[i]


def exponential_of_what_is_asked_for(x, y, z):
    """`x`, from which the exponential follows."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * np.exp(x[i]) * np.sin(x[i]) + y[i] + z[i]


def sum_of_three(x, y, z):
    """Nothing but the sum is asked for."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * (x[i] + y[i] - z[i]) ** 2
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def sum_and_two_of_its_terms(x, y, z):
    """With `x` and `y` asked for, `z` gives the sum."""
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * (x[i] + y[i] - z[i]) ** 2 + np.sin(x[i]) * np.cos(y[i])
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def named_and_asked_for(x, y, z):
    """One recording for a name and for the value that it names."""
    for _ in range(T):
        for i in range(x.shape[0]):
            ratio = (x[i] + y[i]) / z[i]
            x[i] = 0.1 * ratio * ratio
            y[i] = 0.9 * y[i]


def in_a_branch(x, y, z):
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = (0.1 * np.exp(x[i]) if z[i] > 0.5 else 0.5 * x[i]) + y[i]


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (three_factors, 3),
        (exponential, 1),
        (exponential_of_what_is_asked_for, 1),
        (sum_of_three, 1),
        (sum_and_two_of_its_terms, 3),
        (named_and_asked_for, 1),
        (in_a_branch, 1),
    ],
)
@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
def test_no_more_is_kept_than_it_takes(function: Callable[..., Any], arrays: int, policy: Any) -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        f = vectorize_grad(tape=policy)(function)
        check_grads(f, args)
        kept = sum(t.bytes or 0 for t in f.compile(*args).temporaries if t.decision == "store")
    if policy == "auto":
        assert kept == arrays * STATE * 8


def test_the_exponential_itself_is_kept() -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        kept = {p: vectorize_grad(tape=p)(exponential).compile(*args).temporaries for p in ("auto", "store")}
    assert {p: [t.name for t in found] for p, found in kept.items()} == {"auto": ["exp_tape"], "store": ["exp_tape"]}


def exactly_and_up_to_rounding(x, y, z):
    """A maximum compares `j`, so that it is on the tape; its square needs it as well."""
    m = 0.0
    s = 0.0
    for _ in range(T):
        for i in range(x.shape[0]):
            j = x[i] + 2.0 * y[i] + z[i] * 1.5 - x[i] * y[i] * 0.3
            s += j * j
            m = max(m, j)
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i] + 0.1 * y[i]
            y[i] *= 0.9
            z[i] *= 0.9
    return m + s


def exact_function(x, y, z):
    m = 0.0
    for _ in range(T):
        for i in range(x.shape[0]):
            m = max(m, np.exp(x[i] + 2.0 * y[i] + z[i] * 1.5 - 0.3))
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i] + 0.1 * y[i]
            y[i] *= 0.9
            z[i] *= 0.9
    return m


def exact_value_of_a_branch(x, y, z):
    m = 0.0
    for _ in range(T):
        for i in range(x.shape[0]):
            j = x[i] * y[i] + z[i] if y[i] > 0.6 else np.exp(x[i]) * z[i]
            m = max(m, j)
            x[i] = 0.5 * j * j
    return m


@pytest.mark.parametrize(
    ("function", "most"),
    [(exactly_and_up_to_rounding, 3 * STATE), (exact_function, STATE), (exact_value_of_a_branch, 5 * STATE)],
)
@pytest.mark.parametrize("policy", ["auto", "recompute", "store"])
def test_what_is_recorded_exactly_serves_all(function: Callable[..., Any], most: int, policy: Any) -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        f = vectorize_grad(tape=policy)(function)
        check_grads(f, args)
        kept = sum(t.bytes or 0 for t in f.compile(*args).temporaries)
    assert kept <= most * 8 + 64  # and where the maximum is


def with_an_integer_factor(x, z, w, p):
    """An integer that is worked out is no value that could be kept."""
    k = p[0] + 3
    s = 0.0
    y = np.zeros(x.shape[0])
    for _ in range(T):
        for i in range(1, x.shape[0] - 1):
            y[i] += x[i] * z[i]
            y[i - 1] += x[i - 1] * z[i]
            w[i] += x[i + 1] * z[i]
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i]
        s += y[1] + w[2]
    return s * k * s


def copies_beside_branches(x, y, w):
    s = 0.0
    for _ in range(T):
        for i in range(1, x.shape[0]):
            s += w[i] * x[i] * y[i]
            s += x[i] * (w[i] if x[i] > 0.437 else y[i]) * x[i - 1]
        for i in range(x.shape[0]):
            x[i] *= 0.9
            y[i] *= 0.9
            w[i] *= 0.9
    return s


@pytest.mark.parametrize(
    ("function", "most"), [(with_an_integer_factor, T * N + 10), (copies_beside_branches, 5 * STATE)]
)
def test_under_store_versions_are_shared_as_well(function: Callable[..., Any], most: int) -> None:
    rng = np.random.default_rng(0)
    args = [0.4 + rng.random(N) for _ in range(3)]
    given = (*args, np.array([2, 1])) if function is with_an_integer_factor else tuple(args)
    with interpreting():
        f = vectorize_grad(tape="store", wrt=("x",))(function)
        check_grads(f, given)
        kept = sum(t.bytes or 0 for t in f.compile(*given).temporaries)
    assert kept <= most * 8


def test_a_long_chain_is_planned_in_a_time_that_grows_with_it() -> None:
    """Nothing can be sent from most places; each of them is looked at once."""
    length = 2000
    chain = {k: {k + 1: 1.0} for k in range(1, length)} | {0: {}, length: {}}
    assert minimum_cut(chain, range(1, length), 0).weight == 0.0
    ladder = {k: {k + 1: inf, 0: 1.0} for k in range(1, length)} | {0: {}, length: {0: 1.0}}
    assert minimum_cut(ladder, range(1, length + 1), 0).weight == length


def soft_least(x, y, z):
    R = np.full(x.shape[0] + 1, 0.1)
    for i in range(x.shape[0]):
        a, b, c = R[i] + x[i], R[i] + y[i], R[i] + z[i]
        low = min(a, b, c)
        soft = np.exp(low - a) + np.exp(low - b) + np.exp(low - c)
        R[i + 1] = low - np.log(soft)
    return R[-1]


def named_function(x, y, z):
    """The exponential is asked for by its name, and as its own derivative."""
    for i in range(x.shape[0]):
        e = np.exp(x[i] * y[i])
        z[i] = e * e + np.sin(e)


def name_of_a_part(x, y, z):
    """The sine is asked for in a name, and the cosine beside it: of one product."""
    for i in range(x.shape[0]):
        a = np.sin(np.exp(x[i])) + y[i]
        z[i] = a * a


@pytest.mark.parametrize(
    ("function", "functions"),
    [(soft_least, {Op.EXP: 3}), (named_function, {Op.EXP: 1, Op.COS: 1}), (name_of_a_part, {Op.EXP: 1})],
)
def test_what_a_name_stands_for_shares_its_parts_with_its_derivative(
    function: Callable[..., Any], functions: dict[Op, int]
) -> None:
    rng = np.random.default_rng(0)
    args = {name: 0.4 + rng.random(N) for name in "xyz"}
    with interpreting():
        f = vectorize_grad(function)
        check_grads(f, tuple(args.values()))
        assert f.compile(*args.values()).temporaries == ()
    sweeps = verified_sweeps(lower(function, args), ("x", "y", "z"), "auto")
    inside = [e for s in all_statements(sweeps.reverse.body) for expr in stmt_exprs(s) for e in subexprs(expr)]
    found = Counter(e.op for e in inside if isinstance(e, ir.Apply))
    assert {op: found[op] for op in functions} == functions


def choice_of_three(x, y, z):
    """The chosen value, not what it is chosen among: of that nothing else is asked."""
    for _ in range(T):
        for i in range(x.shape[0]):
            v = x[i] + y[i] - z[i] if i > 2 else x[i] - z[i]
            x[i] = 0.1 * v**2
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def choice_in_a_statement(x, y, z):
    for _ in range(T):
        for i in range(x.shape[0]):
            x[i] = 0.1 * (x[i] + y[i] - z[i] if i > 2 else x[i] - z[i]) ** 2
            y[i] = 0.9 * y[i]
            z[i] = 0.9 * z[i]


def name_that_decides(x, y, z):
    """With the name on the tape the condition needs no byte."""
    t = 0.0
    for i in range(x.shape[0]):
        t = 0.5 * t + x[i] * x[i]
        if t > 0.7:
            t *= x[i]
        y[i] = t
    return t


@pytest.mark.parametrize(
    ("function", "most"), [(choice_of_three, STATE), (choice_in_a_statement, STATE), (name_that_decides, N)]
)
def test_choices_and_what_decides_are_kept_as_one_number(function: Callable[..., Any], most: int) -> None:
    rng = np.random.default_rng(0)
    args = tuple(0.4 + rng.random(N) for _ in range(3))
    with interpreting():
        f = vectorize_grad(function)
        check_grads(f, args)
        assert sum(t.bytes or 0 for t in f.compile(*args).temporaries) == most * 8
        for policy in ("store", "recompute"):
            check_grads(vectorize_grad(tape=policy)(function), args)


def decided_by_a_buffer(x, y):
    """The copy that the loops need has the elements that are compared, too."""
    s = 0.0
    b = np.empty(x.shape[0])
    for t in range(T):
        for i in range(x.shape[0]):
            b[i] = np.exp(x[i] * y[t])
        for i in range(x.shape[0]):
            for k in range(y.shape[0]):
                s += b[i] * b[i] * y[k]
        if b[2] > b[0]:
            s += y[t] * y[t]
    return s


def test_what_decides_finds_copies_that_are_made_at_ends_of_iterations() -> None:
    rng = np.random.default_rng(0)
    args = (0.4 + rng.random(N), 0.4 + rng.random(T))
    with interpreting():
        for policy in ("auto", "recompute"):
            f = vectorize_grad(tape=policy)(decided_by_a_buffer)
            check_grads(f, args)
            assert [t.name for t in f.compile(*args).temporaries] == ["b_tape"]
