"""Kernels for the GPU, as text that Numba's CUDA target compiles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from numba.core import types

from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.vector import neutral_value
from loopdiff.backends.cuda.text.host import HostEmitter
from loopdiff.backends.cuda.text.kernels import BLOCKS, Kernel, KernelEmitter
from loopdiff.backends.cuda.text.sorting_text import PARAMETERS, Lists, array_type
from loopdiff.backends.cuda.text.spelling import ZEROS
from loopdiff.backends.cuda.text.threads import ListText
from loopdiff.backends.cuda.text.warps import DeviceWarps, WarpText
from loopdiff.backends.writer import Writer, render
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import BOOL, F32, F64, INT, ArrayType, ScalarType

AXES = ("x", "y", "z")
# Along which axis of a block the warps lie that take iterations of an axis of the grid; one for the last two.
AXES_OF_WARPS = {"x": "y", "y": "z", "z": "z"}
NUMBA_TYPES = {BOOL: types.boolean, INT: types.int64, F32: types.float32, F64: types.float64}


@dataclass(slots=True)
class Device:
    """The host's text for a GPU. `finished`: what parts of sums there are to bring together."""

    imports: set[str] = field(default_factory=set)
    finished: set[tuple[ir.AccumulateOp, ScalarType]] = field(default_factory=set)
    lists: Lists = field(default_factory=Lists)

    @property
    def warps(self) -> WarpText:
        return DeviceWarps()

    def use(self, name: str) -> str:
        self.imports.add(name)
        return name

    def borrow(self, name: str) -> list[str]:
        return [f"{name} = {self.use('borrow')}({name})"]

    def allocate(self, name: str, shape: str, dtype: str) -> list[str]:
        return [f"{name} = {self.use('device_empty')}({shape}, np.{'bool_' if dtype == 'bool' else dtype})"]

    def fill(self, name: str, value: str) -> list[str] | None:
        return [f"{self.use('clear')}({name})"] if value in ZEROS else None

    def clear_rows(self, name: str, first: str, end: str) -> list[str]:
        return [f"{self.use('clear_rows')}({name}, {first}, {end})"]

    def release(self, name: str) -> list[str]:
        return [f"{self.use('release')}({name})"]

    def keep(self, name: str) -> list[str]:
        return [f"{self.use('keep')}({name})"]

    def peek(self, place: str, array: str, subscripts: list[str]) -> str:
        return f"{self.use('peek')}({', '.join((array, *subscripts))})"

    def launch(self, kernel: Kernel, blocks: list[str], params: Iterable[str], parts: list[str]) -> list[str]:
        return [f"{kernel_name(kernel)}({', '.join((*blocks, *params, *parts))})"]

    def finish(self, op: ir.AccumulateOp, kind: ScalarType, parts: str, target: str, neutral: str) -> list[str]:
        self.finished.add((op, kind))
        return [f"{finish_name(op, kind)}(1, 1, 1, {parts}, {target})"]

    def add_listed(self, update: ListText, kind: ArrayType, elements: str, width: str) -> list[str]:
        self.lists.targets.add(kind)
        given = f"{update.places}, {update.values}, {update.array}, {update.before_first or '0'}, {elements}, {width}"
        return [f"{self.lists.add_name(kind)}({given})"]

    def scan(self, offsets: str) -> list[str]:
        self.lists.has_offsets = True
        return [f"scan_int64({offsets})"]


@immutable
class KernelText:
    """A kernel's name in its module, the types of its parameters, how many axes its grid has and the threads of a
    block; and, once it is compiled, under which `digest` it is kept."""

    name: str
    signature: tuple[types.Type, ...]
    axes: int
    block: tuple[int, int, int]
    digest: str = ""


@immutable
class KernelModule:
    """The text of a module, to be called after its `stem`, and the kernels in it."""

    stem: str
    text: str
    kernels: tuple[KernelText, ...]


def kernel_modules(host: HostEmitter[Device]) -> list[KernelModule]:
    """The module with the kernels of a function, and one for each kernel that it has in common with others."""
    kernels, emitter, target = host.kernels, host.emitter, host.target
    sums = {f"block_{op}_{kind.value}" for k in kernels for _, op, kind in k.sums}
    texts = [kernel_text(kernel, host.names) for kernel in kernels]
    found = tuple(KernelText(kernel_name(k), signature_of(k, emitter), len(k.axes), k.block) for k in kernels)
    modules = [KernelModule(f"{host.ls.name}_kernels", module_text(texts, emitter.imports | sums), found)]
    finished = sorted(target.finished, key=lambda pair: (pair[0], pair[1].value))
    modules += [finish_module(op, kind) for op, kind in finished]
    for name, function, signature in target.lists.kernels():
        kernel = KernelText(f"{name}_kernel", signature, 1, BLOCKS[1])
        modules.append(common_module(kernel, function, PARAMETERS[function]))
    return modules


def common_module(kernel: KernelText, function: str, parameters: tuple[str, ...]) -> KernelModule:
    """The module of a kernel all of whose threads call one of `FUNCTIONS`."""
    given = ", ".join(parameters)
    text = f"def {kernel.name}({given}):\n    {function}({given})"
    return KernelModule(kernel.name, module_text([text], {function}), (kernel,))


def finish_module(op: ir.AccumulateOp, kind: ScalarType) -> KernelModule:
    """The module of the kernel of one block that combines what blocks have summed with a scalar."""
    array = types.Array(NUMBA_TYPES[kind], 1, "C")
    used = {f"block_{op}_{kind.value}"} | ({f"{op}2"} if op != "add" else set[str]())
    kernel = KernelText(finish_name(op, kind), (array, array), 1, BLOCKS[1])
    return KernelModule(kernel.name, module_text([finish_text(op, kind)], used), (kernel,))


def module_text(texts: Iterable[str], used: Iterable[str]) -> str:
    """A module with functions that call those of `FUNCTIONS` that are `used`."""
    lines = [
        '"""CUDA kernels generated by loopdiff."""',
        "import math",
        "import numpy as np",
        "from numba import cuda",
        "from loopdiff.backends.cuda.device_functions import FUNCTIONS",
        *(f"{n} = FUNCTIONS[{n!r}]" for n in sorted(used)),
    ]
    return render("\n".join([*lines, *texts]))


def finish_name(op: ir.AccumulateOp, kind: ScalarType) -> str:
    return f"finish_{op}_{kind.value}"


def finish_text(op: ir.AccumulateOp, kind: ScalarType) -> str:
    """The kernel of one block that combines what blocks have summed with a scalar."""
    writer = Writer()

    def combined(a: str, b: str) -> str:
        return f"{a} + {b}" if op == "add" else f"{op}2({a}, {b})"

    with writer.block(f"def {finish_name(op, kind)}(parts, target):"):
        writer.line(f"value = {spell_constant(neutral_value(op, kind), kind)}")
        with writer.block("for place in range(cuda.threadIdx.x, parts.shape[0], cuda.blockDim.x):"):
            writer.line(f"value = {combined('value', 'parts[place]')}")
        writer.line(f"value = block_{op}_{kind.value}(value)")
        with writer.block("if cuda.threadIdx.x == 0:"):
            writer.line(f"target[0] = {combined('target[0]', 'value')}")
    return writer.text


def kernel_name(kernel: Kernel) -> str:
    return f"{kernel.name}_kernel"


def kernel_text(kernel: Kernel, names: NameSupply) -> str:
    """The kernel: each thread finds its place and runs; where it is summed with its block, in a function of its own."""
    writer = Writer()
    parts = [names.fresh(f"{n}_sums") for n, _, _ in kernel.sums]
    header = f"def {kernel_name(kernel)}({', '.join((*kernel.params, *parts))}):"
    with writer.block(header):
        for axis, here, count in zip(AXES, kernel.place.here, kernel.place.counts, strict=False):
            own = AXES_OF_WARPS[axis] if kernel.is_warped else axis
            writer.line(f"{here} = cuda.blockIdx.{axis} * cuda.blockDim.{own} + cuda.threadIdx.{own}")
            writer.line(f"{count} = cuda.gridDim.{axis} * cuda.blockDim.{own}")
        if not kernel.sums:
            writer.lines += kernel.text.splitlines()[1:]
            return writer.text
        values = [names.fresh(f"{n}_value") for n, _, _ in kernel.sums]
        writer.line(f"{', '.join(values)} = {kernel.name}({', '.join((*kernel.place.params, *kernel.params))})")
        for value, (_, op, kind) in zip(values, kernel.sums, strict=True):
            writer.line(f"{value} = block_{op}_{kind.value}({value})")
        with writer.block("if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:"):
            block = "cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)"
            for part, value in zip(parts, values, strict=True):
                writer.line(f"{part}[{block}] = {value}")
    return "\n".join(["@cuda.jit(device=True)", kernel.text, writer.text])


def signature_of(kernel: Kernel, emitter: KernelEmitter) -> tuple[types.Type, ...]:
    """Types of what a kernel is given."""
    found = [type_of_parameter(p, emitter) for p in kernel.params]
    return (*found, *(types.Array(NUMBA_TYPES[kind], 1, "C") for _, _, kind in kernel.sums))


def type_of_parameter(name: str, emitter: KernelEmitter) -> types.Type:
    if name == emitter.status:
        return types.Array(types.int64, 1, "C")
    if name in emitter.on_device:
        return types.Array(NUMBA_TYPES[scalar_type(name, emitter)], 1, "C")
    if name in emitter.all_cells or name not in emitter.types.arrays:
        return NUMBA_TYPES[scalar_type(name, emitter)]
    kind = emitter.types.arrays[name]
    return array_type(kind)


def scalar_type(name: str, emitter: KernelEmitter) -> ScalarType:
    """The type of a scalar argument, a cell, a Let, or else of an index or a count."""
    env = emitter.types
    if name in env.arrays:
        return env.arrays[name].element
    return env.scalars.get(name) or env.lets.get(name) or INT
