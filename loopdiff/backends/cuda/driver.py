"""The CUDA driver: what is asked of `libcuda`, and memory of the device as arrays.

An array over the device's memory is a NumPy array that nobody may look into: only its address, shape and strides are
used, by compiled code. The driver is loaded at the first use; `use` puts another one in its place.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import weakref
from functools import cache
from typing import Any, Literal

import numpy as np

from loopdiff.backends.cuda.launching import FUNCTIONS, SLOTS, kernel_slot
from loopdiff.backends.cuda.needs import CAPABILITY
from loopdiff.codes import reject
from loopdiff.errors import NOWHERE, BackendError

LIBRARIES = ("libcuda.so.1", "nvcuda.dll")
RELEASE_THRESHOLD, OUT_OF_MEMORY = 4, 2  # numbers of the driver's: an attribute of pools, and an error
KEPT = 1 << 30  # bytes
MAJOR, MINOR = 75, 76  # attributes: the compute capability
BLOCKS: dict[int, int] = {}  # where arrays of the device begin that Python knows, and how many bytes they have


def is_on_device(array: np.ndarray) -> bool:
    """Whether the array is one of the device, which nobody may look into."""
    place = array.ctypes.data
    return place in BLOCKS or any(begin <= place < begin + size for begin, size in list(BLOCKS.items()))


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
        pool, most = ctypes.c_void_p(), ctypes.c_uint64(KEPT)
        self.call("cuDeviceGetDefaultMemPool", ctypes.byref(pool), device)
        self.call("cuMemPoolSetAttribute", pool, RELEASE_THRESHOLD, ctypes.byref(most))

    def enter(self) -> None:
        """Make the context that of the current thread: each thread has its own."""
        self.call("cuCtxSetCurrent", self.context)

    def call(self, name: str, *args: Any) -> None:
        status = getattr(self.library, name)(*args)
        if status == OUT_OF_MEMORY:
            raise BackendError(reject("LD606", "the device has no memory left", NOWHERE))
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
        slot.value = function.value or 0

    # -- memory ----------------------------------------------------------------------------------------------
    def empty(self, shape: tuple[int, ...], dtype: Any, order: Literal["C", "F"] = "C") -> np.ndarray:
        """An array in the device's memory, with anything in it, given back when nobody refers to it any more."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        place = ctypes.c_uint64()
        self.call("cuMemAllocAsync", ctypes.byref(place), ctypes.c_size_t(max(size, 1)), self.stream)
        block = (ctypes.c_char * max(size, 1)).from_address(place.value)
        found = np.ndarray(shape, dtype, block, 0, None, order)
        BLOCKS[place.value] = max(size, 1)
        weakref.finalize(block, self.free, place.value)
        return found

    def free(self, place: int) -> None:
        BLOCKS.pop(place, None)
        self.enter()  # finalizers run in any thread
        self.call("cuMemFreeAsync", ctypes.c_uint64(place), self.stream)

    @property
    def stream(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(SLOTS["stream"].value)

    def copied_in(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of the host in the device's memory, C- or F-ordered as it is itself."""
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        dense = np.asarray(array, order=order)
        found = self.empty(dense.shape, dense.dtype, order)
        if dense.size:
            self.call(
                "cuMemcpyHtoDAsync_v2", address(found), pointer(dense), ctypes.c_size_t(dense.nbytes), self.stream
            )
            self.synchronize()
        return found

    def copy_out(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copy an array of the device into one of the host, of the same shape."""
        order: Literal["C", "F"] = "F" if source.flags.f_contiguous and not source.flags.c_contiguous else "C"
        is_same = source.strides == target.strides
        dense = target if is_same else np.empty(source.shape, source.dtype, order)
        if dense.size:
            self.call(
                "cuMemcpyDtoHAsync_v2", pointer(dense), address(source), ctypes.c_size_t(dense.nbytes), self.stream
            )
            self.synchronize()
        if not is_same:
            target[...] = dense

    def synchronize(self) -> None:
        self.call("cuStreamSynchronize", self.stream)


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
        count = ctypes.c_int()
        if found.cuInit(0) == 0 and found.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value:
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
