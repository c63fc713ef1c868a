"""Sweeps inside XLA on a GPU: the same buffers, on XLA's stream.

Floating numbers stay in the device's memory, in arrays of one element; integers that are traced are waited for, as the
host decides by them how much it launches, and static ones are part of the handler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopdiff.immutable import replace
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import ScalarType
from loopdiff.jax.abi import COMMAND_BUFFER_COMPATIBLE
from loopdiff.jax.boxed import with_boxed_numbers
from loopdiff.jax.ports import Handler, HandlerArgument
from loopdiff.pipeline.code import compile_function
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import Options
from loopdiff.settings.requests import Requests
from loopdiff.specialize.units import Unit

PLATFORM, ASKS_STREAM = "CUDA", True


def device_handler(unit: Unit, options: Options, handler: Handler, statics: Mapping[str, int]) -> Handler:
    """The handler for the GPU of a function that has one for the CPU."""
    ls = unit.ls
    weak = {s.name for s in ls.scalars if s.is_weak}
    boxed = {
        a.port.name: a.port.dtype
        for a in handler.arguments
        if a.port.kind == "scalar" and ls.scalar(a.port.name).type in (ScalarType.F64, ScalarType.F32)
        if a.port.name not in weak
    }
    names = NameSupply({*ls.params, *(a.name for a in ls.arrays), *(s.name for s in ls.scalars)})
    numbers = [n for n in handler.returns if n is not None]
    results = [(names.fresh(f"number_{n}"), handler.results[n].dtype) for n in numbers]
    whole = with_boxed_numbers(ls, boxed, results)
    arguments = [placed(a, boxed, statics) for a in handler.arguments]
    for number, (name, dtype) in zip(numbers, results, strict=True):
        arguments.append(
            HandlerArgument(replace(handler.results[number], name=name, kind="array", dtype=dtype), result=number)
        )
    for_gpu = replace(options, target="cuda", parallel=False, schedule=(), autotune=False, arrays="device")
    function = compile_function(whole, for_gpu, Requests(), Stages(whole.name), unit.reader)
    return replace(
        handler, function=function.dispatcher, arguments=tuple(arguments), returns=(), is_on_device=True,
        complaint=f"{handler.complaint[:1900]}; or LD605: a kernel could not be launched",
        asks_stream=ASKS_STREAM, traits=COMMAND_BUFFER_COMPATIBLE if may_be_captured(function.source, arguments) else 0,
    )  # fmt: skip


def may_be_captured(source: str, arguments: Sequence[HandlerArgument]) -> bool:
    """Whether XLA may put what a function launches into a graph of its own: nobody waits, for numbers among its
    arguments neither, nor asks for memory, of which there may be none in a graph that is part of another one."""
    waits = any(a.operand is not None and a.port.kind == "scalar" for a in arguments)
    return not waits and not any(f"{name}(" in source for name in ("peek", "device_empty"))


def placed(argument: HandlerArgument, boxed: Mapping[str, str], statics: Mapping[str, int]) -> HandlerArgument:
    """How the function for the GPU gets an argument."""
    port = argument.port
    if port.name in boxed:
        return replace(argument, port=replace(port, kind="array"))
    if port.kind == "scalar" and port.name in statics:
        return replace(argument, operand=None, constant=statics[port.name])
    return argument
