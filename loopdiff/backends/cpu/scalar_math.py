"""How each scalar operation is spelled in generated Python source that Numba compiles.

`spell(op, kind, args)` gives the text. The source needs `np`, `math` and the functions of this module named
by `helpers_of(op, kind)`; its functions must be compiled with `error_model="numpy"`, so that float division
follows IEEE. float32 arguments give float32 results. What Python or NumPy do differently from C is kept:
integer `//` and `%` floor and raise ZeroDivisionError, `max` and `min` are NaN if any argument is, shifts
by 64 and more leave no bits.

The helpers are ordinary njit functions in an importable file, so Numba's on-disk cache works; LLVM inlines
them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from numba import njit, types
from numba.extending import intrinsic

from loopdiff.backends.cpu.simd.arithmetic import maximum, minimum, sign, strict_add, strict_div, strict_mul, strict_sub
from loopdiff.backends.cpu.simd.halves import bfloat16, float16, to_bfloat16, to_float16
from loopdiff.errors import InternalError
from loopdiff.immutable import immutable
from loopdiff.ir import scalar_eval
from loopdiff.ir.ops import COMPARISONS, HALVES, Op
from loopdiff.ir.types import BOOL, F32, F64, INT, ScalarType

jit = njit(error_model="numpy")


@intrinsic
def at(typingctx: Any, index: Any) -> Any:
    """`index`, which is not negative, as a number without sign: an array then does not ask whether it counts from the
    end, which costs three instructions and LLVM's view of how addresses go on."""
    if not isinstance(index, types.Integer):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.cast(builder, args[0], sig.args[0], types.uintp)

    return types.uintp(index), lower


@intrinsic
def after(typingctx: Any, early: Any, late: Any) -> Any:
    """`early + late`, each of them as it is: LLVM may not take terms of `early` to `late`, which comes later."""
    if early != late or not isinstance(early, types.Float):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.fadd(*args, flags=("contract",))

    return early(early, late), lower


# -- integers ------------------------------------------------------------------------------------------------
@jit
def floordiv_int(a: int, b: int) -> int:
    """Floor of a / b. ZeroDivisionError for b = 0; wraps for the one quotient that overflows."""
    if b == 0:
        raise ZeroDivisionError("integer division by zero")
    if b == -1:  # the hardware traps on -2**63 // -1
        return -a
    return a // b


@jit
def mod_int(a: int, b: int) -> int:
    """a - b * floor(a / b). ZeroDivisionError for b = 0."""
    if b == 0:
        raise ZeroDivisionError("integer modulo by zero")
    if b == -1:
        return 0
    return a % b


@jit
def pow_int(base: int, exponent: int) -> int:
    """base ** exponent modulo 2**64. ValueError for a negative exponent, as in NumPy."""
    if exponent < 0:
        raise ValueError("integers to negative integer powers are not allowed")
    result = 1
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@jit
def shl_int(value: int, count: int) -> int:
    """value << count; ValueError for a negative count, 0 from 64 on."""
    if count < 0:
        raise ValueError("negative shift count")
    return value << count if count < 64 else 0


@jit
def shr_int(value: int, count: int) -> int:
    """value >> count; ValueError for a negative count, 0 or -1 from 64 on."""
    if count < 0:
        raise ValueError("negative shift count")
    return value >> min(count, 63)


# -- both ----------------------------------------------------------------------------------------------------
# The greater, and the smaller; NaN if either is.
max2, min2 = maximum, minimum


# -- special functions --------------------------------------------------------------------------------------
digamma = jit(scalar_eval.digamma)
trigamma = jit(scalar_eval.trigamma)
strong_mul = jit(scalar_eval.strong_product)

HELPERS: Mapping[str, Any] = {
    "floordiv_int": floordiv_int, "mod_int": mod_int, "pow_int": pow_int, "shl_int": shl_int,
    "shr_int": shr_int, "max2": max2, "min2": min2, "sign": sign, "digamma": digamma, "trigamma": trigamma,
    "strong_mul": strong_mul, "strict_add": strict_add, "strict_sub": strict_sub,
    "strict_mul": strict_mul, "strict_div": strict_div, "at": at, "after": after,
    "to_float16": to_float16, "to_bfloat16": to_bfloat16, "float16": float16, "bfloat16": bfloat16,
}  # fmt: skip


@immutable
class Spelling:
    """Source text by operand type, with {0} and {1} for the operands; None where `op` is not defined."""

    f64: str | None = None
    f32: str | None = None
    int64: str | None = None
    bool: str | None = None

    def of(self, kind: ScalarType) -> str | None:
        return {F64: self.f64, F32: self.f32, INT: self.int64, BOOL: self.bool}[kind]


def floats(text: str, int64: str | None = None) -> Spelling:
    return Spelling(text, text, int64)


def numbers(text: str) -> Spelling:
    return Spelling(text, text, text)


def everything(text: str) -> Spelling:
    return Spelling(text, text, text, text)


def in_double(text: str) -> Spelling:
    """A function written for doubles only."""
    return Spelling(text, f"np.float32({text.replace('{0}', 'np.float64({0})')})")


def bits(text: str) -> Spelling:
    return Spelling(None, None, text, text)


SCALAR_FUNCTIONS: dict[Op, Spelling] = {
    Op.ADD: numbers("({0} + {1})"),
    Op.SUB: numbers("({0} - {1})"),
    Op.MUL: numbers("({0} * {1})"),
    Op.DIV: floats("({0} / {1})"),
    Op.FLOORDIV: floats("({0} // {1})", "floordiv_int({0}, {1})"),
    Op.MOD: floats("({0} % {1})", "mod_int({0}, {1})"),
    Op.POW: floats("({0} ** {1})", "pow_int({0}, {1})"),
    Op.NEG: numbers("(-{0})"),
    Op.BITAND: bits("({0} & {1})"),
    Op.BITOR: bits("({0} | {1})"),
    Op.BITXOR: bits("({0} ^ {1})"),
    Op.SHL: Spelling(int64="shl_int({0}, {1})"),
    Op.SHR: Spelling(int64="shr_int({0}, {1})"),
    Op.INVERT: Spelling(int64="(~{0})", bool="(not {0})"),
    **{op: everything(f"({{0}} {op.value} {{1}})") for op in COMPARISONS},
    Op.AND: Spelling(bool="({0} and {1})"),
    Op.OR: Spelling(bool="({0} or {1})"),
    Op.NOT: Spelling(bool="(not {0})"),
    Op.MIN: numbers("min2({0}, {1})"),
    Op.MAX: numbers("max2({0}, {1})"),
    Op.ABS: numbers("abs({0})"),
    Op.SIGN: numbers("sign({0})"),
    Op.STOP: numbers("({0})"),
    Op.FLOOR: floats("np.floor({0})"),
    Op.CEIL: floats("np.ceil({0})"),
    Op.TRUNC: floats("np.trunc({0})"),
    Op.ROUND: floats("np.rint({0})"),
    Op.SQRT: floats("math.sqrt({0})"),
    Op.CBRT: floats("np.cbrt({0})"),
    Op.EXP: floats("math.exp({0})"),
    Op.EXP2: floats("np.exp2({0})"),
    Op.EXPM1: floats("math.expm1({0})"),
    Op.LOG: floats("math.log({0})"),
    Op.LOG2: floats("np.log2({0})"),
    Op.LOG10: floats("math.log10({0})"),
    Op.LOG1P: floats("math.log1p({0})"),
    Op.SIN: floats("math.sin({0})"),
    Op.COS: floats("math.cos({0})"),
    Op.TAN: floats("math.tan({0})"),
    Op.ASIN: floats("math.asin({0})"),
    Op.ACOS: floats("math.acos({0})"),
    Op.ATAN: floats("math.atan({0})"),
    Op.SINH: floats("math.sinh({0})"),
    Op.COSH: floats("math.cosh({0})"),
    Op.TANH: floats("math.tanh({0})"),
    Op.ASINH: floats("math.asinh({0})"),
    Op.ACOSH: floats("math.acosh({0})"),
    Op.ATANH: floats("math.atanh({0})"),
    Op.ERF: floats("math.erf({0})"),
    Op.ERFC: floats("math.erfc({0})"),
    Op.GAMMA: floats("math.gamma({0})"),
    Op.LGAMMA: floats("math.lgamma({0})"),
    Op.DIGAMMA: in_double("digamma({0})"),
    Op.TRIGAMMA: in_double("trigamma({0})"),
    Op.ATAN2: floats("math.atan2({0}, {1})"),
    Op.HYPOT: floats("math.hypot({0}, {1})"),
    Op.COPYSIGN: floats("math.copysign({0}, {1})"),
    Op.FMOD: floats("np.fmod({0}, {1})"),
    Op.STRONG_MUL: floats("strong_mul({0}, {1})"),
    Op.SLOPED: floats("({0})"),
    Op.STRICT_ADD: floats("strict_add({0}, {1})"),
    Op.STRICT_SUB: floats("strict_sub({0}, {1})"),
    Op.STRICT_MUL: floats("strict_mul({0}, {1})"),
    Op.STRICT_DIV: floats("strict_div({0}, {1})"),
    **{op: floats(f"to_{name}({{0}})") for name, op in HALVES.items()},
    Op.ISNAN: floats("math.isnan({0})"),
    Op.ISINF: floats("math.isinf({0})"),
    Op.ISFINITE: floats("math.isfinite({0})"),
}


def spell(op: Op, kind: ScalarType, args: Sequence[str]) -> str:
    """Source text of `op` on operands of type `kind`; `args` are texts of atoms or in parentheses.

    Operands must have the same type, except that the exponent of a float power may be an INT. `and`, `or`,
    `max` and `min` take two or more. Raises InternalError (LD905) where `op` is not defined for `kind`.
    """
    template = SCALAR_FUNCTIONS[op].of(kind) if op in SCALAR_FUNCTIONS else None
    if template is None:
        raise InternalError(f"LD905: `{op.value}` has no scalar spelling for {kind.value}; please report this")
    if len(args) == 1:
        return template.format(args[0])
    return reduce(template.format, args)


def helpers_of(op: Op, kind: ScalarType) -> tuple[str, ...]:
    """Names of this module that the text of `spell` uses."""
    template = SCALAR_FUNCTIONS[op].of(kind) or ""
    return tuple(name for name in re.findall(r"\w+", template) if name in HELPERS)


def spell_constant(value: bool | int | float, kind: ScalarType) -> str:
    """Source text of a literal of type `kind`."""
    match kind:
        case ScalarType.BOOL:
            return str(bool(value))
        case ScalarType.INT:
            whole = int(value)
            # 2**63 would be typed as unsigned before the sign is applied.
            return f"({whole + 1} - 1)" if whole == -(1 << 63) else f"({whole})" if whole < 0 else str(whole)
        case _:
            number = float(value)
            if math.isnan(number):
                text = "np.nan"
            elif math.isinf(number):
                text = "np.inf" if number > 0 else "(-np.inf)"
            else:
                text = repr(number) if math.copysign(1.0, number) > 0 else f"({number!r})"
            return text if kind is F64 else f"np.float32({text})"


def spell_cast(text: str, found: ScalarType, wanted: ScalarType) -> str:
    """Source text of the conversion; float to INT truncates toward zero (undefined beyond 64 bits)."""
    if found is wanted:
        return text
    if wanted is BOOL:
        return f"({text} != 0)"
    return f"np.{wanted.value}({text})"
