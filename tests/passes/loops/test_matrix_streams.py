"""Nests that go through one matrix together: the same sums for all extents, and one pass where that is said."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements, loads_of
from loopdiff.passes.loops.distribution import restructure
from loopdiff.passes.loops.matrix_streams import stream_matrices
from tests.gradients.interpreted import normal_form
from tests.texts import registered

NAMES = ("A", "B", "p", "q", "r", "s", "w")
ROWS, COLUMNS = "for i in range(A.shape[0]):", "for j in range(A.shape[1]):"


def arguments(n: int, m: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"A": (n, m), "B": (n, m), "p": (m,), "q": (m,), "r": (n,), "s": (n,), "w": (2 * n + m,)}
    return {name: rng.random(shape) for name, shape in shapes.items()}


def plain(nests: list[str]) -> Any:
    checks = ["assert B.shape == A.shape", *(f"assert len({v}) == A.shape[1]" for v in "pq")]
    checks += [f"assert len({v}) == A.shape[0]" for v in "rs"]
    checks += ["assert len(w) >= 2 * A.shape[0] + A.shape[1]"]
    lines = [f"def f({', '.join(NAMES)}):", *("    " + line for text in (*checks, *nests) for line in text.split("\n"))]
    text = "\n".join(lines) + "\n"
    return registered(text, f"<streams {hash(text)}>", np=np)


def nest(statement: str, is_turned: bool) -> str:
    outer, inner = (COLUMNS, ROWS) if is_turned else (ROWS, COLUMNS)
    return f"{outer}\n    {inner}\n        {statement}"


def drawn(seed: int) -> list[str]:
    """Some products, sums and updates, in the order of rows or of columns, one after the other."""
    rng = random.Random(seed)
    found: list[str] = []
    for _ in range(rng.choice([2, 3, 4])):
        matrix, other = rng.choice(["A", "A", "B"]), rng.choice(["A", "B"])
        row, column = rng.choice("rs"), rng.choice("pq")
        element = rng.choice([f"{matrix}[i, j]", f"{matrix}[i, j]", f"({matrix}[i, j] - 0.5 * {other}[i, j])"])
        statement = rng.choice(
            [
                f"{row}[i] += {element} * {column}[j]",
                f"{column}[j] += {element} * {row}[i]",
                f"{column}[j] -= {element}",
                f"{matrix}[i, j] += {row}[i] * {column}[j]",
                f"{matrix}[i, j] = {row}[i] * {column}[j] - {other}[i, j]",
                f"{matrix}[i, j] *= 0.5",
                f"w[i + j] {rng.choice(['=', '+='])} 0.5 * w[i + j] + {element}",
                f"{column}[j] += {element} * w[2 * i + j]",
                f"{row}[i] += {element} * w[i + j]",
            ]
        )
        found.append(nest(statement, rng.random() < 0.5))
        if rng.random() < 0.15:
            found.append("if t > 0:\n    break")
        elif rng.random() < 0.2:
            found.append(f"r[:] *= {rng.random():.2f}" if rng.random() < 0.5 else "q += 1.0")
    return ["for t in range(3):", *("\n".join("    " + line for line in n.split("\n")) for n in found)]


def streamed(nests: list[str]) -> tuple[Any, ir.LoopSet]:
    function = plain(nests)
    found = stream_matrices(restructure(normal_form(function, arguments(5, 3, 0))))
    verify(found, "streams")
    return function, found


@pytest.mark.part(5)
@pytest.mark.parametrize("seed", range(100))
def test_drawn_nests(seed: int) -> None:
    function, found = streamed(drawn(seed))
    for n, m in ((0, 3), (3, 0), (1, 1), (4, 2), (7, 5), (8, 3), (11, 9), (17, 4)):
        mine, other = arguments(n, m, seed), arguments(n, m, seed)
        run(found, mine)
        function(**other)
        for name in NAMES:
            np.testing.assert_allclose(mine[name], other[name], rtol=1e-9, atol=1e-9, err_msg=f"{name}, {n} x {m}")


def test_an_element_that_is_updated_and_multiplied_is_read_and_stored_once() -> None:
    _, found = streamed(["A += np.outer(r, p)", "A *= 0.5", "q += s @ A"])
    inner = next(s for s in all_statements(found.body) if isinstance(s, ir.Loop) and isinstance(s.body[0], ir.Let))
    read = [e.access for s in inner.body for e in loads_of(s) if e.access.array == "A"]
    stored = [s.target for s in inner.body if isinstance(s, ir.Assign)]
    assert read == stored
    assert len(set(stored)) == 4


def loops_inside(loop: ir.Loop) -> bool:
    return any(isinstance(s, ir.Loop) for s in loop.body)


def passes_through(found: ir.LoopSet) -> int:
    """How many nests there are, rests of rows and checks aside."""
    nests = [s for s in found.body if isinstance(s, ir.Loop) and loops_inside(s)]
    return sum(not (isinstance(s.lower, ir.Apply)) for s in nests)


@pytest.mark.parametrize(
    ("nests", "count"),
    [
        ([nest("s[i] += A[i, j] * p[j]", False), nest("q[j] += A[i, j] * r[i]", True)], 1),
        (["s[:] = A @ p", "q[:] = r @ A"], 1),
        (["s[:] = A @ p", "q[:] = s @ A"], 1),  # the row is there once more
        ([nest("B[i, j] = r[i] * p[j]", False), nest("B[i, j] += s[i] * q[j]", True)], 1),
        (["A += np.outer(r, p) + np.outer(s, q)", "q += r @ A"], 1),
        (["q[:] = r @ A", "p[:] = s @ B"], 2),  # matrices that have nothing in common
        (["q[:] = r @ A", "s[:] = A @ q"], 2),  # all rows are in each element of `q`
        (["s[:] = A @ p", "A *= 0.5", "q[:] = r @ A"], 1),
        (["s[:] = A @ p", "A[0, 0] = 0.5", "q[:] = r @ A"], 2),
        ([nest("w[i + j] += A[i, j]", False), nest("s[i] += A[i, j] * w[i + j]", False)], 2),  # frames that overlap
    ],
)
def test_passes_through_matrices(nests: list[str], count: int) -> None:
    assert passes_through(streamed(nests)[1]) == count
