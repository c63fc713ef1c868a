"""Programs of the language table's examples: all are drawn, differences are right, and wrong slopes are found."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest

from loopdiff.ad import partials
from loopdiff.frontend.arrays.functions import FUNCTIONS as ARRAY_FUNCTIONS
from loopdiff.frontend.functions import NUMPY_BINARY, NUMPY_UNARY, SCALAR_FUNCTIONS, SPECIAL_UFUNCS
from loopdiff.frontend.language import ACCEPTED
from loopdiff.fuzz.campaign import FROM_TABLE, program_of
from loopdiff.fuzz.check import check, expect
from loopdiff.fuzz.differences import slopes_by_differences
from loopdiff.fuzz.generate import generate
from loopdiff.fuzz.rows import ARGUMENTS, LOSS, SIZES, TableProgram, calls, drawable, generate_from_table, returns
from loopdiff.ir.ops import Op
from loopdiff.numpy_functions import SPECIAL, WRITTEN


def test_a_seed_gives_one_program_and_some_are_of_the_table() -> None:
    assert generate_from_table(7) == generate_from_table(7)
    assert [s for s in range(12) if isinstance(program_of(s), TableProgram)] == [FROM_TABLE - 1, 2 * FROM_TABLE - 1]


def test_every_example_is_drawn_but_for_those_that_end_the_function_or_need_more() -> None:
    texts = ["".join(generate_from_table(seed).text.split()) for seed in range(700)]
    missing = [e for e in drawable() if not any("".join(e.split()) in t for t in texts)]
    assert missing == []
    assert len(drawable()) >= len(ACCEPTED) + len(calls()) - 14


# Other names of what is drawn, and what no difference knows of.
ALIASES = {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "phase", "complex64", "int64", "stop_gradient"}
ALIASES |= {"softplus"}  # which only the newest SciPy has


def test_every_function_that_is_known_is_drawn() -> None:
    registries = (ARRAY_FUNCTIONS, SCALAR_FUNCTIONS, NUMPY_UNARY, NUMPY_BINARY, WRITTEN, SPECIAL, SPECIAL_UFUNCS)
    known = {getattr(f, "__name__", "") for registry in registries for f in registry if callable(f)}
    known |= {f for registry in registries for f in registry if isinstance(f, str)}
    drawn = {word for body in drawable() for word in re.findall(r"\w+", body)}
    assert len(known) > 250
    assert known - drawn - ALIASES == set()


@pytest.mark.part(11)
@pytest.mark.parametrize("body", calls())
def test_calls_of_functions_are_accepted_and_right(body: str) -> None:
    outcome = check(of_text(f"{textwrap.indent(body, '    ')}\n    return {LOSS}\n"))
    assert outcome.verdict == "passed", outcome


def test_an_example_with_a_function_of_its_own_does_not_return() -> None:
    assert not returns("def half(v):\n    return 0.5 * v\ny[0] = half(s)")
    assert returns("for i in range(n):\n    if x[i] > s:\n        return x[i]")


@pytest.mark.parametrize("seed", [2, 5, 11])
def test_differences_agree_with_dual_numbers(seed: int) -> None:
    program = generate(seed)
    sizes = program.sizes[0]
    with np.errstate(all="ignore"):
        exact, rough = expect(program, sizes), slopes_by_differences(program, sizes)
    assert exact is not None
    assert exact.slopes is not None
    assert rough is not None
    assert rough
    for name, slope in rough.items():
        np.testing.assert_allclose(slope, exact.slopes[name], rtol=1e-6, atol=1e-6 * exact.scale)


def of_text(body: str) -> TableProgram:
    return TableProgram(f"def f(A, x, y, idx, n, s):\n{body}", ARGUMENTS, ("A", "x", "y", "s"), SIZES)


def test_there_are_no_differences_where_they_disagree() -> None:
    smooth = of_text("    return np.sin(3.0 * s) * x.sum()\n")
    assert slopes_by_differences(smooth, SIZES[0]) is not None
    kinks = of_text("    return abs(np.sin(1e6 * s))\n")
    assert slopes_by_differences(kinks, SIZES[0]) is None
    steps = of_text("    return s, int(1e7 * s)\n")
    assert slopes_by_differences(steps, SIZES[0]) is None


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_fixed_programs_pass_in_the_interpreter(seed: int) -> None:
    outcome = check(generate_from_table(seed))
    assert outcome.verdict == "passed", outcome


def test_a_wrong_partial_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: Any = partials.unary(lambda t, x, r: partials.call(Op.SIN, x))
    monkeypatch.setitem(partials.TABLE, Op.SIN, wrong)
    outcome = check(of_text("    y[:] = np.sin(x)\n    return y.sum() + math.sin(s)\n"))
    assert (outcome.verdict, outcome.stage) == ("failed", "interpreted tangent")


def test_programs_that_order_equal_elements_say_nothing() -> None:
    tied = of_text("    y[:] = s\n    y[3] = 0.0\n    return float(np.argsort(np.repeat(y, 40))[200])\n")
    assert expect(tied, SIZES[0]) is None
    apart = of_text("    return x[np.argsort(x)[2]]\n")
    assert expect(apart, SIZES[0]) is not None
