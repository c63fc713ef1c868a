"""Arrays on their way to the device and back, around a function for GPUs that is called from Python.

An array of the host is copied in before, and out after if the function writes it; one that is on the device stays
there. Nothing comes back from a function that raises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
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
        driver.enter()
        sent = list(args)
        for k in arrays:
            if not is_on_device(args[k]):
                sent[k] = driver.copied_in(args[k])
        found = entry(*sent)
        for k in written:
            if sent[k] is not args[k]:
                driver.copy_out(sent[k], args[k])
        given = {sent[k].ctypes.data for k in arrays}
        if isinstance(found, tuple):
            return tuple(fetched(driver, value, given) for value in found)
        return fetched(driver, found, given)

    return call


def fetched(driver: Driver, value: Any, given: Collection[int]) -> Any:
    """A result: an array comes to the host, and its memory is given back, unless it is one that was `given`."""
    if not isinstance(value, np.ndarray):
        return value
    found = np.empty(value.shape, value.dtype)
    driver.copy_out(value, found)
    if value.ctypes.data not in given:
        driver.free(value.ctypes.data)
    return found
