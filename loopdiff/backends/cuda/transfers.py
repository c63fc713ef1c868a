"""Arrays on their way to the device and back, around a function for GPUs that is called from Python.

An array of the host is copied in before, and out after if the function writes it; one that is on the device stays
there. Nothing comes back from a function that raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.backends.cuda.driver import Driver, is_on_device, the_driver
from loopdiff.errors import BackendError, OutOfMemoryError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import written_arrays


def with_transfers(ls: ir.LoopSet, entry: Callable[..., Any], *, is_on_host: bool = True) -> Callable[..., Any]:
    """The compiled function of `ls` for arrays of the host and of the device; what it returns goes to the host if
    `is_on_host`. BackendError (LD604) without a GPU."""
    arrays = [k for k, name in enumerate(ls.params) if ls.has_array(name)]
    changed = written_arrays(ls.body)
    written = [k for k in arrays if ls.params[k] in changed]
    give = to_host if is_on_host else to_caller

    def call(*args: Any) -> Any:
        driver = the_driver()
        with driver.running():
            try:
                sent = list(args)
                for k in arrays:
                    if not is_on_device(args[k]):
                        sent[k] = driver.copied_in(args[k])
                found = entry(*sent)
            except Exception as error:
                driver.free_held()
                raise with_sizes(error, ls, args) from None
            for k in written:
                if sent[k] is not args[k]:
                    driver.copy_out(sent[k], args[k])
            known = {sent[k].ctypes.data: args[k] for k in arrays}
            return give(driver, found, known)

    return call


def with_sizes(error: Exception, ls: ir.LoopSet, args: tuple[Any, ...]) -> Exception:
    """The error, with the bytes of each array if there is no memory left."""
    if not isinstance(error, BackendError) or "LD606" not in str(error):
        return error
    given = zip(ls.params, args, strict=True)
    sizes = sorted(((v.nbytes, n) for n, v in given if isinstance(v, np.ndarray)), reverse=True)
    listed = ", ".join(f"`{name}` {size}" for size, name in sizes)
    message = f"the device has no memory left for `{ls.name}`; bytes of its arrays: {listed}"
    return OutOfMemoryError(reject("LD606", message, ls.loc))


def to_host(driver: Driver, found: Any, known: Mapping[int, np.ndarray]) -> Any:
    """What a function returned, for the host; arrays of its own are given back."""
    own = {v.ctypes.data for v in arrays_of(found)} - known.keys()
    try:
        if isinstance(found, tuple):
            return tuple(on_host(driver, value) for value in found)
        return on_host(driver, found)
    finally:
        for place in own:
            driver.free(place, driver.current)


def to_caller(driver: Driver, found: Any, known: Mapping[int, np.ndarray]) -> Any:
    """What a function returned: arrays of its own become the caller's."""
    made = dict(known)

    def owned(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        place = value.ctypes.data
        if place not in made:
            made[place] = driver.adopted(value)
        return made[place]

    return tuple(map(owned, found)) if isinstance(found, tuple) else owned(found)


def arrays_of(found: Any) -> list[np.ndarray]:
    """The arrays among the results of a function."""
    return [v for v in (found if isinstance(found, tuple) else (found,)) if isinstance(v, np.ndarray)]


def on_host(driver: Driver, value: Any) -> Any:
    """A result as the host has it."""
    return driver.fetched(value) if isinstance(value, np.ndarray) else value
