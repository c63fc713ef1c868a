"""Handlers: the code between XLA's buffers and a compiled sweep, for one combination of types; on GPUs, as text."""

from __future__ import annotations

import itertools
import linecache
import os
from collections.abc import Sequence
from threading import Lock
from typing import Any

import jax
import numba
from numba import types
from numba.np.numpy_support import carray

from loopdiff.cache.keys import digest_of
from loopdiff.immutable import replace
from loopdiff.jax import abi
from loopdiff.jax.on_host import CompiledHandler
from loopdiff.jax.ports import Handler, HandlerArgument, Port
from loopdiff.settings.deferred import deferred_interrupts

REGISTERED: dict[str, Any] = {}
LOCK = Lock()
LONGEST_LITERAL = 30
COUNT = itertools.count()


def target_name(handler: Handler, content: Sequence[str | None]) -> str:
    """A name under which handlers are registered, one for each platform: the same in other processes for what has the
    same `content`, one of its own where some of that is not known."""
    own = [str(next(COUNT)), str(os.getpid())] if None in content else []
    digest = digest_of([repr(replace(handler, function=None, types=())), *map(str, content), *own])
    return f"loopdiff_{handler.name}_{digest[:32]}"


def register(handler: Handler, target: str, platform: str) -> None:
    """Compile the handler and register it with XLA for a platform, once. Targets live as long as the process."""
    with LOCK, deferred_interrupts():
        name = f"{target} {platform}"
        if name in REGISTERED:
            return
        compiled = (device_handler if handler.is_on_device else CompiledHandler)(handler, name)
        capsule = jax.ffi.pycapsule(compiled.address)
        jax.ffi.register_ffi_target(target, capsule, platform=platform, api_version=1)
        REGISTERED[name] = compiled


def device_handler(handler: Handler, name: str) -> Any:
    """The handler of a function that launches kernels, compiled by Numba."""
    from loopdiff.backends.cuda.launching import clear, lock, peek, release_held, set_stream, unlock

    text = source(handler)
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, Any] = {
        "run": handler.function, "carray": carray, "read64": abi.read64, "read32": abi.read32,
        "metadata_extension": abi.metadata_extension, "answer_metadata": abi.answer_metadata,
        "operand": abi.operand, "result": abi.result, "extent": abi.extent, "mismatch": abi.mismatch,
        "make_error": abi.make_error, "clear": clear, "lock": lock, "peek": peek, "release_held": release_held,
        "set_stream": set_stream, "stream_of": abi.stream_of, "unlock": unlock,
        **{f"pointer_{dtype}": function for dtype, function in abi.POINTERS.items()},
    }  # fmt: skip
    exec(compile(text, filename, "exec"), names)
    for part in ("complain", "launch"):
        names[part] = numba.njit(names[part])
    return numba.cfunc(types.intp(types.intp))(names["handler"])


def source(handler: Handler) -> str:
    """The handler of a function that launches kernels, as Python for Numba."""
    sides = (("operand", handler.operands), ("result", handler.results))
    ports = [(side, number, port) for side, ports in sides for number, port in enumerate(ports)]
    lines = [
        *complain(handler, [port for _, _, port in ports]),
        *launches(handler),
        "def handler(frame):",
        "    question = metadata_extension(frame)",
        "    if question != 0:",
        f"        return answer_metadata(question, {handler.traits})",
        f"    if read32(frame, {abi.FRAME_STAGE}) != {abi.EXECUTE_STAGE}:",
        "        return 0",
        f"    if read64(frame, {abi.FRAME_ARGS_COUNT}) != {len(handler.operands)}:",
        f"        return make_error(frame, {abi.INTERNAL}, 'loopdiff: wrong number of operands')",
        "    wrong = 0",
    ]
    for position, (side, number, port) in enumerate(ports, 1):
        lines += checked_buffer(side, number, port, position)
    lines += ["    if wrong != 0:", "        return complain(frame, wrong)"]
    lines += device_call(handler)
    return "\n".join([*lines, "    return 0"]) + "\n"


def device_call(handler: Handler) -> list[str]:
    """Lines that launch on XLA's stream, which is nobody else's meanwhile."""
    asked = ["    error, stream = stream_of(frame)", "    if error != 0:", "        return error"]
    return [
        *(asked if handler.asks_stream else ["    stream = 0"]),
        "    lock()",
        "    before = set_stream(stream)",
        "    failed = 0",
        "    try:",
        "        launch(frame)",
        "    except Exception:",
        "        failed = 1",
        "    if failed != 0:",
        "        release_held()",
        "    set_stream(before)",
        "    unlock()",
        "    if failed != 0:",
        "        return complain(frame, 0)",
    ]


def launches(handler: Handler) -> list[str]:
    """A function of its own for what may raise, which Numba looks at once and not after each of its lines."""
    sides = (("operand", handler.operands), ("result", handler.results))
    lines = ["def launch(frame):"]
    lines += [f"    {side[0]}{k} = {side}(frame, {k})" for side, ports in sides for k, _ in enumerate(ports)]
    for position, argument in enumerate(handler.arguments):
        lines += made_on_device(position, argument)
    return [*lines, f"    run(*{arguments_text(len(handler.arguments))})"]


def made_on_device(position: int, argument: HandlerArgument) -> list[str]:
    """An argument of a function that launches kernels: numbers that only the device has are waited for."""
    name, port = f"    a{position}", argument.port
    if argument.constant is not None:
        return [f"{name} = {argument.constant!r}"]
    if argument.result is not None:
        made = f"{name} = {view('result', argument.result, port)}"
        return [made, *([f"    clear(a{position})"] if argument.is_zeroed else [])]
    if argument.operand is not None:
        made = view("operand", argument.operand, port)
        return [f"{name} = peek({made}, 0)" if port.kind == "scalar" else f"{name} = {made}"]
    empty = ", ".join("0" for _ in range(max(port.rank, 1)))
    return [f"{name} = carray(pointer_{port.dtype}(read64(frame, {abi.FRAME_API})), ({empty},))"]


def arguments_text(count: int) -> str:
    """All arguments as a tuple, in parts: Python builds longer literals from lists, which Numba does not compile."""
    names = [f"a{k}" for k in range(count)]
    parts = [names[k : k + LONGEST_LITERAL] for k in range(0, count, LONGEST_LITERAL)]
    tuples = [f"({', '.join(part)},)" for part in parts]
    return f"({' + '.join(tuples) or '()'})"


def complain(handler: Handler, ports: list[Port]) -> list[str]:
    """A function of its own for what is wrong: Numba's time grows with the square of a function's branches."""
    lines = ["def complain(frame, wrong):"]
    for position, port in enumerate(ports, 1):
        what = f"loopdiff: `{port.name}` is not {port.dtype} of rank {port.rank}"
        lines.append(f"    if wrong == {position}:")
        lines.append(f"        return make_error(frame, {abi.INVALID_ARGUMENT}, {what!r})")
    return [*lines, f"    return make_error(frame, {abi.INVALID_ARGUMENT}, {handler.complaint!r})"]


def checked_buffer(side: str, number: int, port: Port, position: int) -> list[str]:
    """Without branches: `wrong` becomes the first position that does not match."""
    buffer = f"{side[0]}{number}"
    bad = f"mismatch({buffer}, {abi.XLA_TYPES[port.dtype]}, {port.rank})"
    return [f"    {buffer} = {side}(frame, {number})", f"    wrong += (wrong == 0) * {position} * {bad}"]


def pointer(side: str, number: int, port: Port) -> str:
    return f"pointer_{port.dtype}(read64({side[0]}{number}, {abi.BUFFER_DATA}))"


def view(side: str, number: int, port: Port) -> str:
    """A C-ordered array over a buffer; a scalar's has one element."""
    shape = ", ".join(f"extent({side[0]}{number}, {k})" for k in range(port.rank)) if port.rank else "1"
    return f"carray({pointer(side, number, port)}, ({shape},))"
