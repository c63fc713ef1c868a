"""Programs about what functions take and give: all constructs are drawn, plain Python's gradients are right, and errors
are found."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff.ad import partials
from loopdiff.calls.structured import StructuredCalls
from loopdiff.fuzz.campaign import ABOUT_INTERFACES, program_of, report
from loopdiff.fuzz.interfaces.jets import MATH, NUMPY, CloseError, Jet, slope_at
from loopdiff.fuzz.interfaces.judge import PLAIN, all_by_position, check_interface
from loopdiff.fuzz.interfaces.plain import plain_decorator
from loopdiff.fuzz.interfaces.program import InterfaceProgram, Loaded
from loopdiff.fuzz.interfaces.writer import generate_interface
from loopdiff.fuzz.shrink import shrink
from loopdiff.ir.ops import Op

SPELLINGS = (
    r"has_aux=True", r"self\.\w+\.grad\(", r"\*rest", r"\*\*options", r"wrt=-?\d", r"wrt=\(.*\bself", r"'self\.\w+",
    r"\[-\d\]'", r"'\w+\[\"\w\"\]", r"= energy\.grad\(", r"\(?d\d.* = (self\.)?energy\.grad", r"value_and_grad\(.*=",
    r"def make\(", r"^A = matrix", r"@property", r"@dataclass", r"namedtuple", r"by_name", r"scale=0\.7", r"return s, ",
)  # fmt: skip


# -- what is drawn -----------------------------------------------------------------------------------------
def test_a_seed_gives_one_program() -> None:
    assert generate_interface(7) == generate_interface(7)
    assert isinstance(program_of(ABOUT_INTERFACES - 1), InterfaceProgram)


def test_every_construct_is_drawn() -> None:
    texts = [generate_interface(seed).text for seed in range(300)]
    assert [s for s in SPELLINGS if not any(re.search(s, text, re.M) for text in texts)] == []


@pytest.mark.part(4)
@pytest.mark.parametrize("first", range(0, 32, 4))
def test_fixed_programs_pass_in_the_interpreter(first: int) -> None:
    outcomes = [check_interface(generate_interface(seed)) for seed in range(first, first + 4)]
    assert [o for o in outcomes if o.verdict == "failed"] == []
    assert any(o.verdict == "passed" for o in outcomes)


@pytest.mark.slow
def test_a_fixed_program_passes_compiled() -> None:
    outcome = check_interface(generate_interface(3), compiled=True)
    assert outcome.verdict == "passed", outcome


# -- plain Python's gradients ------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["sin", "cos", "tanh", "exp", "log", "sqrt", "arctan"])
def test_slopes_agree_with_complex_steps(name: str) -> None:
    function = getattr(NUMPY, name)
    found = slope_at(1, function(Jet(1, 0.7, 1.0)))
    assert found == pytest.approx(getattr(np, name)(0.7 + 1e-30j).imag / 1e-30, rel=1e-14)


def test_arithmetic_agrees_with_complex_steps() -> None:
    def f(x: Any) -> Any:
        return (2.0 - x) / (x * x + 1.0) - 3.0 * x**3 / x + (1.5 / x - x) * -x

    assert slope_at(1, f(Jet(1, 0.7, 1.0))) == pytest.approx(f(0.7 + 1e-30j).imag / 1e-30, rel=1e-14)


def test_numbers_that_are_close_are_no_evidence() -> None:
    with pytest.raises(CloseError):
        assert Jet(1, 0.3, 1.0) > 0.1 + 0.2


TEXT = """
class Model:
    def __init__(self, w):
        self.w = w

    @vectorize_grad(wrt=("x", "self"))
    def energy(self, x):
        return (self.w * x**3).sum()

    @vectorize_grad(wrt=(-1, 'p["a"][-1]'), has_aux=True)
    def f(self, p, x):
        g = self.energy.grad(p["b"] * x)
        return (g.x * x).sum() + math.sin(p["a"][1]) * (g.self.w).sum(), x

def given():
    return Model(vector("w")), ({"a": [number("a"), number("c")], "b": number("b")}, vector("x")), {}
"""


def program(text: str) -> InterfaceProgram:
    return InterfaceProgram(text, (), (), ((2, 3),))


def test_gradients_in_gradients_have_their_closed_form() -> None:
    loaded = Loaded(program(TEXT), (2, 3), plain_decorator, PLAIN)
    target, (p, x), _ = loaded.call()
    gradients, beside = target.grad(p, x)
    w, b, sine = loaded.owner.w, p["b"], math.sin(p["a"][1])  # type: ignore[attr-defined]
    assert gradients._fields == ("x", "p")
    np.testing.assert_allclose(
        gradients.x.astype(float), (9.0 * b**2 * w * x**2 + 3.0 * sine * b**3 * x**2).astype(float)
    )
    assert gradients.p["a"] == [None, pytest.approx(math.cos(p["a"][1]) * b**3 * (x**3).sum())]
    assert gradients.p["b"] is None
    assert beside is x


def test_numbers_change_in_place_and_then_their_sizes() -> None:
    loaded = Loaded(program(TEXT), (2, 3), plain_decorator, PLAIN)
    seen = []
    for _ in range(3):
        target, (_, x), _ = loaded.call()
        seen.append((target.instance, x, x.tolist()))
        loaded.go_on()
    assert seen[0][0] is seen[2][0]
    assert seen[0][1] is seen[1][1]
    assert seen[0][2] != seen[1][2]
    assert len(seen[2][2]) == 5
    assert MATH.sin(0.5) == math.sin(0.5)


# -- errors are found --------------------------------------------------------------------------------------
def test_the_right_program_passes() -> None:
    assert check_interface(program(TEXT)).verdict == "passed"


def test_a_wrong_partial_is_found_and_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = partials.unary(lambda t, x, r: partials.call(Op.SIN, x))
    monkeypatch.setitem(partials.TABLE, Op.SIN, wrong)
    found = check_interface(program(TEXT))
    assert (found.verdict, found.stage) == ("failed", "interpreted0 value_and_grad")
    report(program(TEXT), found, tmp_path)
    assert "math.sin" in capsys.readouterr().out
    assert (tmp_path / "seed_0.py").read_text(encoding="utf-8").endswith(TEXT)


def test_shrinking_drops_what_nobody_needs() -> None:
    small = shrink(program(TEXT), lambda p: "math.sin" in p.text and "def given" in p.text)
    assert "class" not in small.text
    assert len(small.text.splitlines()) <= 6


@pytest.mark.parametrize(
    ("broken", "stage"),
    [
        (lambda self, found: tuple.__new__(type(found), found[::-1]), "value_and_grad"),
        (lambda self, found: type(found)(found[0], {**found[1], "b": 0.0}), "value_and_grad"),
    ],
    ids=["order", "unasked"],
)
def test_wrong_records_are_found(monkeypatch: pytest.MonkeyPatch, broken: Any, stage: str) -> None:
    gradients = StructuredCalls.gradients
    monkeypatch.setattr(StructuredCalls, "gradients", lambda self, found: broken(self, gradients(self, found)))
    found = check_interface(program(TEXT))
    assert (found.verdict, found.stage) == ("failed", f"interpreted0 {stage}")


def test_an_attribute_that_is_read_once_for_all_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[int, Any] = {}
    leaves = StructuredCalls.leaves
    monkeypatch.setattr(
        StructuredCalls, "leaves", lambda self, args: kept.setdefault(id(self), tuple(map(np.copy, leaves(self, args))))
    )
    found = check_interface(program(TEXT))
    assert found.verdict == "failed"
    assert found.stage.startswith("interpreted1")


def test_what_cannot_be_called_by_position_has_no_forward_mode() -> None:
    def f(x: float, *rest: float) -> float:
        return x

    assert not all_by_position(inspect.signature(f), {})
