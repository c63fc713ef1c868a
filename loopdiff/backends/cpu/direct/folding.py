"""Instructions that need not be written: what they find is at hand. Numba's code for arrays consists of these by half,
and to write, to read and to simplify them takes longer than not to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir as llvm
from llvmlite.ir.instructions import CastInstr, ExtractValue, GEPInstr, InsertValue, LoadInstr, PhiInstr

Value = Any
FREE_OF_EFFECTS = (CastInstr, ExtractValue, GEPInstr, InsertValue, LoadInstr)


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


def drop_unused(function: Value) -> None:
    """Leave out of `function` what nothing asks for: arrays that were put together from arguments, of which parts were
    taken as they came, are a fifth of the text of a function of many arrays."""
    used = Counter(id(v) for block in function.blocks for i in block.instructions for v in asked_by(i))
    for block in reversed(function.blocks):
        kept: list[Value] = []
        for instruction in reversed(block.instructions):
            if isinstance(instruction, FREE_OF_EFFECTS) and not used[id(instruction)]:
                used.subtract(map(id, asked_by(instruction)))
            else:
                kept.append(instruction)
        block.instructions[:] = reversed(kept)


def asked_by(instruction: Value) -> Iterator[Value]:
    """The values that `instruction` needs."""
    yield from instruction.operands
    if isinstance(instruction, PhiInstr):
        yield from (value for value, _ in instruction.incomings)
