"""Which implementation of a function is used where, and the intrinsics that generated code calls.

Methods: `libmvec` calls glibc's vector library (at most 4 ulp), `own` the formulas of this package (at most
4 ulp), `libm` the C library lane by lane (about 1 ulp). `own` computes float32 lanes in float64 and rounds, to half a
unit, where the formula is not written for them. `auto` takes libmvec if this machine has it and not `OWN_IS_BETTER`,
else `own`, else libm; `high` takes formulas of this package where one is within 1 ulp, else libm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from llvmlite import ir as llvm_ir
from numba.core import types
from numba.extending import intrinsic

from ..simd.build import FLOATS, Typed, convert, elementwise
from ..simd.types import cpu_features
from . import exponential, libmvec, logarithm, power, roots, scalar, special, trigonometric
from .expr import Lanes, function_of
from .registers import fills_registers

HAS_FMA = not {"fma", "neon"}.isdisjoint(cpu_features())
Method = Literal["auto", "high", "own", "libmvec", "libm"]

OWN: dict[str, Callable[..., Lanes]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "tanh": exponential.tanh,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "atan": trigonometric.atan,
    "atan2": trigonometric.atan2,
    "cbrt": roots.cbrt,
    "hypot": roots.hypot,
    "erf": special.erf,
    "pow": power.pow_,
}
# Where the fast formula for doubles is not within 1 ulp, the slower one that is.
PRECISE = {
    "tanh": exponential.precise_tanh,
    "log": logarithm.precise_log,
    "log1p": logarithm.precise_log1p,
    "pow": power.precise_pow,
}
LIBRARY_ONLY = (
    "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "gamma", "lgamma", "fmod",
)  # fmt: skip
FOR_SINGLES = (
    exponential.exp, exponential.exp2, exponential.expm1, exponential.tanh, logarithm.log, logarithm.log1p,
    trigonometric.atan, trigonometric.atan2, special.erf, power.pow_,
)  # fmt: skip
# As fast as libmvec or faster, or more accurate, and open to inlining.
OWN_IS_BETTER = {types.float64: ("exp", "tanh", "tan", "cbrt", "pow"), types.float32: ("exp", "expm1", "tanh", "pow")}
# So are these in whole registers of AVX-512, which hold their tables.
TABLES_ARE_BETTER = ("log", "log1p", "atan", "atan2", "erf")
ONE_ULP = ("exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tanh", "atan", "cbrt", "pow")
BINARY = ("pow", "atan2", "hypot", "fmod")


def computed(builder: Any, element: types.Type, inside: types.Type, formula: Callable[..., Lanes], *values: Any) -> Any:
    """`formula` of the values as lanes of `inside`."""
    lanes = (Lanes(builder, convert(builder, v, element, inside)) for v in values)
    return convert(builder, function_of(formula, *lanes).value, inside, element)


def own(builder: Any, element: types.Type, formula: Callable[..., Lanes], *values: Any) -> Any:
    """`formula` of singles if it is written for them, else in doubles."""
    inside = element if formula in FOR_SINGLES else types.float64
    return computed(builder, element, inside, formula, *values)


def emit_function(builder: Any, element: types.Type, name: str, method: Method, *values: Any) -> Any:
    """The value of function `name` by `method`; scalars always go to the C library."""
    is_vector = isinstance(values[0].type, llvm_ir.VectorType)
    if method == "high" and is_vector and name in OWN and (element == types.float32 or name in ONE_ULP):
        formula = PRECISE.get(name, OWN[name]) if element == types.float64 else OWN[name]
        return computed(builder, element, types.float64, formula, *values)
    if name in OWN and method == "own":
        return own(builder, element, OWN[name], *values)
    if not is_vector or method in ("high", "libm"):
        return scalar.per_lane(builder, element, name, *values)
    is_own_better = HAS_FMA and name in OWN_IS_BETTER[element]
    is_own_better |= name in TABLES_ARE_BETTER and fills_registers(Lanes(builder, values[0]))
    if libmvec.variants(name, element, len(values)) and not (method == "auto" and is_own_better):
        return libmvec.emit(builder, element, name, *values)
    if name in OWN:
        return own(builder, element, OWN[name], *values)
    return scalar.per_lane(builder, element, name, *values)


def vector_function(name: str, method: Method = "auto") -> Any:
    """The intrinsic for function `name` (a C name such as "log1p") on float64 or float32 vectors and
    scalars."""

    def emit(builder: Any, element: types.Type, *values: Any) -> Any:
        return emit_function(builder, element, name, method, *values)

    if name in BINARY:

        @intrinsic
        def binary(typingctx: Any, x: Any, y: Any) -> Typed | None:
            return elementwise((x, y), emit, FLOATS, least=types.float64)

        return binary

    @intrinsic
    def unary(typingctx: Any, x: Any) -> Typed | None:
        return elementwise((x,), emit, FLOATS, least=types.float64)

    return unary


NAMES = (*OWN, *LIBRARY_ONLY)
DEFAULT = {name: vector_function(name) for name in NAMES}
HIGH = {name: vector_function(name, "high") for name in NAMES}
LIBM = {name: vector_function(name, "libm") for name in NAMES}
