"""Arrays of the device that other libraries own, taken and given without copies, by `__cuda_array_interface__`.

Version 3, https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html. An array is taken as a NumPy array
over the same memory, which nobody looks into (`backends.cuda.driver`), and which keeps the owner alive.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from loopdiff.backends.cuda.driver import borrowed_block, reach_of, the_driver
from loopdiff.backends.cuda.streams import DEFAULT, LEGACY, Stream, stream_numbered
from loopdiff.immutable import immutable

INTERFACE = "__cuda_array_interface__"


class DeviceArray:
    """An array in the GPU's memory, which CuPy, PyTorch, JAX and Numba take without a copy.

    `shape`, `dtype` and `strides` are NumPy's; `copy_to_host()` gives a NumPy array. The memory is given back when
    nobody refers to it any more.
    """

    def __init__(self, held: np.ndarray, *, is_in_order: bool = False) -> None:
        """`is_in_order`: who gets it works on the stream that everything goes to now, so that nobody has to wait."""
        self.held, self.is_in_order = held, is_in_order
        self.shape, self.dtype, self.strides = held.shape, held.dtype, held.strides

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = self.held.ctypes.data if self.held.size else 0
        if not self.is_in_order:
            the_driver().share(self.held)
        return {
            "shape": self.shape, "typestr": self.dtype.str, "strides": None if self.is_dense else self.strides,
            "data": (place, not self.held.flags.writeable), "version": 3,
            "stream": None if self.is_in_order else LEGACY,
        }  # fmt: skip

    @property
    def is_dense(self) -> bool:
        return self.held.flags.c_contiguous

    def copy_to_host(self) -> np.ndarray:
        """The array as one of NumPy, once everything before is done."""
        return the_driver().fetched(self.held)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype.name} of shape {self.shape}>"


@immutable
class Library:
    """What is particular to the arrays of a library.

    `made` makes one of an array of the device, as `like` is one; `bare` is what stands behind one that the library
    differentiates. `stream` is the one on which the library does what it does next: None where only arrays say which
    one that is, by a number. `ready` waits where they say none.
    """

    made: Callable[[DeviceArray, Any], Any]
    stream: Callable[[Any], Stream] | None = None
    bare: Callable[[Any], Any] = lambda value: value
    ready: Callable[[Any], object] = lambda value: None
    is_immutable: bool = False


def stream_of_cupy(value: Any) -> Stream:
    """CuPy's current stream, destroyed with its object, unless that only names one of somebody else."""
    cuda = sys.modules["cupy"].cuda
    found = cuda.get_current_stream()
    return stream_numbered(int(found.ptr), found if isinstance(found, cuda.Stream) else None)


def copied_by_jax(array: DeviceArray, like: Any) -> Any:
    """A copy: JAX keeps nobody whose memory it takes (`CudaArrayInterfaceToBuffer` in jaxlib's `py_array.cc`)."""
    return sys.modules["jax"].numpy.array(array, copy=True).block_until_ready()


def stream_of_torch(value: Any) -> Stream:
    """PyTorch's current stream. Its own ones are in a pool for good (`c10/cuda/CUDAStream.cpp`); those of others have
    their number as `stream_id`."""
    found = sys.modules["torch"].cuda.current_stream(value.device)
    is_own = found.stream_id != found.cuda_stream
    return stream_numbered(int(found.cuda_stream), found if is_own else None)


CUPY = Library(lambda array, like: sys.modules["cupy"].asarray(array), stream_of_cupy)
TORCH = Library(
    lambda array, like: sys.modules["torch"].as_tensor(array, device=like.device),
    stream_of_torch,
    lambda value: value.detach(),
)
JAX = Library(copied_by_jax, ready=lambda value: value.block_until_ready(), is_immutable=True)
NUMBA = Library(lambda array, like: sys.modules["numba.cuda"].as_cuda_array(array))
UNKNOWN = Library(lambda array, like: array)
LIBRARIES = {"cupy": CUPY, "torch": TORCH, "jax": JAX, "jaxlib": JAX, "numba": NUMBA, "numba_cuda": NUMBA}


def library_of(value: Any) -> Library:
    """The library of an array; arrays of the device that are of none we know are ours."""
    return LIBRARIES.get(type(value).__module__.partition(".")[0], UNKNOWN)


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of the device."""
    if isinstance(value, np.ndarray | np.generic | float | int | complex):
        return False
    return isinstance(value, DeviceArray) or interface_of_array(value) is not None


def interface_of_array(value: Any) -> Mapping[str, Any] | None:
    """What an array says of itself."""
    return getattr(library_of(value).bare(value), INTERFACE, None)


def borrowed(value: Any) -> np.ndarray:
    """An array of the device as one over the same memory; read-only if its owner says so, or never changes arrays."""
    if isinstance(value, DeviceArray):
        return value.held
    library_of(value).ready(value)
    found = interface_of_array(value)
    assert found is not None
    dtype, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    place, is_read_only = found["data"]
    strides = dense_strides(shape, dtype.itemsize) if found.get("strides") is None else tuple(found["strides"])
    if not all(shape):
        view = np.empty(shape, dtype)
    else:
        before, size = reach_of(shape, strides, dtype.itemsize)
        view = np.ndarray(shape, dtype, borrowed_block(place - before, size, value), before, strides)
    if is_read_only or library_of(value).is_immutable:
        view.flags.writeable = False
    return view


def dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in C order."""
    return tuple(itemsize * prod(shape[k + 1 :]) for k in range(len(shape)))


def stream_of(value: Any) -> Stream:
    """The stream on which the owner of an array works; the default one where that is not said."""
    if isinstance(value, DeviceArray):
        return DEFAULT
    current = library_of(value).stream
    if current is not None:
        return current(value)
    return stream_numbered(int((interface_of_array(value) or {}).get("stream") or 0))
