"""Elementwise functions on vectors and scalars: multiply-add, select, extrema, roundings, signs, casts."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from .build import (
    ARITHMETIC,
    FLOATS,
    NUMBERS,
    PLAIN,
    Typed,
    bring,
    broadcast,
    constant,
    convert,
    elementwise,
    overloaded,
)
from .types import ELEMENTS, element_of, join, shaped, width_of


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Typed | None:
    """a * b + c with one rounding (integers: plainly)."""

    def emit(builder: Any, element: types.Type, x: Any, y: Any, z: Any) -> Any:
        if element == types.int64:
            return builder.add(builder.mul(x, y), z)
        return overloaded(builder, "llvm.fma", x, y, z)

    return elementwise((a, b, c), emit, NUMBERS)


@intrinsic
def muladd(typingctx: Any, a: Any, b: Any, c: Any) -> Typed | None:
    """a * b + c with one rounding where the machine has that instruction, else with two."""

    def emit(builder: Any, element: types.Type, x: Any, y: Any, z: Any) -> Any:
        if element == types.int64:
            return builder.add(builder.mul(x, y), z)
        return overloaded(builder, "llvm.fmuladd", x, y, z)

    return elementwise((a, b, c), emit, NUMBERS)


@intrinsic(prefer_literal=True)
def powi(typingctx: Any, x: Any, n: Any) -> Typed | None:
    """x to the literal integer power `n` by repeated squaring; integers to a negative power are refused."""
    if not isinstance(n, types.IntegerLiteral):
        return None
    exponent = n.literal_value

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        is_float = element in FLOATS
        multiply = builder.fmul if is_float else builder.mul
        result, square, left = constant(value.type, 1), value, abs(exponent)
        while left:
            if left % 2:
                result = multiply(result, square)
            left //= 2
            square = multiply(square, square) if left else square
        return builder.fdiv(constant(value.type, 1), result, flags=ARITHMETIC) if exponent < 0 else result

    found = elementwise((x,), emit, FLOATS if exponent < 0 else NUMBERS)
    if found is None:
        return None
    of_x, lower = found
    return signature(of_x.return_type, x, n), lambda context, builder, sig, args: lower(
        context, builder, of_x, args[:1]
    )


@intrinsic
def select(typingctx: Any, mask: Any, a: Any, b: Any) -> Typed | None:
    """Lanes of `a` where `mask` holds, else of `b`."""
    fit = join(a, b)
    if fit is None or element_of(mask) != types.boolean:
        return None
    element, width = fit[0], fit[1] or width_of(mask)
    if width_of(mask) not in (0, width):
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        condition, *values = args
        x, y = (bring(context, builder, v, t, element, width) for v, t in zip(values, sig.args[1:], strict=True))
        return builder.select(condition, x, y)

    return signature(shaped(element, width), mask, a, b), lower


def emit_extremum(builder: Any, element: types.Type, a: Any, b: Any, relation: str) -> Any:
    """The larger (`>`) or smaller (`<`) of `a` and `b`, the first of equals; nan when either is."""
    if element not in FLOATS:
        return builder.select(builder.icmp_signed(relation, a, b), a, b)
    # `b > a ? b : a` is one x86 instruction and gives a for a nan on either side.
    chosen = builder.select(builder.fcmp_ordered(relation, b, a), b, a)
    return builder.select(builder.fcmp_unordered("uno", b, b), b, chosen)


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """The larger lane, the first of equals, nan if either is nan."""

    def emit(builder: Any, element: types.Type, x: Any, y: Any) -> Any:
        return emit_extremum(builder, element, x, y, ">")

    return elementwise((a, b), emit, NUMBERS)


@intrinsic
def minimum(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """The smaller lane, the first of equals, nan if either is nan."""

    def emit(builder: Any, element: types.Type, x: Any, y: Any) -> Any:
        return emit_extremum(builder, element, x, y, "<")

    return elementwise((a, b), emit, NUMBERS)


def emit_strict(operation: str) -> Any:
    def emit(builder: Any, element: types.Type, x: Any, y: Any) -> Any:
        return getattr(builder, operation)(x, y, flags=PLAIN)

    return emit


@intrinsic
def strict_add(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """a + b, rounded by itself: never merged with, or taken apart for, what it is made from or goes into."""
    return elementwise((a, b), emit_strict("fadd"), FLOATS)


@intrinsic
def strict_sub(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """a - b, rounded by itself, as `strict_add`."""
    return elementwise((a, b), emit_strict("fsub"), FLOATS)


@intrinsic
def strict_mul(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """a * b, rounded by itself, as `strict_add`."""
    return elementwise((a, b), emit_strict("fmul"), FLOATS)


@intrinsic
def strict_div(typingctx: Any, a: Any, b: Any) -> Typed | None:
    """a / b, rounded by itself, as `strict_add`: never a product with a reciprocal."""
    return elementwise((a, b), emit_strict("fdiv"), FLOATS, least=types.float64)


def rounding(x: types.Type, name: str) -> Typed | None:
    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        return overloaded(builder, name, value)

    return elementwise((x,), emit, FLOATS, least=types.float64)


@intrinsic
def sqrt(typingctx: Any, x: Any) -> Typed | None:
    """Correctly rounded square root; nan for negative lanes."""
    return rounding(x, "llvm.sqrt")


@intrinsic
def root(typingctx: Any, x: Any) -> Typed | None:
    """`x ** 0.5`: the square root, but infinity for minus infinity and 0.0 for -0.0."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        zero, infinity = constant(value.type, 0.0), constant(value.type, float("inf"))
        is_lowest = builder.fcmp_ordered("==", value, constant(value.type, float("-inf")))
        return builder.select(
            is_lowest, infinity, overloaded(builder, "llvm.sqrt", builder.fadd(value, zero, flags=PLAIN))
        )

    return elementwise((x,), emit, FLOATS, least=types.float64)


@intrinsic
def floor(typingctx: Any, x: Any) -> Typed | None:
    """Largest whole number not above each lane."""
    return rounding(x, "llvm.floor")


@intrinsic
def ceil(typingctx: Any, x: Any) -> Typed | None:
    """Smallest whole number not below each lane."""
    return rounding(x, "llvm.ceil")


@intrinsic
def trunc(typingctx: Any, x: Any) -> Typed | None:
    """Each lane without its fraction."""
    return rounding(x, "llvm.trunc")


@intrinsic
def rint(typingctx: Any, x: Any) -> Typed | None:
    """Nearest whole number, halves to even."""
    return rounding(x, "llvm.rint")


@intrinsic
def abs_(typingctx: Any, x: Any) -> Typed | None:
    """Magnitude."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        if element in FLOATS:
            return overloaded(builder, "llvm.fabs", value)
        zero = constant(value.type, 0)
        return builder.select(builder.icmp_signed("<", value, zero), builder.sub(zero, value), value)

    return elementwise((x,), emit, NUMBERS)


@intrinsic
def copysign(typingctx: Any, x: Any, y: Any) -> Typed | None:
    """The magnitude of `x` with the sign (also of zeros and nans) of `y`."""

    def emit(builder: Any, element: types.Type, magnitude: Any, sign_source: Any) -> Any:
        return overloaded(builder, "llvm.copysign", magnitude, sign_source)

    return elementwise((x, y), emit, FLOATS, least=types.float64)


@intrinsic
def sign(typingctx: Any, x: Any) -> Typed | None:
    """-1, 0 or 1 by the sign of each lane; nan stays nan (`numpy.sign`)."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        zero, one = constant(value.type, 0), constant(value.type, 1)
        minus = constant(value.type, -1)
        if element == types.int64:
            below, above = builder.icmp_signed("<", value, zero), builder.icmp_signed(">", value, zero)
            return builder.select(above, one, builder.select(below, minus, zero))
        below, above = builder.fcmp_ordered("<", value, zero), builder.fcmp_ordered(">", value, zero)
        rest = builder.select(builder.fcmp_ordered("==", value, zero), zero, value)
        return builder.select(above, one, builder.select(below, minus, rest))

    return elementwise((x,), emit, NUMBERS)


def float_test(x: types.Type, relation: str) -> Typed | None:
    """Compare |x| with infinity; integers are finite."""

    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        magnitude = overloaded(builder, "llvm.fabs", value)
        infinity = constant(value.type, float("inf"))
        if relation == "uno":
            return builder.fcmp_unordered("uno", value, value)
        return builder.fcmp_ordered(relation, magnitude, infinity)

    return elementwise((x,), emit, FLOATS, types.boolean, types.float64)


@intrinsic
def isnan(typingctx: Any, x: Any) -> Typed | None:
    """Mask of the lanes that are nan."""
    return float_test(x, "uno")


@intrinsic
def isinf(typingctx: Any, x: Any) -> Typed | None:
    """Mask of the lanes that are infinite."""
    return float_test(x, "==")


@intrinsic
def isfinite(typingctx: Any, x: Any) -> Typed | None:
    """Mask of the lanes that are neither infinite nor nan."""
    return float_test(x, "<")


@intrinsic(prefer_literal=True)
def cast(typingctx: Any, x: Any, dtype: Any) -> Typed | None:
    """`x` as `dtype`, a literal "float64", "float32", "int64" or "bool"; floats truncate to int64."""
    source = element_of(x)
    target = ELEMENTS.get(dtype.literal_value) if isinstance(dtype, types.StringLiteral) else None
    if source is None or target is None:
        return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        width = width_of(sig.args[0])
        return convert(builder, bring(context, builder, args[0], sig.args[0], source, width), source, target)

    return signature(shaped(target, width_of(x)), x, dtype), lower


@intrinsic(prefer_literal=True)
def splat(typingctx: Any, x: Any, width: Any) -> Typed | None:
    """The scalar `x` in each of `width` (a literal) lanes; integers become int64."""
    element = element_of(x)
    if element is None or width_of(x) or not isinstance(width, types.IntegerLiteral):
        return None
    lanes = width.literal_value

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return broadcast(builder, bring(context, builder, args[0], sig.args[0], element, 0), lanes)

    return signature(shaped(element, lanes), x, width), lower
