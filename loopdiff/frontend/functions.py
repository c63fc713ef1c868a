"""Scalar functions of Python, `math`, `numpy` and `scipy.special`, found by value, so that any alias works.

Each is a way to build an expression from argument expressions. The `math` and `numpy` forms of a function are
the same operation, except where the type of the result differs (`math.floor` gives an integer).
"""

from __future__ import annotations

import cmath
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import BOOL, C64, C128, F32, F64, INT
from loopdiff.rules.marks import stop_gradient

Build = Callable[..., ir.Expr]


@immutable
class ScalarFunction:
    """`build` makes the expression of a call with `least` to `most` arguments (`most` None: any number)."""

    name: str
    build: Build
    least: int = 1
    most: int | None = 1

    @property
    def is_elementwise(self) -> bool:
        """Whether it works on arrays too, element by element."""
        return self.name in ("abs", "pow") or self.name.startswith(("np.", "scipy."))

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    @property
    def arity_text(self) -> str:
        if self.most is None:
            return f"at least {self.least} arguments"
        return "1 argument" if self.most == 1 else f"{self.most} arguments"


def apply(op: Op, *args: ir.Expr) -> ir.Expr:
    return ir.Apply(op, args)


def to_int(op: Op | None, x: ir.Expr) -> ir.Expr:
    """`int(x)`, `math.floor(x)` and the like: Python integers."""
    return ir.Cast(INT, x if op is None else ir.Apply(op, (x,)))


def exactly_int64(x: ir.Expr) -> ir.Expr:
    """`np.int64(x)`: narrow integers that meet it have 64 bits, unlike those that meet `int(x)`, which is one Cast."""
    return ir.Cast(INT, ir.Cast(INT, x))


def exactly_float64(x: ir.Expr) -> ir.Expr:
    """`np.float64(x)`: a float64 that widens float32 expressions, unlike `float(x)`, which is one Cast."""
    return ir.Cast(F64, ir.Cast(F64, x))


def complex_number(real: ir.Expr, imag: ir.Expr | None = None) -> ir.Expr:
    """`complex(x)` or `complex(a, b)`: a Python number, which is weak."""
    return ir.Cast(C128, real) if imag is None else ir.Pair(real, imag)


def exactly_complex128(real: ir.Expr, imag: ir.Expr | None = None) -> ir.Expr:
    """`np.complex128(x)`, which is not weak: two Casts."""
    return ir.Cast(C128, ir.Cast(C128, complex_number(real, imag)))


def exactly_complex64(real: ir.Expr, imag: ir.Expr | None = None) -> ir.Expr:
    return ir.Cast(C64, complex_number(real, imag))


def of_complex(op: Op, x: ir.Expr) -> ir.Expr:
    """Functions of `cmath`, complex on real numbers too."""
    return ir.Apply(op, (ir.Apply(Op.ADD, (x, ir.Pair(ir.Const(0.0), ir.Const(0.0)))),))


def part(kind: ir.Part, x: ir.Expr) -> ir.Expr:
    return ir.PartOf(kind, x)


def as_float(x: ir.Expr) -> ir.Expr:
    """`x` as a float: integers become weak floats, float32 stays."""
    return ir.Apply(Op.MUL, (x, ir.Const(1.0)))


def float_result(op: Op, *args: ir.Expr) -> ir.Expr:
    """`math.fabs` and `math.pow`: floats even from integers."""
    return ir.Apply(op, tuple(as_float(a) for a in args))


def clip(x: ir.Expr, low: ir.Expr, high: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.MIN, (ir.Apply(Op.MAX, (x, low)), high))


def truth(x: ir.Expr) -> ir.Expr:
    return ir.Cast(BOOL, x)


BUILTIN_FUNCTIONS: dict[Any, ScalarFunction] = {
    abs: ScalarFunction("abs", partial(apply, Op.ABS)),
    min: ScalarFunction("min", partial(apply, Op.MIN), 2, None),
    max: ScalarFunction("max", partial(apply, Op.MAX), 2, None),
    pow: ScalarFunction("pow", partial(apply, Op.POW), 2, 2),
    round: ScalarFunction("round", partial(to_int, Op.ROUND)),
    int: ScalarFunction("int", partial(to_int, None)),
    float: ScalarFunction("float", partial(ir.Cast, F64)),
    bool: ScalarFunction("bool", truth),
    complex: ScalarFunction("complex", complex_number, 1, 2),
    np.float64: ScalarFunction("np.float64", exactly_float64),
    np.float32: ScalarFunction("np.float32", partial(ir.Cast, F32)),
    np.int64: ScalarFunction("np.int64", exactly_int64),
    np.bool_: ScalarFunction("np.bool_", truth),
    stop_gradient: ScalarFunction("stop_gradient", partial(apply, Op.STOP)),
    np.complex128: ScalarFunction("np.complex128", exactly_complex128, 1, 2),
    np.complex64: ScalarFunction("np.complex64", exactly_complex64, 1, 2),
}

MATH_FUNCTIONS: dict[str, Op] = {
    "sqrt": Op.SQRT, "cbrt": Op.CBRT, "exp": Op.EXP, "exp2": Op.EXP2, "expm1": Op.EXPM1, "log2": Op.LOG2,
    "log10": Op.LOG10, "log1p": Op.LOG1P, "sin": Op.SIN, "cos": Op.COS, "tan": Op.TAN, "asin": Op.ASIN,
    "acos": Op.ACOS, "atan": Op.ATAN, "sinh": Op.SINH, "cosh": Op.COSH, "tanh": Op.TANH, "asinh": Op.ASINH,
    "acosh": Op.ACOSH, "atanh": Op.ATANH, "erf": Op.ERF, "erfc": Op.ERFC, "gamma": Op.GAMMA,
    "lgamma": Op.LGAMMA,
    "isnan": Op.ISNAN, "isinf": Op.ISINF, "isfinite": Op.ISFINITE,
}  # fmt: skip
MATH_BINARY: dict[str, Op] = {"atan2": Op.ATAN2, "copysign": Op.COPYSIGN, "fmod": Op.FMOD}
NUMPY_UNARY: dict[str, Op] = {
    "sqrt": Op.SQRT, "cbrt": Op.CBRT, "exp": Op.EXP, "exp2": Op.EXP2, "expm1": Op.EXPM1, "log": Op.LOG,
    "log2": Op.LOG2, "log10": Op.LOG10, "log1p": Op.LOG1P, "sin": Op.SIN, "cos": Op.COS, "tan": Op.TAN,
    "arcsin": Op.ASIN, "arccos": Op.ACOS, "arctan": Op.ATAN, "sinh": Op.SINH, "cosh": Op.COSH,
    "tanh": Op.TANH,
    "arcsinh": Op.ASINH, "arccosh": Op.ACOSH, "arctanh": Op.ATANH, "floor": Op.FLOOR, "ceil": Op.CEIL,
    "trunc": Op.TRUNC, "fix": Op.TRUNC, "rint": Op.ROUND, "round": Op.ROUND, "around": Op.ROUND,
    "sign": Op.SIGN,
    "absolute": Op.ABS, "negative": Op.NEG, "isnan": Op.ISNAN, "isinf": Op.ISINF,
    "isfinite": Op.ISFINITE, "logical_not": Op.NOT, "invert": Op.INVERT,
}  # fmt: skip
ROUNDED_TO_FLOATS = (  # also of integers, which the others leave as they are
    ("rint",) if hasattr(np, "unstack") else ("rint", "floor", "ceil", "trunc", "fix")
)  # NumPy 2.1 has `unstack`, and integers that are rounded stay integers
CMATH_FUNCTIONS: dict[str, Op] = {
    "sqrt": Op.SQRT, "exp": Op.EXP, "log10": Op.LOG10, "sin": Op.SIN, "cos": Op.COS, "tan": Op.TAN,
    "sinh": Op.SINH, "cosh": Op.COSH, "tanh": Op.TANH, "isnan": Op.ISNAN, "isinf": Op.ISINF,
    "isfinite": Op.ISFINITE, "asin": Op.ASIN, "acos": Op.ACOS, "atan": Op.ATAN, "asinh": Op.ASINH, "acosh": Op.ACOSH,
    "atanh": Op.ATANH,
}  # fmt: skip
PARTS: dict[str, ir.Part] = {"real": "real", "imag": "imag", "conj": "conj", "conjugate": "conj", "angle": "angle"}
NUMPY_BINARY: dict[str, Op] = {
    "add": Op.ADD, "subtract": Op.SUB, "multiply": Op.MUL, "divide": Op.DIV, "power": Op.POW,
    "floor_divide": Op.FLOORDIV, "mod": Op.MOD, "remainder": Op.MOD, "fmod": Op.FMOD,
    "arctan2": Op.ATAN2, "hypot": Op.HYPOT, "copysign": Op.COPYSIGN, "maximum": Op.MAX, "minimum": Op.MIN,
    "less": Op.LT, "less_equal": Op.LE, "greater": Op.GT, "greater_equal": Op.GE,
    "equal": Op.EQ, "not_equal": Op.NE, "logical_and": Op.AND, "logical_or": Op.OR, "bitwise_and": Op.BITAND,
    "bitwise_or": Op.BITOR, "bitwise_xor": Op.BITXOR, "left_shift": Op.SHL, "right_shift": Op.SHR,
}  # fmt: skip
SPECIAL_UFUNCS: dict[str, Op] = {
    "erf": Op.ERF, "erfc": Op.ERFC, "gamma": Op.GAMMA, "gammaln": Op.LGAMMA, "psi": Op.DIGAMMA,
    "digamma": Op.DIGAMMA, "cbrt": Op.CBRT, "exp2": Op.EXP2, "expm1": Op.EXPM1, "log1p": Op.LOG1P,
}  # fmt: skip


def log_in_base(x: ir.Expr, base: ir.Expr | None = None) -> ir.Expr:
    """`math.log(x)` or `math.log(x, base)`."""
    natural = ir.Apply(Op.LOG, (x,))
    return natural if base is None else ir.Apply(Op.DIV, (natural, ir.Apply(Op.LOG, (base,))))


def ignoring_nan(op: Op, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """`np.fmax` and `np.fmin`: the other argument where one is NaN."""
    rest = ir.Select(ir.Apply(Op.NE, (a, a)), b, ir.Apply(op, (a, b)))
    return ir.Select(ir.Apply(Op.NE, (b, b)), a, rest)


def hypotenuse(*args: ir.Expr) -> ir.Expr:
    """`math.hypot` of any number of arguments, two at a time: no overflow in between."""
    result = args[0]
    for a in args[1:]:
        result = ir.Apply(Op.HYPOT, (result, a))
    return result


def scaled(factor: float, x: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.MUL, (x, ir.Const(factor)))


def function_table() -> dict[Any, ScalarFunction]:
    table: dict[Any, ScalarFunction] = dict(BUILTIN_FUNCTIONS)
    for name, op in MATH_FUNCTIONS.items():
        if hasattr(math, name):
            table[getattr(math, name)] = ScalarFunction(f"math.{name}", partial(apply, op))
    for name, op in MATH_BINARY.items():
        table[getattr(math, name)] = ScalarFunction(f"math.{name}", partial(apply, op), 2, 2)
    for name, op in NUMPY_UNARY.items():
        if hasattr(np, name):
            build = partial(float_result if name in ROUNDED_TO_FLOATS else apply, op)
            table[getattr(np, name)] = ScalarFunction(f"np.{name}", build)
    for name, op in NUMPY_BINARY.items():
        table[getattr(np, name)] = ScalarFunction(f"np.{name}", partial(apply, op), 2, 2)
    for name, op in (("fmax", Op.MAX), ("fmin", Op.MIN)):
        table[getattr(np, name)] = ScalarFunction(f"np.{name}", partial(ignoring_nan, op), 2, 2)
    for name, op in CMATH_FUNCTIONS.items():
        table[getattr(cmath, name)] = ScalarFunction(f"cmath.{name}", partial(of_complex, op))
    for name, kind in PARTS.items():
        table[getattr(np, name)] = ScalarFunction(f"np.{name}", partial(part, kind))
    table |= {
        cmath.log: ScalarFunction("cmath.log", partial(of_complex, Op.LOG)),
        cmath.phase: ScalarFunction("cmath.phase", partial(part, "angle")),
        math.log: ScalarFunction("math.log", log_in_base, 1, 2),
        math.hypot: ScalarFunction("math.hypot", hypotenuse, 2, None),
        math.pow: ScalarFunction("math.pow", partial(float_result, Op.POW), 2, 2),
        math.fabs: ScalarFunction("math.fabs", partial(float_result, Op.ABS)),
        math.floor: ScalarFunction("math.floor", partial(to_int, Op.FLOOR)),
        math.ceil: ScalarFunction("math.ceil", partial(to_int, Op.CEIL)),
        math.trunc: ScalarFunction("math.trunc", partial(to_int, Op.TRUNC)),
        math.radians: ScalarFunction("math.radians", partial(scaled, math.pi / 180.0)),
        math.degrees: ScalarFunction("math.degrees", partial(scaled, 180.0 / math.pi)),
        np.float_power: ScalarFunction("np.float_power", partial(float_result, Op.POW), 2, 2),
        np.fabs: ScalarFunction("np.fabs", partial(float_result, Op.ABS)),
        np.square: ScalarFunction("np.square", lambda x: ir.Apply(Op.POW, (x, ir.Const(2)))),
        np.reciprocal: ScalarFunction("np.reciprocal", lambda x: ir.Apply(Op.DIV, (ir.Const(1.0), x))),
        np.radians: ScalarFunction("np.radians", partial(scaled, math.pi / 180.0)),
        np.degrees: ScalarFunction("np.degrees", partial(scaled, 180.0 / math.pi)),
        np.clip: ScalarFunction("np.clip", clip, 3, 3),
        np.where: ScalarFunction("np.where", ir.Select, 3, 3),
    }
    return table


SCALAR_FUNCTIONS = function_table()


def is_special(value: np.ufunc) -> bool:
    """Whether `value` is the function of that name in `scipy.special`: other modules have some called `gamma` too."""
    owner = sys.modules.get("scipy.special")
    return value.__name__ in SPECIAL_UFUNCS and value is getattr(owner, value.__name__, None)


def scalar_function(value: Any) -> ScalarFunction | None:
    """The scalar function that `value` is, or None. SciPy's are known by name: SciPy is not imported."""
    try:
        found = SCALAR_FUNCTIONS.get(value)
    except TypeError:  # unhashable: not a function
        return None
    if found is None and isinstance(value, np.ufunc) and is_special(value):
        name = f"scipy.special.{value.__name__}"
        return ScalarFunction(name, partial(apply, SPECIAL_UFUNCS[value.__name__]))
    return found
