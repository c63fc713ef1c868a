"""Types of expressions and locals follow NumPy 2, which is asked for the expected answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import ScalarArgument, argument_type, argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_loopset
from loopdiff.ir.types import BOOL, F32, F64, INT, ArrayType
from loopdiff.ir.walk import expressions, subexprs
from loopdiff.source.functions import source_of
from tests.texts import registered

ARGUMENTS: dict[str, Any] = {
    "a": np.array([0.3, 1.7, 2.9], np.float32),
    "b": np.array([0.3, 1.7, 2.9]),
    "k": np.array([1, 2, 3], np.int32),
    "t": np.array([True, False]),
    "f": np.float32(0.1),
    "d": np.float64(0.1),
    "w": 0.1,
    "n": 3,
    "yes": True,
}
# Weak against strong, in every combination that loop nests have.
EXPRESSIONS = (
    "a[0] * 0.1", "a[0] * w", "a[0] * n", "a[0] * d", "a[0] * f", "a[0] * b[0]", "f * w", "f * d", "d * w",
    "w * w", "a[0] + 1", "a[0] / 3", "a[0] ** 2", "a[0] ** n", "a[0] ** 0.5", "a[0] ** w", "a[0] // 1",
    "a[0] % 2", "-a[0]", "abs(a[0])", "max(a[0], 0.0)", "min(a[0], f)", "np.maximum(a[0], 0.0)",
    "np.exp(a[0])", "np.sqrt(w)", "np.sqrt(d)", "np.exp(a[0] * 0.1) + 1.0", "1.0 / (1.0 + np.exp(-a[0]))",
    "a[0] * np.pi", "a[0] if n > 2 else 0.0", "float(a[0])", "np.float64(a[0])", "np.float32(b[0])",
    "np.float64(a[0]) * a[1]", "float(n) * a[0]", "n * 0.5", "n / 2", "n // 2", "n % 2", "n ** 2",
    "n ** -1", "n & 1", "n * yes", "yes and n > 2", "not n", "n > w", "a[0] < 0.5",
    "int(a[0])", "bool(n)", "w + n", "np.floor(a[0])", "np.sign(a[0])", "np.hypot(a[0], 1.0)",
    "t[0] * a[0]", "k[0] * 2", "np.where(n > 2, a[0], a[1])", "np.clip(a[0], 0.0, 1.0)", "round(w)",
    "math.floor(b[0])", "math.sqrt(n) * a[0]", "(0.1 * w) * a[0]", "np.isnan(a[0])",
    "np.float32(1.0) * 0.1", "f ** 2", "np.add(a[0], w)",
)  # fmt: skip


def define(body: str, names: Any) -> Any:
    text = f"def f({', '.join(names)}):\n    {body}\n"
    return registered(text, f"<types {abs(hash(text))}>", np=np, math=math)


def bound(body: str, **arguments: Any) -> ir.LoopSet:
    types = argument_types(arguments)
    return bind(parse_function(source_of(define(body, arguments)), types), types)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_type_and_value_of_an_expression(expression: str) -> None:
    function = define(f"return {expression}", ARGUMENTS)
    expected = np.asarray(function(**ARGUMENTS))
    types = argument_types(ARGUMENTS)
    ls = bind(parse_function(source_of(function), types), types)
    found = np.asarray(run(ls, {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in ARGUMENTS.items()})[0])
    # Narrow integers widen to 64 bits: the one departure from NumPy.
    assert found.dtype == (np.int64 if expected.dtype.kind == "i" else expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=2e-7 if expected.dtype == np.float32 else 1e-15)


def cell_type(ls: ir.LoopSet, name: str) -> str:
    kind = ls.array(name).type
    assert kind is not None
    return kind.dtype


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("s = 0.0; s += a[0]; a[1] = s", "float32"),
        ("s = 0.0; s += b[0]; a[1] = s", "float64"),
        ("s = 0; s += a[0]; a[1] = s", "float32"),
        ("s = 0.0; a[1] = s", "float64"),
        ("s = 1; a[1] = s", "int64"),
        ("s = True; a[1] = s", "bool"),
        ("s = np.float64(0.0); s += a[0]; a[1] = s", "float64"),
        ("s = 1.0 / math.sqrt(n); a[0] = a[0] * s", "float64"),
        ("s = -1e30; s = max(s, a[0]); a[1] = s", "float32"),
        ("s = n if n > 2 else a[0]; a[1] = s", "float32"),
        ("s = n; s += 0.5; a[1] = s", "float64"),
    ],
)
def test_type_of_a_local_is_what_is_assigned_to_it(body: str, expected: str) -> None:
    arguments = {name: ARGUMENTS[name] for name in ("a", "b", "n")}
    assert cell_type(bound(body, **arguments), "s") == expected


def test_separate_uses_of_a_name_have_their_own_types() -> None:
    ls = bound("s = n; a[s] = 0.0; s = a[0] * 2; a[1] = s; s = 0.5; b[0] = s * b[1]", **ARGUMENTS)
    assert [cell_type(ls, name) for name in ("s", "s_1", "s_2")] == ["int64", "float32", "float64"]


def test_separate_uses_of_one_name_get_cells_of_their_own() -> None:
    ls = bound("s = a[0] * 2; a[1] = s; s = a[2]; a[0] = s; s = 0; a[2] = s; s = a[2]; a[2] = s", **ARGUMENTS)
    assert [d.name for d in ls.arrays if d.role == "local"] == ["s", "s_1", "s_2", "s_3"]
    ls = bound("s = a[0] * 2; a[1] = s; s = a[2]; a[0] = s", **ARGUMENTS)
    assert [d.name for d in ls.arrays if d.role == "local"] == ["s", "s_1"]


def test_weak_locals_do_not_widen_float32() -> None:
    ls = bound("s = 1.0 / math.sqrt(n); a[0] = a[0] * s", a=ARGUMENTS["a"], n=4)
    assert "a[0] = a[0] * float32(s[])" in print_loopset(ls)


def test_weak_products_are_computed_in_float64_and_rounded_once() -> None:
    ls = bound("a[0] = (0.5 * w) * a[1]", a=ARGUMENTS["a"], w=0.1)
    assert "a[0] = float32(0.5 * w) * a[1]" in print_loopset(ls)


def test_integer_powers_keep_integer_exponents() -> None:
    ls = bound("a[0] = a[1] ** 3.0 + a[1] ** n + a[1] ** 2", a=ARGUMENTS["a"], n=2)
    assert "a[0] = a[1] ** 3 + a[1] ** n + a[1] ** 2" in print_loopset(ls)
    assert not any(isinstance(e, ir.Cast) for whole in expressions(ls) for e in subexprs(whole))


def test_conditions_are_booleans() -> None:
    text = print_loopset(bound("if n and a[0]: a[1] = 0.0", a=ARGUMENTS["a"], n=2))
    assert "if n != 0 and a[0] != 0.0:" in text


def test_sums_into_integer_arrays_are_truncated_as_a_whole() -> None:
    assert "k[0] = int64(float64(k[0]) + 0.75)" in print_loopset(bound("k[0] += 0.75", k=np.array([1])))
    assert "k[0] += 2" in print_loopset(bound("k[0] += 2", k=np.array([1])))


def test_literals_beyond_float32_become_infinite() -> None:
    ls = bound("m = -1e300; m = max(m, a[0]); a[1] = m", a=ARGUMENTS["a"])
    assert "m[] = -inf" in print_loopset(ls)


def test_shapes_are_resolved() -> None:
    text = print_loopset(
        bound("n = a.shape[0] - 1; t = np.zeros((n, 2)); a[0] = t[-1, 0] + t.size + a.ndim", a=ARGUMENTS["a"])
    )
    assert "local t: float64[:, :] extents (a.shape[0] - 1, 2)" in text
    assert "t[a.shape[0] - 1 - 1, 0] + float64((a.shape[0] - 1) * 2) + 1.0" in text


def test_branches_on_the_rank_are_decided() -> None:
    body = "n = a[0, 0] if a.ndim == 2 else a[0]; a[0] = n"
    assert "n[] = a[0]" in print_loopset(bound(body, a=ARGUMENTS["a"]))


def test_arrays_without_axes_are_numbers() -> None:
    ls = bound("a[0] = z * 2.0", a=ARGUMENTS["b"], z=np.array(3.0))
    assert "a[0] = z[] * 2.0" in print_loopset(ls)


def made_of_a_number_without_axes(c, x):
    y = c * x
    y += c
    return y[0]


def test_arrays_without_axes_make_arrays() -> None:
    """What an array made of such a number holds is asked before types are bound."""
    args = {"c": np.array(2.0), "x": np.ones(3)}
    types = argument_types(args)
    assert run(bind(parse_function(source_of(made_of_a_number_without_axes), types), types), args) == (4.0,)


def test_unused_arguments_may_be_anything_with_a_type() -> None:
    ls = bound("a[0] = 1.0", a=ARGUMENTS["a"], unused=np.zeros((2, 2)))
    assert ls.array("unused").type == ArrayType("float64", 2)


def test_plain_scalar_types_are_accepted() -> None:
    function = define("return s * 0.5", ("s",))
    ls = bind(parse_function(source_of(function)), {"s": F32})
    assert ls.scalar("s").type is F32
    assert not ls.scalar("s").is_weak


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, ScalarArgument(INT, True)),
        (0.5, ScalarArgument(F64, True)),
        (True, ScalarArgument(BOOL, True)),
        (np.float32(1), ScalarArgument(F32)),
        (np.float64(1), ScalarArgument(F64)),
        (np.int32(1), ScalarArgument(INT)),
        (np.bool_(True), ScalarArgument(BOOL)),
        (np.zeros(3), ArrayType("float64", 1, "C", (3,))),
        (np.zeros((3, 4)).T, ArrayType("float64", 2, "F", (4, 3))),
        (np.zeros((30, 4), np.float32)[:, ::2], ArrayType("float32", 2, "A", (0, 2))),
        (np.zeros((3, 4))[::-1], ArrayType("float64", 2, "A", (3, 4))),
        (np.zeros((2, 2, 2), np.uint8), ArrayType("uint8", 3, "C", (2, 2, 2))),
        (np.array(1.0), ArrayType("float64", 0, "C")),
    ],
    ids=repr,
)
def test_argument_types(value: Any, expected: Any) -> None:
    assert argument_type(value) == expected


def test_every_bad_argument_is_named() -> None:
    with pytest.raises(UnsupportedLoopError) as caught:
        argument_types({"a": [1.0], "b": np.zeros(2), "c": np.zeros(2, np.uint64)})
    assert caught.value.codes == ("LD210", "LD209")


def test_every_signature_is_bound_from_one_parse() -> None:
    surface = parse_function(source_of(define("s = 0.0; s += a[0]; return s", ("a",))))
    before = print_loopset(surface)
    dtypes = [cell_type(bind(surface, argument_types({"a": np.ones(2, t)})), "s") for t in ("f4", "f8", "i4")]
    assert dtypes == ["float32", "float64", "float64"]
    assert print_loopset(surface) == before


def test_small_integers_wrap_where_they_are_made() -> None:
    @vectorize_grad(cache=False)
    def wrapped(x):
        narrow = (np.arange(6) * 100).astype(np.uint8)
        return np.sum(narrow * x)

    x = np.linspace(0.5, 1.5, 6)
    assert wrapped(x) == pytest.approx(np.sum(np.array([0, 100, 200, 44, 144, 244]) * x))
