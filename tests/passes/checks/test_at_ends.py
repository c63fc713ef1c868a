"""Checks asked at the ends of loops: the same programs raise, and loops that cannot fail ask nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.analysis.known_sizes import KnownSizes
from loopdiff.errors import ArgumentError
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.checks.at_ends import asked_at_ends
from tests.gradients.interpreted import interpreting

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


def steps(x, w, n):
    assert w >= 0
    s = 0.0
    for i in range(n):
        s += x[i * w]
    return s


def thirds(x, w, n):
    s = 0.0
    for i in range(n):
        s += x[i * max(w, 0) // 3]
    return s


def at_most_five(x, w, n):
    s = 0.0
    for i in range(n):
        s += x[min(i * max(w, 0), 5)]
    return s


def squares(x, w, n):
    s = 0.0
    for i in range(n):
        s += x[i * w * w]
    return s


def beyond(x, w, n):
    s = 0.0
    for i in range(n):
        s += x[i + w]
    return s


LARGE = ((2**62, 5), (2**62, 3), (2**61, 9), (2**31, 5), (2**63 - 2, 4), (2**63 - 1, 2))


@pytest.mark.parametrize("function", [steps, thirds, at_most_five, squares, beyond], ids=lambda f: f.__name__)
def test_numbers_that_wrap_are_outside(function: Callable[..., float]) -> None:
    x = np.arange(6.0)
    with interpreting():
        f = vectorize_grad(function)
        for w, n in LARGE:
            if function is at_most_five and w * (n - 1) < 2**62:
                assert f(x, w, n) == function(x, w, n)
                continue
            with pytest.raises(ArgumentError, match=r"LD310|LD335"):
                f(x, w, n)
        assert f(x, 1, 3) == function(x, 1, 3)


def quotients(x, y):
    n = y.shape[0]
    for i in range(1, n):
        x[n // i] += y[i]


def of_floats(x, h):
    for i in range(x.shape[0]):
        x[int(i * max(h, 0.0))] += 1.0


def test_what_turns_back_is_asked_each_time() -> None:
    with interpreting():
        f, g = vectorize_grad(quotients), vectorize_grad(of_floats)
        with pytest.raises(ArgumentError, match="LD310"):
            f(np.ones(4), np.ones(8))
        f(np.ones(9), np.ones(8))
        for h in (1e300, 5e18):
            with pytest.raises((ArgumentError, OverflowError)):
                g(np.ones(3), h)
        g(np.ones(3), 1.0)
