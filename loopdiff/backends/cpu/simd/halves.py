"""Elements of 16 bits, `float16` and `bfloat16`: how they widen to float32 where they are loaded, and what rounds.

Memory holds integers of 16 bits, which nothing computes with: their Numba type has no operators. Of two numbers equally
near the even one is taken; what is beyond the largest is infinite, NaN stays NaN. What converts is one instruction for
all lanes where the processor has it (F16C, AVX-512, ARM); elsewhere it is made of integer operations, after Fabian
Giesen's `half_to_float` and `float_to_half_fast3_rtne`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir as llvm_ir
from llvmlite.binding import get_process_triple
from numba.core import types
from numba.core.imputils import lower_cast
from numba.core.typeconv.rules import default_type_manager
from numba.extending import intrinsic, models, register_model

from .build import FLOATS, INT32, PLAIN, Typed, constant, elementwise, lanes_like
from .types import cpu_features

INT16 = llvm_ir.IntType(16)
SIGN, INFINITE, QUIET = 0x80000000, 0x7F800000, 0x400000  # bits of float32
STEPS = 13  # bits that float32 has more of, of a fraction, than float16
SMALLEST = 113 << 23  # the bits in float32 of 2**-14, from which on numbers of float16 have all their digits
BEYOND = 143 << 23  # those of 2**16, which float16 does not reach


class Half(types.Float):
    """The Numba type of elements in memory: `float16` or `bfloat16`. Of no expression: they widen when they are loaded,
    and round when they are stored."""

    def __init__(self, name: str) -> None:
        types.Number.__init__(self, name)

    def cast_python_value(self, value: Any) -> Any:
        raise NotImplementedError(f"no numbers of {self.name} outside of arrays")


@register_model(Half)
class HalfModel(models.PrimitiveModel):
    """An element is 16 bits."""

    def __init__(self, manager: Any, fe_type: Half) -> None:
        super().__init__(manager, fe_type, INT16)


float16, bfloat16 = Half("float16"), Half("bfloat16")
HALVES = {"float16": float16, "bfloat16": bfloat16}
for _half in HALVES.values():
    for _float in FLOATS:
        default_type_manager.set_unsafe_convert(_float, _half)  # a store, and nothing else, asks for it


def converts_float16() -> bool:
    """Whether the processor that Numba compiles for has instructions between float16 and float32."""
    return "f16c" in cpu_features() or get_process_triple().split("-")[0] in ("aarch64", "arm64")


# -- bits ----------------------------------------------------------------------------------------------------
def bits_of(builder: Any, value: Any) -> Any:
    return builder.bitcast(value, lanes_like(value, INT32))


def number_of(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, lanes_like(bits, llvm_ir.FloatType()))


def with_number(builder: Any, operation: str, bits: Any, number: int) -> Any:
    """An operation on each lane of `bits` and one `number`."""
    return getattr(builder, operation)(bits, constant(bits.type, number))


def widened_bits(builder: Any, half: Any) -> Any:
    """Numbers of float16, by integer operations, as float32."""
    wide = builder.zext(half, lanes_like(half, INT32))
    masked, shifted = partial(with_number, builder, "and_"), partial(with_number, builder, "shl")
    size = shifted(masked(wide, 0x7FFF), STEPS)
    exponent = masked(size, 0x7C00 << STEPS)
    moved = with_number(builder, "add", size, (127 - 15) << 23)
    above = with_number(builder, "add", moved, (128 - 16) << 23)
    below = number_of(builder, with_number(builder, "add", moved, 1 << 23))
    least = number_of(builder, constant(moved.type, SMALLEST))
    exact = bits_of(builder, builder.fsub(below, least, flags=PLAIN))
    is_beyond = builder.icmp_unsigned("==", exponent, constant(exponent.type, 0x7C00 << STEPS))
    is_small = builder.icmp_unsigned("==", exponent, constant(exponent.type, 0))
    found = builder.select(is_beyond, above, builder.select(is_small, exact, moved))
    return number_of(builder, builder.or_(found, shifted(masked(wide, 0x8000), 16)))


def rounded_bits(builder: Any, value: Any) -> Any:
    """Numbers of float32, by integer operations, as float16."""
    bits = bits_of(builder, value)
    kind, masked, shifted = bits.type, partial(with_number, builder, "and_"), partial(with_number, builder, "lshr")
    size = masked(bits, SIGN - 1)
    magic = ((127 - 15) + (23 - 10) + 1) << 23
    moved = builder.fadd(number_of(builder, size), number_of(builder, constant(kind, magic)), flags=PLAIN)
    small = with_number(builder, "sub", bits_of(builder, moved), magic)
    odd = masked(shifted(size, STEPS), 1)
    plain = with_number(builder, "add", size, (((15 - 127) << 23) + 0xFFF) % (1 << 32))
    plain = shifted(builder.add(plain, odd), STEPS)
    of_nan = with_number(builder, "or_", masked(shifted(size, STEPS), 0x3FF), 0x7E00)
    is_nan = builder.icmp_unsigned(">", size, constant(kind, INFINITE))
    beyond = builder.select(is_nan, of_nan, constant(kind, 0x7C00))
    found = builder.select(builder.icmp_unsigned("<", size, constant(kind, SMALLEST)), small, plain)
    found = builder.select(builder.icmp_unsigned(">=", size, constant(kind, BEYOND)), beyond, found)
    found = builder.or_(found, masked(shifted(bits, 16), 0x8000))
    return builder.trunc(found, lanes_like(found, INT16))


def rounded_brain(builder: Any, value: Any) -> Any:
    """Numbers of float32 as bfloat16, which is their upper half."""
    bits = bits_of(builder, value)
    odd = with_number(builder, "and_", with_number(builder, "lshr", bits, 16), 1)
    nearest = builder.add(with_number(builder, "add", bits, 0x7FFF), odd)
    quiet = with_number(builder, "or_", bits, QUIET)
    found = builder.select(builder.fcmp_unordered("uno", value, value), quiet, nearest)
    return builder.trunc(with_number(builder, "lshr", found, 16), lanes_like(found, INT16))


# -- conversions ---------------------------------------------------------------------------------------------
def to_single(builder: Any, half: Any, kind: Half) -> Any:
    """Elements of `kind`, a scalar or lanes, as float32."""
    if kind == bfloat16:
        wide = builder.zext(half, lanes_like(half, INT32))
        return number_of(builder, with_number(builder, "shl", wide, 16))
    if not converts_float16():
        return widened_bits(builder, half)
    short = builder.bitcast(half, lanes_like(half, llvm_ir.HalfType()))
    return builder.fpext(short, lanes_like(half, llvm_ir.FloatType()))


def from_single(builder: Any, value: Any, kind: Half) -> Any:
    """Numbers of float32, a scalar or lanes, rounded to elements of `kind`."""
    if kind == bfloat16:
        return rounded_brain(builder, value)
    if not converts_float16():
        return rounded_bits(builder, value)
    short = builder.fptrunc(value, lanes_like(value, llvm_ir.HalfType()))
    return builder.bitcast(short, lanes_like(value, INT16))


def to_odd(builder: Any, value: Any) -> Any:
    """Numbers of float64 as float32: where these are not the same, of both neighbours the one with an odd last bit.
    What this is rounded to, in a format with fewer digits, is what the number itself is rounded to.

    Boldo and Melquiond, "When double rounding is odd" (2005)."""
    near = builder.fptrunc(value, lanes_like(value, llvm_ir.FloatType()))
    back, bits = builder.fpext(near, value.type), bits_of(builder, near)
    is_other = builder.fcmp_ordered("!=", back, value)
    is_even = builder.icmp_unsigned("==", with_number(builder, "and_", bits, 1), constant(bits.type, 0))
    sizes = [size_of(builder, v) for v in (back, value)]
    is_above = builder.fcmp_ordered(">", *sizes)
    one, less = constant(bits.type, 1), constant(bits.type, (1 << 32) - 1)
    other = builder.add(bits, builder.select(is_above, less, one))
    return number_of(builder, builder.select(builder.and_(is_other, is_even), other, bits))


def size_of(builder: Any, value: Any) -> Any:
    """The absolute value of numbers of float64."""
    wide = llvm_ir.IntType(64)
    bits = builder.bitcast(value, lanes_like(value, wide))
    return builder.bitcast(with_number(builder, "and_", bits, (1 << 63) - 1), value.type)


def in_memory(builder: Any, value: Any, element: types.Type, kind: Half) -> Any:
    """Numbers of `element`, float32 or float64, as elements of `kind`."""
    return from_single(builder, value if element == types.float32 else to_odd(builder, value), kind)


def rounding_to(x: Any, kind: Half) -> Typed | None:
    def emit(builder: Any, element: types.Type, value: Any) -> Any:
        single = to_single(builder, in_memory(builder, value, element, kind), kind)
        return single if element == types.float32 else builder.fpext(single, value.type)

    return elementwise((x,), emit, FLOATS, least=types.float64)


@intrinsic
def to_float16(typingctx: Any, x: Any) -> Typed | None:
    """The number of float16 that is nearest to x, in the type of x."""
    return rounding_to(x, float16)


@intrinsic
def to_bfloat16(typingctx: Any, x: Any) -> Typed | None:
    """The number of bfloat16 that is nearest to x, in the type of x."""
    return rounding_to(x, bfloat16)


@lower_cast(Half, types.float32)
def load_element(context: Any, builder: Any, found: Any, wanted: Any, value: Any) -> Any:
    """An element that was loaded, as `np.float32(a[i])` in generated code."""
    return to_single(builder, value, found)


@lower_cast(types.float32, Half)
@lower_cast(types.float64, Half)
def store_element(context: Any, builder: Any, found: Any, wanted: Any, value: Any) -> Any:
    """A number that is stored, as `a[i] = value` in generated code."""
    return in_memory(builder, value, found, wanted)


def element_type(dtype: str) -> types.Type:
    """The Numba type of elements of a NumPy dtype, by its name."""
    from numba.np.numpy_support import from_dtype

    return HALVES[dtype] if dtype in HALVES else from_dtype(np.dtype(dtype))
