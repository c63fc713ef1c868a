"""Names that some ways through a program bind, and others do not, against what Python computes and central
differences; where they have no value there is an error."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from tests.gradients.interpreted import interpreting

# pyright: reportPossiblyUnboundVariable=false

X = np.array([1.3, -0.7, 2.1, 0.4, -1.9, 0.85, 3.2])


def after_a_break(x):
    for i in range(15):
        e = x * 0.5**i - 0.1
        if np.linalg.norm(e) < 0.4:
            break
        J = np.outer(e, x)
    return J.sum() + e.sum()


def after_other_loops(x):
    for k in range(3):
        for i in range(15):
            e = x[:3] * 0.5**i * k
            if np.linalg.norm(e) < 1e-3:
                break
            J = e * e[0]
    return J.sum() + e.sum()


def after_a_continue(x):
    for i, v in enumerate(x):
        if v < 0.0:
            continue
        last, where = v * v, i
    return last * where


def in_branches(x):
    found = False
    for i, v in enumerate(x):
        if v > 2.0:
            found, best, part = True, v * v * i, x * v
    if x[1] > 9.0:
        low = x[0]
    elif x[1] < 0.0:
        low = x[2]
    return best * part[0] * low if found else 0.0


def last_of(v):
    for u in v:
        if u < 0.0:
            continue
        last = u * u
    return last


def in_a_function(x):
    return last_of(x) * last_of(x[1:5])


def before_it_ends(x):
    while True:
        if x[0] > 2.0:
            break
        t = x[0]
        x = x + t
    return t * x[1]


def of_the_iteration_before(x):
    for v in x:
        if v > 2.0:
            return last * v  # noqa: F821
        last = v * 2.0  # noqa: F841
    return 0.0


PROGRAMS = (
    after_a_break, after_other_loops, after_a_continue, in_branches, in_a_function, before_it_ends,
    of_the_iteration_before,
)  # fmt: skip


@pytest.mark.parametrize("plain", PROGRAMS, ids=lambda f: f.__name__)
def test_names_have_the_values_that_they_have_in_python(plain) -> None:
    with interpreting():
        value, slopes = vectorize_grad(plain).value_and_grad(X)
    assert value == pytest.approx(plain(X), rel=1e-13)
    expected = [(plain(X + h) - plain(X - h)) / 2e-6 for h in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(slopes.x, expected, rtol=1e-6, atol=1e-7)


WITHOUT = {
    after_a_break: np.zeros(7),
    after_a_continue: -np.ones(7),
    in_branches: np.array([3.0, 1.0, 1.0]),
    in_a_function: -np.ones(7),
    before_it_ends: np.array([3.0, 1.0]),
    of_the_iteration_before: np.array([3.0, 1.0]),
}


@pytest.mark.parametrize("plain", WITHOUT, ids=lambda f: f.__name__)
def test_a_name_without_a_value_is_an_error(plain) -> None:
    with pytest.raises(UnboundLocalError):
        plain(WITHOUT[plain])
    with interpreting(), pytest.raises(ArgumentError, match=r"LD33[12]"):
        vectorize_grad(plain)(WITHOUT[plain])


def part_of_a_loop(x, n):
    for i in range(n):
        v = x[i:]
    return v.sum() * v[0]


def test_parts_without_a_value_are_not_looked_at() -> None:
    """Where they begin is a variable as well, which has none."""
    x = np.arange(4.0)
    with interpreting():
        f = vectorize_grad(part_of_a_loop)
        assert f(x, 2) == part_of_a_loop(x, 2)
        for call in (f, f.grad):
            with pytest.raises(ArgumentError, match="LD331"):
                call(x, 0)


def or_none(x, s):
    t = 0.0
    for v in x:
        r = v * 2.0 if v > s else None
        if r is None:
            continue
        t += r * x[0]
    first = None if x[1] > s else x[2]
    return t + (x[3] if first is None else first * x[0])


def surely_there(x, s):
    r = x[0] if x[1] > s else None
    return r * x[2]


def test_numbers_or_none_as_conditions_say() -> None:
    h = 1e-6
    with interpreting():
        f = vectorize_grad(wrt="x")(or_none)
        for s in (-5.0, 0.5, 9.0):
            assert f(X, s) == pytest.approx(or_none(X, s), rel=1e-13)
            expected = [(or_none(X + h * e, s) - or_none(X - h * e, s)) / (2 * h) for e in np.eye(len(X))]
            np.testing.assert_allclose(f.grad(X, s).x, expected, rtol=1e-6, atol=1e-8)
        g = vectorize_grad(surely_there)
        assert g(X, -5.0) == surely_there(X, -5.0)
        with pytest.raises(ArgumentError, match=r"LD332.*`r` is None"):
            g(X, 9.0)
