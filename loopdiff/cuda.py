"""Arrays in the GPU's memory for those who have no other library for them, and what of that memory is in use."""

from __future__ import annotations

from typing import Any

import numpy as np

from loopdiff.memory.foreign import DeviceArray

__all__ = ["DeviceArray", "memory_in_use", "to_device"]


def to_device(array: Any) -> DeviceArray:
    """A copy of a NumPy array in the GPU's memory, in the same order; one that is there already as it is.

    Functions for `target="cuda"` take it without copies, as CuPy, PyTorch, JAX and Numba do; `copy_to_host()` fetches
    it. Raises BackendError: LD604 without a GPU, LD606 if there is no memory left.
    """
    from loopdiff.backends.cuda.driver import the_driver

    if isinstance(array, DeviceArray):
        return array
    return DeviceArray(the_driver().copied_in(np.asarray(array)))


def memory_in_use() -> tuple[int, int]:
    """Bytes of the pool that loopdiff's arrays come from: those in use, and all that it holds for the next ones.

    The pool is the driver's; it keeps 1 GiB at most beyond what is in use. Raises BackendError (LD604) without a GPU.
    """
    from loopdiff.backends.cuda.driver import the_driver

    return the_driver().pool_bytes()
