"""Whole arrays of float32 rounded to halves, as gradients are in the end: NumPy converts one number after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock

from loopdiff.backends.cpu.direct import Direct
from loopdiff.backends.cpu.simd import get, load, put, store
from loopdiff.backends.cpu.simd.halves import HALVES
from loopdiff.backends.machine_code import kept
from loopdiff.settings.deferred import deferred_interrupts

# To type checkers, what functions of the typing context are when they are called.
load_lanes, store_lanes, load_one, store_one = cast(tuple[Any, ...], (load, store, get, put))


@kept
@njit(nogil=True, pipeline_class=Direct)
def round_row(found: Any, out: Any) -> None:
    """`out[i] = found[i]`, 16 at once."""
    count = found.shape[0]
    whole = count - count % 16
    for i in range(0, whole, 16):
        store_lanes(out, (i,), load_lanes(found, (i,), 16))
    for i in range(whole, count):
        store_one(out, (i,), load_one(found, (i,)))


@cache
def rounding_of(dtype: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """The entry point of `round_row` for rows of float32 and of a half."""
    row: Any = round_row
    with deferred_interrupts(), global_compiler_lock:
        entry = row.compile((types.Array(types.float32, 1, "C"), types.Array(HALVES[dtype], 1, "C")))
    return cast(Callable[[np.ndarray, np.ndarray], None], entry)


def rounded_copy(array: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """A dense `array` of float32 in a new one of the half `dtype`, rounded to the nearest, of two to the even one."""
    out = np.empty_like(array, dtype)
    rounding_of(dtype.name)(array.ravel(order="K"), out.ravel(order="K"))
    return out
