"""Checks asked at the ends of loops: the same programs raise, and loops that cannot fail ask nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from loopdiff.analysis.known_sizes import KnownSizes
from loopdiff.errors import ArgumentError
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.checks.at_ends import asked_at_ends

HEAD = """loopset f(y, n, m, a, b)
    argument y: float64[:]
    scalar n: int64
    scalar m: int64
    scalar a: int64
    scalar b: int64
"""
AFFINE = "i * a + b"
TWICE = "max(i, a) - min(b, i) < 5"  # the index is in it
CONDITIONS = (
    f"{AFFINE} >= 0 and {AFFINE} < 9",
    f"9 > {AFFINE} and 0 <= {AFFINE}",
    "abs(strict_mul(float64(i), float64(a))) < 12.0",
    "abs(strict_add(float64(i * a), float64(b))) < 12.0",
    "b >= 0 or i - 2 < a",
    "a // 2 < b - i or n < 3",
    TWICE,
    "i // max(a, 1) < 2",
    "(b - i) * a <= m",
)
LOOPS = ("range(0, n, 1)", "range(a, n, 1)", "range(n, a, -1)", "range(n - 1, -1, -1)")


def lines(cond: str, loop: str) -> str:
    return f"{HEAD}for i in {loop}:\n    require {cond} else LD310: outside\n    y[0] += 1.0\n"


def checks_in_loops(ls: ir.LoopSet) -> int:
    return sum(isinstance(s.stmt, ir.Require) and bool(s.loops) for s in statements(ls.body))


def moved(text: str) -> tuple[ir.LoopSet, ir.LoopSet]:
    before = read_loopset(text)
    after = replace(before, body=asked_at_ends(before.body, KnownSizes(before.params)))
    verify(after, "asked at ends")
    return before, after


def raises(ls: ir.LoopSet, numbers: tuple[int, ...]) -> bool:
    try:
        run(ls, {"y": np.zeros(1), **dict(zip("nmab", numbers, strict=True))})
    except ArgumentError:
        return True
    return False


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("cond", CONDITIONS)
def test_the_same_calls_raise(cond: str, loop: str) -> None:
    before, after = moved(lines(cond, loop))
    outcomes = set()
    for numbers in product((-2, 0, 1, 5), (3,), (-3, -1, 0, 2), (-4, 0, 3, 7)):
        found = raises(before, numbers)
        assert raises(after, numbers) == found, numbers
        outcomes.add(found)
    assert outcomes == {True, False}
    is_twice = cond.count("i *") == 2 or (cond.count("i)") == 0 and cond.count("i,") == 1 and "min" in cond)
    assert checks_in_loops(after) == (1 if "max(i, a) - min(b, i)" in cond else 0), is_twice


def test_nests_ask_at_their_corners() -> None:
    text = f"""{HEAD}for i in range(0, n, 1):
    for j in range(0, m, 1):
        require i * a + j * b < 9 and i * a + j * b >= 0 else LD310: outside
        y[0] += 1.0
"""
    before, after = moved(text)
    assert (checks_in_loops(before), checks_in_loops(after)) == (1, 0)
    for numbers in product((-1, 0, 1, 4), (0, 1, 3), (-3, 0, 2, 3), (-2, 0, 1, 4)):
        assert raises(after, numbers) == raises(before, numbers), numbers


# What has to stay: the index is there twice, or something is divided by it; what the program itself raises comes
# first; a loop that is left may not come to its end; elements may be others by then, or in a branch that is not taken;
# where the question whether an integer wraps stays, so do those that rely on it.
STAYING = (
    ["require j * j < 9 else LD310: outside"],
    ["require y[0] < 3.0 else LD332: three", "require j < 4 else LD310: outside"],
    ["require 6 // max(j, 1) < m else LD310: outside"],
    ["exit if y[0] > 2.0", "require j < 4 else LD310: outside"],
    ["require j < 4 else LD310: outside", "exit if y[0] > 2.0"],
    ["require y[0] + float64(j) < 7.0 else LD310: outside"],
    ["if y[0] < 2.0:", "    require j < 2 else LD310: outside"],
    ["require abs(float64(j * j)) < 5.0 else LD335: large", "require j < 4 else LD310: outside"],
)


@pytest.mark.parametrize("body", STAYING, ids=lambda body: body[0])
def test_what_is_not_certain_stays(body: list[str]) -> None:
    text = "\n".join(["for j in range(0, n, 1):", *(f"    {line}" for line in body), "    y[0] += 1.0"])
    before, after = moved(f"{HEAD}{text}\n")
    assert after == before
