"""Values of the scalar operations in plain Python: one function per Op, for the interpreter.

Floats are NumPy scalars (`np.float32`, `np.float64`), so that float32 rounds after every operation and
nothing raises: IEEE infinities and NaNs throughout. Integers are Python ints that wrap to 64 bits; `//` and
`%` floor and raise ZeroDivisionError as Python does. `max` and `min` return NaN if any argument is NaN, as
np.maximum does, so that their order does not matter.

The complex table serves complex-step differentiation: z = x + ih with tiny h gives f(x) + ih f'(x).
Comparisons, `abs`, `max`, `min`, `sign` and the roundings look at the real part; outside its real domain a
function is NaN instead of leaving the real axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from loopdiff.errors import InternalError
from loopdiff.ir.ops import COMPARISONS, HALVES, STRICT, Op

Function = Callable[..., Any]
HALF_RANGE, RANGE = 1 << 63, 1 << 64


def wrap(value: int) -> int:
    """`value` modulo 2**64 as a signed 64-bit integer."""
    return (value + HALF_RANGE) % RANGE - HALF_RANGE


def sign_int(value: int) -> int:
    return (value > 0) - (value < 0)


def power_int(base: int, exponent: int) -> int:
    """ValueError for a negative exponent, as in NumPy: the result would not be an integer."""
    if exponent < 0:
        raise ValueError("integers to negative integer powers are not allowed")
    return wrap(pow(base, exponent, RANGE))


def shift_left(value: int, count: int) -> int:
    """ValueError for a negative count; 0 from 64 on."""
    return wrap(value << min(count, 64))


# -- special functions ---------------------------------------------------------------------------------------
floor = np.floor  # by a name of its own, for compilers that have another one
# Coefficients of the asymptotic series, highest order first.
DIGAMMA_SERIES = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
TRIGAMMA_SERIES = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)
SERIES_START = 10.0


def digamma(x: float) -> float:
    """Derivative of log gamma; NaN at the poles 0, -1, -2, ... and at -infinity.

    Reflection, recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.3.7, 6.3.5, 6.3.18).
    """
    if x == math.inf or (x <= 0.0 and x == floor(x)):
        return x if x > 0.0 else math.nan
    shift = 0.0
    if x < 0.0:
        shift = -math.pi / math.tan(math.pi * (x - floor(x + 0.5)))
        x = 1.0 - x
    while x < SERIES_START:
        shift -= 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    series = 0.0
    for coefficient in DIGAMMA_SERIES:
        series = (series + coefficient) * z
    return shift + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """Derivative of digamma; infinite at the poles 0, -1, -2, ..., NaN at -infinity.

    Reflection, recurrence up to 10, then the asymptotic series (Abramowitz & Stegun 6.4.7, 6.4.6, 6.4.12).
    """
    if x <= 0.0 and x == floor(x):
        return math.inf if x > -math.inf else math.nan
    if x == math.inf:
        return 0.0
    shift, sign = 0.0, 1.0
    if x < 0.0:
        shift = (math.pi / math.sin(math.pi * (x - floor(x + 0.5)))) ** 2
        x, sign = 1.0 - x, -1.0
    while x < SERIES_START:
        shift += sign / (x * x)
        x += 1.0
    z = 1.0 / (x * x)
    series = 0.0
    for coefficient in TRIGAMMA_SERIES:
        series = (series + coefficient) * z
    return shift + sign * (1.0 / x + 0.5 * z + series / x)


def gamma(x: float) -> float:
    """The C library's tgamma: signed infinity at zero, NaN at negative integers, infinity on overflow."""
    if x == 0.0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0.0 and x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def lgamma(x: float) -> float:
    """log |gamma(x)|, infinite at the poles."""
    if x == -math.inf or (x <= 0.0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def rounded(function: Callable[[float], float]) -> Function:
    """`function`, computed in double, with the result in the type of the argument."""

    def evaluate(x: Any) -> Any:
        return type(x)(function(float(x)))

    return evaluate


def power(base: Any, exponent: Any) -> Any:
    """base ** exponent with C's limits; NaN for a negative base and a fractional exponent."""
    return np.power(base, type(base)(exponent))


def greatest(*args: Any) -> Any:
    result = args[0]
    for a in args[1:]:
        result = a if a > result or a != a else result
    return result


def least(*args: Any) -> Any:
    result = args[0]
    for a in args[1:]:
        result = a if a < result or a != a else result
    return result


def strong_product(a: Any, b: Any) -> Any:
    """`a * b`, zero where `a` is zero whatever `b`; `a - a` is a zero of its type."""
    return a * b if a != 0.0 else a - a


INT_FUNCTIONS: dict[Op, Function] = {
    Op.ADD: lambda a, b: wrap(a + b),
    Op.SUB: lambda a, b: wrap(a - b),
    Op.MUL: lambda a, b: wrap(a * b),
    Op.FLOORDIV: lambda a, b: wrap(a // b),
    Op.MOD: lambda a, b: a % b,
    Op.POW: power_int,
    Op.NEG: lambda a: wrap(-a),
    Op.BITAND: lambda a, b: a & b,
    Op.BITOR: lambda a, b: a | b,
    Op.BITXOR: lambda a, b: a ^ b,
    Op.SHL: shift_left,
    Op.SHR: lambda a, b: a >> b,
    Op.INVERT: lambda a: (not a) if isinstance(a, bool | np.bool_) else ~a,
    Op.MIN: least,
    Op.MAX: greatest,
    Op.ABS: lambda a: wrap(abs(a)),
    Op.SIGN: sign_int,
    Op.STOP: lambda a: a,
}


def nearest_half(dtype: str, x: np.floating) -> np.floating:
    """The number of `dtype`, float16 or bfloat16, that is nearest to x, in the type of x."""
    if dtype == "float16":
        return type(x)(np.float16(x))
    near = np.float32(x)
    bits = int(near.view(np.uint32))
    if np.isfinite(x) and float(near) != float(x) and not bits & 1:  # to odd, so that it is rounded once in the end
        bits += 1 if abs(float(near)) < abs(float(x)) else -1
    bits = bits | 0x400000 if np.isnan(x) else bits + 0x7FFF + (bits >> 16 & 1)
    return type(x)(np.uint32(bits & 0xFFFF0000).view(np.float32))


REAL_FUNCTIONS: dict[Op, Function] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.FLOORDIV: np.floor_divide,
    Op.MOD: np.remainder,
    Op.POW: power,
    Op.NEG: lambda a: -a,
    Op.MIN: least,
    Op.MAX: greatest,
    Op.ABS: abs,
    Op.SIGN: np.sign,
    Op.STOP: lambda a: a,
    **{op: partial(nearest_half, name) for name, op in HALVES.items()},
    Op.FLOOR: np.floor,
    Op.CEIL: np.ceil,
    Op.TRUNC: np.trunc,
    Op.ROUND: np.rint,
    Op.SQRT: np.sqrt,
    Op.CBRT: np.cbrt,
    Op.EXP: np.exp,
    Op.EXP2: np.exp2,
    Op.EXPM1: np.expm1,
    Op.LOG: np.log,
    Op.LOG2: np.log2,
    Op.LOG10: np.log10,
    Op.LOG1P: np.log1p,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.ASIN: np.arcsin,
    Op.ACOS: np.arccos,
    Op.ATAN: np.arctan,
    Op.SINH: np.sinh,
    Op.COSH: np.cosh,
    Op.TANH: np.tanh,
    Op.ASINH: np.arcsinh,
    Op.ACOSH: np.arccosh,
    Op.ATANH: np.arctanh,
    Op.ERF: rounded(math.erf),
    Op.ERFC: rounded(math.erfc),
    Op.GAMMA: rounded(gamma),
    Op.LGAMMA: rounded(lgamma),
    Op.DIGAMMA: rounded(digamma),
    Op.TRIGAMMA: rounded(trigamma),
    Op.ATAN2: np.arctan2,
    Op.HYPOT: np.hypot,
    Op.COPYSIGN: np.copysign,
    Op.FMOD: np.fmod,
    Op.STRONG_MUL: strong_product,
    Op.SLOPED: lambda v, x, p: v,
    Op.STRICT_ADD: lambda a, b: a + b,
    Op.STRICT_SUB: lambda a, b: a - b,
    Op.STRICT_MUL: lambda a, b: a * b,
    Op.STRICT_DIV: lambda a, b: a / b,
}

TEST_FUNCTIONS: dict[Op, Function] = {
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.GT: lambda a, b: a > b,
    Op.GE: lambda a, b: a >= b,
    Op.EQ: lambda a, b: a == b,
    Op.NE: lambda a, b: a != b,
    Op.NOT: lambda a: not a,
    Op.ISNAN: np.isnan,
    Op.ISINF: np.isinf,
    Op.ISFINITE: np.isfinite,
}
LAZY_SPELLINGS = {Op.AND: " and ", Op.OR: " or "}


# -- complex step --------------------------------------------------------------------------------------------
def continued(op: Op, is_inside: Callable[[float], bool] = lambda x: True) -> Function:
    """The NumPy function of `op` on complex scalars, NaN where the real part is outside the real domain."""
    function = REAL_FUNCTIONS[op]

    def evaluate(z: Any) -> Any:
        if z.imag == 0.0:
            return np.complex128(function(np.float64(z.real)))
        return function(np.complex128(z)) if is_inside(z.real) else np.complex128(complex(math.nan, math.nan))

    return evaluate


def first_order(op: Op, slope: Callable[..., tuple[float, ...]]) -> Function:
    """f(x) + i h . f'(x), for functions without a complex implementation; constant arguments add nothing."""
    function = REAL_FUNCTIONS[op]

    def evaluate(*args: Any) -> Any:
        reals = [np.float64(z.real) for z in args]
        value = float(function(*reals))
        varying = [(z.imag, s) for z, s in zip(args, slope(*reals), strict=True) if z.imag != 0.0]
        return np.complex128(complex(value, sum(h * s for h, s in varying)))

    return evaluate


def choose(op: Op) -> Function:
    """`max` / `min` by the real parts; the earlier argument wins a tie."""
    is_better = (lambda a, b: a > b) if op is Op.MAX else (lambda a, b: a < b)

    def evaluate(*args: Any) -> Any:
        result = args[0]
        for z in args[1:]:
            result = z if is_better(z.real, result.real) or z.real != z.real else result
        return result

    return evaluate


def by_real_part(op: Op) -> Function:
    """An operation that is locally constant, or a test: computed from the real parts."""
    function = TEST_FUNCTIONS.get(op) or REAL_FUNCTIONS[op]
    is_test = op in TEST_FUNCTIONS

    def evaluate(*args: Any) -> Any:
        value = function(*(np.float64(z.real) for z in args))
        return value if is_test else np.complex128(value)

    return evaluate


def complex_power(base: Any, exponent: Any) -> Any:
    """Analytic for a positive base; otherwise first order in the base, NaN if the exponent varies."""
    x, y = np.float64(base.real), np.float64(exponent.real)
    value = float(np.power(x, y))
    imag = 0.0
    if base.imag != 0.0:
        imag += base.imag * float(y * np.power(x, y - 1.0) if y != 0.0 else 0.0)
    if exponent.imag != 0.0:
        log = float(np.log(x)) if x > 0.0 else (0.0 if x == 0.0 and y > 0.0 else math.nan)
        imag += exponent.imag * value * log
    return np.complex128(complex(value, imag))


def second_digamma_slope(x: float) -> float:
    """Derivative of trigamma, by the recurrence and the asymptotic series (Abramowitz & Stegun 6.4.13)."""
    if x <= 0.0:
        angle = math.pi * x
        return second_digamma_slope(1.0 - x) - 2.0 * math.pi**3 * math.cos(angle) / math.sin(angle) ** 3
    shift = 0.0
    while x < 20.0:
        shift -= 2.0 / x**3
        x += 1.0
    z = 1.0 / (x * x)
    return shift - z * (1.0 + 1.0 / x + z * (0.5 + z * (-1.0 / 6.0 + z * (1.0 / 6.0 - 0.3 * z))))


TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
CONTINUED: dict[Op, Function] = {
    Op.SQRT: continued(Op.SQRT, lambda x: x >= 0.0),
    Op.EXP: continued(Op.EXP),
    Op.EXP2: continued(Op.EXP2),
    Op.EXPM1: continued(Op.EXPM1),
    Op.LOG: continued(Op.LOG, lambda x: x > 0.0),
    Op.LOG2: continued(Op.LOG2, lambda x: x > 0.0),
    Op.LOG10: continued(Op.LOG10, lambda x: x > 0.0),
    Op.LOG1P: continued(Op.LOG1P, lambda x: x > -1.0),
    Op.SIN: continued(Op.SIN),
    Op.COS: continued(Op.COS),
    Op.TAN: continued(Op.TAN),
    Op.ASIN: continued(Op.ASIN, lambda x: abs(x) <= 1.0),
    Op.ACOS: continued(Op.ACOS, lambda x: abs(x) <= 1.0),
    Op.ATAN: continued(Op.ATAN),
    Op.SINH: continued(Op.SINH),
    Op.COSH: continued(Op.COSH),
    Op.TANH: continued(Op.TANH),
    Op.ASINH: continued(Op.ASINH),
    Op.ACOSH: continued(Op.ACOSH, lambda x: x >= 1.0),
    Op.ATANH: continued(Op.ATANH, lambda x: abs(x) < 1.0),
}
FIRST_ORDER: dict[Op, Function] = {
    Op.CBRT: first_order(Op.CBRT, lambda x: (np.float64(1.0) / (3.0 * np.cbrt(x) ** 2),)),
    Op.ERF: first_order(Op.ERF, lambda x: (TWO_OVER_SQRT_PI * np.exp(-x * x),)),
    Op.ERFC: first_order(Op.ERFC, lambda x: (-TWO_OVER_SQRT_PI * np.exp(-x * x),)),
    Op.GAMMA: first_order(Op.GAMMA, lambda x: (gamma(float(x)) * digamma(float(x)),)),
    Op.LGAMMA: first_order(Op.LGAMMA, lambda x: (digamma(float(x)),)),
    Op.DIGAMMA: first_order(Op.DIGAMMA, lambda x: (trigamma(float(x)),)),
    Op.TRIGAMMA: first_order(Op.TRIGAMMA, lambda x: (second_digamma_slope(float(x)),)),
    Op.ATAN2: first_order(Op.ATAN2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))),
    Op.HYPOT: first_order(Op.HYPOT, lambda x, y: (x / np.hypot(x, y), y / np.hypot(x, y))),
    Op.COPYSIGN: first_order(Op.COPYSIGN, lambda x, y: (np.copysign(1.0, x) * np.copysign(1.0, y), 0.0)),
    Op.FMOD: first_order(Op.FMOD, lambda x, y: (1.0, -np.trunc(x / y))),
    Op.MOD: first_order(Op.MOD, lambda x, y: (1.0, -np.floor_divide(x, y))),
}
COMPLEX_FUNCTIONS: dict[Op, Function] = {
    **{op: REAL_FUNCTIONS[op] for op in (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, *STRICT)},
    **CONTINUED,
    **FIRST_ORDER,
    **{op: by_real_part(op) for op in (Op.SIGN, Op.STOP, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ROUND, Op.FLOORDIV)},
    **{op: lambda z, name=name: complex(nearest_half(name, np.float64(z.real)), z.imag) for name, op in HALVES.items()},
    Op.POW: complex_power,
    Op.STRONG_MUL: strong_product,
    Op.SLOPED: lambda v, x, p: v + 1j * p.real * x.imag,
    Op.MAX: choose(Op.MAX),
    Op.MIN: choose(Op.MIN),
    Op.ABS: lambda z: -z if z.real < 0.0 else z,
}
COMPLEX_TESTS: dict[Op, Function] = {
    **{op: by_real_part(op) for op in (*COMPARISONS, Op.ISNAN, Op.ISINF, Op.ISFINITE)},
    Op.NOT: TEST_FUNCTIONS[Op.NOT],
}


def evaluate(op: Op, *args: Any) -> Any:
    """The value of `op` on NumPy float or Python int/bool scalars; every argument is evaluated."""
    if op in LAZY_SPELLINGS:
        return all(args) if op is Op.AND else any(args)
    is_complex = any(isinstance(a, complex) for a in args)
    tests, floats = (COMPLEX_TESTS, COMPLEX_FUNCTIONS) if is_complex else (TEST_FUNCTIONS, REAL_FUNCTIONS)
    if op in tests:
        with np.errstate(all="ignore"):
            return tests[op](*args)
    is_float = any(isinstance(a, complex | float | np.floating) for a in args)
    table = floats if is_float else INT_FUNCTIONS
    if op not in table:
        raise InternalError(f"LD904: the interpreter has no case for `{op.value}` on {args}")
    with np.errstate(all="ignore"):
        return table[op](*args)
