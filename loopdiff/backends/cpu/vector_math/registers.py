"""What AVX-512 does in one instruction, and elsewhere takes plain LLVM operations: tables held in registers, and the
parts of floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm_ir

from ..simd.build import INT32, call, shuffle
from ..simd.types import cpu_features
from .expr import DOUBLE, Lanes, power_of_two

HAS_AVX512 = "avx512f" in cpu_features()
EVERY_LANE, CURRENT_ROUNDING = -1, INT32(4)
FROM_THREE_QUARTERS, NAN_IF_NEGATIVE = 3, 3  # of vgetmant: its intervals and its signs, and zeros positive
INFINITY, NAN = float("inf"), float("nan")


def lanes_of(x: Lanes) -> int:
    """Lanes of a vector; 0 of a scalar."""
    return x.value.type.count if isinstance(x.value.type, llvm_ir.VectorType) else 0


def register_of(x: Lanes) -> int:
    """Lanes of an AVX-512 register."""
    return 8 if x.format is DOUBLE else 16


def fills_registers(x: Lanes) -> bool:
    """Whether `x` is a power of two of AVX-512 registers."""
    count = lanes_of(x)
    return HAS_AVX512 and count >= register_of(x) and count & (count - 1) == 0


def in_registers(emit: Callable[..., Lanes], *values: Lanes) -> Lanes:
    """`emit` of single registers, applied to vectors of one or more."""
    first, count = values[0], lanes_of(values[0])
    if count == register_of(first):
        return emit(*values)
    low, high = (
        in_registers(emit, *(v.new(shuffle(v.builder, v.value, lanes)) for v in values)).value
        for lanes in (range(count // 2), range(count // 2, count))
    )
    return first.new(shuffle(first.builder, low, range(count), high))


def look_up(index: Lanes, table: Sequence[float]) -> Lanes:
    """Entry number `index` of a table of 8 or 16; only the low bits of the index count."""
    if fills_registers(index):
        return in_registers(lambda i: permuted(i, table), index)
    return loaded(index, table)


def permuted(index: Lanes, table: Sequence[float]) -> Lanes:
    register, floating = register_of(index), index.format.floating
    vector = llvm_ir.VectorType(floating, register)
    entries = [floating(v) for v in table] * max(1, register // len(table))
    parts = [llvm_ir.Constant(vector, entries[start : start + register]) for start in range(0, len(entries), register)]
    letter = "d" if index.format is DOUBLE else "s"
    if len(parts) == 1:
        args, name = [parts[0], index.value], f"permvar.{letter}f"
    else:
        args, name = [parts[0], index.value, parts[1]], f"vpermi2var.p{letter}"
    return index.new(call(index.builder, f"llvm.x86.avx512.{name}.512", vector, args))


def loaded(index: Lanes, table: Sequence[float]) -> Lanes:
    """`look_up` from memory, lane by lane."""
    builder, floating = index.builder, index.format.floating
    array = llvm_ir.ArrayType(floating, len(table))
    name = builder.module.get_unique_name("loopdiff.table")
    stored: Any = llvm_ir.GlobalVariable(builder.module, array, name)
    stored.linkage, stored.global_constant = "internal", True
    stored.initializer = llvm_ir.Constant(array, [floating(v) for v in table])
    places = (index & (len(table) - 1)).value

    def one(place: Any) -> Any:
        return builder.load(builder.gep(stored, [place.type(0), place], inbounds=True), typ=floating)

    if not lanes_of(index):
        return index.new(one(places))
    result = llvm_ir.Constant(llvm_ir.VectorType(floating, lanes_of(index)), llvm_ir.Undefined)
    for lane in range(lanes_of(index)):
        result = builder.insert_element(result, one(builder.extract_element(places, INT32(lane))), INT32(lane))
    return index.new(result)


def masked(x: Lanes, name: str, *args: Any) -> Lanes:
    """The AVX-512 instruction `name` on every lane."""
    ty, letter = x.value.type, "d" if x.format is DOUBLE else "s"
    rest = [llvm_ir.Constant(ty, llvm_ir.Undefined), llvm_ir.IntType(register_of(x))(EVERY_LANE), CURRENT_ROUNDING]
    return x.new(call(x.builder, f"llvm.x86.avx512.mask.{name}.p{letter}.512", ty, [x.value, *args, *rest]))


def mantissa_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """m in [3/4, 3/2) and k (a float) with x = 2**k * m, or 2**(k + 1) * m where m is below 1, for positive finite x,
    denormals included. Elsewhere k is the logarithm of x: -inf for zeros, inf, and nan below zero, where m may be nan
    too."""
    if fills_registers(x):
        choice = INT32(FROM_THREE_QUARTERS + 4 * NAN_IF_NEGATIVE)
        m = in_registers(lambda v: masked(v, "getmant", choice), x)
        return m, in_registers(lambda v: masked(v, "getexp"), x)
    k, m = split_bits(x, x.format.one_bits)
    return (m < 1.5).choose(m, 0.5 * m), log_specials(x, k)


def split_bits(x: Lanes, lowest: int) -> tuple[Lanes, Lanes]:
    """k (a float) and m from the number of bits `lowest` up to twice that with x = 2**k * m, for positive finite x,
    denormals included."""
    form = x.format
    tiny = x < form.smallest_normal
    scale = form.fraction + 2
    bits = tiny.choose(x * 2.0**scale, x).bits + (form.one_bits - lowest)
    k = (bits >> form.fraction) - form.bias
    k = tiny.choose(k - scale, k)
    return k.as_float, ((bits & ((1 << form.fraction) - 1)) + lowest).from_bits


def log_specials(x: Lanes, result: Lanes) -> Lanes:
    """Of logarithms: -inf at zeros, nan below, inf and nan as they are."""
    result = (x < INFINITY).choose(result, x)
    result = x.equals(0.0).choose(-INFINITY, result)
    return (x < 0.0).choose(NAN, result)


def scaled(value: Lanes, n: Lanes) -> Lanes:
    """value * 2**n for a whole double n, denormal and overflowing results included."""
    if fills_registers(value):
        return in_registers(lambda v, k: masked(v, "scalef", k.value), value, n)
    whole = n.as_integer
    half = whole >> 1
    return value * power_of_two(half) * power_of_two(whole - half)
