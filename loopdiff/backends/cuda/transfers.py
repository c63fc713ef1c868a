"""Arrays on their way to the device and back, around a function for GPUs that is called from Python.

An array of the host is copied in before, and out after if the function writes it; one that is on the device stays
there. Nothing comes back from a function that raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loopdiff.backends.cuda.driver import Driver, is_on_device, the_driver
from loopdiff.ir.nodes import LoopSet
from loopdiff.ir.walk import written_arrays


def with_transfers(ls: LoopSet, entry: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled function of `ls` for arrays of the host and of the device. BackendError (LD604) without a GPU."""
    arrays = [k for k, name in enumerate(ls.params) if ls.has_array(name)]
    written = [k for k in arrays if ls.params[k] in written_arrays(ls.body)]

    def call(*args: Any) -> Any:
        driver = the_driver()
        sent = list(args)
        for k in arrays:
            if not is_on_device(args[k]):
                sent[k] = driver.copied_in(args[k])
        found = entry(*sent)
        for k in written:
            if sent[k] is not args[k]:
                driver.copy_out(sent[k], args[k])
        own = {v.ctypes.data for v in arrays_of(found)} - {sent[k].ctypes.data for k in arrays}
        try:
            if isinstance(found, tuple):
                return tuple(fetched(driver, value) for value in found)
            return fetched(driver, found)
        finally:
            for place in own:
                driver.free(place)

    return call


def arrays_of(found: Any) -> list[np.ndarray]:
    """The arrays among the results of a function."""
    return [v for v in (found if isinstance(found, tuple) else (found,)) if isinstance(v, np.ndarray)]


def fetched(driver: Driver, value: Any) -> Any:
    """A result as the host has it."""
    if not isinstance(value, np.ndarray):
        return value
    found = np.empty(value.shape, value.dtype)
    driver.copy_out(value, found)
    return found
