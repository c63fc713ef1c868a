"""What AVX-512 does in one instruction, and elsewhere takes plain LLVM operations: tables held in registers, and the
parts of floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from ..simd.build import INT8, INT32, INT64, call, shuffle
from ..simd.types import cpu_features
from .expr import ONE_BITS, Lanes, power_of_two

HAS_AVX512 = "avx512f" in cpu_features()
REGISTER = 8  # doubles in one
EVERY_LANE, CURRENT_ROUNDING = 255, 4
FROM_THREE_QUARTERS, NAN_IF_NEGATIVE = 3, 3  # of vgetmant: its intervals and its signs, and zeros positive
THREE_QUARTERS_BITS = 0x3FE8000000000000
MANTISSA = 0x000FFFFFFFFFFFFF
SMALLEST_NORMAL = 2.0**-1022
INFINITY, NAN = float("inf"), float("nan")


def lanes_of(x: Lanes) -> int:
    """Lanes of a vector; 0 of a scalar."""
    return x.value.type.count if isinstance(x.value.type, ir.VectorType) else 0


def fills_registers(x: Lanes) -> bool:
    """Whether the doubles or 64-bit integers of `x` are a power of two of AVX-512 registers."""
    count = lanes_of(x)
    return HAS_AVX512 and count >= REGISTER and count & (count - 1) == 0


def in_registers(emit: Callable[..., Lanes], *values: Lanes) -> Lanes:
    """`emit` of single registers, applied to vectors of one or more."""
    first, count = values[0], lanes_of(values[0])
    if count == REGISTER:
        return emit(*values)
    low, high = (
        in_registers(emit, *(v.new(shuffle(v.builder, v.value, lanes)) for v in values)).value
        for lanes in (range(count // 2), range(count // 2, count))
    )
    return first.new(shuffle(first.builder, low, range(count), high))


def look_up(index: Lanes, table: Sequence[float]) -> Lanes:
    """Entry number `index` of a table of 8 or 16 doubles; only the low bits of the index count."""
    if fills_registers(index):
        return in_registers(lambda i: permuted(i, table), index)
    return loaded(index, table)


def permuted(index: Lanes, table: Sequence[float]) -> Lanes:
    vector = ir.VectorType(ir.DoubleType(), REGISTER)
    parts = [
        ir.Constant(vector, [vector.element(v) for v in table[start : start + REGISTER]])
        for start in range(0, len(table), REGISTER)
    ]
    if len(parts) == 1:
        args, name = [parts[0], index.value], "permvar.df"
    else:
        args, name = [parts[0], index.value, parts[1]], "vpermi2var.pd"
    return index.new(call(index.builder, f"llvm.x86.avx512.{name}.512", vector, args))


def loaded(index: Lanes, table: Sequence[float]) -> Lanes:
    """`look_up` from memory, lane by lane."""
    builder, double = index.builder, ir.DoubleType()
    array = ir.ArrayType(double, len(table))
    name = builder.module.get_unique_name("loopdiff.table")
    stored: Any = ir.GlobalVariable(builder.module, array, name)
    stored.linkage, stored.global_constant = "internal", True
    stored.initializer = ir.Constant(array, [double(v) for v in table])
    places = (index & (len(table) - 1)).value

    def one(place: Any) -> Any:
        return builder.load(builder.gep(stored, [INT64(0), place], inbounds=True), typ=double)

    if not lanes_of(index):
        return index.new(one(places))
    result = ir.Constant(ir.VectorType(double, lanes_of(index)), ir.Undefined)
    for lane in range(lanes_of(index)):
        result = builder.insert_element(result, one(builder.extract_element(places, INT32(lane))), INT32(lane))
    return index.new(result)


def masked(x: Lanes, name: str, *args: Any) -> Lanes:
    """The AVX-512 instruction `name` on every lane."""
    ty = x.value.type
    rest = [ir.Constant(ty, ir.Undefined), INT8(EVERY_LANE), INT32(CURRENT_ROUNDING)]
    return x.new(call(x.builder, f"llvm.x86.avx512.mask.{name}.pd.512", ty, [x.value, *args, *rest]))


def mantissa_exponent(x: Lanes) -> tuple[Lanes, Lanes]:
    """m in [3/4, 3/2) and k (a double) with x = 2**k * m for positive finite x, denormals included. Elsewhere k is
    the logarithm of x: -inf for zeros, inf, and nan below zero, where m may be nan too."""
    if fills_registers(x):
        choice = INT32(FROM_THREE_QUARTERS + 4 * NAN_IF_NEGATIVE)
        m = in_registers(lambda v: masked(v, "getmant", choice), x)
        whole, of_m = (in_registers(lambda v: masked(v, "getexp"), v) for v in (x, m))
        return m, whole - of_m
    k, m = split_bits(x, THREE_QUARTERS_BITS)
    return m, log_specials(x, k)


def split_bits(x: Lanes, lowest: int) -> tuple[Lanes, Lanes]:
    """k (a double) and m from the number of bits `lowest` up to twice that with x = 2**k * m, for positive finite x,
    denormals included."""
    tiny = x < SMALLEST_NORMAL
    bits = tiny.choose(x * 2.0**54, x).bits + (ONE_BITS - lowest)
    k = (bits >> 52) - 1023
    k = tiny.choose(k - 54, k)
    return k.as_double, ((bits & MANTISSA) + lowest).from_bits


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
