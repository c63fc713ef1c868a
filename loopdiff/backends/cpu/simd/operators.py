"""Python's operators on vectors, with Python's meaning in every lane.

Nothing traps: a lane whose integer divisor is zero gets 0 (its value never matters: such lanes are masked
off), and shifts past the word size give what an unbounded integer would. The typing templates are registered
directly, which costs far less compile time than `numba.extending.overload`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

from .build import ANY, ARITHMETIC, BITS, FLOATS, NUMBERS, PLAIN, constant, elementwise, frozen, overloaded
from .types import Vector

Emit = Callable[..., Any]


def arithmetic(integer: str, floating: str) -> Emit:
    def emit(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
        if element in FLOATS:
            return getattr(builder, floating)(a, b, flags=ARITHMETIC)
        return getattr(builder, integer)(a, b)

    return emit


def emit_divide(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
    # No `arcp`: with it x86 replaces float32 division by an estimate that turns 1/0 and x/inf into nan.
    return builder.fdiv(a, b, flags=ARITHMETIC)


def integer_divmod(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Floored quotient and remainder; divisors 0 and -1, which trap, never reach the machine division."""
    b = frozen(builder, b)
    zero, one = constant(b.type, 0), constant(b.type, 1)
    is_zero = builder.icmp_signed("==", b, zero)
    is_minus = builder.icmp_signed("==", b, constant(b.type, -1))
    divisor = builder.select(builder.or_(is_zero, is_minus), one, b)
    quotient = builder.sdiv(a, divisor)
    remainder = builder.sub(a, builder.mul(quotient, divisor))
    differs = builder.icmp_signed("<", builder.xor(remainder, divisor), zero)
    adjust = builder.and_(differs, builder.icmp_signed("!=", remainder, zero))
    quotient = builder.select(adjust, builder.sub(quotient, one), quotient)
    quotient = builder.select(is_minus, builder.sub(zero, a), builder.select(is_zero, zero, quotient))
    return quotient, builder.select(adjust, builder.add(remainder, divisor), remainder)


def float_divmod(builder: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Floored quotient and remainder as NumPy defines them (`npy_divmod`), by the exact `fmod`; rounded one by one."""
    zero = constant(a.type, 0.0)
    remainder = builder.frem(a, b)
    nonzero = builder.fcmp_unordered("!=", remainder, zero)
    differs = builder.xor(builder.fcmp_ordered("<", b, zero), builder.fcmp_ordered("<", remainder, zero))
    adjust = builder.and_(nonzero, differs)
    moved = builder.select(adjust, builder.fadd(remainder, b, flags=PLAIN), remainder)
    ratio = builder.fdiv(builder.fsub(a, remainder, flags=PLAIN), b, flags=PLAIN)
    ratio = builder.select(adjust, builder.fsub(ratio, constant(a.type, 1.0), flags=PLAIN), ratio)
    floored = overloaded(builder, "llvm.floor", ratio)
    above = builder.fcmp_ordered(">", builder.fsub(ratio, floored, flags=PLAIN), constant(a.type, 0.5))
    floored = builder.select(above, builder.fadd(floored, constant(a.type, 1.0), flags=PLAIN), floored)
    exact = builder.fdiv(a, b, flags=PLAIN)
    signed_zero = overloaded(builder, "llvm.copysign", zero, exact)
    floored = builder.select(builder.fcmp_unordered("!=", ratio, zero), floored, signed_zero)
    by_zero = builder.fcmp_ordered("==", b, zero)
    moved = builder.select(nonzero, moved, overloaded(builder, "llvm.copysign", zero, b))
    return builder.select(by_zero, exact, floored), moved


def emit_divmod(part: int) -> Emit:
    def emit(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
        return (float_divmod if element in FLOATS else integer_divmod)(builder, a, b)[part]

    return emit


def bitwise(name: str) -> Emit:
    def emit(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
        return getattr(builder, name)(a, b)

    return emit


def emit_left(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
    fits = builder.icmp_unsigned("<", b, constant(b.type, 64))
    return builder.select(fits, builder.shl(a, builder.and_(b, constant(b.type, 63))), constant(a.type, 0))


def emit_right(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
    last = constant(b.type, 63)
    return builder.ashr(a, builder.select(builder.icmp_unsigned("<", b, last), b, last))


def compare(relation: str) -> Emit:
    def emit(builder: Any, element: types.Type, a: Any, b: Any) -> Any:
        if element in FLOATS:
            ordered = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
            return ordered(relation, a, b)
        # Masks compare as 0 and 1, not as the signed one-bit 0 and -1.
        return (builder.icmp_unsigned if element == types.boolean else builder.icmp_signed)(relation, a, b)

    return emit


def emit_negate(builder: Any, element: types.Type, a: Any) -> Any:
    return builder.fneg(a) if element in FLOATS else builder.neg(a)


def emit_invert(builder: Any, element: types.Type, a: Any) -> Any:
    return builder.not_(a)


def emit_positive(builder: Any, element: types.Type, a: Any) -> Any:
    return a


# Operators, elements they take, how they are emitted, element of the result, least element of the operands.
Row = tuple[tuple[Any, ...], tuple[types.Type, ...], Emit, types.Type | None, types.Type | None]
BINARY: tuple[Row, ...] = (
    ((operator.add, operator.iadd), NUMBERS, arithmetic("add", "fadd"), None, None),
    ((operator.sub, operator.isub), NUMBERS, arithmetic("sub", "fsub"), None, None),
    ((operator.mul, operator.imul), NUMBERS, arithmetic("mul", "fmul"), None, None),
    ((operator.truediv, operator.itruediv), NUMBERS, emit_divide, None, types.float64),
    ((operator.floordiv, operator.ifloordiv), NUMBERS, emit_divmod(0), None, None),
    ((operator.mod, operator.imod), NUMBERS, emit_divmod(1), None, None),
    ((operator.and_, operator.iand), BITS, bitwise("and_"), None, None),
    ((operator.or_, operator.ior), BITS, bitwise("or_"), None, None),
    ((operator.xor, operator.ixor), BITS, bitwise("xor"), None, None),
    ((operator.lshift, operator.ilshift), (types.int64,), emit_left, None, None),
    ((operator.rshift, operator.irshift), (types.int64,), emit_right, None, None),
    ((operator.lt,), ANY, compare("<"), types.boolean, None),
    ((operator.le,), ANY, compare("<="), types.boolean, None),
    ((operator.gt,), ANY, compare(">"), types.boolean, None),
    ((operator.ge,), ANY, compare(">="), types.boolean, None),
    ((operator.eq,), ANY, compare("=="), types.boolean, None),
    ((operator.ne,), ANY, compare("!="), types.boolean, None),
)
UNARY: tuple[Row, ...] = (
    ((operator.neg,), NUMBERS, emit_negate, None, None),
    ((operator.pos,), NUMBERS, emit_positive, None, None),
    ((operator.invert,), BITS, emit_invert, None, None),
)


def register(row: Row, patterns: tuple[tuple[Any, ...], ...]) -> None:
    """Give Numba the typing and lowering of the operators of one row."""
    functions, elements, emit, result, least = row
    function_names = ", ".join(f.__name__ for f in functions)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        found = elementwise(sig.args, emit, elements, result, least)
        if found is None:
            raise TypeError(f"no operands of {function_names}: {sig.args}")
        return found[1](context, builder, sig, args)

    for function in functions:

        class Operator(AbstractTemplate):
            key = function
            # Numba tries templates of a more specific target first: this one before its own dozens.
            metadata: ClassVar[dict[str, str]] = {"target": "cpu"}

            def generic(self, args: Any, kws: Any) -> Any:
                if kws or not any(isinstance(a, Vector) for a in args):
                    return None
                found = elementwise(args, emit, elements, result, least)
                return found[0] if found else None

        add_template: Any = infer_global(function)
        add_template(Operator)
        for pattern in patterns:
            lower_builtin(function, *pattern)(lower)


for binary_row in BINARY:
    register(binary_row, ((Vector, Vector), (Vector, types.Any), (types.Any, Vector)))
for unary_row in UNARY:
    register(unary_row, ((Vector,),))

OPERATORS = tuple(function for row in BINARY + UNARY for function in row[0])
