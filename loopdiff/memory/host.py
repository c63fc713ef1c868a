"""Where the arrays of sweeps are, and what is done to them outside of compiled code: the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from loopdiff.immutable import immutable
from loopdiff.memory.arena import Order, Sizes, allocate
from loopdiff.memory.guards import Mixer, holds, mark_of
from loopdiff.memory.recycled import GRADIENTS
from loopdiff.settings.options import Check

Empty = Callable[[tuple[int, ...], np.dtype[Any], Order, int], np.ndarray]


@immutable
class Memory:
    """What can be done to arrays of one memory.

    `empty` and `zeros` make an array of a shape, dtype, order and number of bytes; `allocate` those of a workspace;
    `copy` one that compiled code for the same layout accepts. `cast` copies into an array of a dtype and order, or into
    one that is there. `mark` says what an array holds, for `holds` to compare with later. `readable` are arguments
    that the host may look into. `place` is where arrays are used: nowhere else without waiting for it.
    """

    empty: Empty
    zeros: Empty
    allocate: Callable[[Sizes, Sequence[np.dtype[Any]], Sequence[Order]], tuple[np.ndarray, ...]]
    copy: Callable[[np.ndarray], np.ndarray]
    clear: Callable[[np.ndarray], None]
    cast: Callable[[np.ndarray, np.dtype[Any], Order, np.ndarray | None], np.ndarray]
    mark: Callable[[Check, np.ndarray, Mixer], Any]
    holds: Callable[[Any, np.ndarray, Mixer], bool]
    readable: Callable[[tuple[Any, ...]], tuple[Any, ...]]
    place: Callable[[], Any] | None = None


def layout_preserving_copy(array: np.ndarray) -> np.ndarray:
    """A copy that compiled code for the same layout accepts: strided arrays get one with gaps, where they have some."""
    if array.ndim == 0:
        return array.copy()
    if array.flags.forc:
        found = GRADIENTS.empty(array.shape, array.dtype, "C" if array.flags.c_contiguous else "F", array.nbytes)
        np.copyto(found, array)
        return found
    steps = zip(array.strides, array.shape, strict=True)
    axis = max(k for k, (step, extent) in enumerate(steps) if extent > 1 and step != array.itemsize)
    shape = (*array.shape[:axis], 2 * array.shape[axis], *array.shape[axis + 1 :])
    padded = np.empty(shape, array.dtype)[(*[slice(None)] * axis, slice(None, None, 2))]
    padded[...] = array
    return padded


def cast_copy(array: np.ndarray, dtype: np.dtype[Any], order: Order, target: np.ndarray | None) -> np.ndarray:
    if target is None:
        return np.array(array, dtype, order=order)
    np.copyto(target, array, casting="same_kind")
    return target


HOST = Memory(
    GRADIENTS.empty, GRADIENTS.zeros, allocate, layout_preserving_copy, lambda array: array.fill(0), cast_copy,
    mark_of, holds, lambda args: args,
)  # fmt: skip
