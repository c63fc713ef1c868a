"""Arrays in every layout, each inside a larger block whose other bytes nobody may touch.

Those bytes make up NaN in every floating type, so that what reads them is noticed as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal
from unittest.mock import patch

import numpy as np

from loopdiff.calls import runs
from loopdiff.immutable import replace
from loopdiff.memory.arena import Order, Sizes
from loopdiff.memory.host import HOST

MemoryLayout = Literal["C", "F", "strided", "reversed", "apart", "shifted", "downward"]
SENTINEL = 0xFF
MARGIN = 256  # bytes before and behind an array
PADDING = 3  # elements between rows that lie apart


def laid_out(array: np.ndarray, layout: MemoryLayout) -> np.ndarray:
    """A guarded copy of `array` in the memory order `layout`.

    `strided` takes every second element, `reversed` goes down the first axis and `downward` the last one, `apart` has
    rows that are slices of longer ones (of one axis: a column of a matrix), `shifted` begins beside a vector's start.
    """
    found = placed(np.shape(array), array.dtype, layout)
    found[...] = array
    return found


def placed(shape: tuple[int, ...], dtype: np.dtype[Any], layout: MemoryLayout) -> np.ndarray:
    match layout:
        case "C" | "F":
            return block_of(shape, dtype, order=layout)
        case "shifted":
            return block_of(shape, dtype, shift=dtype.itemsize)
        case "reversed":
            return block_of(shape, dtype)[::-1]
        case "downward":
            return block_of(shape, dtype)[..., ::-1]
        case "strided":
            return block_of((*shape[:-1], 2 * shape[-1]), dtype)[..., ::2]
        case "apart" if len(shape) > 1:
            return block_of((*shape[:-1], shape[-1] + PADDING), dtype)[..., 1 : 1 + shape[-1]]
        case "apart":
            return block_of((*shape, PADDING), dtype)[..., 1]


def block_of(
    shape: tuple[int, ...], dtype: np.dtype[Any], *, order: Literal["C", "F"] = "C", shift: int = 0
) -> np.ndarray:
    """An array that fills its block but for the margins."""
    size = math.prod(shape) * dtype.itemsize
    block = np.full(size + 2 * MARGIN + 64, SENTINEL, np.uint8)
    start = MARGIN + shift + -(block.ctypes.data + MARGIN) % 64
    return np.ndarray(shape, dtype, block, start, order=order)


def again(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides in a block of its own, if `array` has a guarded one; else a plain copy."""
    block = array.base
    if not is_guarded(array) or block is None:
        return array.copy()
    start = address(array) - address(block)
    fresh = np.full(block.size, SENTINEL, np.uint8)
    found = np.ndarray(array.shape, array.dtype, fresh, start, array.strides)
    found[...] = array
    return found


def is_guarded(array: Any) -> bool:
    base = getattr(array, "base", None)
    return isinstance(base, np.ndarray) and base.dtype == np.uint8 and base.size >= 2 * MARGIN


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def is_intact(array: np.ndarray) -> bool:
    """Whether the bytes around a guarded array, and between its elements, are what they were."""
    block = array.base
    assert block is not None
    outside = np.full(block.size, 1, np.uint8)
    start = address(array) - address(block)
    inside = np.ndarray((*array.shape, array.itemsize), np.uint8, outside, start, (*array.strides, 1))
    inside[...] = 0
    return bool(np.all(block[outside != 0] == SENTINEL))


def damaged(values: Mapping[str, Any]) -> Iterator[str]:
    """Names of arrays around which something was written."""
    return (name for name, value in values.items() if is_guarded(value) and not is_intact(value))


class Watched:
    """The host's memory with every array in a block of its own, guarded, and NaN where nothing was asked for."""

    def __init__(self) -> None:
        self.made: list[np.ndarray] = []
        self.memory = replace(HOST, empty=self.empty, zeros=self.zeros, allocate=self.allocate, copy=self.copy)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Order, size: int) -> np.ndarray:
        found = block_of(shape, dtype, order=order)
        self.made.append(found)
        return found

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Order, size: int) -> np.ndarray:
        found = self.empty(shape, dtype, order, size)
        found.fill(0)
        return found

    def allocate(
        self, sizes: Sizes, dtypes: Sequence[np.dtype[Any]], orders: Sequence[Order]
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        return tuple(self.empty(*each, 0) for each in zip(sizes, dtypes, orders, strict=True))

    def copy(self, array: np.ndarray) -> np.ndarray:
        if not is_guarded(array):
            return HOST.copy(array)
        self.made.append(again(array))
        return self.made[-1]

    @contextmanager
    def used(self) -> Iterator[Watched]:
        """Functions that are compiled meanwhile ask for this memory."""
        with patch.object(runs, "HOST", self.memory):
            yield self

    def damaged(self) -> Iterator[str]:
        return (f"{a.dtype} array of shape {a.shape} that loopdiff made" for a in self.made if not is_intact(a))
