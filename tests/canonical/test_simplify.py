"""Simplification changes no bit: random expressions against the interpreter; and what it achieves."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loopdiff.canonical.simplify import simplify, simplify_expr
from loopdiff.errors import ArgumentError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import compile_loopset, run
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL, F32, F64, INT, ArrayType, ScalarType

pytestmark = pytest.mark.part(2)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-3, math.inf, -math.inf, math.nan)
SCALARS = (
    *(ir.ScalarDecl(n, F64) for n in ("x", "y")),
    *(ir.ScalarDecl(n, F32) for n in ("u", "v")),
    *(ir.ScalarDecl(n, INT) for n in ("n", "k")),
    ir.ScalarDecl("b", BOOL),
)


def call(op: Op, *args: ir.Expr) -> ir.Apply:
    return ir.Apply(op, args)


def returning(expr: ir.Expr) -> ir.LoopSet:
    return ir.LoopSet("f", tuple(s.name for s in SCALARS), (), SCALARS, (), (ir.ScalarResult(expr),))


def bits(value: object) -> object:
    """All there is to see of a scalar; NaNs are alike."""
    if isinstance(value, np.floating | float):
        return (type(value), "nan" if math.isnan(value) else struct.pack("d", value))
    return int(value)


# -- random expressions --------------------------------------------------------------------------------------
def leaves(kind: ScalarType) -> st.SearchStrategy[ir.Expr]:
    names = [ir.Param(s.name) for s in SCALARS if s.type is kind]
    values = {BOOL: (True, False), INT: (0, 1, -1, 2, 7, -5)}.get(kind, FLOATS)
    return st.sampled_from([*names, *(ir.Const(v, kind) for v in values)])


FLOAT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MIN, Op.MAX)
INT_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.MIN, Op.MAX, Op.FLOORDIV, Op.MOD)
COMPARED = (Op.LT, Op.LE, Op.GT, Op.GE, Op.EQ, Op.NE)


@st.composite
def expressions(draw: st.DrawFn, kind: ScalarType, depth: int = 4) -> ir.Expr:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return draw(leaves(kind))

    def part(of: ScalarType = kind) -> ir.Expr:
        return draw(expressions(of, depth - 1))

    choice = draw(st.integers(0, 5))
    if choice == 0:
        return ir.Select(part(BOOL), part(), part())
    if choice == 1:
        return ir.Cast(kind, part(draw(st.sampled_from([BOOL, INT] if kind is INT else [BOOL, INT, F32, F64]))))
    if kind is BOOL:
        if choice == 2:
            return call(Op.NOT, part())
        if choice == 3:
            of = draw(st.sampled_from([INT, F32, F64]))
            return call(draw(st.sampled_from(COMPARED)), part(of), part(of))
        return call(draw(st.sampled_from([Op.AND, Op.OR])), *(part() for _ in range(choice - 2)))
    if choice == 2:
        return call(draw(st.sampled_from([Op.NEG, Op.ABS])), part())
    if choice == 3 and kind.is_float:
        return call(Op.POW, part(), draw(leaves(INT)))
    return call(draw(st.sampled_from(FLOAT_OPS if kind.is_float else INT_OPS)), part(), part())


def outcome(ls: ir.LoopSet, args: dict[str, object]) -> object:
    try:
        return bits(compile_loopset(ls)(args)[0])
    except ZeroDivisionError:
        return "division by zero"


@settings(max_examples=250, deadline=None)
@given(data=st.data())
def test_no_bit_changes(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([F64, F32, INT, BOOL]))
    expr = data.draw(expressions(kind))
    before, after = returning(expr), simplify(returning(expr))
    floats, integers = st.sampled_from(FLOATS), st.sampled_from((0, 1, -1, 3, 2**62, -(2**63)))
    drawn = {s.name: data.draw(floats if s.type and s.type.is_float else integers) for s in SCALARS}
    args = drawn | {"b": data.draw(st.booleans())}
    assert outcome(before, args) == outcome(after, args), print_expr(after.results[0].value)
    assert simplify(after) == after


# -- what it achieves ----------------------------------------------------------------------------------------
I, N, X, B = ir.Index("i"), ir.Dim("A", 0), ir.Cast(F64, ir.Param("x")), call(Op.ISNAN, ir.Param("x"))


def real(value: float) -> ir.Const:
    return ir.Const(value, F64)


def integer(value: int) -> ir.Const:
    return ir.Const(value, INT)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call(Op.MUL, X, real(1.0)), "float64(x)"),
        (call(Op.MUL, real(-1.0), X), "-float64(x)"),
        (call(Op.DIV, X, real(1.0)), "float64(x)"),
        (call(Op.ADD, X, real(-0.0)), "float64(x)"),
        (call(Op.SUB, X, real(0.0)), "float64(x)"),
        (call(Op.NEG, call(Op.NEG, X)), "float64(x)"),
        (call(Op.ADD, X, call(Op.NEG, X)), "float64(x) - float64(x)"),
        (call(Op.POW, X, integer(1)), "float64(x)"),
        (call(Op.POW, X, real(0.0)), "1.0"),
        (call(Op.MAX, X, X), "float64(x)"),
        (call(Op.MUL, real(0.5), real(3.0)), "1.5"),
        (call(Op.MUL, ir.Const(0.1, F32), ir.Const(3.0, F32)), repr(float(np.float32(0.1) * np.float32(3.0)))),
        (ir.Cast(F32, ir.Const(0.1, F64)), repr(float(np.float32(0.1)))),
        (ir.Cast(F64, X), "float64(x)"),
        (ir.Cast(INT, call(Op.ADD, I, integer(0))), "i"),
        (ir.Select(ir.Const(True, BOOL), X, real(0.0)), "float64(x)"),
        (ir.Select(call(Op.NOT, B), X, real(2.0)), "2.0 if isnan(x) else float64(x)"),
        (call(Op.NOT, call(Op.LT, I, N)), "i >= A.shape[0]"),
        (
            call(Op.AND, B, ir.Const(True, BOOL), call(Op.AND, B, call(Op.LT, I, N))),
            "isnan(x) and i < A.shape[0]",
        ),
        (call(Op.AND, call(Op.AND, B, call(Op.LT, I, N)), ir.Const(True, BOOL)), "isnan(x) and i < A.shape[0]"),
        (call(Op.OR, B, ir.Const(True, BOOL)), "True"),
        (call(Op.LT, I, call(Op.ADD, I, integer(1))), "True"),
        (call(Op.ADD, I, integer(0)), "i"),
        (call(Op.SUB, call(Op.ADD, I, integer(1)), integer(1)), "i"),
        (call(Op.SUB, call(Op.SUB, N, integer(1)), call(Op.SUB, call(Op.SUB, N, integer(1)), I)), "i"),
        (call(Op.MUL, integer(2), call(Op.ADD, I, integer(3))), "2 * i + 6"),
        (call(Op.FLOORDIV, call(Op.MUL, call(Op.ADD, I, integer(1)), integer(4)), integer(2)), "2 * i + 2"),
        (call(Op.MOD, call(Op.ADD, call(Op.MUL, integer(4), I), integer(7)), integer(4)), "3"),
        (call(Op.SUB, integer(3), I), "3 - i"),
        (call(Op.SUB, call(Op.NEG, I), integer(1)), "-1 - i"),
    ],
)
def test_simplified_text(expr: ir.Expr, text: str) -> None:
    assert print_expr(simplify_expr(expr)) == text


@pytest.mark.parametrize(
    "expr",
    [
        call(Op.MUL, real(0.0), X),
        call(Op.ADD, X, real(0.0)),
        call(Op.SUB, X, X),
        call(Op.SUB, real(0.0), X),
        call(Op.DIV, X, X),
        call(Op.NOT, call(Op.LT, X, real(1.0))),
        call(Op.DIV, real(1.0), real(0.0)),
        call(Op.FLOORDIV, integer(1), integer(0)),
        ir.Select(B, real(0.0), real(-0.0)),
        call(Op.ADD, call(Op.ADD, X, real(1.0)), real(2.0)),
        call(Op.FLOORDIV, call(Op.MUL, integer(2), ir.Cast(INT, X)), integer(2)),
        call(Op.SUB, ir.Load(ir.Access("A", (I,))), ir.Load(ir.Access("A", (I,)))),
    ],
    ids=print_expr,
)
def test_what_is_not_exact_stays(expr: ir.Expr) -> None:
    assert simplify_expr(expr) == expr


def test_a_load_that_may_be_out_of_bounds_is_not_cancelled() -> None:
    load = ir.Cast(INT, ir.Load(ir.Access("A", (I,))))
    assert simplify_expr(call(Op.SUB, load, load)) == call(Op.SUB, load, load)


# -- statements ----------------------------------------------------------------------------------------------
def over(upper: int, *body: ir.Stmt) -> ir.Loop:
    return ir.Loop("i", integer(0), integer(upper), integer(1), body)


ASSIGN = ir.Assign(ir.Access("A", (integer(0),)), real(1.0))
ARRAY = ir.ArrayDecl("A", ArrayType("float64", 1), "argument")
IS_EMPTY = call(Op.EQ, ir.Dim("A", 0), integer(0))


@pytest.mark.parametrize(
    ("stmt", "expected"),
    [
        (ir.If(call(Op.LT, integer(1), integer(2)), (ASSIGN,)), (ASSIGN,)),
        (ir.If(call(Op.LT, integer(2), integer(1)), (ASSIGN,)), ()),
        (ir.If(IS_EMPTY, (), (ASSIGN,)), (ir.If(call(Op.NE, ir.Dim("A", 0), integer(0)), (ASSIGN,)),)),
        (ir.If(IS_EMPTY, (), ()), ()),
        (over(3, over(0, ASSIGN)), ()),
        (over(3, ASSIGN), (over(3, ASSIGN),)),
        (ir.Require(call(Op.EQ, ir.Dim("A", 0), ir.Dim("A", 0)), "LD310", ""), ()),
        (
            ir.Require(call(Op.EQ, integer(1), integer(2)), "LD310", ""),
            (ir.Require(ir.Const(False, BOOL), "LD310", ""),),
        ),
        (ir.Accumulate("add", ASSIGN.target, real(-0.0)), ()),
        (ir.Accumulate("add", ASSIGN.target, real(0.0)), (ir.Accumulate("add", ASSIGN.target, real(0.0)),)),
    ],
)
def test_statements(stmt: ir.Stmt, expected: tuple[ir.Stmt, ...]) -> None:
    ls = ir.LoopSet("f", ("A",), (ARRAY,), (), (stmt,))
    assert simplify(ls).body == expected


def test_a_requirement_that_fails_still_fails() -> None:
    ls = simplify(ir.LoopSet("f", ("A",), (ARRAY,), (), (ir.Require(call(Op.GT, N, N), "LD310", "no"),)))
    with pytest.raises(ArgumentError, match="LD310"):
        run(ls, {"A": np.zeros(1)})
