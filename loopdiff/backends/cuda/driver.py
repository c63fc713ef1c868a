"""The CUDA driver: what is asked of `libcuda`, and memory of the device as arrays.

An array over the device's memory is a NumPy array that nobody may look into: only its address, shape and strides are
used, by compiled code. The driver is loaded at the first use.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from threading import RLock, local
from typing import Any, Literal

import numpy as np

from loopdiff.backends.cuda.launching import FUNCTIONS, HELD, MUTEX, SLOTS, THREADS, kernel_slot
from loopdiff.backends.cuda.needs import CAPABILITY
from loopdiff.backends.cuda.streams import DEFAULT, Stream
from loopdiff.errors import NOWHERE, BackendError, OutOfMemoryError
from loopdiff.errors.codes import reject

LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
RELEASE_THRESHOLD, RESERVED, IN_USE = 4, 5, 7  # numbers of the driver's: attributes of pools,
OUT_OF_MEMORY = 2  # and an error
KEPT = 1 << 30  # bytes
MAJOR, MINOR = 75, 76  # attributes: the compute capability
BLOCKS: dict[int, int] = {}  # where arrays of the device begin that Python knows, and how many bytes they have
SHARED: set[int] = set()  # those that others may use on streams of their own
BORROWED: dict[int, tuple[int, int]] = {}  # the same of those that others own, by number
WITHOUT_MUTEX = RLock()
OF_THREAD = local()  # its `stream`


def is_on_device(array: np.ndarray) -> bool:
    """Whether the array is one of the device, which nobody may look into."""
    place = array.ctypes.data
    if place in BLOCKS:
        return True
    known = (*BLOCKS.copy().items(), *BORROWED.copy().values())
    return any(begin <= place < begin + size for begin, size in known)


def borrowed_block(place: int, size: int, owner: Any) -> Any:
    """Memory of the device that somebody else owns, who is kept as long as anybody refers to it."""
    block: Any = (ctypes.c_char * size).from_address(place)
    number = next(NUMBERS)
    BORROWED[number] = place, size
    weakref.finalize(block, forget, number, owner)
    return block


NUMBERS = count()


@contextmanager
def locked() -> Iterator[None]:
    """Nobody else sets the stream of compiled code."""
    if not THREADS:
        with WITHOUT_MUTEX:
            yield
        return
    THREADS["lock"](MUTEX)
    try:
        yield
    finally:
        THREADS["unlock"](MUTEX)


def forget(number: int, owner: Any) -> None:
    BORROWED.pop(number, None)


def order_of(array: np.ndarray) -> Literal["C", "F"]:
    """The order of memory of an array without gaps; of others that of a copy."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def span_of(array: np.ndarray) -> tuple[int, int]:
    """Where the memory of an array begins, and how many bytes it has, gaps included."""
    if not array.size:
        return array.ctypes.data, 0
    before, size = reach_of(array.shape, array.strides, array.itemsize)
    return array.ctypes.data - before, size


def reach_of(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """How many bytes the memory of an array has before its first element, and in all."""
    reach = [s * (n - 1) for s, n in zip(strides, shape, strict=True)]
    low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
    return -low, high - low + itemsize


class Driver:
    """The functions of `library`, in the context that all of a process share."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.require_capability(device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.context = context
        self.enter()
        self.keep_memory(device)
        for name in FUNCTIONS:
            SLOTS[name].value = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        SLOTS["stream"].value = 0

    def require_capability(self, device: ctypes.c_int) -> None:
        """Raise BackendError (LD604) for a GPU that the kernels are not compiled for."""
        found: list[int] = []
        for attribute in (MAJOR, MINOR):
            value = ctypes.c_int()
            self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
            found.append(value.value)
        if tuple(found) != CAPABILITY:
            wanted, given = (".".join(map(str, c)) for c in (CAPABILITY, found))
            message = f"kernels are compiled for compute capability {wanted}, and this GPU has {given}"
            raise BackendError(reject("LD604", message, NOWHERE))

    def keep_memory(self, device: ctypes.c_int) -> None:
        """Have the driver keep memory that is given back, up to `KEPT` bytes, for what asks for it next."""
        self.pool, most = ctypes.c_void_p(), ctypes.c_uint64(KEPT)
        self.call("cuDeviceGetDefaultMemPool", ctypes.byref(self.pool), device)
        self.call("cuMemPoolSetAttribute", self.pool, RELEASE_THRESHOLD, ctypes.byref(most))

    def enter(self) -> None:
        """Make the context that of the current thread: each thread has its own."""
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name: str, *args: Any, asked: str = "") -> None:
        """Call a function of the driver. Raises BackendError: LD606 if there is no memory left, LD605 if it fails."""
        status = getattr(self.library, name)(*args)
        if status == OUT_OF_MEMORY:
            raise OutOfMemoryError(reject("LD606", f"the device has no memory left{asked}", NOWHERE))
        if status != 0:
            message = f"`{name}` of the CUDA driver failed with error {status}"
            raise BackendError(reject("LD605", message, NOWHERE))

    def load(self, digest: str, code: bytes, entry: str) -> None:
        """Make the kernel `entry` of a cubin known to compiled code under its digest."""
        slot = kernel_slot(digest)
        if slot.value:
            return
        library, kernel, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuLibraryLoadData", ctypes.byref(library), code, None, None, 0, None, None, 0)
        self.call("cuLibraryGetKernel", ctypes.byref(kernel), library, entry.encode())
        self.call("cuKernelGetFunction", ctypes.byref(function), kernel)
        self.call("cuFuncLoad", function)  # now: a stream that is captured into a graph loads nothing
        slot.value = kernel.value or 0  # for the context of any device, as `function` is for this one

    # -- memory ----------------------------------------------------------------------------------------------
    def empty(self, shape: tuple[int, ...], dtype: Any, order: Literal["C", "F"] = "C") -> np.ndarray:
        """An array in the device's memory, with anything in it, given back when nobody refers to it any more."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return np.ndarray(shape, dtype, self.block(size), 0, None, order)

    def block(self, size: int) -> Any:
        """So many bytes of the device's memory."""
        place, size = ctypes.c_uint64(), max(size, 1)
        self.call(
            "cuMemAllocAsync", ctypes.byref(place), ctypes.c_size_t(size), self.stream, asked=f" for {size} bytes"
        )
        return self.owned(place.value, size)

    def owned(self, place: int, size: int) -> Any:
        """Memory of the device that is given back when nobody refers to it any more."""
        block = (ctypes.c_char * size).from_address(place)
        BLOCKS[place] = size
        weakref.finalize(block, self.free, place, self.current)  # which keeps the stream, too
        return block

    def adopted(self, array: np.ndarray) -> np.ndarray:
        """An array that compiled code has made, as one that is given back when nobody refers to it any more."""
        block = self.owned(array.ctypes.data, max(array.nbytes, 1))
        return np.ndarray(array.shape, array.dtype, block, 0, array.strides)

    def clear(self, array: np.ndarray) -> None:
        """Set all bytes of an array without gaps to zero."""
        if array.size:
            size = ctypes.c_size_t(array.nbytes)
            self.call("cuMemsetD8Async", address(array), ctypes.c_ubyte(0), size, self.stream)

    def duplicate(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of the device, with gaps where it has some."""
        place, size = span_of(array)
        block = self.block(size)
        if size:
            target = ctypes.c_uint64(ctypes.addressof(block))
            self.call("cuMemcpyDtoDAsync_v2", target, ctypes.c_uint64(place), ctypes.c_size_t(size), self.stream)
        return np.ndarray(array.shape, array.dtype, block, array.ctypes.data - place, array.strides)

    def copy_within(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy an array of the device without gaps into another one of the same shape, dtype and order."""
        if source.size:
            size = ctypes.c_size_t(source.nbytes)
            self.call("cuMemcpyDtoDAsync_v2", address(target), address(source), size, self.stream)

    def free(self, place: int, stream: Stream) -> None:
        """Give memory back, once what was put on its stream before is done."""
        BLOCKS.pop(place, None)
        self.enter()  # finalizers run in any thread
        if place in SHARED:
            SHARED.discard(place)
            self.wait_for_all()
        self.call("cuMemFreeAsync", ctypes.c_uint64(place), ctypes.c_void_p(stream.number))

    def share(self, array: np.ndarray) -> None:
        """Have the memory of an array given back only once the device is idle: others use it on any stream."""
        place = array.ctypes.data
        SHARED.update(begin for begin, size in BLOCKS.copy().items() if begin <= place < begin + size)

    @contextmanager
    def running(self, stream: Stream | None = None) -> Iterator[None]:
        """Everything here, in this thread alone, goes to one stream: that of the calls around, or the default one."""
        with locked():
            before, in_slot = self.current, SLOTS["stream"].value
            OF_THREAD.stream = before if stream is None else stream
            SLOTS["stream"].value = self.current.number
            try:
                yield
            finally:
                OF_THREAD.stream, SLOTS["stream"].value = before, in_slot

    @property
    def current(self) -> Stream:
        """The stream of this thread."""
        return getattr(OF_THREAD, "stream", DEFAULT)

    @property
    def stream(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.current.number)

    def free_held(self) -> None:
        """Give back what compiled code has asked for, and left where it raised."""
        for place in HELD[1 : 1 + HELD[0]]:
            self.call("cuMemFreeAsync", ctypes.c_uint64(place), self.stream)
        HELD[0] = 0

    def copied_in(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of the host in the device's memory, C- or F-ordered as it is itself."""
        order = order_of(array)
        dense = np.asarray(array, order=order)
        found = self.empty(dense.shape, dense.dtype, order)
        if dense.size:
            self.call(
                "cuMemcpyHtoDAsync_v2", address(found), pointer(dense), ctypes.c_size_t(dense.nbytes), self.stream
            )
            self.synchronize()
        return found

    def copy_out(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy an array of the device without gaps into one of the host, of the same shape."""
        order = order_of(source)
        is_same = source.strides == target.strides
        dense = target if is_same else np.empty(source.shape, source.dtype, order)
        if dense.size:
            self.call(
                "cuMemcpyDtoHAsync_v2", pointer(dense), address(source), ctypes.c_size_t(dense.nbytes), self.stream
            )
            self.synchronize()
        if not is_same:
            target[...] = dense

    def fetched(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of the device in the host's memory, with gaps where it has some."""
        place, size = span_of(array)
        block = np.empty(max(size, 1), np.uint8)
        if size:
            source, amount = ctypes.c_uint64(place), ctypes.c_size_t(size)
            self.call("cuMemcpyDtoHAsync_v2", pointer(block), source, amount, self.stream)
            self.synchronize()
        return np.ndarray(array.shape, array.dtype, block.data, array.ctypes.data - place, array.strides)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Wait for all that was put on a stream, or on the one that everything goes to."""
        self.call("cuStreamSynchronize", self.stream if stream is None else ctypes.c_void_p(stream.number))

    def wait_for_all(self) -> None:
        """Wait until the device is idle."""
        self.call("cuCtxSynchronize")

    def pool_bytes(self) -> tuple[int, int]:
        """Bytes of the driver's pool: those in use, and all that it holds."""
        found: list[int] = []
        for attribute in (IN_USE, RESERVED):
            value = ctypes.c_uint64()
            self.call("cuMemPoolGetAttribute", self.pool, attribute, ctypes.byref(value))
            found.append(value.value)
        return found[0], found[1]


def address(array: np.ndarray) -> ctypes.c_uint64:
    return ctypes.c_uint64(array.ctypes.data)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@cache
def library() -> Any:
    """The driver's library if it is there, and a GPU with it."""
    for name in LIBRARIES:
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        number = ctypes.c_int()
        if found.cuInit(0) == 0 and found.cuDeviceGetCount(ctypes.byref(number)) == 0 and number.value:
            return found
    return None


def is_there() -> bool:
    """Whether this machine has a GPU."""
    return library() is not None


@cache
def started_driver() -> Driver:
    return Driver(library())


def the_driver() -> Driver:
    """The driver of this machine, for the current thread. Raises BackendError (LD604) where there is none, or no GPU
    that it can run kernels on."""
    if not is_there():
        raise BackendError(reject("LD604", "`target='cuda'` needs a GPU, and a driver for it", NOWHERE))
    found = started_driver()
    found.enter()
    return found
