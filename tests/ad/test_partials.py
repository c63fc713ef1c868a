"""Every row of the derivative table against mpmath, against jax.grad at kinks, and what it refuses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from loopdiff.ad.partials import TABLE, Refused, Rule, ZeroDerivative, partials, zero_reason
from loopdiff.ad.strength import is_always_finite
from loopdiff.errors import DifferentiationError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import compile_loopset
from loopdiff.ir.ops import HALVES, INFO, Op
from loopdiff.ir.types import F32, F64, INT, ScalarType

DTYPES = {F64: np.float64, F32: np.float32}
NAMES = ("x", "y", "z")


def slopes_of(op: Op, dtype: ScalarType = F64, args: tuple[Any, ...] | None = None) -> Callable[..., tuple[Any, ...]]:
    """The function from values of x, y, z to the partials of `op`, run by the interpreter."""
    arity = INFO[op].arity or 2
    args = args or tuple(ir.Param(n) for n in NAMES[:arity])
    names = [a.name for a in args if isinstance(a, ir.Param)]
    apply = ir.Apply(op, args)
    scalars = tuple(ir.ScalarDecl(n, dtype) for n in names)
    results = tuple(ir.ScalarResult(p) for p in partials(apply, dtype, apply))
    program = compile_loopset(ir.LoopSet("slopes", tuple(names), (), scalars, (), results))
    return lambda *values: program(dict(zip(names, values, strict=True)))


ANY = (-4.3, -1.0, -0.3, 0.2, 1.0, 2.7, 11.0)
POSITIVE = (1e-8, 0.05, 0.6, 1.0, 3.3, 40.0)
UNIT = (-0.999, -0.5, -1e-9, 0.3, 0.97)
mp = mpmath.mp
UNARY: dict[Op, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    Op.NEG: (lambda x: -x, ANY),
    Op.ABS: (abs, ANY),
    Op.SQRT: (mp.sqrt, POSITIVE),
    Op.CBRT: (lambda x: mp.sign(x) * mp.cbrt(abs(x)), ANY),
    Op.EXP: (mp.exp, ANY),
    Op.EXP2: (lambda x: mp.power(2, x), ANY),
    Op.EXPM1: (mp.expm1, ANY),
    Op.LOG: (mp.log, POSITIVE),
    Op.LOG2: (lambda x: mp.log(x, 2), POSITIVE),
    Op.LOG10: (mp.log10, POSITIVE),
    Op.LOG1P: (mp.log1p, (-0.99, -0.3, 1e-12, 0.4, 30.0)),
    Op.SIN: (mp.sin, ANY),
    Op.COS: (mp.cos, ANY),
    Op.TAN: (mp.tan, ANY),
    Op.ASIN: (mp.asin, UNIT),
    Op.ACOS: (mp.acos, UNIT),
    Op.ATAN: (mp.atan, ANY),
    Op.SINH: (mp.sinh, ANY),
    Op.COSH: (mp.cosh, ANY),
    Op.TANH: (mp.tanh, ANY),
    Op.ASINH: (mp.asinh, ANY),
    Op.ACOSH: (mp.acosh, (1.001, 1.5, 3.0, 50.0)),
    Op.ATANH: (mp.atanh, UNIT),
    Op.ERF: (mp.erf, (-3.0, -0.4, 0.0, 1.2, 2.5)),
    Op.ERFC: (mp.erfc, (-3.0, -0.4, 0.0, 1.2, 2.5)),
    Op.GAMMA: (mp.gamma, (-2.5, -0.4, 0.3, 2.0, 7.7)),
    Op.LGAMMA: (lambda x: mp.log(abs(mp.gamma(x))), (-2.5, -0.4, 0.3, 2.0, 7.7)),
    Op.DIGAMMA: (mp.digamma, (-2.5, -0.4, 0.3, 2.0, 7.7)),
    **dict.fromkeys(HALVES.values(), (lambda x: x, ANY)),
}
PAIRS = ((0.7, 1.9), (-2.6, 0.8), (3.1, -1.4), (-0.2, -5.5), (8.0, 3.0))
BINARY: dict[Op, tuple[Callable[[Any, Any], Any], tuple[tuple[float, float], ...]]] = {
    Op.ADD: (lambda x, y: x + y, PAIRS),
    Op.SUB: (lambda x, y: x - y, PAIRS),
    Op.MUL: (lambda x, y: x * y, PAIRS),
    Op.DIV: (lambda x, y: x / y, PAIRS),
    Op.MOD: (lambda x, y: x - y * mp.floor(x / y), PAIRS),
    Op.FMOD: (lambda x, y: x - y * (mp.floor(x / y) if x / y > 0 else mp.ceil(x / y)), PAIRS),
    Op.POW: (mp.power, ((0.7, 1.9), (2.0, 3.0), (3.1, -1.4), (1e-3, 0.25))),
    Op.MIN: (lambda x, y: x if x < y else y, PAIRS),
    Op.MAX: (lambda x, y: x if x > y else y, PAIRS),
    Op.ATAN2: (mp.atan2, PAIRS),
    Op.HYPOT: (mp.hypot, PAIRS),
    Op.COPYSIGN: (lambda x, y: abs(x) * mp.sign(y), PAIRS),
    Op.STRONG_MUL: (lambda x, y: x * y, PAIRS),
    Op.STRICT_ADD: (lambda x, y: x + y, PAIRS),
    Op.STRICT_SUB: (lambda x, y: x - y, PAIRS),
    Op.STRICT_MUL: (lambda x, y: x * y, PAIRS),
    Op.STRICT_DIV: (lambda x, y: x / y, PAIRS),
}


def exact_partials(function: Callable[..., Any], point: tuple[float, ...]) -> list[float]:
    """Partial derivatives by mpmath in 40 digits."""
    with mpmath.workdps(40):
        orders = [tuple(int(i == k) for i in range(len(point))) for k in range(len(point))]
        exact = [mpmath.mpf(float(v)) for v in point]
        if len(point) == 1:
            return [float(mpmath.diff(function, exact[0]))]
        return [float(mpmath.diff(function, tuple(exact), order)) for order in orders]


CASES: dict[Op, tuple[Callable[..., Any], tuple[tuple[float, ...], ...]]] = {
    **{op: (f, tuple((x,) for x in points)) for op, (f, points) in UNARY.items()},
    **BINARY,
    Op.SLOPED: (lambda v, x, p: v - 2.6 * (x - 1.9), ((0.7, 1.9, -2.6),)),
}


def test_every_rule_has_a_value_case() -> None:
    assert {op for op, row in TABLE.items() if isinstance(row, Rule)} == set(CASES)


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("op", CASES, ids=lambda op: op.name)
def test_partials_equal_exact_derivatives(op: Op, dtype: ScalarType) -> None:
    function, points = CASES[op]
    slopes = slopes_of(op, dtype)
    tolerance = 4e-14 if dtype is F64 else 6e-6
    # Taken from a result near -1 or 1, these slopes are exact to the rounding of 1, not of themselves.
    absolute = np.finfo(DTYPES[dtype]).eps if op in (Op.TANH, Op.EXPM1) else 0.0
    for point in points:
        rounded = tuple(float(DTYPES[dtype](v)) for v in point)
        found = slopes(*rounded)
        assert all(isinstance(f, DTYPES[dtype]) for f in found)
        expected = exact_partials(function, rounded)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=absolute, err_msg=f"{point}")


@pytest.mark.parametrize("op", [op for op, row in TABLE.items() if isinstance(row, ZeroDerivative)], ids=str)
def test_operations_without_derivative_say_why(op: Op) -> None:
    arity = INFO[op].arity or 2
    zero = ir.Const(0.0, F64)
    args = tuple(ir.Param(n) for n in NAMES[:arity])
    assert partials(ir.Apply(op, args), F64, ir.Param("r")) == (zero,) * arity
    assert zero_reason(op)


def test_trigamma_is_refused_by_name() -> None:
    with pytest.raises(DifferentiationError, match="trigamma") as caught:
        partials(ir.Apply(Op.TRIGAMMA, (ir.Param("x"),)), F64, ir.Param("r"))
    assert caught.value.codes == ("LD410",)
    assert isinstance(TABLE[Op.TRIGAMMA], Refused)


@pytest.mark.parametrize("op", list(Op), ids=lambda op: op.name)
def test_a_missing_row_is_an_error_not_a_zero(op: Op, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(TABLE, op)
    with pytest.raises(DifferentiationError, match="no row"):
        partials(ir.Apply(op, (ir.Param("x"),)), F64, ir.Param("r"))


# -- kinks and singular points -------------------------------------------------------------------------------
@pytest.mark.parametrize("op", [Op.MAX, Op.MIN])
def test_ties_are_split_evenly(op: Op) -> None:
    assert slopes_of(op)(2.0, 2.0) == (0.5, 0.5)
    three = slopes_of(op, args=tuple(ir.Param(n) for n in NAMES))
    assert three(2.0, 2.0, 2.0) == pytest.approx((1 / 3,) * 3)
    best, other = (2.0, 1.0) if op is Op.MAX else (1.0, 2.0)
    assert three(best, other, best) == (0.5, 0.0, 0.5)
    assert three(other, best, other) == (0.0, 1.0, 0.0)
    assert slopes_of(op)(math.nan, 1.0) == (0.0, 0.0)


def test_slopes_at_kinks() -> None:
    assert slopes_of(Op.ABS)(0.0) == (0.0,)
    assert slopes_of(Op.HYPOT)(0.0, 0.0) == (0.0, 0.0)
    assert slopes_of(Op.COPYSIGN)(0.0, 2.0) == (1.0, 0.0)
    assert slopes_of(Op.COPYSIGN)(0.0, -2.0) == (-1.0, 0.0)
    for op in (Op.SQRT, Op.CBRT, Op.LOG):
        assert slopes_of(op)(0.0) == (math.inf,), op
    for op in (Op.ASIN, Op.ACOSH):
        assert slopes_of(op)(1.0) == (math.inf,), op
    assert all(math.isnan(s) for s in slopes_of(Op.ATAN2)(0.0, 0.0))


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        ((0.0, 0.0), (0.0, 0.0)),
        ((0.0, 1.0), (1.0, 0.0)),
        ((0.0, 2.0), (0.0, 0.0)),
        ((0.0, 0.5), (math.inf, 0.0)),
        ((0.0, -1.0), (-math.inf, math.nan)),
        ((-2.0, 0.0), (0.0, math.nan)),
        ((-2.0, 1.0), (1.0, math.nan)),
        ((-2.0, 3.0), (12.0, math.nan)),
        ((-2.0, -1.0), (-0.25, math.nan)),
        ((math.inf, 0.0), (0.0, math.inf)),
    ],
)
def test_power_at_the_border_of_its_domain(point: tuple[float, float], expected: tuple[float, float]) -> None:
    np.testing.assert_array_equal(slopes_of(Op.POW)(*point), expected)


@pytest.mark.parametrize("dtype", [F64, F32], ids=str)
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 4, 7, 0.5, 1.5, -0.5, 2.5, -1.0, 2.0, 5.0])
def test_literal_exponents(exponent: float, dtype: ScalarType) -> None:
    literal = ir.Const(exponent, INT if isinstance(exponent, int) else dtype)
    slope = slopes_of(Op.POW, dtype, (ir.Param("x"), literal))
    points = [0.3, 1.0, 2.6] + ([-1.7] if float(exponent).is_integer() else [])
    for x in points:
        exact = exponent * float(DTYPES[dtype](x)) ** (exponent - 1)
        np.testing.assert_allclose(slope(x), (exact, 0.0), rtol=2e-15 if dtype is F64 else 5e-7)
    if exponent >= 1 or exponent == 0:
        assert slope(0.0)[0] == (1.0 if exponent == 1 else 0.0)


def test_literal_base() -> None:
    slope = slopes_of(Op.POW, args=(ir.Const(3.0, F64), ir.Param("x")))
    assert slope(1.7)[1] == pytest.approx(math.log(3.0) * 3.0**1.7, rel=1e-15)


def test_integer_exponent_in_an_array() -> None:
    from loopdiff.ir import nodes as ir
    from loopdiff.ir.types import ArrayType

    apply = ir.Apply(Op.POW, (ir.Param("x"), ir.Load(ir.Access("n"))))
    array = ir.ArrayDecl("n", ArrayType("int64", 0), "argument")
    result = ir.ScalarResult(partials(apply, F64, apply)[0])
    program = compile_loopset(ir.LoopSet("slope", ("x", "n"), (array,), (ir.ScalarDecl("x", F64),), (), (result,)))
    found = [program({"x": x, "n": np.array(n)})[0] for x, n in ((-2.0, 3), (0.0, 0), (0.0, 1), (4.0, -1))]
    assert found == [12.0, 0.0, 1.0, -0.0625]


def test_quotients_at_exact_multiples() -> None:
    assert slopes_of(Op.MOD)(6.0, 2.0) == (1.0, -3.0)
    assert slopes_of(Op.MOD)(-7.5, 2.0) == (1.0, 4.0)
    assert slopes_of(Op.MOD)(7.5, -2.0) == (1.0, 4.0)
    assert slopes_of(Op.FMOD)(-7.5, 2.0) == (1.0, 3.0)
    assert slopes_of(Op.MOD)(0.7 - 1e-17, 0.1)[1] in (-6.0, -7.0)


def test_slopes_do_not_overflow_where_the_value_does_not() -> None:
    np.testing.assert_allclose(slopes_of(Op.ATAN2)(1e200, 1e200), (5e-201, -5e-201))
    np.testing.assert_allclose(slopes_of(Op.ATAN2)(3e-200, 4e-200), (1.6e199, -1.2e199))
    np.testing.assert_allclose(slopes_of(Op.ASINH)(1e200), (1e-200,))
    np.testing.assert_allclose(slopes_of(Op.ACOSH)(1e200), (1e-200,))


@pytest.mark.parametrize("op", [op for op, row in TABLE.items() if isinstance(row, Rule)], ids=str)
def test_partials_that_are_never_looked_at_are_finite(op: Op) -> None:
    extremes = (-math.inf, -1e308, -3.0, -0.0, 0.0, 5e-324, 1.0, math.pi / 2, 1e308, math.inf, math.nan)
    arity = INFO[op].arity or 2
    known = partials(ir.Apply(op, tuple(ir.Param(n) for n in NAMES[:arity])), F64, ir.Param("r"))
    slopes = slopes_of(op)
    points = list(itertools.product(extremes, repeat=arity))
    for position, partial in enumerate(known):
        if is_always_finite(partial):
            assert all(np.isfinite(slopes(*point)[position]) for point in points)


JAX_KINKS = [
    (Op.MAX, "maximum", (1.0, 1.0)),
    (Op.MIN, "minimum", (1.0, 1.0)),
    (Op.SIGN, "sign", (0.0,)),
    (Op.FLOOR, "floor", (2.0,)),
    (Op.ROUND, "rint", (0.5,)),
    (Op.SQRT, "sqrt", (0.0,)),
    (Op.CBRT, "cbrt", (0.0,)),
    (Op.COPYSIGN, "copysign", (0.0, -2.0)),
    (Op.POW, "power", (0.0, 2.0)),
    (Op.POW, "power", (0.0, 0.5)),
    (Op.POW, "power", (0.0, 1.0)),
    (Op.POW, "power", (0.0, -1.0)),
    (Op.POW, "power", (-2.0, 2.0)),
    (Op.MOD, "mod", (6.0, 2.0)),
    (Op.FMOD, "fmod", (-7.5, 2.0)),
    (Op.ATAN2, "arctan2", (0.0, 0.0)),
    (Op.ATAN2, "arctan2", (0.0, -1.0)),
    (Op.LOG, "log", (0.0,)),
    (Op.LOG, "log", (-1.0,)),
    (Op.ASIN, "arcsin", (1.0,)),
]


@pytest.mark.parametrize(("op", "name", "point"), JAX_KINKS)
def test_kinks_follow_jax(op: Op, name: str, point: tuple[float, ...]) -> None:
    jax = pytest.importorskip("jax")
    expected = jax.grad(getattr(jax.numpy, name), argnums=tuple(range(len(point))))(*point)
    np.testing.assert_allclose(slopes_of(op)(*point), [float(e) for e in expected])
