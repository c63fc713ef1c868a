"""Where Python raises, loopdiff raises: a few drawn programs at the edges, and the comparison itself."""

from __future__ import annotations

import numpy as np
import pytest

from .edges import edge
from .raising import raised_at_all, raised_by_python, raising_cases, try_raising

GROUPS, EACH = 4, 4
TAPES = ("auto", "store", "recompute")
PARTS = ("value", "grad", "vjp", "jvp")


@pytest.mark.parametrize("group", range(GROUPS))
def test_programs_at_the_edges(group: int) -> None:
    for seed in range(group * EACH, (group + 1) * EACH):
        program = edge(seed)
        raising = raising_cases(program)
        if raising:
            outcome = try_raising(program.source, raising, TAPES[seed % 3], frozenset({PARTS[seed % 4]}))
            assert not outcome.failed, f"{outcome.message}\n{program.source}\n{raising[outcome.case][0]}"


def test_results_where_python_raises_are_found() -> None:
    source, args = "def f(x):\n    return x[0] * 2.0\n", {"x": np.ones(2)}
    for part in PARTS:
        outcome = try_raising(source, [(args, IndexError("too far"))], "auto", frozenset({part}))
        assert (outcome.kind, outcome.stage, outcome.failed) == ("silent", part, True)


def test_arithmetic_on_floating_numbers_is_exempt() -> None:
    for expression in ("1.0 / s", "1 / n", "1.0 // s", "math.log(s)", "int(math.nan)", "n**-1", "math.exp(1e4)"):
        assert raised_by_python(f"def f(s, n):\n    return {expression}\n", {"s": 0.0, "n": 0}) is None, expression
    for expression in ("1 // n", "1 % n", "[s][1]", "1 << (n - 1)", "t"):
        source = f"def f(s, n):\n    if n:\n        t = s\n    return {expression}\n"
        assert raised_by_python(source, {"s": 0.0, "n": 0}) is not None, expression


def test_the_type_of_counted_nothing_is_exempt() -> None:
    """NumPy's depends on the number of elements."""
    text = "def f(x):\n    y = {}\n    y += np.exp(y)\n    return y\n"
    given = {"x": np.zeros(0)}
    counted = text.format("np.bincount(np.arange(len(x)), weights=x, minlength=2)")
    assert isinstance(raised_at_all(counted, given), TypeError)
    assert raised_by_python(counted, given) is None
    assert raised_by_python(text.format("np.zeros(2, np.int64)"), given) is not None
