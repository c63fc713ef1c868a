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

INTERFACE = "__cuda_array_interface__"
DEFAULT_STREAM = 1  # as the protocol counts, where zero would say nothing


class DeviceArray:
    """An array in the GPU's memory, which CuPy, PyTorch, JAX and Numba take without a copy.

    `shape`, `dtype` and `strides` are NumPy's; `copy_to_host()` gives a NumPy array. The memory is given back when
    nobody refers to it any more.
    """

    def __init__(self, held: np.ndarray) -> None:
        self.held = held
        self.shape, self.dtype, self.strides = held.shape, held.dtype, held.strides

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        place = self.held.ctypes.data if self.held.size else 0
        stream = the_driver().stream_number or DEFAULT_STREAM
        return {
            "shape": self.shape, "typestr": self.dtype.str, "strides": None if self.is_dense else self.strides,
            "data": (place, not self.held.flags.writeable), "version": 3, "stream": stream,
        }  # fmt: skip

    @property
    def is_dense(self) -> bool:
        return self.held.flags.c_contiguous

    def copy_to_host(self) -> np.ndarray:
        """The array as one of NumPy, once everything before is done."""
        return the_driver().fetched(self.held)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype.name} of shape {self.shape}>"


def is_foreign(value: Any) -> bool:
    """Whether a value is an array of the device."""
    return not isinstance(value, np.ndarray | np.generic | float | int | complex) and interface_of(value) is not None


def interface_of(value: Any) -> Mapping[str, Any] | None:
    """What an array says of itself. A tensor that PyTorch differentiates does not: what stands behind it does."""
    if is_of("torch", value):
        value = value.detach()
    return getattr(value, INTERFACE, None)


def is_of(library: str, value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == library


def borrowed(value: Any) -> np.ndarray:
    """An array of the device as one over the same memory; read-only if its owner says so, or never changes arrays."""
    if isinstance(value, DeviceArray):
        return value.held
    found = interface_of(value)
    assert found is not None
    dtype, shape = np.dtype(found["typestr"]), tuple(found["shape"])
    place, is_read_only = found["data"]
    strides = dense_strides(shape, dtype.itemsize) if found.get("strides") is None else tuple(found["strides"])
    if not all(shape):
        view = np.empty(shape, dtype)
    else:
        before, size = reach_of(shape, strides, dtype.itemsize)
        view = np.ndarray(shape, dtype, borrowed_block(place - before, size, value), before, strides)
    if is_read_only or is_of("jaxlib", value) or is_of("jax", value):
        view.flags.writeable = False
    return view


def dense_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in C order."""
    return tuple(itemsize * prod(shape[k + 1 :]) for k in range(len(shape)))


def stream_of(value: Any) -> int:
    """The stream on which the owner of an array works; the default one where that is not said."""
    if is_of("cupy", value):
        return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    if is_of("torch", value):
        return int(sys.modules["torch"].cuda.current_stream(value.device).cuda_stream)
    found = interface_of(value)
    number = int((found or {}).get("stream") or 0)
    return 0 if number == DEFAULT_STREAM else number


def in_kind(value: Any) -> Callable[[np.ndarray], Any]:
    """What makes of an array of the device one of the library of `value`; of an unknown one, a `DeviceArray`."""
    if is_of("cupy", value):
        return lambda array: sys.modules["cupy"].asarray(DeviceArray(array))
    if is_of("torch", value):
        return lambda array: sys.modules["torch"].as_tensor(DeviceArray(array), device=value.device)
    if is_of("jaxlib", value) or is_of("jax", value):
        return lambda array: sys.modules["jax"].numpy.asarray(DeviceArray(array))
    if is_of("numba", value) or is_of("numba_cuda", value):
        return lambda array: sys.modules["numba.cuda"].as_cuda_array(DeviceArray(array))
    return DeviceArray


def waits_for_nobody(value: Any) -> bool:
    """Whether a library puts what it does next on the stream that it was given results on, and need not wait."""
    return is_of("cupy", value) or is_of("torch", value)
