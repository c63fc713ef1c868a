"""Nests that are equal but for names: the function that calls one for all computes what it did, in plain Python."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu import equal_nests
from loopdiff.backends.cpu.equal_nests import nests_written_once
from loopdiff.backends.writer import NEST, NEST_END, REMARK

BEGIN, END = repr(REMARK + NEST), repr(REMARK + NEST_END)


def pull(x, a):
    y = np.tanh(a @ x) - 0.1 * x
    return y + 0.2 * (a.T @ y)


def four_stages(x, a):
    """A step of Runge-Kutta, of which each stage calls the same helper."""
    k1 = pull(x, a)
    k2 = pull(x + 0.5 * k1, a)
    k3 = pull(x + 0.5 * k2, a)
    k4 = pull(x + k3, a)
    return np.sum((x + (k1 + 2 * k2 + 2 * k3 + k4) / 6) ** 3)


def marked(text: str) -> str:
    """`text` where `<<` and `>>` stand for what says that a nest begins and ends."""
    return text.replace("<<", BEGIN).replace(">>", END)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_nests, "LONG", 0)
    monkeypatch.setattr(equal_nests, "LEAST", 10)
    monkeypatch.setattr(equal_nests, "SPARED", 0.0)


def written(text: str, *cells: str) -> tuple[str, list[str]]:
    numbers = count(1)
    return nests_written_once(marked(text), frozenset(cells), lambda stem: f"{stem}_{next(numbers)}")


def outcome(texts: list[str], name: str, *args: Any) -> Any:
    space: dict[str, Any] = {"np": np}
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    exec("\n".join(texts), space)
    return [space[name](*given), given]


def assert_same(text: str, cells: tuple[str, ...], functions: int, *args: Any) -> str:
    """What the text computes as it is, it computes with that many functions for its nests; returns the new text."""
    new, parts = written(text, *cells)
    assert len(parts) == functions
    assert REMARK + NEST not in new + "".join(parts)
    before, after = outcome([marked(text)], "f", *args), outcome([*parts, new], "f", *args)
    for one, other in zip(before[1], after[1], strict=True):
        np.testing.assert_array_equal(one, other)
    assert before[0] == after[0]
    return new


SUMS = """def f(x, y):
    s = 0.0
    <<
    for i in range(x.shape[0]):
        t = x[i] * x[i]
        s = s + t
    >>
    r = 1.0
    <<
    for j in range(y.shape[0]):
        u = y[j] * y[j]
        r = r + u
    >>
    return s - r
"""
X, Y = np.arange(5.0), np.linspace(1.0, 2.0, 4)


def test_numbers_that_are_read_later_come_back() -> None:
    new = assert_same(SUMS, ("s", "r", "t", "u"), 1, X, Y)
    assert "s = f_nest_1(x, s)" in new
    assert "r = f_nest_1(y, r)" in new


def test_what_is_no_number_does_not_come_back_so_that_the_nests_stay() -> None:
    assert_same(SUMS, ("s", "t", "u"), 0, X, Y)


def test_names_are_matched_one_by_one() -> None:
    text = """def f(x, y):
    <<
    for i in range(2):
        x[i] = y[i] + y[i + 1]
    >>
    <<
    for i in range(2):
        x[i] = x[i] + x[i + 1]
    >>
    <<
    for k in range(2):
        y[k] = x[k] + x[k + 1]
    >>
    return 0
"""
    new = assert_same(text, (), 1, X, Y)
    assert new.count("f_nest_1(") == 2
    assert "f_nest_1(y, x)" in new


def test_nests_that_differ_in_a_number_a_text_or_an_attribute_are_different() -> None:
    text = """def f(x, y):
    <<
    for i in range(x.shape[0]):
        if x[i] > 9.0: raise ValueError('x at i')
    >>
    <<
    for i in range(y.shape[0]):
        if y[i] > 9.0: raise ValueError('y at i')
    >>
    <<
    for i in range(y.size):
        if y[i] > 9.0: raise ValueError('y at i')
    >>
    <<
    for i in range(y.size):
        if y[i] > 9.0: raise ValueError('#| y at i')
    >>
    <<
    for i in range(y.size):
        if y[i] > 9.5: raise ValueError('y at i')
    >>
    return 0
"""
    assert_same(text, (), 0, X, Y)


def test_inner_nests_of_what_stays_and_of_what_is_written_once() -> None:
    inner = """        <<
        for {j} in range(3):
            {x}[{j}] = {x}[{j}] * 0.5 + {k}
        >>
        <<
        for {j} in range(3):
            {y}[{j}] = {y}[{j}] * 0.5 + {k}
        >>
"""
    loops = [
        f"    <<\n    for {k} in range(2):\n" + inner.format(j=j, k=k, x=x, y=y) + "    >>\n"
        for j, k, x, y in (("i", "m", "x", "y"), ("j", "n", "y", "x"))
    ]
    text = "def f(x, y):\n" + "".join(loops) + "    return 0\n"
    new = assert_same(text, (), 2, X, Y)
    assert "    f_nest_1(x, y)\n    f_nest_1(y, x)\n" in new


def test_a_nest_is_left_by_its_own_jumps_alone() -> None:
    text = """def f(x, y):
    for k in range(3):
        <<
        for i in range(4):
            if x[i] > 2.0: break
            x[i] = x[i] + 1.0
        >>
        <<
        for j in range(4):
            if y[j] > 2.0: break
            y[j] = y[j] + 1.0
        >>
        <<
        if x[k] > 2.0: break
        x[k] = 7.0
        >>
        <<
        if y[k] > 2.0: break
        y[k] = 7.0
        >>
    return 0
"""
    assert assert_same(text, (), 1, X, Y).count("break") == 2


def test_what_may_not_be_set_yet_is_not_passed() -> None:
    text = """def f(x, c):
    if c:
        s = 2.0
        r = 3.0
    <<
    for i in range(x.shape[0]):
        if c: x[i] = x[i] * s
    >>
    <<
    for j in range(x.shape[0]):
        if c: x[j] = x[j] * r
    >>
    return 0
"""
    assert_same(text, ("s", "r"), 0, X, False)
    assert_same(text, ("s", "r"), 0, X, True)


def test_what_the_next_iteration_reads_is_left_for_later() -> None:
    text = """def f(x, y):
    s = 1.0
    r = 2.0
    for k in range(3):
        x[0] = x[0] + s
        y[0] = y[0] + r
        <<
        for i in range(3):
            s = s * x[i] + 1.0
        >>
        <<
        for i in range(3):
            r = r * y[i] + 1.0
        >>
    return 0
"""
    assert "s = f_nest_1(" in assert_same(text, ("s", "r"), 1, X, Y)


def test_short_functions_and_those_of_which_little_is_spared_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(equal_nests, "SPARED", 0.9)
    assert_same(SUMS, ("s", "r", "t", "u"), 0, X, Y)
    monkeypatch.setattr(equal_nests, "LONG", 500)
    monkeypatch.setattr(equal_nests, "SPARED", 0.0)
    assert_same(SUMS, ("s", "r", "t", "u"), 0, X, Y)


def test_compiled_gradients_are_those_of_complex_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_STRICT", "1")  # no other way to compile them
    rng = np.random.default_rng(66)
    x, a = rng.random(6), rng.random((6, 6))
    f = vectorize_grad(cache=False)(four_stages)
    value, (x_grad, a_grad) = f.value_and_grad(x, a)
    assert str(f.compile(x, a).source("gradient")).count("_nest") >= 4
    assert value == pytest.approx(four_stages(x, a), rel=1e-13)
    for place in (0, 5):
        step = np.zeros(6, complex)
        step[place] = 1e-30j
        assert x_grad[place] == pytest.approx(four_stages(x + step, a).imag / 1e-30, rel=1e-12)
        moved = a + 0j
        moved[place, 2] += 1e-30j
        assert a_grad[place, 2] == pytest.approx(four_stages(x, moved).imag / 1e-30, rel=1e-12)
