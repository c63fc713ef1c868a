"""A stand-in for libcuda: the device's memory is the host's, and a launch runs the kernel in plain Python.

What it runs with is what was packed: arrays are rebuilt from their words, as the compiled kernel would see them.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype

from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda import compile as compile_module
from loopdiff.backends.cuda import compiler, driver
from loopdiff.backends.cuda.compile import device_kernels, emulated_text, write_device
from loopdiff.backends.cuda.compiler import CompiledKernel, Resources, layout_of
from loopdiff.backends.cuda.kernel_store import stored_kernel
from loopdiff.backends.cuda.text.device import KernelText
from loopdiff.backends.load import CompiledFunction
from loopdiff.errors import LoopdiffWarning
from loopdiff.mapping.launches import LaunchPlan
from loopdiff.memory.device_checksum import WORDS, kernels_of
from loopdiff.memory.guards import KEY, mixed
from tests.cuda import plain

INT, UINT, SIZE, PTR = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
PLACE = ctypes.c_uint64
LAUNCH = ctypes.CFUNCTYPE(INT, PTR, *([UINT] * 7), PTR, ctypes.POINTER(PTR), PTR)


class Stub:
    """The functions of the driver that loopdiff calls; all they do is noted in `calls`.

    Work is done at once, but memory that has been `used` on a stream at a moment is not to be used on another one, nor
    to be given back there, before somebody has `waited` for the first; `busy` are those that there is something to wait
    for. Nothing is to be put on a stream that is `destroyed`.
    """

    def __init__(self) -> None:
        self.kernels: dict[bytes, tuple[KernelText, Callable[..., Any]]] = {}
        self.handles: list[bytes] = []
        self.loaded: set[int] = set()
        self.memory: dict[int, Any] = {}
        self.calls: list[str] = []
        self.streams: set[int] = set()
        self.moved: list[int] = []
        self.errors: list[BaseException] = []
        self.cuLaunchKernel = LAUNCH(self.launch)
        self.cuMemAllocAsync = ctypes.CFUNCTYPE(INT, ctypes.POINTER(PLACE), SIZE, PTR)(self.allocate)
        self.no_memory = ctypes.CFUNCTYPE(INT, ctypes.POINTER(PLACE), SIZE, PTR)(lambda place, size, stream: 2)
        self.cuMemFreeAsync = ctypes.CFUNCTYPE(INT, PLACE, PTR)(self.free)
        self.cuMemsetD8Async = ctypes.CFUNCTYPE(INT, PLACE, ctypes.c_ubyte, SIZE, PTR)(self.set)
        self.cuMemcpyDtoHAsync_v2 = ctypes.CFUNCTYPE(INT, PTR, PLACE, SIZE, PTR)(self.move)
        self.cuMemcpyHtoDAsync_v2 = ctypes.CFUNCTYPE(INT, PLACE, PTR, SIZE, PTR)(self.move)
        self.cuMemcpyDtoDAsync_v2 = ctypes.CFUNCTYPE(INT, PLACE, PLACE, SIZE, PTR)(self.copy)
        self.cuStreamSynchronize = ctypes.CFUNCTYPE(INT, PTR)(self.wait)
        self.destroyed: set[int] = set()
        self.busy: set[int] = set()
        self.used: dict[int, tuple[int, int]] = {}
        self.waited: dict[int, int] = {}
        self.moments = count(1)

    def nothing(self, *args: Any) -> int:
        return 0

    cuInit = cuDeviceGet = cuDevicePrimaryCtxRetain = cuCtxSetCurrent = nothing
    cuDeviceGetDefaultMemPool = cuMemPoolSetAttribute = nothing

    def forget_streams(self) -> None:
        for known in (self.destroyed, self.busy, self.used, self.waited):
            known.clear()

    def cuCtxSynchronize(self) -> int:
        self.busy.clear()
        self.used.clear()
        return 0

    def wait(self, stream: int | None) -> int:
        self.busy.discard(stream or 0)
        self.waited[stream or 0] = next(self.moments)
        return self.noted(self.require_stream, stream)

    def noted(self, check: Callable[..., None], *args: Any) -> int:
        """The status of a check; what it raises is raised at the end of the test."""
        try:
            check(*args)
        except AssertionError as error:
            self.errors.append(error)
            return 1
        return 0

    def require_stream(self, stream: int | None) -> None:
        assert stream not in self.destroyed, f"stream {stream} is destroyed"

    def use(self, stream: int | None, *places: int) -> None:
        """Something on a stream uses memory at these places."""
        self.busy.add(stream or 0)
        self.require_order(stream, *places)

    def require_order(self, stream: int | None, *places: int) -> None:
        self.require_stream(stream)
        here = stream or 0
        for place in places:
            block = next((p for p, b in self.memory.items() if p <= place < p + ctypes.sizeof(b)), None)
            if block is not None:
                before, moment = self.used.get(block, (here, 0))
                is_done = before == here or moment < self.waited.get(before, 0)
                assert is_done, f"nobody has waited for stream {before}"
                self.used[block] = here, next(self.moments)

    def cuMemPoolGetAttribute(self, pool: Any, attribute: int, place: Any) -> int:
        held = sum(ctypes.sizeof(block) for block in self.memory.values())
        place._obj.value = {7: held, 5: 2 * held}[attribute]
        return 0

    def cuDeviceGetAttribute(self, place: Any, attribute: int, device: Any) -> int:
        place._obj.value = {75: 9, 76: 0}[attribute]
        return 0

    def cuLibraryLoadData(self, place: Any, code: bytes, *args: Any) -> int:
        self.handles.append(code)
        place._obj.value = len(self.handles)
        return 0

    def cuLibraryGetKernel(self, place: Any, library: Any, entry: bytes) -> int:
        place._obj.value = library.value
        return 0

    def cuKernelGetFunction(self, place: Any, kernel: Any) -> int:
        place._obj.value = kernel.value
        return 0

    def cuFuncLoad(self, function: Any) -> int:
        self.loaded.add(function.value)
        return 0

    def allocate(self, place: Any, size: int, stream: Any) -> int:
        block = (ctypes.c_char * size)()
        ctypes.memset(block, 0xFF, size)
        place[0] = ctypes.addressof(block)
        self.memory[ctypes.addressof(block)] = block
        self.used.pop(ctypes.addressof(block), None)
        return self.noted(self.use, stream, ctypes.addressof(block))

    def free(self, place: int, stream: Any) -> int:
        status = self.noted(self.require_order, stream, place)
        return status if self.memory.pop(place, None) is not None else 1

    def set(self, place: int, value: int, size: int, stream: Any) -> int:
        ctypes.memset(place, value, size)
        return self.noted(self.use, stream, place)

    def move(self, target: int, source: int, size: int, stream: Any) -> int:
        self.moved.append(size)
        return self.copy(target, source, size, stream)

    def copy(self, target: int, source: int, size: int, stream: Any) -> int:
        ctypes.memmove(target, source, size)
        return self.noted(self.use, stream, target, source)

    def launch(self, handle: int, *rest: Any) -> int:
        blocks, threads, (_, stream, packed, _) = rest[:3], rest[3:6], rest[6:]
        self.streams.add(stream or 0)
        try:
            assert handle in self.loaded, "it would be loaded by the first launch, which may be captured"
            kernel, function = self.kernels[self.handles[handle - 1]]
            self.calls.append(kernel.name)
            assert threads == kernel.block
            given = unpacked(kernel.signature, packed)
            self.use(stream, *(a.ctypes.data for a in given if isinstance(a, np.ndarray) and a.size))
            function(blocks, *given)
        except BaseException as error:
            self.errors.append(error)
            return 1
        return 0


def unpacked(signature: tuple[types.Type, ...], packed: Any) -> list[Any]:
    """Arguments from the words that the driver was given."""
    words: dict[int, list[int]] = {}
    for number, parameter in enumerate(layout_of(signature)):
        kind = {8: ctypes.c_int64, 4: ctypes.c_int32, 1: ctypes.c_int8}[parameter.size]
        words.setdefault(parameter.argument, []).append(kind.from_address(packed[number]).value)
    return [argument(ty, words[number]) for number, ty in enumerate(signature)]


def argument(ty: types.Type, words: list[int]) -> Any:
    if not isinstance(ty, types.Array):
        size = {8: np.int64, 4: np.int32, 1: np.int8}[1 if ty == types.boolean else ty.bitwidth // 8]
        return np.array(words[0], size).view(as_dtype(ty))[()]
    dtype = as_dtype(ty.dtype)
    meminfo, parent, items, itemsize, data, *rest = words
    shape, strides = tuple(rest[: ty.ndim]), tuple(rest[ty.ndim :])
    assert (meminfo, parent, itemsize, items) == (0, 0, dtype.itemsize, int(np.prod(shape, dtype=np.int64)))
    if items == 0:
        return np.empty(shape, dtype)
    reach = [(s * (n - 1)) for s, n in zip(strides, shape, strict=True)]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + itemsize
    block = (ctypes.c_char * (high - low)).from_address(data + low)
    return np.ndarray(shape, dtype, block, -low, strides)


STUB = Stub()  # one for all tests of a process: compiled code knows its functions


@contextmanager
def stub_driver() -> Iterator[Stub]:
    """A machine whose driver is the stub."""
    gc.collect()  # arrays that tests before have left to the collector
    gc.freeze()  # the gigabytes of a worker are not looked at in each collection of a test
    STUB.forget_streams()
    made = driver.Driver(STUB)
    STUB.calls.clear()
    STUB.streams.clear()
    with (
        patch.object(driver, "is_there", lambda: True),
        patch.object(driver, "started_driver", lambda: made),
        patch.object(compiler, "compile_kernel", named),
        patch.object(compiler, "VERSION", "stub"),  # kept apart on disk from what a GPU can run
    ):
        yield STUB
    errors, STUB.errors = STUB.errors, []
    if errors:
        raise errors[0]


def named(kernel: Callable[..., Any], signature: tuple[types.Type, ...]) -> CompiledKernel:
    """A kernel as its name and types, instead of code that only a GPU could run; `test_cubins` compiles them all."""
    code = f"{kernel.__module__} {kernel.__name__} {signature}".encode()
    return CompiledKernel(code, kernel.__name__, layout_of(signature), "", Resources(0, 0, 0, 0, 0, 0))


def on_stub(plan: LaunchPlan) -> CompiledFunction:
    """The function of a plan for GPUs, whose kernels the stub knows."""
    know_kernels(plan)
    return write_device(plan, cache=True)


@contextmanager
def gpu_machine() -> Iterator[Stub]:
    """A machine on which functions decorated for `cuda`, without `cache`, run on the stub: it has to know kernels."""

    def write(plan: LaunchPlan, *, cache: bool) -> CompiledFunction:
        know_kernels(plan)
        return write_device(plan, cache=cache)

    with stub_driver() as stub, patch.object(compile_module, "write_device", write), warnings.catch_warnings():
        warnings.simplefilter("ignore", LoopdiffWarning)  # that NumPy arrays are copied
        know_checksums()
        yield stub


def know_checksums() -> None:
    """Have the stub run the kernels that make checksums."""
    for dtype in WORDS:
        for kernel in kernels_of(dtype):
            STUB.kernels[stored_kernel(kernel.digest).code] = (kernel, plain_kernel(kernel, ""))


def know_kernels(plan: LaunchPlan) -> None:
    """Have the stub run the kernels of a plan."""
    text = emulated_text(plan, Style(), cache=False)
    for kernel in device_kernels(plan, cache=True)[1]:
        STUB.kernels[stored_kernel(kernel.digest).code] = (kernel, plain_kernel(kernel, text))


def neutral_of(op: str, dtype: np.dtype[Any]) -> Any:
    if op == "add":
        return dtype.type(0)
    if dtype.kind == "f":
        return dtype.type(-np.inf if op == "max" else np.inf)
    return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max


def finishing(op: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """What combines the sums of blocks with a scalar."""
    finish = plain.finished(plain.COMBINE[op])
    return lambda parts, target: finish(parts, np.empty(256, parts.dtype), neutral_of(op, parts.dtype), target)


TILE, RUN = 2048, 32


def tiles_of(array: np.ndarray) -> list[np.ndarray]:
    return [array[k : k + TILE] for k in range(0, array.size, TILE)]


def count_digits(blocks: int, places: np.ndarray, counts: np.ndarray, shift: int, bits: int) -> None:
    digits = 1 << bits
    found = [np.bincount((tile >> shift) & (digits - 1), minlength=digits) for tile in tiles_of(places)]
    assert blocks == len(found)
    counts[:] = np.array(found).T.ravel()


def sum_tiles(blocks: int, numbers: np.ndarray, sums: np.ndarray) -> None:
    assert blocks == sums.size
    sums[:] = [tile.sum() for tile in tiles_of(numbers)]


def scan_tiles(blocks: int, numbers: np.ndarray, sums: np.ndarray) -> None:
    for tile, start in zip(tiles_of(numbers), np.cumsum(sums) - sums, strict=True):
        tile[:] = start + np.cumsum(tile) - tile


def move_updates(
    blocks: int, places: np.ndarray, values: np.ndarray, starts: np.ndarray, new_places: np.ndarray,
    new_values: np.ndarray, shift: int, bits: int, width: int,
) -> None:  # fmt: skip
    values, new_values = values.reshape(-1, width), new_values.reshape(-1, width)
    nexts = starts.reshape(1 << bits, blocks).copy()
    for k, (place, value) in enumerate(zip(places, values, strict=True)):
        digit = (place >> shift) & ((1 << bits) - 1)
        new = nexts[digit, k // TILE]
        nexts[digit, k // TILE] += 1
        new_places[new], new_values[new] = place, value


def fold_updates(
    blocks: int, places: np.ndarray, values: np.ndarray, target: np.ndarray, before_first: int, width: int,
    left_places: np.ndarray, left_values: np.ndarray,
) -> None:  # fmt: skip
    parts = -(-places.size // RUN)
    assert blocks == -(-parts * width // 256)
    values, left_values = values.reshape(-1, width), left_values.reshape(-1, width)
    assert left_places.size == len(left_values) == 2 * parts
    left_places[:], left_values[:] = 0, 0
    ends = [*np.flatnonzero(np.diff(places)), places.size - 1]
    for begin, end in zip([0, *(e + 1 for e in ends[:-1])], ends, strict=True):
        if begin // RUN == end // RUN and places[begin]:
            row = (before_first + places[begin] - 1) * width
            target.flat[row : row + width] += values[begin : end + 1].sum(0)
        elif places[begin]:
            for part in range(begin // RUN, end // RUN + 1):
                inside = slice(max(begin, part * RUN), min(end + 1, (part + 1) * RUN))
                left_places[2 * part + (begin // RUN == part)] = places[begin]
                left_values[2 * part + (begin // RUN == part)] = values[inside].sum(0)
                if begin // RUN < part < end // RUN:
                    left_places[2 * part + 1] = places[begin]


def fold_rest(
    blocks: int, places: np.ndarray, values: np.ndarray, target: np.ndarray, before_first: int, width: int,
    left_places: np.ndarray, left_values: np.ndarray,
) -> None:  # fmt: skip
    assert blocks == 1
    assert left_places.size == left_values.size // width == 2 * -(-places.size // RUN)
    plain.add_listed(places, values, target, before_first, width)
    places[:], left_places[:] = -1, -1  # both are used again on the way


def mix_words(blocks: int, words: np.ndarray, parts: np.ndarray) -> None:
    parts[:] = 0
    with np.errstate(over="ignore"):
        parts[0] = np.uint64(mixed.py_func(words.astype(np.uint64), np.uint64(0), KEY)).astype(np.int64)


SORTING: dict[str, Callable[..., None]] = {
    "mix_": mix_words,
    "count_digits": count_digits, "sum_tiles": sum_tiles, "scan_tiles": scan_tiles, "move_": move_updates,
    "fold_rest_": fold_rest, "fold_": fold_updates,
}  # fmt: skip


def plain_kernel(kernel: KernelText, text: str) -> Callable[..., Any]:
    """A kernel as a function of how many blocks there are, and what it is given."""
    if kernel.name.startswith("finish_"):
        run = finishing(kernel.name.split("_")[1])
        return lambda blocks, parts, target: run(parts, target)
    for name, function in SORTING.items():
        if kernel.name.startswith(name):
            return lambda blocks, *given: function(blocks[0], *given)
    on_grid = plain.in_plain_python(text, f"{kernel.name.removesuffix('_kernel')}_on_grid")
    return lambda blocks, *given: on_grid(*blocks[: kernel.axes], *given)
