"""Rules: wrong ones are found, right ones hold in every mode, and what is kept on disk follows their text."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import loopdiff
from loopdiff import ArgumentError, DifferentiationError, vectorize_grad
from loopdiff.frontend.capture import argument_types
from loopdiff.testing import RuleCheckError, check_rule
from tests.api.test_cache import program, run
from tests.corpus import ruled

pytestmark = pytest.mark.part(3)

assert program  # a fixture
ROW, MATRIX = np.array([0.3, 0.7, 0.2]), np.array([[0.3, 0.7], [0.2, 0.5]])
CHECKED = {
    ruled.power: (0.7, 1.3),
    ruled.root: (0.7,),
    ruled.relax: (ROW, ROW[::-1].copy(), 0.4),
    ruled.normalised: (MATRIX, np.zeros((2, 2))),
    ruled.looked_up: (ROW, 0.4),
    ruled.level: (0.4,),
    ruled.wave: (0.3, 1.2),
    ruled.wave_by_x: (0.3, 1.2),
    ruled.wave_by_k: (0.3, 1.2),
    ruled.staircase: (ROW, np.zeros(3)),
}


@pytest.mark.parametrize("function", CHECKED, ids=lambda f: f.__name__)
def test_the_rules_of_the_corpus_are_right(function: Callable[..., Any]) -> None:
    assert check_rule(function, CHECKED[function], compiled=False).is_good


def test_a_rule_is_checked_as_numba_compiles_it() -> None:
    report = check_rule(ruled.relax, CHECKED[ruled.relax])
    assert report.is_good
    assert {f.active for f in report.findings} == {(), ("x", "y", "rate"), ("y", "rate")}


# -- every way of being wrong --------------------------------------------------------------------------------
def blend(x, y, c):
    """`y` in place, from `x` and a number; returns their inner product before."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
        y[i] = c * x[i] * y[i]
    return total


class Blend:
    """The rule of `blend`, which is right."""

    def tape(x):
        return x.shape[0]

    def forward(x, y, c, tape):
        tape[:] = y
        total = (x * y).sum()
        y *= c * x
        return total

    def tangent(x, x_tan, y, y_tan, c, c_tan):
        slope = 0.0 if x_tan is None else (x_tan * y).sum()
        slope += 0.0 if y_tan is None else (x * y_tan).sum()
        if y_tan is not None:
            y_tan *= c * x
            y_tan += c_tan * x * y
            if x_tan is not None:
                y_tan += c * x_tan * y
        total = (x * y).sum()
        y *= c * x
        return total, slope

    def reverse(x, x_adj, y_adj, c, tape, result_adj):
        c_adj = 0.0
        if x_adj is not None:
            x_adj += result_adj * tape
        if y_adj is not None:
            c_adj = (y_adj * x * tape).sum()
            if x_adj is not None:
                x_adj += c * tape * y_adj
            y_adj *= c * x
            y_adj += result_adj * x
        return c_adj


def fill_squares(x, y):
    y[:] = x * x


class FillSquares:
    def tangent(x, x_tan, y, y_tan):
        y[:] = x * x
        if y_tan is not None:
            y_tan[:] = 0.0
            if x_tan is not None:
                y_tan[:] = 2.0 * x * x_tan

    def reverse(x, x_adj, y_adj):
        if x_adj is not None:
            x_adj += 2.0 * x * y_adj
        y_adj[:] = 0.0


def of_blend(function: Any = blend, settings: Any = None, **changes: Any) -> FunctionType:
    """A copy of `function`, with the rule of `blend` but for `changes`."""
    settings = settings or {"active": ("x", "y", "c"), "overwrites": ("y",), "result": "float64"}
    return with_rule(function, Blend, settings, changes)


def of_squares(function: Any = fill_squares, **changes: Any) -> FunctionType:
    return with_rule(function, FillSquares, {"active": ("x", "y"), "outputs": ("y",)}, changes)


def with_rule(function: Any, right: type, settings: Any, changes: Any) -> FunctionType:
    copy = FunctionType(function.__code__, function.__globals__, function.__name__)
    own = {n: v for n, v in {**vars(right), **changes}.items() if callable(v)}
    loopdiff.rule(copy, **settings)(type("Rule", (), own))
    return copy


def wrong_value(x, x_tan, y, y_tan, c, c_tan):
    total, slope = Blend.tangent(x, x_tan, y, y_tan, c, c_tan)
    return 2.0 * total, slope


def wrong_array(x, x_tan, y, y_tan, c, c_tan):
    found = Blend.tangent(x, x_tan, y, y_tan, c, c_tan)
    y += 1.0
    return found


def wrong_slope(x, x_tan, y, y_tan, c, c_tan):
    total, slope = Blend.tangent(x, x_tan, y, y_tan, c, c_tan)
    return total, -slope


def forgets_a_number(x, x_tan, y, y_tan, c, c_tan):
    return Blend.tangent(x, x_tan, y, y_tan, c, 0.0)


def changes_a_tangent(x, x_tan, y, y_tan, c, c_tan):
    found = Blend.tangent(x, x_tan, y, y_tan, c, c_tan)
    if x_tan is not None:
        x_tan[:] = 0.0
    return found


def expects_all(x, x_tan, y, y_tan, c, c_tan):
    return Blend.tangent(x, x_tan + 0.0, y, y_tan, c, c_tan)


def sets_the_adjoint(x, x_adj, y_adj, c, tape, result_adj):
    if x_adj is not None:
        x_adj[:] = 0.0
    return Blend.reverse(x, x_adj, y_adj, c, tape, result_adj)


def keeps_the_adjoint(x, x_adj, y_adj, c, tape, result_adj):
    return Blend.reverse(x, x_adj, None if y_adj is None else y_adj.copy(), c, tape, result_adj)


def forgets_the_result(x, x_adj, y_adj, c, tape, result_adj):
    return Blend.reverse(x, x_adj, y_adj, c, tape, 0.0 * result_adj)


def returns_too_much(x, x_adj, y_adj, c, tape, result_adj):
    return Blend.reverse(x, x_adj, y_adj, c, tape, result_adj), 0.0


def changes_the_tape(x, x_adj, y_adj, c, tape, result_adj):
    found = Blend.reverse(x, x_adj, y_adj, c, tape, result_adj)
    tape[:] = 0.0
    return found


def changes_an_argument(x, x_adj, y_adj, c, tape, result_adj):
    x += 1.0
    return Blend.reverse(x - 1.0, x_adj, y_adj, c, tape, result_adj)


def uses_new_values(x, x_adj, y, y_out, y_adj, c, result_adj):
    return Blend.reverse(x, x_adj, y_adj, c, y_out, result_adj)


def computes_otherwise(x, y, c, tape):
    return Blend.forward(x, y, c, tape) + 1.0


def keeps_nothing(x, y, c, tape):
    return Blend.forward(x, y, c, np.empty_like(tape))


def too_short(x):
    return x.shape[0] - 1


def changes_what_it_reads(x, y, c):
    x *= 2.0
    return blend(x, y, c)


def counts(x, y, c):
    return int(blend(x, y, c))


def fills_a_part(x, y):
    y[1:] = x[1:] * x[1:]


def reads_what_it_fills(x, y):
    y[:] = x * x + y


def lets_go(x, x_adj, y_adj):
    FillSquares.reverse(x, x_adj, y_adj.copy())


def adds_to_the_old(x, x_tan, y, y_tan):
    FillSquares.tangent(x, x_tan, y, None)
    if y_tan is not None and x_tan is not None:
        y_tan += 2.0 * x * x_tan


WRONG = {
    "value of the result": (lambda: of_blend(tangent=wrong_value), "`result` of `tangent` is that of the function"),
    "value of an array": (lambda: of_blend(tangent=wrong_array), "`y` of `tangent` is that of the function"),
    "slope": (lambda: of_blend(tangent=wrong_slope), "tangent of `result` is that of differences"),
    "number": (lambda: of_blend(tangent=forgets_a_number), "tangent of `y` is that of differences"),
    "tangent of what is read": (lambda: of_blend(tangent=changes_a_tangent), "`tangent` leaves `x_tan` as it is"),
    "no derivative asked": (lambda: of_blend(tangent=expects_all), "y, c active: tangent: TypeError"),
    "set, not added": (lambda: of_blend(reverse=sets_the_adjoint), "`reverse` is the transpose"),
    "not used up": (lambda: of_blend(reverse=keeps_the_adjoint), "`reverse` is the transpose"),
    "adjoint of the result": (lambda: of_blend(reverse=forgets_the_result), "`reverse` is the transpose"),
    "number of numbers": (lambda: of_blend(reverse=returns_too_much), "returns 2 adjoints for 1 numbers"),
    "tape changed": (lambda: of_blend(reverse=changes_the_tape), "`reverse` leaves `tape` as it is"),
    "argument changed": (lambda: of_blend(reverse=changes_an_argument), "`reverse` leaves `x` as it is"),
    "final for initial": (
        lambda: of_blend(reverse=uses_new_values, tape=None, forward=None),
        "`reverse` is the transpose",
    ),
    "forward": (lambda: of_blend(forward=computes_otherwise), "`result` of `forward` is that of the function"),
    "tape not filled": (lambda: of_blend(forward=keeps_nothing), "`reverse` is the transpose"),
    "tape too short": (lambda: of_blend(tape=too_short), "reverse: ValueError"),
    "writes what it reads": (lambda: of_blend(changes_what_it_reads), "the function leaves `x` as it is"),
    "result of another type": (lambda: of_blend(counts), "it returns int, declared float64"),
    "output in part": (lambda: of_squares(fills_a_part), "`y` is the same whatever was in outputs"),
    "output is read": (lambda: of_squares(reads_what_it_fills), "`y` is the same whatever was in outputs"),
    "adjoint of an output": (lambda: of_squares(reverse=lets_go), "adjoint of `y` is used up"),
    "tangent of an output": (lambda: of_squares(tangent=adds_to_the_old), "tangent of `y` is that of differences"),
}


@pytest.mark.parametrize("way", WRONG)
def test_a_wrong_rule_is_found(way: str) -> None:
    make, said = WRONG[way]
    args = (ROW, ROW[::-1].copy(), 0.8)
    function = make()
    with pytest.raises(RuleCheckError) as caught:
        check_rule(function, args[: function.__code__.co_argcount], compiled=False)
    lines = [line for line in str(caught.value).splitlines() if line.endswith("WRONG")]
    assert any(said in line for line in lines), str(caught.value)


def test_the_rules_that_they_change_are_right() -> None:
    assert check_rule(of_blend(), (ROW, ROW[::-1].copy(), 0.8), compiled=False).is_good
    assert check_rule(of_squares(), (ROW, ROW), compiled=False).is_good
    narrow = ROW.astype(np.float32)
    assert check_rule(of_squares(), (narrow, narrow), compiled=False).is_good


CONTRADICTIONS = {
    "'x' is in `active` and in `nondifferentiable`": {"active": ("x", "y", "c"), "nondifferentiable": ("x",)},
    "'y' is in `overwrites` and in `outputs`": {"active": (), "overwrites": ("y",), "outputs": ("y",)},
    "`outputs` names 'z', which is no parameter": {"active": (), "outputs": ("z",)},
    "`tangent` takes 'c_tan', which stands for nothing": {"active": ("x", "y"), "overwrites": ("y",)},
    "`result` is 'complex128', not a type of numbers": {"active": ("x", "y", "c"), "result": "complex128"},
    "`forward` and `tape` go together": {"active": ("x", "y", "c"), "overwrites": ("y",), "without": "tape"},
    "`tangent` does not take 'y_tan'": {"active": ("x", "y"), "overwrites": ("y",), "tangent": lambda x_tan, y: 0.0},
    "the name 'result' has a meaning of its own": {"active": (), "function": lambda result: result},
    "`partials` are for functions that return a floating number": {
        "partials": {"x": blend},
        "active": ("x", "y", "c"),
        "overwrites": ("y",),
    },
    "`partials` has none for 'y'": {"active": ("x", "y"), "partials": {"x": blend}, "function": lambda x, y, c: x},
    "`partials` names 'c', which is not active": {
        "active": ("x",),
        "partials": {"x": lambda x, c: x, "c": lambda x, c: c},
        "function": lambda x, c: x,
    },
    "the partial by 'x' is no function of the same parameters": {
        "partials": {"x": lambda y: y},
        "function": lambda x: x,
    },
    "`tape` takes 'd', no parameter": {"active": ("x", "y", "c"), "tape": lambda d: 1},
}


@pytest.mark.parametrize("said", CONTRADICTIONS)
def test_a_rule_that_contradicts_itself_is_refused(said: str) -> None:
    settings: dict[str, Any] = dict(CONTRADICTIONS[said])
    without, function = settings.pop("without", None), settings.pop("function", blend)
    own = {n: settings.pop(n) for n in ("tangent", "tape") if n in settings}
    changes = {**own, **({} if without is None else {without: None})}
    if function is not blend or "partials" in settings:
        changes = dict.fromkeys(("tape", "forward", "tangent", "reverse"))
    with pytest.raises(ArgumentError, match="LD353: the rule of") as caught:
        of_blend(function, {"result": "float64", **settings}, **changes)
    assert said in str(caught.value)


# -- partials ------------------------------------------------------------------------------------------------
def triple(x):
    return 3.0 * x


def two(x):
    return 2.0


loopdiff.rule(triple, partials={"x": two})


@vectorize_grad
def sixth(x):
    return 2.0 * triple(x)


def test_partials_without_a_rule_and_wrong_ones() -> None:
    assert sixth.grad(1.0).x == 4.0
    with pytest.raises(DifferentiationError, match="LD411: the rule of `two` states no derivative by `x`"):
        sixth.hvp((1.0,), {"x": 1.0})
    with pytest.raises(RuleCheckError, match="the partial by `x` is that of differences: error 3"):
        check_rule(triple, (1.0,), compiled=False)


# -- in programs ---------------------------------------------------------------------------------------------
def test_pure_outputs_are_not_differentiated_by_default() -> None:
    function = of_squares()

    @vectorize_grad
    def total(x, y):
        for i in range(y.shape[0]):
            function(x[i], y[i])
        return y.sum()

    matrix = np.asfortranarray(MATRIX)  # rows with steps
    value, gradients = total.value_and_grad(matrix, np.full((2, 2), np.nan))
    assert gradients._fields == ("x",)
    np.testing.assert_allclose(gradients.x, 2.0 * MATRIX)
    assert value == pytest.approx((MATRIX * MATRIX).sum())
    assert "it calls `fill_squares`, which is not looked into" in total.explain(matrix, np.zeros((2, 2)))


def test_rows_in_single_precision_at_places_that_data_decide() -> None:
    function = of_squares()

    @vectorize_grad
    def gathered(x, which, y):
        s = np.float32(0.0)
        for i in range(which.shape[0]):
            function(x[which[i]], y)
            s += y[0] * y[1]
        return s

    x, y = MATRIX.astype(np.float32), np.zeros(2, np.float32)
    found = gathered.grad(x, np.array([1, 0, 1]), y).x
    assert found.dtype == np.float32
    expected = [[2 * 0.3 * 0.49, 2 * 0.7 * 0.09], [4 * 0.2 * 0.25, 4 * 0.5 * 0.04]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ArgumentError, match="LD310"):
        gathered(x, np.array([0, 2]), y)


def test_no_derivative_goes_through_an_infinite_slope_that_nobody_uses() -> None:
    @vectorize_grad
    def f(x, y):
        a, b = ruled.root(x), ruled.root(y)
        return b if y > x else a

    assert f.grad(0.0, 4.0) == (0.0, 0.25)
    assert f.jvp((0.0, 4.0), {"y": 1.0})[1].result == 0.25


def test_arguments_that_a_rule_needs_are_guarded() -> None:
    @vectorize_grad
    def f(x, y):
        ruled.relax(x, y, 0.5)
        return y.sum()

    x, y = ROW.copy(), ROW.copy()
    _, pullback = f.vjp(x, y)
    x[0] = 0.9
    with pytest.raises(ArgumentError, match="LD34"):
        pullback()


def test_a_rule_counts_from_when_the_caller_is_decorated() -> None:
    def cube(x):
        return x**3

    def caller(x):
        return cube(x)

    early = vectorize_grad(caller)
    loopdiff.nondifferentiable(cube)
    late = vectorize_grad(caller)
    assert early.grad(2.0).x == 12.0
    assert late.grad(2.0).x == 0.0
    assert late(2.0) == 8.0


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
def test_through_jax() -> None:
    import jax
    import jax.numpy as jnp

    import loopdiff.jax

    @vectorize_grad
    def f(x, w):
        s = 0.0
        for i in range(x.shape[0]):
            s += ruled.power(x[i], w)
        return s

    wrapped = loopdiff.jax.wrap(f)
    x = jnp.asarray(ROW)
    np.testing.assert_allclose(jax.jit(jax.grad(wrapped))(x, 2.0), 6.0 * ROW**2)
    with pytest.raises(DifferentiationError, match="LD411: `reverse` of the rule of `power`"):
        jax.grad(lambda x: jax.grad(wrapped)(x, 2.0).sum())(x)


PROGRAM = """
import numpy as np
from loopdiff import vectorize_grad
from settings import scaled

@vectorize_grad
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += scaled(x[i])
    return s

print(total.grad(np.ones(4)).x.sum())
"""
RULE = """
import loopdiff
from numba import njit

K = {}

@njit
def slope():
    return K

def scaled(t):
    return 3.0 * t

@loopdiff.rule(scaled, active=("t",))
class Rule:
    def reverse(t, result_adj):
        return slope() * result_adj
"""


def test_what_is_kept_on_disk_follows_the_text_of_the_rule(program: Path) -> None:
    """Of all its functions, of what these call, and the values they use."""
    program.write_text(PROGRAM)
    helpers = program.parent / "settings.py"
    kept: list[set[Path]] = []
    for slope in (3.0, 5.0, 5.0):
        helpers.write_text(RULE.format(slope))
        assert run(program, PYTHONDONTWRITEBYTECODE="1") == 4.0 * slope
        kept.append(set((program.parent / "cache").rglob("*")))
    assert kept[1] == kept[2] != kept[0]
    assert any(path.parent.name == "machine" for path in kept[0])


def test_functions_at_addresses_are_compiled_in_each_process(program: Path) -> None:
    program.write_text(PROGRAM)
    (program.parent / "settings.py").write_text(
        "import ctypes, ctypes.util\nimport loopdiff\nfrom numba import njit\n"
        "cos = ctypes.CDLL(ctypes.util.find_library('m')).cos\n"
        "cos.restype, cos.argtypes = ctypes.c_double, (ctypes.c_double,)\n"
        "@njit\ndef scaled(t):\n    return cos(t)\n"
        "@loopdiff.rule(scaled, active=('t',))\nclass Rule:\n"
        "    def reverse(t, result_adj):\n        return cos(t + 1.5707963267948966) * result_adj\n"
    )
    assert run(program, PYTHONWARNINGS="error") == pytest.approx(-4.0 * math.sin(1.0))
    assert not list((program.parent / "cache").rglob("*"))


def test_types_decide_whether_an_argument_is_an_array() -> None:
    """A parameter that nothing but a ruled function gets may be either."""
    assert argument_types({"x": 1.0})["x"] != argument_types({"x": ROW})["x"]

    def half(v):
        return 0.5 * v

    loopdiff.nondifferentiable(half)

    @vectorize_grad
    def f(x, y):
        return half(x) * y[0]

    assert f(3.0, ROW) == pytest.approx(0.45)
    assert f.grad(3.0, ROW).x == 0.0
