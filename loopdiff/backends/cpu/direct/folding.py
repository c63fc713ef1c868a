"""Instructions that need not be written: what they find is at hand. Numba's code for arrays consists of these by half,
and to write, to read and to simplify them takes longer than not to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir as llvm
from llvmlite.ir.instructions import InsertValue

Value = Any


def fold_as_written(builder: Value) -> None:
    """Let `builder` take parts of tuples and arrays that were put together from parts as they were before, and leave
    out sums with zero and products with one or zero."""
    builder.extract_value = extraction(builder.extract_value)
    builder.add = sum_or_term(builder.add)
    builder.mul = product_or_factor(builder.mul)


def extraction(extract: Callable[..., Value]) -> Callable[..., Value]:
    def found(whole: Value, index: Any, name: str = "") -> Value:
        indices = list(index) if isinstance(index, list | tuple) else [index]
        while isinstance(whole, InsertValue) and len(indices) == 1:
            if whole.indices == indices:
                return whole.value
            if whole.indices[0] == indices[0]:
                break
            whole = whole.aggregate
        return extract(whole, indices, name)

    return found


def number(value: Value) -> int | None:
    """The integer that `value` is, if it is a constant."""
    is_one = isinstance(value, llvm.Constant) and isinstance(value.type, llvm.IntType)
    return value.constant if is_one and type(value.constant) is int else None


def sum_or_term(add: Callable[..., Value]) -> Callable[..., Value]:
    def found(left: Value, right: Value, *others: Any, **named: Any) -> Value:
        return right if number(left) == 0 else left if number(right) == 0 else add(left, right, *others, **named)

    return found


def product_or_factor(mul: Callable[..., Value]) -> Callable[..., Value]:
    def found(left: Value, right: Value, *others: Any, **named: Any) -> Value:
        for one, other in ((left, right), (right, left)):
            if number(one) in (0, 1):
                return other if number(one) else one
        return mul(left, right, *others, **named)

    return found
