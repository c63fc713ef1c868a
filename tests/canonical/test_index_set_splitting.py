"""Loops over periods in pieces: the same for all extents, down to none, and without remainders where that is said."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from loopdiff.errors import ArgumentError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements, nodes_in
from tests.gradients.interpreted import normal_form
from tests.texts import registered

MOST = 7  # elements
SHIFTS = ["+ 1", "- 1", "+ 2", "- 2", "- 3", "+ k", "- k", "- 2 * k", "+ 9", "- 1 + n", "+ k + 1", "+ p[0]"]


def plain(body: list[str]) -> Any:
    lines = ["def f(x, y, p, k):", "    n = x.shape[0]", *("    " + line for line in body)]
    text = "\n".join(lines) + "\n"
    return registered(text, f"<periods {hash(text)}>", np=np)


def subscript(rng: random.Random, index: str, others: list[str]) -> str:
    sign = rng.choice(["", "", "-"])
    shift = rng.choice([*SHIFTS, *(f"{s} {i}" for i in others for s in "+-")])
    return f"({sign}{index} {shift}) % n"


def drawn(seed: int) -> list[str]:
    """A nest with one or two loops that reads, writes and adds round the ends."""
    rng = random.Random(seed)
    lower, upper = rng.choice(["0", "0", "1", "2"]), rng.choice(["n", "n", "n - 1", "n - 2", "n + 1"])
    indices = ["i", "j"][: rng.choice([1, 2])]
    body = [f"{'    ' * k}for {i} in range({lower}, {upper}):" for k, i in enumerate(indices)]
    pad = "    " * len(indices)
    inner = indices[-1]
    for _ in range(rng.choice([1, 2])):
        read = [subscript(rng, rng.choice(indices), indices[:-1]) for _ in range(2)]
        to = subscript(rng, inner, indices[:-1])
        if rng.random() < 0.3:
            body.append(f"{pad}q = {inner} {rng.choice(SHIFTS[:5])}")
            to = "q % n"
        value = f"0.5 * x[{read[0]}] - x[{read[1]}] * {1 + rng.random():.2f}"
        if rng.random() < 0.3:
            body += [f"{pad}if {inner} % n > 1:", f"{pad}    y[{to}] = {value} + y[{read[0]}]"]
        else:
            body.append(f"{pad}y[{to}] {rng.choice(['=', '+='])} {value}")
    return body


@pytest.mark.part(5)
@pytest.mark.parametrize("seed", range(150))
def test_drawn_nests(seed: int) -> None:
    body = drawn(seed)
    function = plain(body)
    rng = np.random.default_rng(seed)
    found = None
    for n in range(MOST):
        for k in (0, 1, -3, n, 11):
            args = {"x": rng.random(n), "y": rng.random(n), "p": np.array([n // 2]), "k": k}
            mine = {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in args.items()}
            if found is None:
                found = normal_form(function, args)
                verify(found, "split")
            try:
                function(**args)
            except (IndexError, ZeroDivisionError, RuntimeWarning):
                continue
            try:
                run(found, mine)
            except ArgumentError:  # subscripts that Python counts from the end
                continue
            np.testing.assert_array_equal(mine["y"], args["y"], err_msg="\n".join(body) + f"\nn={n}, k={k}")


def remainders_in_loops(body: list[str]) -> int:
    found = normal_form(plain(body), {"x": np.ones(5), "y": np.ones(5), "p": np.array([2]), "k": 1})
    loops = tuple(s for s in all_statements(found.body) if isinstance(s, ir.Loop))
    written = tuple(s for s in all_statements(loops) if isinstance(s, ir.Assign | ir.Accumulate))
    return sum(isinstance(e, ir.Apply) and e.op is Op.MOD for e in nodes_in(written))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (["for i in range(n):", "    y[i] = x[(i - 1) % n] + x[(i + 1) % n]"], 0),
        (["for i in range(n):", "    y[i] = x[(i - 2 + n) % n] + x[(i + 2) % n]"], 0),
        (["for i in range(n):", "    y[i] = x[-i % n] + x[(3 - i) % n]"], 0),
        (["for i in range(n):", "    y[i] = x[(i + k) % n] * x[(k - i) % n]"], 0),
        (["for i in range(n):", "    for j in range(n):", "        y[i] += x[j] * x[(i - j) % n]"], 0),
        (["y[:] = np.roll(x, 1) - 2.0 * x + np.roll(x, -1)"], 0),
        (["y[:] = np.roll(x, k) * x"], 0),
        (["for i in range(k):", "    y[(i + 1) % n] += x[i % n]"], 2),  # periods without number
        (["for i in range(n):", "    y[(i * 2) % n] += x[i]"], 1),
        (["for i in range(1, n):", "    y[i] = x[(i - 1) % n]"], 0),
        (["for i in range(n):", "    if k > 0:", "        y[i] = x[(i + 7 // k) % n]"], 1),  # divides only then
    ],
)
def test_what_is_left(body: list[str], left: int) -> None:
    assert remainders_in_loops(body) == left
