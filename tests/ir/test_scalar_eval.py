"""The operations' values, and their complex steps, against mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from loopdiff.ir.ops import Op
from loopdiff.ir.scalar_eval import COMPLEX_FUNCTIONS, REAL_FUNCTIONS, digamma, evaluate, trigamma

mp = mpmath.mp
POSITIVE, ANY, UNIT = (0.02, 0.9, 1.3, 6.0, 30.5), (-5.2, -0.7, 0.4, 3.1), (-0.9, -0.1, 0.5, 0.99)
POLES_BETWEEN = (-7.9, -1.3, -0.5, 0.01, 0.7, 2.0, 9.99, 45.0)
UNARY: dict[Op, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    Op.SQRT: (mp.sqrt, POSITIVE),
    Op.CBRT: (lambda x: mp.sign(x) * mp.cbrt(abs(x)), ANY),
    Op.EXP: (mp.exp, ANY),
    Op.EXP2: (lambda x: mp.power(2, x), ANY),
    Op.EXPM1: (mp.expm1, ANY),
    Op.LOG: (mp.log, POSITIVE),
    Op.LOG2: (lambda x: mp.log(x, 2), POSITIVE),
    Op.LOG10: (mp.log10, POSITIVE),
    Op.LOG1P: (mp.log1p, (-0.9, 1e-10, 2.0)),
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
    Op.ACOSH: (mp.acosh, (1.01, 2.0, 40.0)),
    Op.ATANH: (mp.atanh, UNIT),
    Op.ERF: (mp.erf, ANY),
    Op.ERFC: (mp.erfc, ANY),
    Op.GAMMA: (mp.gamma, POLES_BETWEEN),
    Op.LGAMMA: (lambda x: mp.log(abs(mp.gamma(x))), POLES_BETWEEN),
    Op.DIGAMMA: (mp.digamma, POLES_BETWEEN),
    Op.TRIGAMMA: (lambda x: mp.psi(1, x), POLES_BETWEEN),
}
PAIRS = ((2.6, 0.8), (3.1, 1.4), (0.2, 5.5), (-2.6, 0.8))
BINARY: dict[Op, Callable[[Any, Any], Any]] = {
    Op.ATAN2: mp.atan2,
    Op.HYPOT: mp.hypot,
    Op.COPYSIGN: lambda x, y: abs(x) * mp.sign(y),
    Op.FMOD: lambda x, y: x - y * (mp.floor(x / y) if x > 0 else mp.ceil(x / y)),
    Op.MOD: lambda x, y: x - y * mp.floor(x / y),
}


@pytest.mark.parametrize("op", UNARY, ids=lambda op: op.name)
def test_unary_values_and_complex_steps(op: Op) -> None:
    function, points = UNARY[op]
    for x in points:
        with mpmath.workdps(40):
            exact = mpmath.mpf(x)
            value, slope = float(function(exact)), float(mpmath.diff(function, exact))
        z = evaluate(op, np.complex128(x + 1e-30j))
        np.testing.assert_allclose(evaluate(op, np.float64(x)), value, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose((z.real, z.imag * 1e30), (value, slope), rtol=3e-14, atol=1e-15)


@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.name)
def test_binary_values_and_complex_steps(op: Op) -> None:
    for x, y in PAIRS:
        with mpmath.workdps(40):
            point = (mpmath.mpf(x), mpmath.mpf(y))
            value = float(BINARY[op](*point))
            slopes = [float(mpmath.diff(BINARY[op], point, order)) for order in ((1, 0), (0, 1))]
        steps = [evaluate(op, np.complex128(x + 1e-30j), y), evaluate(op, x, np.complex128(y + 1e-30j))]
        np.testing.assert_allclose(evaluate(op, np.float64(x), np.float64(y)), value, rtol=1e-14)
        np.testing.assert_allclose([z.imag * 1e30 for z in steps], slopes, rtol=1e-14)


def test_every_float_operation_has_a_complex_case() -> None:
    assert set(REAL_FUNCTIONS) == set(COMPLEX_FUNCTIONS)


@pytest.mark.parametrize("op", [Op.SQRT, Op.LOG, Op.LOG2, Op.LOG10, Op.LOG1P, Op.ASIN, Op.ACOS, Op.ACOSH, Op.ATANH])
def test_complex_functions_do_not_leave_the_real_axis(op: Op) -> None:
    assert np.isnan(evaluate(op, np.float64(-2.5)))
    assert np.isnan(evaluate(op, np.complex128(-2.5 + 1e-30j)).real)


def test_gamma_functions_at_poles_and_infinity() -> None:
    inf, nan = math.inf, math.nan
    for op, expected in (
        (Op.GAMMA, (inf, -inf, nan, inf, nan)),
        (Op.LGAMMA, (inf, inf, inf, inf, inf)),
        (Op.DIGAMMA, (nan, nan, nan, inf, nan)),
        (Op.TRIGAMMA, (inf, inf, inf, 0.0, nan)),
    ):
        found = [evaluate(op, np.float64(x)) for x in (0.0, -0.0, -3.0, inf, -inf)]
        np.testing.assert_array_equal(found, expected, err_msg=op.name)
        assert np.isnan(evaluate(op, np.float64(nan)))


def test_digamma_and_trigamma_to_a_few_ulp() -> None:
    for x in np.concatenate([np.geomspace(1e-6, 1e8, 60), -np.geomspace(1e-3, 30.0, 40) - 1e-4]):
        assert digamma(x) == pytest.approx(float(mpmath.digamma(x)), rel=2e-13, abs=1e-15)
        assert trigamma(x) == pytest.approx(float(mpmath.psi(1, x)), rel=2e-13)


def test_a_strong_product_with_zero_is_zero() -> None:
    for nothing in (np.float64(0.0), np.float32(-0.0), np.complex128(0.0)):
        for other in (math.inf, math.nan, -3.0):
            assert evaluate(Op.STRONG_MUL, nothing, type(nothing)(other)) == 0.0
    assert evaluate(Op.STRONG_MUL, np.float64(math.inf), np.float64(2.0)) == math.inf
    assert math.isnan(evaluate(Op.STRONG_MUL, np.float64(2.0), np.float64(math.nan)))
    assert math.isnan(evaluate(Op.STRONG_MUL, np.float64(math.inf), np.float64(0.0)))
    assert evaluate(Op.STRONG_MUL, np.complex128(1e-30j), np.complex128(2.0)) == 2e-30j
