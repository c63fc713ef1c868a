"""Operators and functions that generated code is full of, typed and lowered here: Numba would ask dozens of templates.

Operators of vectors are those of `simd`; of numbers of one type they are one instruction, as Numba writes it.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.core.typing.templates import signature

from loopdiff.backends.cpu.simd.build import elementwise
from loopdiff.backends.cpu.simd.operators import BINARY, UNARY
from loopdiff.backends.cpu.simd.types import Vector

from .arrays import Lower, allocation, filling

FLOATS = (types.float32, types.float64)
ROWS = {function: row for row in (*BINARY, *UNARY) for function in row[0]}
ARITHMETIC = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div"}
RELATIONS = {
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip
EXTREMA = {builtins.max: ">", builtins.min: "<"}
DIVISIONS = (operator.mod, operator.floordiv)
FUNCTIONS = (builtins.max, builtins.min, np.empty)


def known_call(function: Any, given: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    """Signature and lowering, if `function` of arguments of these types is known here."""
    args = tuple(types.unliteral(t) for t in given)
    if function in ROWS and any(isinstance(a, Vector) for a in args):
        _, elements, emit, result, least = ROWS[function]
        return elementwise(args, emit, elements, result, least)
    if function is np.empty:
        return allocation(args)
    if function is operator.setitem:
        return filling(args)
    if len(args) != 2 or args[0] != args[1]:
        return None
    if function in DIVISIONS and args[0] == types.int64 and isinstance(given[1], types.IntegerLiteral):
        return by_constant(function, given[1].literal_value, args)
    if args[0] in FLOATS:
        return of_floats(function, args)
    return of_integers(function, args) if args[0] == types.int64 else None


def of_floats(function: Any, args: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    if function in ARITHMETIC:
        name = f"f{ARITHMETIC[function]}"
        return signature(args[0], *args), lambda _, builder, sig, values: getattr(builder, name)(*values)
    if function in RELATIONS:
        relation = RELATIONS[function]
        name = "fcmp_unordered" if relation == "!=" else "fcmp_ordered"
        return signature(types.boolean, *args), lambda _, builder, sig, values: getattr(builder, name)(
            relation, *values
        )
    return None


def of_integers(function: Any, args: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    if function in ARITHMETIC and function is not operator.truediv:
        name = ARITHMETIC[function]
        return signature(args[0], *args), lambda _, builder, sig, values: getattr(builder, name)(
            *values, flags=("nsw",)
        )
    if function in RELATIONS:
        relation = RELATIONS[function]
        return signature(types.boolean, *args), lambda _, builder, sig, values: builder.icmp_signed(relation, *values)
    if function in EXTREMA:
        relation = EXTREMA[function]

        def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
            return builder.select(builder.icmp_signed(relation, *values), *values)

        return signature(args[0], *args), lower
    return None


def by_constant(function: Any, divisor: int, args: tuple[types.Type, ...]) -> tuple[Any, Lower] | None:
    """Division by a positive constant, rounded down, and what it leaves: it cannot fail, so that nothing branches."""
    if divisor <= 0:
        return None

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        dividend, by = values[0], values[0].type(divisor)
        left = builder.srem(dividend, by)
        is_below = builder.icmp_signed("<", left, left.type(0))
        if function is operator.mod:
            return builder.select(is_below, builder.add(left, by), left)
        quotient = builder.sdiv(dividend, by)
        return builder.select(is_below, builder.sub(quotient, left.type(1)), quotient)

    return signature(args[0], *args), lower
