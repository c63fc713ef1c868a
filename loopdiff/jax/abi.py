"""XLA's typed FFI from Numba: the call frame read by byte offset, errors created, the metadata question answered.

A handler is `XLA_FFI_Error* handler(XLA_FFI_CallFrame*)`. Layout of the 64-bit structures: `xla/ffi/api/c_api.h` as
shipped with jaxlib; fields are only ever appended there, and the version we report (0.1) is what we rely on.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir as llvm_ir
from numba import types
from numba.core import cgutils
from numba.core.errors import RequireLiteralValue
from numba.extending import intrinsic

from loopdiff.ir.types import NUMBER_TYPES

FRAME_EXTENSIONS, FRAME_API, FRAME_CONTEXT, FRAME_STAGE = 8, 16, 24, 32
FRAME_ARGS_COUNT, FRAME_ARGS = 56, 72
FRAME_RETS_COUNT, FRAME_RETS = 96, 112
BUFFER_DTYPE, BUFFER_DATA, BUFFER_RANK, BUFFER_DIMS = 16, 24, 32, 40
EXTENSION_TYPE, EXTENSION_NEXT, EXTENSION_METADATA = 8, 16, 24
METADATA_VERSION, METADATA_MAJOR, METADATA_MINOR, METADATA_TRAITS = 8, 24, 28, 32
API_ERROR_CREATE, API_STREAM_GET = 48, 80
EXECUTE_STAGE, METADATA_EXTENSION, COMMAND_BUFFER_COMPATIBLE = 3, 1, 1
CANCELLED, INVALID_ARGUMENT, INTERNAL = 1, 3, 13

XLA_TYPES: dict[str, int] = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5,
    "uint8": 6, "uint16": 7, "uint32": 8, "float16": 10, "float32": 11, "float64": 12, "bfloat16": 16,
}  # fmt: skip


def loaded(builder: Any, address: Any, offset: Any, kind: llvm_ir.IntType) -> Any:
    """The integer at an address plus an offset."""
    pointer = builder.inttoptr(builder.add(address, offset), kind.as_pointer())
    return builder.load(pointer, align=kind.width // 8)


def stored(builder: Any, address: Any, offset: Any, value: Any) -> None:
    """Write an integer at an address plus an offset."""
    pointer = builder.inttoptr(builder.add(address, offset), value.type.as_pointer())
    builder.store(value, pointer, align=value.type.width // 8)


def loader(kind: llvm_ir.IntType, result: types.Type) -> Any:
    """An intrinsic that reads an integer at an address plus an offset."""

    @intrinsic
    def read(typingctx: Any, address: Any, offset: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return loaded(builder, args[0], args[1], kind)

        return result(types.intp, types.intp), lower

    return read


read64, read32 = loader(llvm_ir.IntType(64), types.int64), loader(llvm_ir.IntType(32), types.int32)


def pointer_to(dtype: str) -> Any:
    """An intrinsic from an address to a pointer to elements of `dtype`."""
    element = numba.from_dtype(np.dtype(dtype))

    @intrinsic
    def convert(typingctx: Any, address: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.intp), lower

    return convert


POINTERS = {dtype: pointer_to(dtype) for dtype in NUMBER_TYPES if dtype in XLA_TYPES}


def create_error(builder: Any, frame: Any, code: Any, text: Any) -> Any:
    """A new XLA error with the message at `text`."""
    word, half, byte_pointer = llvm_ir.IntType(64), llvm_ir.IntType(32), llvm_ir.IntType(8).as_pointer()
    at_create = builder.add(loaded(builder, frame, word(FRAME_API), word), word(API_ERROR_CREATE))
    function = llvm_ir.FunctionType(word, [byte_pointer]).as_pointer().as_pointer()
    create = builder.load(builder.inttoptr(at_create, function))
    record = llvm_ir.LiteralStructType([word, word, byte_pointer, half, half])
    place = cgutils.alloca_once(builder, record)
    for position, value in enumerate((word(28), word(0), text, code)):
        builder.store(value, builder.gep(place, [half(0), half(position)]))
    return builder.call(create, [builder.bitcast(place, byte_pointer)])


@intrinsic
def make_error(typingctx: Any, frame: Any, code: Any, message: Any) -> Any:
    """A new XLA error with a literal message, as the integer a handler returns."""
    if not isinstance(message, types.StringLiteral):
        raise RequireLiteralValue("the message of an error is part of the code")
    text = message.literal_value

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = context.insert_const_string(builder.module, text)
        return create_error(builder, args[0], builder.trunc(args[1], llvm_ir.IntType(32)), pointer)

    return types.intp(types.intp, types.int64, message), lower


@intrinsic
def stream_of(typingctx: Any, frame: Any) -> Any:
    """The error, or zero, of asking XLA on which stream of the GPU a call runs, and that stream."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, byte_pointer = llvm_ir.IntType(64), llvm_ir.IntType(8).as_pointer()

        def at(offset: int) -> Any:
            return builder.load(builder.inttoptr(builder.add(args[0], word(offset)), word.as_pointer()))

        kind = llvm_ir.FunctionType(word, [byte_pointer])
        place = builder.add(at(FRAME_API), word(API_STREAM_GET))
        ask = builder.load(builder.inttoptr(place, kind.as_pointer().as_pointer()))
        question = cgutils.alloca_once(builder, llvm_ir.ArrayType(word, 4))
        fields = (word(32), word(0), at(FRAME_CONTEXT), word(0))
        for position, value in enumerate(fields):
            builder.store(value, cgutils.gep_inbounds(builder, question, 0, position))
        error = builder.call(ask, [builder.bitcast(question, byte_pointer)])
        stream = builder.load(cgutils.gep_inbounds(builder, question, 0, 3))
        return context.make_tuple(builder, signature.return_type, (error, stream))

    return types.UniTuple(types.intp, 2)(types.intp), lower


@numba.njit
def metadata_extension(frame: int) -> int:
    """Address of the metadata question in the frame's chain of extensions, or 0."""
    extension = read64(frame, FRAME_EXTENSIONS)
    while extension != 0:
        if read32(extension, EXTENSION_TYPE) == METADATA_EXTENSION:
            return extension
        extension = read64(extension, EXTENSION_NEXT)
    return 0


@intrinsic
def answer_metadata(typingctx: Any, extension: Any, traits: Any) -> Any:
    """Report FFI version 0.1 and these traits."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        report(builder, args[0], builder.trunc(args[1], llvm_ir.IntType(32)))
        return llvm_ir.IntType(64)(0)

    return types.intp(types.intp, types.int64), lower


def report(builder: Any, extension: Any, traits: Any) -> None:
    """Answer the metadata question at `extension`: FFI version 0.1 and these traits."""
    word, half = llvm_ir.IntType(64), llvm_ir.IntType(32)
    metadata = loaded(builder, extension, word(EXTENSION_METADATA), word)
    version = ((METADATA_VERSION, word(24)), (METADATA_VERSION + 8, word(0)))
    for offset, value in (*version, (METADATA_MAJOR, half(0)), (METADATA_MINOR, half(1)), (METADATA_TRAITS, traits)):
        stored(builder, metadata, word(offset), value)


@numba.njit(forceinline=True)
def operand(frame: int, number: int) -> int:
    """Address of an operand's buffer record."""
    return read64(read64(frame, FRAME_ARGS), 8 * number)


@numba.njit(forceinline=True)
def result(frame: int, number: int) -> int:
    """Address of a result's buffer record."""
    return read64(read64(frame, FRAME_RETS), 8 * number)


@numba.njit(forceinline=True)
def extent(buffer: int, axis: int) -> int:
    return read64(read64(buffer, BUFFER_DIMS), 8 * axis)


@numba.njit(forceinline=True)
def mismatch(buffer: int, dtype: int, rank: int) -> int:
    """1 unless a buffer has XLA's number of `dtype` and `rank`."""
    return int(read32(buffer, BUFFER_DTYPE) != dtype) | int(read64(buffer, BUFFER_RANK) != rank)
