"""From the source of a kernel to code for the GPU: the one place that knows which compiler does it.

Today that is numba-cuda for PTX and nvJitLink for the cubin. Neither needs a GPU, or a driver.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from numba.core import types
from numba.np.numpy_support import as_dtype

from loopdiff.backends.cuda.direct import direct_compiler
from loopdiff.backends.cuda.needs import CAPABILITY
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.immutable import immutable
from loopdiff.ir.codec import known

WORD = 8
VERSION = f"numba-cuda {version('numba-cuda')}, sm_{CAPABILITY[0]}{CAPABILITY[1]}"
# Registers of a thread with which a multiprocessor has room for two blocks of 256 threads, and the bytes that a thread
# may keep in memory for that.
OF_TWO_BLOCKS, MOST_SPILLED = 128, 128


@known
@immutable
class Parameter:
    """A parameter of a kernel as the driver takes it: so many bytes of what `meaning` says of argument `argument`."""

    argument: int
    meaning: str
    size: int


@known
@immutable
class Resources:
    """What a kernel takes, as ptxas reports it; bytes but for the registers, all for one thread but `shared`."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int
    barriers: int


@known
@immutable
class CompiledKernel:
    """`code` is a cubin for `CAPABILITY`, `entry` its name in there, `layout` what is passed to it."""

    code: bytes
    entry: str
    layout: tuple[Parameter, ...]
    ptx: str
    resources: Resources


def compile_kernel(kernel: Callable[..., Any], signature: tuple[types.Type, ...]) -> CompiledKernel:
    """The Python function `kernel` for arguments of these types."""
    with direct_compiler(kernel):
        found, _ = cuda.compile(
            kernel, types.void(*signature), device=False, abi="numba", cc=CAPABILITY, output="ptx", fastmath=False
        )
    ptx = found.decode() if isinstance(found, bytes) else found
    (entry,) = re.findall(r"\.entry (\w+)", ptx)
    code, resources = in_few_registers(ptx.encode())
    return CompiledKernel(code, entry, layout_of(signature), ptx, resources)


def in_few_registers(ptx: bytes) -> tuple[bytes, Resources]:
    """The cubin of `ptx` and what it takes, with so few registers that two blocks fit where that costs little."""
    code, found = linked(ptx)
    if found.registers > OF_TWO_BLOCKS:
        less, other = linked(ptx, f"-maxrregcount={OF_TWO_BLOCKS}")
        if other.spill_loads + other.spill_stores - found.spill_loads - found.spill_stores <= MOST_SPILLED:
            return less, other
    return code, found


def linked(ptx: bytes, *more: str) -> tuple[bytes, Resources]:
    """The cubin of `ptx`, and what it takes."""
    nvjitlink: Any = importlib.import_module("cuda.bindings.nvjitlink")
    options = [f"-arch=sm_{CAPABILITY[0]}{CAPABILITY[1]}", "-verbose", "-Xptxas=-v", *more]
    handle = nvjitlink.create(len(options), options)
    nvjitlink.add_data(handle, nvjitlink.InputType.PTX, ptx, len(ptx), "kernel")
    nvjitlink.complete(handle)
    code = bytearray(nvjitlink.get_linked_cubin_size(handle))
    nvjitlink.get_linked_cubin(handle, code)
    report = bytearray(nvjitlink.get_info_log_size(handle))
    nvjitlink.get_info_log(handle, report)
    nvjitlink.destroy(handle)
    return bytes(code), resources_of(report.rstrip(b"\0").decode())


def resources_of(report: str) -> Resources:
    def number(pattern: str) -> int:
        found = re.search(pattern, report)
        return int(found[1]) if found else 0

    return Resources(
        number(r"Used (\d+) registers"),
        number(r"(\d+) bytes stack frame"),
        number(r"(\d+) bytes spill stores"),
        number(r"(\d+) bytes spill loads"),
        number(r"(\d+) bytes smem"),
        number(r"used (\d+) barriers"),
    )


def layout_of(signature: tuple[types.Type, ...]) -> tuple[Parameter, ...]:
    """Numba takes an array apart: where it is from, how large it is, where it is, its shape and its strides."""
    out: list[Parameter] = []
    for number, ty in enumerate(signature):
        if isinstance(ty, types.Array):
            shape = [f"shape {k}" for k in range(ty.ndim)]
            strides = [f"stride {k}" for k in range(ty.ndim)]
            fields = ["meminfo", "parent", "items", "itemsize", "data", *shape, *strides]
            out += [Parameter(number, name, WORD) for name in fields]
        else:
            out.append(Parameter(number, "value", as_dtype(ty).itemsize))
    return tuple(out)


def parameters_of(ptx: str) -> tuple[int, ...]:
    """Sizes in bytes of the parameters that `ptx` declares for its kernel."""
    head = ptx[ptx.index(".entry") :]
    listed = head[: head.index("{")]
    return tuple(int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", listed))
