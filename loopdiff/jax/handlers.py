"""Handlers: the code between XLA's buffers and a compiled sweep, generated for one combination of types."""

from __future__ import annotations

import hashlib
import itertools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal

import jax
import numba
from numba import types
from numba.np.numpy_support import carray

from loopdiff.jax import abi

Kind = Literal["array", "scalar"]
REGISTERED: dict[str, Any] = {}
LOCK = Lock()
LONGEST_LITERAL = 30
COUNT = itertools.count()


@dataclass(frozen=True, slots=True)
class Port:
    """One operand or result of the foreign call: the parameter it carries, its dtype and rank."""

    name: str
    kind: Kind
    dtype: str
    rank: int


@dataclass(frozen=True, slots=True)
class Argument:
    """How one parameter of the compiled function is made.

    `operand` and `result` number the foreign call's buffers; with both, the result's buffer starts as a copy of the
    operand. `is_zeroed`: the result starts at zero. With neither, the parameter is unused: an empty array.
    """

    port: Port
    operand: int | None = None
    result: int | None = None
    is_zeroed: bool = False


@dataclass(frozen=True, slots=True)
class Handler:
    """What a foreign call runs: `function(*arguments)`, whose scalar results go to `returns` (result numbers)."""

    name: str
    function: Callable[..., Any]
    operands: tuple[Port, ...]
    results: tuple[Port, ...]
    arguments: tuple[Argument, ...]
    returns: tuple[int | None, ...]
    complaint: str


def register(handler: Handler) -> str:
    """Compile the handler and register it with XLA; the target's name. Targets live as long as the process."""
    text = source(handler)
    digest = hashlib.sha256(f"{text}{handler.name}".encode()).hexdigest()[:12]
    target = f"loopdiff_{handler.name}_{digest}_{next(COUNT)}"
    filename = f"<{target}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, Any] = {
        "run": handler.function, "carray": carray, "read64": abi.read64, "read32": abi.read32,
        "metadata_extension": abi.metadata_extension, "answer_metadata": abi.answer_metadata,
        "operand": abi.operand, "result": abi.result, "extent": abi.extent, "make_error": abi.make_error,
        **{f"pointer_{dtype}": function for dtype, function in abi.POINTERS.items()},
    }  # fmt: skip
    exec(compile(text, filename, "exec"), names)
    with LOCK:
        compiled = numba.cfunc(types.intp(types.intp))(names["handler"])
        capsule = jax.ffi.pycapsule(compiled.address)
        jax.ffi.register_ffi_target(target, capsule, platform="cpu", api_version=1)
        REGISTERED[target] = compiled
    return target


def source(handler: Handler) -> str:
    """The handler as Python for Numba."""
    lines = [
        "def handler(frame):",
        "    question = metadata_extension(frame)",
        "    if question != 0:",
        "        return answer_metadata(question)",
        f"    if read32(frame, {abi.FRAME_STAGE}) != {abi.EXECUTE_STAGE}:",
        "        return 0",
        f"    if read64(frame, {abi.FRAME_ARGS_COUNT}) != {len(handler.operands)}:",
        f"        return make_error(frame, {abi.INTERNAL}, 'loopdiff: wrong number of operands')",
    ]
    for side, ports in (("operand", handler.operands), ("result", handler.results)):
        for number, port in enumerate(ports):
            lines += checked_buffer(side, number, port)
    for position, argument in enumerate(handler.arguments):
        lines += made_argument(position, argument)
    lines += ["    try:", f"        value = run(*{arguments_text(len(handler.arguments))})"]
    kept = [(k, r) for k, r in enumerate(handler.returns) if r is not None]
    for position, number in kept:
        item = "value" if len(handler.returns) == 1 else f"value[{position}]"
        lines.append(f"        {view('result', number, handler.results[number])}[0] = {item}")
    lines += [
        "    except Exception:",
        f"        return make_error(frame, {abi.INVALID_ARGUMENT}, {handler.complaint!r})",
        "    return 0",
    ]
    return "\n".join(lines) + "\n"


def arguments_text(count: int) -> str:
    """All arguments as a tuple, in parts: Python builds longer literals from lists, which Numba does not compile."""
    names = [f"a{k}" for k in range(count)]
    parts = [names[k : k + LONGEST_LITERAL] for k in range(0, count, LONGEST_LITERAL)]
    tuples = [f"({', '.join(part)},)" for part in parts]
    return f"({' + '.join(tuples) or '()'})"


def checked_buffer(side: str, number: int, port: Port) -> list[str]:
    buffer = f"{side[0]}{number}"
    what = f"loopdiff: `{port.name}` is not {port.dtype} of rank {port.rank}"
    return [
        f"    {buffer} = {side}(frame, {number})",
        f"    if read32({buffer}, {abi.BUFFER_DTYPE}) != {abi.XLA_TYPES[port.dtype]} "
        f"or read64({buffer}, {abi.BUFFER_RANK}) != {port.rank}:",
        f"        return make_error(frame, {abi.INVALID_ARGUMENT}, {what!r})",
    ]


def view(side: str, number: int, port: Port) -> str:
    """A C-ordered array over a buffer; a scalar's has one element."""
    buffer = f"{side[0]}{number}"
    shape = ", ".join(f"extent({buffer}, {k})" for k in range(port.rank)) if port.rank else "1"
    return f"carray(pointer_{port.dtype}(read64({buffer}, {abi.BUFFER_DATA})), ({shape},))"


def made_argument(position: int, argument: Argument) -> list[str]:
    port = argument.port
    name = f"    a{position}"
    if argument.result is not None:
        made = f"{name} = {view('result', argument.result, port)}"
        return [made, *([f"{name}[...] = 0"] if argument.is_zeroed else [])]
    if argument.operand is not None:
        text = view("operand", argument.operand, port)
        return [f"{name} = {text}[0]" if port.kind == "scalar" else f"{name} = {text}"]
    empty = ", ".join("0" for _ in range(max(port.rank, 1)))
    return [f"{name} = carray(pointer_{port.dtype}(read64(frame, {abi.FRAME_API})), ({empty},))"]
