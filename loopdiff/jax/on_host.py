"""Handlers on the CPU, written as LLVM: buffers that are checked, made arrays of and given to a compiled function.

Numba would take longer to type the same in Python than it takes for most sweeps; and it would optimise a sweep that a
handler calls by its name a second time, as a part of the handler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir as llvm
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np.arrayobj import make_array, populate_array

from loopdiff.backends.cpu.direct.library import library_of
from loopdiff.backends.cpu.interrupts import hand_on
from loopdiff.backends.cpu.simd.halves import element_type
from loopdiff.jax import abi
from loopdiff.jax.ports import Handler, HandlerArgument, Port

WORD, HALF = llvm.IntType(64), llvm.IntType(32)
CONTEXT: Any = cpu_target.target_context


class CompiledHandler:
    """The machine code of a handler, in memory for as long as this is, at its `address`."""

    def __init__(self, handler: Handler, name: str) -> None:
        with global_compiler_lock:
            CONTEXT.refresh()
            self.library, module = library_of(CONTEXT, name), CONTEXT.create_module(name)
            function = llvm.Function(module, llvm.FunctionType(WORD, [WORD]), name)
            HandlerText(handler, llvm.IRBuilder(function.append_basic_block("entry")), function.args[0]).write()
            self.library.add_ir_module(module)
            self.library.finalize()
            self.address: int = self.library.get_pointer_to_function(name)


class HandlerText:
    """Writes the body of a handler, whose one argument is the address of XLA's `frame`."""

    def __init__(self, handler: Handler, builder: Any, frame: Any) -> None:
        self.handler, self.builder, self.frame = handler, builder, frame

    def write(self) -> None:
        handler, builder = self.handler, self.builder
        self.answer_question()
        with builder.if_then(self.differs(self.load(self.frame, abi.FRAME_STAGE, HALF), abi.EXECUTE_STAGE)):
            builder.ret(WORD(0))
        with builder.if_then(self.differs(self.load(self.frame, abi.FRAME_ARGS_COUNT), len(handler.operands)), False):
            self.fail(abi.INTERNAL, "loopdiff: wrong number of operands")
        buffers = {
            "operand": self.checked(abi.FRAME_ARGS, handler.operands),
            "result": self.checked(abi.FRAME_RETS, handler.results),
        }
        self.put(self.run([self.made(argument, buffers) for argument in handler.arguments]), buffers["result"])
        builder.ret(WORD(0))

    def load(self, address: Any, offset: int, kind: llvm.IntType = WORD) -> Any:
        return abi.loaded(self.builder, address, WORD(offset), kind)

    def differs(self, value: Any, wanted: int) -> Any:
        return self.builder.icmp_signed("!=", value, value.type(wanted))

    def fail(self, code: int, message: str) -> None:
        """Return an error of XLA's."""
        text = CONTEXT.insert_const_string(self.builder.module, message)
        self.builder.ret(abi.create_error(self.builder, self.frame, HALF(code), text))

    def answer_question(self) -> None:
        """Where XLA asks for metadata, in the chain of extensions, these are all that it is told."""
        builder = self.builder
        first, (head, body, answer, after) = builder.block, map(builder.append_basic_block, ("", "", "", ""))
        extension = self.load(self.frame, abi.FRAME_EXTENSIONS)
        builder.branch(head)
        builder.position_at_end(head)
        at = builder.phi(WORD)
        at.add_incoming(extension, first)
        builder.cbranch(self.differs(at, 0), body, after)
        builder.position_at_end(body)
        is_other = self.differs(self.load(at, abi.EXTENSION_TYPE, HALF), abi.METADATA_EXTENSION)
        at.add_incoming(self.load(at, abi.EXTENSION_NEXT), body)
        builder.cbranch(is_other, head, answer)
        builder.position_at_end(answer)
        abi.report(builder, at, HALF(self.handler.traits))
        builder.ret(WORD(0))
        builder.position_at_end(after)

    def checked(self, where: int, ports: Sequence[Port]) -> list[Any]:
        """The addresses of the records of buffers, which are of the types that were compiled for."""
        records = self.load(self.frame, where)
        found = [self.load(records, 8 * number) for number, _ in enumerate(ports)]
        for record, port in zip(found, ports, strict=True):
            is_other = self.differs(self.load(record, abi.BUFFER_DTYPE, HALF), abi.XLA_TYPES[port.dtype])
            rank = self.differs(self.load(record, abi.BUFFER_RANK), port.rank)
            with self.builder.if_then(self.builder.or_(is_other, rank), likely=False):
                self.fail(abi.INVALID_ARGUMENT, f"loopdiff: `{port.name}` is not {port.dtype} of rank {port.rank}")
        return found

    def made(self, argument: HandlerArgument, buffers: dict[str, list[Any]]) -> tuple[types.Type, Any]:
        """An argument of the function, and its type."""
        port, element = argument.port, element_of(argument.port)
        if argument.result is None and argument.operand is None:
            nowhere = self.load(self.frame, abi.FRAME_API)  # an address like any other: nobody looks there
            return self.array(port, nowhere, [WORD(0)] * port.rank)
        side, number = ("operand", argument.operand) if argument.result is None else ("result", argument.result)
        assert number is not None
        record = buffers[side][number]
        data = self.load(record, abi.BUFFER_DATA)
        if port.kind == "scalar":
            return element, CONTEXT.unpack_value(self.builder, element, self.pointer(data, element))
        dims = self.load(record, abi.BUFFER_DIMS)
        kind, array = self.array(port, data, [self.load(dims, 8 * axis) for axis in range(port.rank)])
        if argument.is_zeroed:
            size = self.builder.mul(self.builder.extract_value(array, 2), WORD(np.dtype(port.dtype).itemsize))
            cgutils.memset(self.builder, self.pointer(data, element), size, 0)
        return kind, array

    def pointer(self, address: Any, element: types.Type) -> Any:
        return self.builder.inttoptr(address, CONTEXT.get_data_type(element).as_pointer())

    def array(self, port: Port, data: Any, shape: list[Any]) -> tuple[types.Type, Any]:
        """An array in the order of C."""
        kind, size = types.Array(element_of(port), port.rank, "C"), WORD(np.dtype(port.dtype).itemsize)
        strides: list[Any] = [size]
        for extent in shape[:0:-1]:
            strides.insert(0, self.builder.mul(strides[0], extent))
        array = make_array(kind)(CONTEXT, self.builder)
        populate_array(array, self.pointer(data, kind.dtype), shape, strides, size, None)
        return kind, array._getvalue()

    def run(self, arguments: list[tuple[types.Type, Any]]) -> Any:
        """The numbers that the function returns, with their types."""
        builder, found = self.builder, self.handler.function.overloads[self.handler.types]
        wanted, result = found.fndesc.argtypes, found.signature.return_type
        address = WORD(found.library.get_pointer_to_function(found.fndesc.llvm_func_name))
        kind = CONTEXT.call_conv.get_function_type(result, wanted)
        function = builder.inttoptr(address, kind.as_pointer())
        values = [CONTEXT.cast(builder, v, own, other) for (own, v), other in zip(arguments, wanted, strict=True)]
        status, value = CONTEXT.call_conv.call_function(builder, function, result, wanted, values)
        with builder.if_then(hand_on(builder), likely=False):
            self.fail(abi.CANCELLED, "loopdiff: interrupted")
        with builder.if_then(status.is_error, likely=False):
            self.fail(abi.INVALID_ARGUMENT, self.handler.complaint)
        if self.handler.is_tuple:
            return [(ty, builder.extract_value(value, k)) for k, ty in enumerate(result)]
        return [(result, value)]

    def put(self, numbers: Any, results: list[Any]) -> None:
        """Store numbers that the function returned where XLA wants them."""
        for number, place in enumerate(self.handler.returns):
            if place is None:
                continue
            kind, value = numbers[number]
            element = element_of(self.handler.results[place])
            where = self.pointer(self.load(results[place], abi.BUFFER_DATA), element)
            CONTEXT.pack_value(self.builder, element, CONTEXT.cast(self.builder, value, kind, element), where)


def element_of(port: Port) -> types.Type:
    return element_type(port.dtype)
