"""The interpreter against plain NumPy code, hand-computed derivatives and its own refusals."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.errors import ArgumentError, InternalError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL, F32, F64, INT, ArrayType, ScalarType

I, J = ir.Index("i"), ir.Index("j")


def integer(value: int) -> ir.Const:
    return ir.Const(value, INT)


def at(array: str, *subscripts: ir.Expr) -> ir.Access:
    return ir.Access(array, subscripts)


def load(array: str, *subscripts: ir.Expr) -> ir.Load:
    return ir.Load(at(array, *subscripts))


def call(op: Op, *args: ir.Expr) -> ir.Apply:
    return ir.Apply(op, args)


def over(index: str, upper: ir.Expr, *body: ir.Stmt, lower: int = 0, step: int = 1) -> ir.Loop:
    return ir.Loop(index, integer(lower), upper, integer(step), body)


def argument(name: str, rank: int = 1, dtype: str = "float64") -> ir.ArrayDecl:
    return ir.ArrayDecl(name, ArrayType(dtype, rank), "argument")


def cell(name: str, dtype: str = "float64") -> ir.ArrayDecl:
    return ir.ArrayDecl(name, ArrayType(dtype, 0))


def function(
    *body: ir.Stmt,
    arrays: tuple[ir.ArrayDecl, ...] = (),
    scalars: tuple[ir.ScalarDecl, ...] = (),
    results: tuple[ir.Result, ...] = (),
) -> ir.LoopSet:
    params = tuple(a.name for a in arrays if a.role == "argument") + tuple(s.name for s in scalars)
    return ir.LoopSet("f", params, arrays, scalars, body, results)


def value_of(expr: ir.Expr, **scalars: tuple[ScalarType, object]) -> object:
    """The value of one expression over scalar parameters."""
    decls = tuple(ir.ScalarDecl(n, kind) for n, (kind, _) in scalars.items())
    ls = function(scalars=decls, results=(ir.ScalarResult(expr),))
    return run(ls, {n: v for n, (_, v) in scalars.items()})[0]


# -- statements ----------------------------------------------------------------------------------------------
def matmul(dtype: str) -> ir.LoopSet:
    kind = ArrayType(dtype, 2).element
    term = call(Op.MUL, load("A", I, ir.Index("k")), load("B", ir.Index("k"), J))
    inner = over("k", ir.Dim("A", 1), ir.Accumulate("add", at("C", I, J), term))
    start = ir.Assign(at("C", I, J), ir.Const(0.0, kind))
    nest = over("i", ir.Dim("A", 0), over("j", ir.Dim("B", 1), start, inner))
    return function(nest, arrays=tuple(argument(n, 2, dtype) for n in "ABC"))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_matmul_rounds_as_numpy_in_its_own_type(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 5)).astype(dtype), rng.standard_normal((5, 2)).astype(dtype)
    c = np.empty((3, 2), dtype)
    run(matmul(dtype), {"A": a, "B": b, "C": c})
    expected = np.zeros((3, 2), dtype)
    for k in range(5):
        expected += np.outer(a[:, k], b[k])
    np.testing.assert_array_equal(c, expected)


def test_let_if_cells_and_negative_step() -> None:
    body = over(
        "i",
        integer(-1),
        ir.Let("e", call(Op.MUL, load("x", I), ir.Const(2.0, F64))),
        ir.If(
            call(Op.GT, ir.Var("e"), ir.Const(1.0, F64)),
            (ir.Accumulate("add", at("t"), ir.Var("e")), ir.Accumulate("max", at("m"), ir.Var("e"))),
            (ir.Accumulate("min", at("m"), ir.Var("e")),),
        ),
        lower=3,
        step=-1,
    )
    start = (ir.Assign(at("t"), ir.Const(0.0, F64)), ir.Assign(at("m"), ir.Const(-9.0, F64)))
    results = (ir.ScalarResult(load("t")), ir.ScalarResult(load("m")))
    ls = function(*start, body, arrays=(argument("x"), cell("t"), cell("m")), results=results)
    total, best = run(ls, {"x": np.array([0.1, 2.0, 3.0, 0.2])})
    assert (total, best) == (10.0, 0.2)


def test_local_arrays_are_allocated_filled_and_returned() -> None:
    local = ir.ArrayDecl("t", ArrayType("float32", 2), extents=(ir.Dim("x", 0), ir.Param("n")))
    body = (
        ir.Allocate("t", ir.Const(0.5, F32)),
        ir.Assign(at("t", integer(0), integer(1)), ir.Cast(F32, load("x", integer(0)))),
    )
    ls = function(
        *body, arrays=(argument("x"), local), scalars=(ir.ScalarDecl("n", INT),), results=(ir.ArrayResult("t"),)
    )
    (result,) = run(ls, {"x": np.array([0.1, 0.2]), "n": 3})
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, np.array([[0.5, 0.1, 0.5], [0.5] * 3], np.float32))


def test_uninitialised_memory_shows() -> None:
    local = ir.ArrayDecl("t", ArrayType("float64", 1), extents=(integer(2),))
    results = (ir.ScalarResult(load("t", integer(0))), ir.ScalarResult(load("c")), ir.ScalarResult(load("n")))
    ls = function(arrays=(local, cell("c"), cell("n", "int64")), results=results)
    element, scalar, count = run(ls, {})
    assert np.isnan(element)
    assert np.isnan(scalar)
    assert abs(count) > 1 << 60


def test_allocation_makes_old_values_unreadable() -> None:
    ls = function(ir.Allocate("w"), arrays=(argument("w"),), results=(ir.ScalarResult(load("w", integer(0))),))
    assert np.isnan(run(ls, {"w": np.ones(2)})[0])


def test_rank_0_parameters_are_written_in_place() -> None:
    ls = function(ir.Accumulate("add", at("g"), ir.Const(1.5, F64)), arrays=(argument("g", 0),))
    g = np.array(1.0)
    run(ls, {"g": g})
    assert g[()] == 2.5


def test_narrow_integers_widen_when_loaded_and_wrap_when_stored() -> None:
    body = ir.Assign(at("b", integer(0)), call(Op.ADD, load("b", integer(0)), integer(100)))
    ls = function(body, arrays=(argument("b", 1, "int8"),), results=(ir.ScalarResult(load("b", integer(0))),))
    assert run(ls, {"b": np.array([100], np.int8)}) == (-56,)


# -- refusals ------------------------------------------------------------------------------------------------
def shifted(offset: int) -> ir.LoopSet:
    source = load("x", call(Op.ADD, I, integer(offset)))
    return function(over("i", ir.Dim("x", 0), ir.Assign(at("x", I), source)), arrays=(argument("x"),))


@pytest.mark.parametrize("offset", [-1, 1])
def test_subscripts_out_of_bounds_are_refused_with_the_statement(offset: int) -> None:
    with pytest.raises(InternalError, match=r"LD904.*a_x\[i_i\] = "):
        run(shifted(offset), {"x": np.zeros(3)})


def test_negative_subscripts_count_from_the_end_on_request() -> None:
    x = np.arange(3.0)
    run(shifted(-1), {"x": x}, allow_negative=True)
    np.testing.assert_array_equal(x, [2.0, 2.0, 2.0])


def test_complex_numbers_are_refused() -> None:
    square = ir.Assign(at("z", integer(0)), call(Op.MUL, load("z", integer(0)), load("z", integer(0))))
    with pytest.raises(InternalError, match="LD906"):
        run(function(square, arrays=(argument("z", 1, "complex128"),)), {"z": np.array([1.0 + 2.0j])})


def test_require_raises_its_code() -> None:
    require = ir.Require(call(Op.EQ, ir.Dim("x", 0), ir.Dim("y", 0)), "LD310", "`x` and `y` must have the same length")
    ls = function(require, arrays=(argument("x"), argument("y")))
    run(ls, {"x": np.zeros(2), "y": np.zeros(2)})
    with pytest.raises(ArgumentError, match="same length") as caught:
        run(ls, {"x": np.zeros(2), "y": np.zeros(3)})
    assert caught.value.codes == ("LD310",)


@pytest.mark.parametrize(
    "args",
    [{}, {"x": np.zeros(2, np.float32)}, {"x": np.zeros((2, 2))}, {"x": 1.0}, {"x": np.zeros(2), "y": 1}],
    ids=["missing", "dtype", "rank", "scalar", "surplus"],
)
def test_arguments_that_do_not_fit_are_refused(args: dict[str, object]) -> None:
    with pytest.raises(InternalError, match="LD904"):
        run(shifted(0), args)


# -- expressions ---------------------------------------------------------------------------------------------
def test_select_and_logic_evaluate_only_what_they_need() -> None:
    n = {"n": (INT, 0)}
    division = call(Op.FLOORDIV, integer(7), ir.Param("n"))
    is_zero = call(Op.EQ, ir.Param("n"), integer(0))
    assert value_of(ir.Select(is_zero, integer(5), division), **n) == 5
    assert value_of(call(Op.OR, is_zero, call(Op.GT, division, integer(0))), **n)
    with pytest.raises(ZeroDivisionError):
        value_of(division, **n)


@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (-(2**63), -1)])
def test_integer_division_floors_and_wraps(a: int, b: int) -> None:
    args = {"a": (INT, a), "b": (INT, b)}
    quotient = value_of(call(Op.FLOORDIV, ir.Param("a"), ir.Param("b")), **args)
    assert quotient == (a // b + 2**63) % 2**64 - 2**63
    assert value_of(call(Op.MOD, ir.Param("a"), ir.Param("b")), **args) == a % b


def test_integers_wrap_to_64_bits() -> None:
    largest = {"a": (INT, 2**63 - 1)}
    assert value_of(call(Op.ADD, ir.Param("a"), integer(1)), **largest) == -(2**63)
    assert value_of(call(Op.MUL, ir.Param("a"), integer(3)), **largest) == 2**63 - 3
    assert value_of(call(Op.POW, integer(2), integer(64))) == 0


def test_float_division_follows_ieee() -> None:
    assert value_of(call(Op.DIV, ir.Const(1.0, F64), ir.Const(0.0, F64))) == np.inf
    assert np.isnan(value_of(call(Op.DIV, ir.Const(0.0, F64), ir.Const(0.0, F64))))


def test_max_and_min_keep_nan_wherever_it_stands() -> None:
    for op in (Op.MAX, Op.MIN):
        for args in ((np.nan, 1.0), (1.0, np.nan), (2.0, np.nan, 1.0)):
            assert np.isnan(value_of(call(op, *(ir.Const(a, F64) for a in args)))), (op, args)


@pytest.mark.parametrize(("value", "expected"), [(1.9, 1), (-1.9, -1), (-0.2, 0)])
def test_cast_to_integer_truncates(value: float, expected: int) -> None:
    assert value_of(ir.Cast(INT, ir.Const(value, F64))) == expected


def test_float32_expressions_stay_float32() -> None:
    args = {"a": (F32, 0.1), "n": (INT, 3)}
    for expr in (
        call(Op.POW, ir.Param("a"), ir.Param("n")),
        call(Op.EXP, ir.Param("a")),
        call(Op.ERF, ir.Param("a")),
        call(Op.MUL, ir.Param("a"), ir.Const(0.7, F32)),
        call(Op.DIGAMMA, ir.Param("a")),
    ):
        assert isinstance(value_of(expr, **args), np.float32)
    assert value_of(call(Op.MUL, ir.Param("a"), ir.Const(0.7, F32)), **args) == np.float32(0.1) * np.float32(0.7)
    assert isinstance(value_of(ir.Cast(F64, ir.Param("a")), **args), np.float64)


# -- complex step --------------------------------------------------------------------------------------------
def test_complex_step_differentiates_a_loop() -> None:
    body = (
        ir.Assign(at("t"), ir.Const(0.0, F64)),
        over(
            "i",
            ir.Dim("x", 0),
            ir.Assign(at("t"), call(Op.ADD, call(Op.SIN, load("t")), call(Op.MUL, load("x", I), load("x", I)))),
        ),
    )
    ls = function(*body, arrays=(argument("x"), cell("t")), results=(ir.ScalarResult(load("t")),))
    x = np.array([0.3, -1.2, 0.7])
    for k in range(3):
        perturbed = x.astype(complex)
        perturbed[k] += 1e-30j
        (t,) = run(ls, {"x": perturbed}, complex_step=True)
        value, slope = 0.0, 0.0
        for i in range(3):
            value, slope = np.sin(value) + x[i] ** 2, np.cos(value) * slope + 2 * x[i] * (i == k)
        np.testing.assert_allclose((t.real, t.imag * 1e30), (value, slope), rtol=1e-14)


def test_complex_step_branches_on_real_parts() -> None:
    x = ir.Param("x")
    slopes = {
        call(Op.ABS, x): -1.0,
        call(Op.MAX, x, ir.Const(-5.0, F64)): 1.0,
        call(Op.MIN, x, ir.Const(-5.0, F64)): 0.0,
        call(Op.FLOOR, x): 0.0,
        ir.Select(call(Op.LT, x, ir.Const(0.0, F64)), call(Op.MUL, x, x), x): -3.0,
        ir.Cast(F64, ir.Cast(INT, x)): 0.0,
        ir.Cast(F64, ir.Cast(BOOL, call(Op.ADD, x, ir.Const(1.5, F64)))): 0.0,
        call(Op.POW, x, integer(3)): 6.75,
    }
    for expr, slope in slopes.items():
        ls = function(scalars=(ir.ScalarDecl("x", F64),), results=(ir.ScalarResult(expr),))
        (z,) = run(ls, {"x": -1.5 + 1e-30j}, complex_step=True)
        assert z.imag * 1e30 == pytest.approx(slope), expr


def test_complex_step_needs_complex_arrays() -> None:
    with pytest.raises(InternalError, match="complex128"):
        run(shifted(0), {"x": np.zeros(3)}, complex_step=True)
