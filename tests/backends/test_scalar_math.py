"""The scalar spellings, compiled by Numba, against the interpreter's values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.types import unliteral

from loopdiff.backends.cpu.scalar_math import (
    HELPERS,
    SCALAR_FUNCTIONS,
    helpers_of,
    spell,
    spell_cast,
    spell_constant,
)
from loopdiff.errors import InternalError
from loopdiff.ir.ops import INFO, Op
from loopdiff.ir.scalar_eval import evaluate
from loopdiff.ir.types import BOOL, F32, F64, INT, ScalarType

pytestmark = pytest.mark.part(2)
STORAGE = {F64: np.float64, F32: np.float32, INT: np.int64, BOOL: np.bool_}
FLOATS = (-3.0, -2.5, -1.0, -0.3, -0.0, 0.0, 0.2, 0.5, 1.0, 1.7, 2.0, 30.0, math.inf, -math.inf, math.nan)
POINTS: dict[ScalarType, tuple[Any, ...]] = {
    F64: FLOATS,
    F32: FLOATS,
    INT: (-(2**63), -7, -2, -1, 0, 1, 2, 5, 70, 2**62),
    BOOL: (True, False),
}
CAN_RAISE = {Op.FLOORDIV, Op.MOD, Op.POW, Op.SHL, Op.SHR}


def ops_on(kind: ScalarType) -> list[Op]:
    return [op for op, spelling in SCALAR_FUNCTIONS.items() if spelling.of(kind) is not None]


def compiled(kind: ScalarType) -> Callable[[Any, Any], dict[Op, Any]]:
    """All operations on `kind` in one njit function, which writes them into one array per result type."""
    targets = {True: "tests", False: "values"}
    lines = ["def f(x, y, values, tests):"]
    for number, op in enumerate(ops_on(kind)):
        if op in CAN_RAISE and kind is INT:
            continue
        text = spell(op, kind, ["x", "y", "y"][: INFO[op].arity or 2])
        lines.append(f"    {targets[INFO[op].result == 'bool']}[{number}] = {text}")
    names: dict[str, Any] = {"np": np, "math": math, **HELPERS}
    exec("\n".join(lines), names)
    function = njit(error_model="numpy")(names["f"])

    def call(x: Any, y: Any) -> dict[Op, Any]:
        values, tests = np.zeros(len(ops_on(kind)), STORAGE[kind]), np.zeros(len(ops_on(kind)), np.bool_)
        function(STORAGE[kind](x), STORAGE[kind](y), values, tests)
        both = {op: (tests if INFO[op].result == "bool" else values)[k] for k, op in enumerate(ops_on(kind))}
        return {op: v for op, v in both.items() if not (op in CAN_RAISE and kind is INT)}

    return call


@pytest.mark.parametrize("kind", [F64, F32, INT, BOOL], ids=str)
def test_compiled_operations_equal_the_interpreter(kind: ScalarType) -> None:
    function = compiled(kind)
    tolerance = {F64: 1e-14, F32: 3e-7}.get(kind, 0.0)
    for x in POINTS[kind]:
        for y in POINTS[kind]:
            args = (x, y) if kind in (INT, BOOL) else (STORAGE[kind](x), STORAGE[kind](y))
            for op, found in function(x, y).items():
                if op is Op.POW and (x, y) == (-math.inf, 0.5):
                    continue  # +inf in C, NaN in NumPy
                expected = evaluate(op, *(*args, args[1])[: INFO[op].arity or 2])
                np.testing.assert_allclose(
                    found, expected, rtol=tolerance, atol=tolerance, err_msg=f"{op.name} {x} {y}"
                )


@pytest.mark.parametrize("op", sorted(CAN_RAISE, key=lambda op: op.name), ids=lambda op: op.name)
def test_integer_operations_raise_where_the_interpreter_does(op: Op) -> None:
    (name,) = helpers_of(op, INT)
    for x in POINTS[INT]:
        for y in POINTS[INT]:
            try:
                expected = evaluate(op, x, y)
            except (ZeroDivisionError, ValueError) as error:
                with pytest.raises(type(error)):
                    HELPERS[name](x, y)
            else:
                assert HELPERS[name](x, y) == expected, (x, y)


def test_float32_spellings_return_float32() -> None:
    texts = [spell(op, F32, ["x", "y"][: INFO[op].arity or 2]) for op in ops_on(F32) if INFO[op].result != "bool"]
    names: dict[str, Any] = {"np": np, "math": math, **HELPERS}
    exec(f"def f(x, y): return ({', '.join(texts)},)", names)
    function = njit(error_model="numpy")(names["f"])
    function(np.float32(0.5), np.float32(0.7))
    (result,) = function.nopython_signatures
    assert {str(t) for t in result.return_type} == {"float32"}


def test_constants_and_casts_have_their_type() -> None:
    values = [0.1, -0.0, -2.5, 1e300, math.inf, -math.inf, math.nan, 3]
    texts = [spell_constant(v, F64) for v in values] + [spell_constant(v, F32) for v in values[:1]]
    wholes = [-(2**63), -1, 0, 2**63 - 1]
    texts += [spell_constant(v, INT) for v in wholes] + [spell_constant(True, BOOL)]
    texts += [spell_cast("x", F64, INT), spell_cast("x", F64, F32), spell_cast("x", F64, BOOL), "x"]
    names: dict[str, Any] = {"np": np}
    exec(f"def f(x): return ({', '.join(texts)},)", names)
    function = njit(names["f"])
    found = function(-1.7)
    expected = [*values, np.float32(0.1), *wholes, True, -1, np.float32(-1.7), True, -1.7]
    np.testing.assert_array_equal(np.array(found, object).astype(float), np.array(expected, object).astype(float))
    assert math.copysign(1.0, found[1]) == -1.0
    kinds = [str(unliteral(t)) for t in function.nopython_signatures[0].return_type]
    assert kinds[8:] == ["float32", *["int64"] * 4, "bool", "int64", "float32", "bool", "float64"]
    assert found[9:13] == tuple(wholes)


def test_operations_without_a_spelling_are_refused() -> None:
    with pytest.raises(InternalError, match="LD905"):
        spell(Op.BITAND, F64, ["x", "y"])
