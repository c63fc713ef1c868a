"""Every Op is complete: type, value, complex step, derivative or a reason, spelling in scalar CPU code.

`gaps(op)` is the check; the second test shows for every row of every table that taking it away is noticed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from loopdiff.ad import partials as derivatives
from loopdiff.backends.cpu import scalar_math
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS
from loopdiff.errors import DifferentiationError, InternalError, LoopdiffError
from loopdiff.ir import nodes as ir
from loopdiff.ir import ops, scalar_eval
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import BITWISE, INFO, Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL, F32, F64, INT, ScalarType
from loopdiff.model import machine

VALUES = {F64: 0.5, F32: 0.5, INT: 3, BOOL: True}
LOGIC = {Op.AND, Op.OR, Op.NOT}
INTEGERS_ONLY = {*BITWISE, Op.INVERT}


def operand_types(op: Op) -> tuple[ScalarType, ...]:
    """The types `op` must accept."""
    if op in LOGIC:
        return (BOOL,)
    if op in INTEGERS_ONLY:
        return (INT,)
    floats_only = INFO[op].result == "float" or op in (*ops.FLOAT_TESTS, *ops.STRICT)
    return (F64, F32) if floats_only else (F64, F32, INT)


def example(op: Op, kind: ScalarType) -> ir.Apply:
    return ir.Apply(op, (ir.Const(VALUES[kind], kind),) * (INFO[op].arity or 3))


def gaps(op: Op) -> Iterator[str]:
    """What is missing for `op`, in words."""
    if op not in INFO:
        yield "type"
        return
    for kind in operand_types(op):
        expr = example(op, kind)
        for is_complex in (False, True) if kind.is_float else (False,):
            if has_failed(lambda e=expr, c=is_complex: interpreted(e, c)):
                yield f"value on {kind.value}{' with a complex step' if is_complex else ''}"
        if has_failed(lambda e=expr, k=kind: spelled(e, k)):
            yield f"scalar CPU spelling on {kind.value}"
    if has_failed(lambda: differentiated(op)):
        yield "derivative or reason"


def has_failed(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except (LoopdiffError, KeyError):
        return True
    return False


def interpreted(expr: ir.Expr, is_complex: bool) -> object:
    return run(ir.LoopSet("f", (), (), (), (), (ir.ScalarResult(expr),)), {}, complex_step=is_complex)


def spelled(expr: ir.Apply, kind: ScalarType) -> str:
    text = scalar_math.spell(expr.op, kind, ["a", "b", "c"][: len(expr.args)])
    compile(text, "spelling", "eval")
    return text


def differentiated(op: Op) -> None:
    """Raises unless there is a rule, a reason why the derivative is zero, or an explicit refusal."""
    row = derivatives.TABLE[op]
    if isinstance(row, derivatives.ZeroDerivative | derivatives.Refused):
        if not row.reason:
            raise InternalError(f"{op} gives no reason")
        return
    expr = example(op, F64)
    for partial in derivatives.partials(expr, F64, expr):
        interpreted(partial, False)


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
def test_nothing_is_missing(op: Op) -> None:
    assert list(gaps(op)) == []
    assert print_expr(example(op, operand_types(op)[0]))


@pytest.mark.parametrize("op", [o for o in Op if o in {*ops.UNARY_FLOAT, *ops.FUNCTIONS}], ids=lambda op: op.name)
def test_every_function_has_a_form_for_vectors_and_a_cost(op: Op) -> None:
    """And one in which it decides as in Python, where lanes have code of their own."""
    assert op.name.lower() in VECTOR_FUNCTIONS
    assert (f"strict_{op.name.lower()}" in VECTOR_FUNCTIONS) is (op in ops.FUNCTIONS)
    assert op in machine.FUNCTIONS or op in machine.DIVISIONS


TABLES = {
    "type": INFO,
    "derivative": derivatives.TABLE,
    "spelling": scalar_math.SCALAR_FUNCTIONS,
    "integer value": scalar_eval.INT_FUNCTIONS,
    "real value": scalar_eval.REAL_FUNCTIONS,
    "test value": scalar_eval.TEST_FUNCTIONS,
    "complex value": scalar_eval.COMPLEX_FUNCTIONS,
    "complex test": scalar_eval.COMPLEX_TESTS,
    "lazy value": scalar_eval.LAZY_SPELLINGS,
}
# `not` of a float never reaches the complex tests: the front end makes conditions truth values.
UNREACHABLE = {("complex test", Op.NOT)}
ROWS = [(name, op) for name, table in TABLES.items() for op in table if (name, op) not in UNREACHABLE]


@pytest.mark.parametrize(("name", "op"), ROWS, ids=lambda v: v if isinstance(v, str) else v.name)
def test_every_row_is_missed_when_it_is_gone(name: str, op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLES[name], op)
    assert list(gaps(op))


@pytest.mark.parametrize("op", list(derivatives.TABLE), ids=lambda op: op.name)
def test_a_missing_derivative_is_refused_never_zero(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(derivatives.TABLE, op)
    expr = example(op, F64)
    with pytest.raises(DifferentiationError, match="LD410"):
        derivatives.partials(expr, F64, expr)


def test_examples_are_inside_the_domains() -> None:
    """Otherwise a wrong row could hide behind NaN; 0.5 is outside the domain of acosh only."""
    outside = {Op.ACOSH}
    for op in INFO:
        for kind in operand_types(op):
            (value,) = run(ir.LoopSet("f", (), (), (), (), (ir.ScalarResult(example(op, kind)),)), {})
            assert not np.isnan(value) or op in outside
