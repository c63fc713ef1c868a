"""What is done to arrays of the device outside of compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from loopdiff.backends.cuda.driver import is_on_device, the_driver
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.memory.arena import Order, Sizes
from loopdiff.memory.device_checksum import checksum
from loopdiff.memory.guards import Mixer
from loopdiff.memory.host import Memory
from loopdiff.settings.options import Check


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: Order, size: int) -> np.ndarray:
    return the_driver().empty(shape, dtype, order)


def zeros(shape: tuple[int, ...], dtype: np.dtype[Any], order: Order, size: int) -> np.ndarray:
    driver = the_driver()
    found = driver.empty(shape, dtype, order)
    driver.clear(found)
    return found


def allocate(
    sizes: Sizes, dtypes: Sequence[np.dtype[Any]], orders: Sequence[Order]
) -> tuple[np.ndarray, ...]:  # fmt: skip
    driver = the_driver()
    return tuple(driver.empty(*each) for each in zip(sizes, dtypes, orders, strict=True))


def copy(array: np.ndarray) -> np.ndarray:
    return the_driver().duplicate(array) if is_on_device(array) else array.copy(order="K")


def clear(array: np.ndarray) -> None:
    the_driver().clear(array)


def cast(array: np.ndarray, dtype: np.dtype[Any], order: Order, target: np.ndarray | None) -> np.ndarray:
    """Raises ArgumentError (LD609) for an array of the device in another dtype or order: only kernels could convert
    it."""
    driver = the_driver()
    if not is_on_device(array):
        found = driver.copied_in(np.asarray(array, dtype, order=order))
        if target is None:
            return found
        array = found
    is_dense = array.flags.f_contiguous if order == "F" else array.flags.c_contiguous
    if array.dtype != dtype or not is_dense:
        wanted = f"{dtype.name} in {'Fortran' if order == 'F' else 'C'} order"
        raise ArgumentError(reject("LD609", f"an array of the device is not {wanted}, as it is needed here", NOWHERE))
    found = driver.empty(array.shape, dtype, order) if target is None else target
    driver.copy_within(array, found)
    return found


def mark(check: Check, array: np.ndarray, mix: Mixer) -> int | None:
    """A checksum; None for arrays with gaps, which nobody watches."""
    return checksum(array) if array.flags.forc else None


def holds(found: int | None, array: np.ndarray, mix: Mixer) -> bool:
    return found is None or found == checksum(array)


def readable(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(the_driver().fetched(a) if isinstance(a, np.ndarray) and is_on_device(a) else a for a in args)


def place() -> Any:
    return the_driver().current


DEVICE = Memory(empty, zeros, allocate, copy, clear, cast, mark, holds, readable, place)
