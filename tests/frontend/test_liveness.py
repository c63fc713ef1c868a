"""Liveness of names against executions: a name that is said to be dead is never read before it is bound again."""

from __future__ import annotations

import ast
import random
import textwrap
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.frontend.liveness import find_live_names
from loopdiff.testing import check_grads

pytestmark = pytest.mark.part(2)
NAMES = ("a", "b", "c", "d")


def tree_of(text: str) -> ast.FunctionDef:
    (function,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    return function


def loops_in(function: ast.FunctionDef) -> list[ast.For | ast.While]:
    return [n for n in ast.walk(function) if isinstance(n, ast.For | ast.While)]


# -- programs with a name ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("for i in x:\n    t = i\n    y = t", {"t", "y", "i"}),
        ("for i in x:\n    t = i\ny = t", {"y", "i"}),
        ("for i in x:\n    y = t\n    t = i", {"y", "i"}),
        ("for i in x:\n    if i:\n        t = i\n    y = t", {"y", "i"}),
        ("for i in x:\n    if i:\n        t = 1\n    else:\n        t = 2\n    y = t", {"t", "y", "i"}),
        ("for i in x:\n    t[0] = i", {"i"}),
        ("for i in x:\n    t += i", {"i"}),
        ("for i in x:\n    if i:\n        continue\n    t = i\n    y = t", {"t", "y", "i"}),
        ("for i in x:\n    if i:\n        break\n    t = i\nreturn t", {"i"}),
        ("for i in x:\n    for j in x:\n        y = t\n    t = i", {"y", "i", "j"}),
        ("for i in x:\n    t = [t for t in x]\n    y = t", {"y", "i", "t"}),
        ("for i in x:\n    t = i\n    f = lambda: t\n    y = f()", {"y", "i", "f"}),
        ("while c:\n    t = 1\n    c = t", {"t"}),
        ("for i in x:\n    y = (t := i)\n    y = t", {"y", "i"}),
        ("for i in x:\n    t, y = i, 1\n    y = t", {"t", "y", "i"}),
        ("for i in x:\n    pass\nelse:\n    y = t\nt = 1", {"y", "i"}),
        ("for i in x:\n    with t:\n        t = 1", {"i"}),
    ],
)
def test_names_that_are_dead_where_iterations_start(text: str, dead: set[str]) -> None:
    function = tree_of("def f(x, c, t):\n" + textwrap.indent(text, "    "))
    assigned = frozenset(n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    found = find_live_names(function, assigned)
    assert found.dead_at_head(loops_in(function)[0]) & assigned == dead & assigned


def test_nothing_is_known_of_what_is_not_in_the_text() -> None:
    function = tree_of("def f(x):\n    for i in x:\n        t = i")
    other = loops_in(tree_of("def f(x):\n    for i in x:\n        t = i"))[0]
    assert find_live_names(function, frozenset({"t", "i"})).dead_at_head(other) == frozenset()


# -- drawn programs ------------------------------------------------------------------------------------------
class Writer:
    """Draws a function of nested loops and branches over a few names, which all have a value at its start."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def function(self) -> str:
        start = "".join(f"    {n} = {k}\n" for k, n in enumerate(NAMES))
        return f"def f(decide):\n{start}{self.block(1, False, 3)}    return {self.value()}\n"

    def block(self, depth: int, is_in_loop: bool, most: int) -> str:
        return "".join(self.statement(depth, is_in_loop) for _ in range(self.rng.randint(1, most)))

    def statement(self, depth: int, is_in_loop: bool) -> str:
        pad, kind = "    " * depth, self.rng.random()
        if depth < 4 and kind < 0.22:
            orelse = f"{pad}else:\n{self.block(depth + 1, is_in_loop, 2)}" if self.rng.random() < 0.3 else ""
            return f"{pad}for i{depth} in range(decide()):\n{self.block(depth + 1, True, 4)}{orelse}"
        if depth < 4 and kind < 0.3:
            return f"{pad}while decide() > 1:\n{self.block(depth + 1, True, 3)}"
        if depth < 5 and kind < 0.5:
            orelse = f"{pad}else:\n{self.block(depth + 1, is_in_loop, 2)}" if self.rng.random() < 0.5 else ""
            return f"{pad}if decide():\n{self.block(depth + 1, is_in_loop, 3)}{orelse}"
        if kind < 0.56:
            jump = self.rng.choice(("break", "continue", f"return {self.value()}")) if is_in_loop else "pass"
            return f"{pad}if decide():\n{pad}    {jump}\n"
        if kind < 0.62:
            return f"{pad}{self.rng.choice(NAMES)} += {self.value()}\n"
        return f"{pad}{self.rng.choice(NAMES)} = {self.value()}\n"

    def value(self) -> str:
        return " + ".join(self.rng.choice((*NAMES, "1")) for _ in range(self.rng.randint(1, 2)))


def poisoned_run(text: str, line: int, dead: frozenset[str], seed: int) -> Any:
    """What the function gives when names are other numbers each time that the loop at `line` is gone to."""
    rng, steps = random.Random(seed), 0
    scope: dict[str, Any] = {}

    def decide() -> int:
        nonlocal steps
        steps += 1
        return rng.randint(0, 2) if steps < 400 else 0

    poisoned = text.splitlines(keepends=True)
    pad = len(poisoned[line - 1]) - len(poisoned[line - 1].lstrip())
    inside = "".join(f"{' ' * (pad + 4)}{n} = {n} * 0 + 10 ** 6\n" for n in sorted(dead))
    before = "".join(f"{' ' * pad}{n} = {n} * 0 + 10 ** 7\n" for n in sorted(dead))
    poisoned[line - 1] = before + poisoned[line - 1] + inside
    exec("".join(poisoned) if dead else text, scope)
    return scope["f"](decide)


@pytest.mark.part(5)
@pytest.mark.parametrize("seed", range(150))
def test_dead_names_may_hold_anything_where_iterations_start(seed: int) -> None:
    text = Writer(seed).function()
    function = tree_of(text)
    found = find_live_names(function, frozenset(NAMES))
    for loop in loops_in(function):
        dead = found.dead_at_head(loop) & frozenset(NAMES)
        for run in range(5):
            assert poisoned_run(text, loop.lineno, dead, run) == poisoned_run(text, loop.lineno, frozenset(), run), text


def test_many_names_are_dead_and_most_that_are_not_are_read() -> None:
    """The test above would notice a name too many."""
    dead, live, read = 0, 0, 0
    for seed in range(40):
        text = Writer(seed).function()
        function = tree_of(text)
        found = find_live_names(function, frozenset(NAMES))
        for loop in loops_in(function):
            kept = frozenset(NAMES) - found.dead_at_head(loop)
            dead, live = dead + len(NAMES) - len(kept), live + len(kept)
            for name in kept:
                runs = range(12)
                read += any(
                    poisoned_run(text, loop.lineno, frozenset({name}), r)
                    != poisoned_run(text, loop.lineno, frozenset(), r)
                    for r in runs
                )
    assert dead > 20
    assert read > live / 3


# -- what it is for ------------------------------------------------------------------------------------------
def column(x, n):
    for _k in range(1):
        t = 2.0 * x
        x = x + t
    for k in range(n):
        t = x * (1.0 + k)
        if k % 2 == 0:
            u = t + 1.0
        else:
            u = t - 1.0
        x = 0.5 * (x + u)
    return x.sum()


def test_arrays_that_are_bound_again_before_they_are_read_are_not_told_apart() -> None:
    f = vectorize_grad(cache=False)(column)
    text = f.compile(np.ones(3), 2).ir("normal")
    assert text.count("    local ") == 7, text  # an array for each statement that makes one, x's own, and the sum
    assert "which" not in text
    x = np.array([0.3, -0.7, 1.1])
    np.testing.assert_allclose(f(x, 4), column(x, 4), rtol=1e-14)
    check_grads(f, (x, 4))


def gates_by_slices(xs, W):
    H = W.shape[1] // 3
    h, c = np.zeros(H), np.zeros(H)
    for x in xs:
        z = np.concatenate((x, h)) @ W
        i, f, o = z[:H], z[H : 2 * H], z[2 * H : 3 * H]
        c = np.tanh(f) * c + np.tanh(i)
        h = np.tanh(o) * np.tanh(c)
    return (h * h).sum()


def gates_by_split(xs, W):
    h, c = np.zeros(W.shape[1] // 3), np.zeros(W.shape[1] // 3)
    for x in xs:
        i, f, o = np.split(np.concatenate((x, h)) @ W, 3)
        c = np.tanh(f) * c + np.tanh(i)
        h = np.tanh(o) * np.tanh(c)
    return (h * h).sum()


@pytest.mark.parametrize("function", [gates_by_slices, gates_by_split])
def test_parts_of_equal_length_are_one_array_from_iteration_to_iteration(function) -> None:
    rng = np.random.default_rng(5)
    xs, W = rng.standard_normal((4, 2)), 0.5 * rng.standard_normal((5, 9))
    f = vectorize_grad(cache=False)(function)
    assert "which" not in f.compile(xs, W).ir("normal")
    np.testing.assert_allclose(f(xs, W), function(xs, W), rtol=1e-13)
    check_grads(f, (xs, W))
