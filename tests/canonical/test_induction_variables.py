"""Counters as sums of indices: the same places for all extents, and no counter left where that is said."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting, normal_form
from tests.texts import registered


def plain(body: list[str]) -> Any:
    text = "\n    ".join(["def f(x, y, n, k):", *body]) + "\n"
    return registered(text, f"<counters {hash(text)}>", np=np)


def drawn(seed: int) -> list[str]:
    """Loops of all kinds of ranges that raise one or two counters, which say what is read and written."""
    rng = random.Random(seed)
    ranges = [
        "range(n)",
        "range(1, n)",
        "range(i)",
        "range(i + 1)",
        "range(i + 1, n)",
        "range(2, i)",
        "range(n, k)",
        "range(k)",
    ]
    depth = rng.choice([1, 2, 2, 3])
    body = [f"p = {rng.choice(['0', '0', '1', 'k'])}", "q = 0"]
    names = "ijl"[:depth]
    around = ""
    for level, index in enumerate(names):
        allowed = [r for r in ranges if "i" not in r.replace("range", "") or around]
        head = rng.choice(allowed).replace("(i", f"({around[-1:]}").replace(", i)", f", {around[-1:]})")
        body.append(f"{'    ' * level}for {index} in {head}:")
        around += index
        if level + 1 < depth and rng.random() < 0.3:
            body.append(f"{'    ' * (level + 1)}{rng.choice(['p += 1', 'q += 2', 'p += k', 'y[q % 5] += x[p % 7]'])}")
    pad = "    " * depth
    body.append(f"{pad}y[p % 7] += 0.5 * x[(p + q) % 7] + p")
    body.append(
        pad + rng.choice(["p += 1", "p += 1", "p += 2", "p = p + k", f"p += {names[-1]}", "q += p", "if p < 9: p += 1"])
    )
    if rng.random() < 0.4:
        body.append(f"{pad}y[q % 3] -= x[p % 4] * {1 + rng.random():.2f}")
    if rng.random() < 0.5:
        body.append(f"{'    ' * rng.randrange(depth)}    q += {rng.choice(['1', '3', 'k'])}")
    return [*body, "y[0] += p + 100 * q"]


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(120))
def test_drawn_loops(seed: int) -> None:
    body = drawn(seed)
    function = plain(body)
    rng = np.random.default_rng(seed)
    found = None
    for n in range(6):
        for k in (0, 1, 4, -2):
            args: dict[str, Any] = {"x": rng.random(9), "y": rng.random(9), "n": n, "k": k}
            mine = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in args.items()}
            if found is None:
                found = normal_form(function, args)
                verify(found, "induction")
            function(**args)
            run(found, mine)
            np.testing.assert_allclose(mine["y"], args["y"], rtol=1e-13, err_msg="\n".join(body) + f"\nn={n}, k={k}")


def packed(x, y, n, k):
    p = 0
    for i in range(n):
        for j in range(i + 1):
            y[i] += x[p] * j
            p += 1
    return p


def pairs(x, y, n, k):
    p = k
    for i in range(n):
        for j in range(i + 1, n):
            y[p] = x[i] * x[j]
            p += 1


def cube(x, y, n, k):
    p = 0
    for i in range(n):
        for j in range(k):
            for l in range(3):
                y[i] += x[p % 9] * (j + l)
                p += 1
        p += 2


def chosen(x, y, n, k):
    p = 0
    for i in range(n):
        if x[i] > 0.5:
            y[p] = x[i]
            p += 1


def left_early(x, y, n, k):
    p = 0
    for i in range(n):
        y[p] += x[i]
        if x[i] > 0.9:
            break
        p += 2


def counters_left(function: Any) -> int:
    found = normal_form(function, {"x": np.ones(9), "y": np.ones(9), "n": 3, "k": 2})
    cells = {a.name for a in found.arrays if a.role == "local" and not a.extents and str(a.type) == "int64[]"}
    loops = tuple(s for s in found.body if isinstance(s, ir.Loop))
    return sum(isinstance(s, ir.Accumulate) and s.target.array in cells for s in all_statements(loops))


@pytest.mark.parametrize(("function", "left"), [(packed, 0), (pairs, 0), (cube, 0)])
def test_no_counter_is_left(function: Any, left: int) -> None:
    assert counters_left(function) == left


@pytest.mark.parametrize("function", [chosen, left_early])
def test_counters_of_some_iterations_stay(function: Any) -> None:
    assert counters_left(function) > 0


@pytest.mark.parametrize("function", [packed, pairs, cube])
def test_gradients(function: Any) -> None:
    rng = np.random.default_rng(1)
    with interpreting():
        check_grads(vectorize_grad(wrt=("x", "y"))(function), (rng.random(9), rng.random(9), 3, 2))


def test_nothing_is_divided_for_loops_that_do_not_run() -> None:
    f = plain(["p = 0", "for i in range(n):", "    p += 7 // k", "    y[p % 9] += x[p % 9]", "y[0] += p"])
    args = {"x": np.ones(9), "y": np.ones(9), "n": 0, "k": 0}
    run(normal_form(f, args), dict(args))
    assert args["y"][0] == 1.0


def test_what_is_beyond_the_end_is_an_error() -> None:
    f = vectorize_grad(packed)
    with interpreting(), pytest.raises(ArgumentError, match=r"`x\[p"):
        f(np.ones(5), np.ones(9), 3, 0)
