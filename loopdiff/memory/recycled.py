"""Memory for gradients and copies: that of those which nobody refers to any more serves the next ones.

The C library gives large blocks back to the system when they are freed, and the system clears each page when it is
touched again: for small sweeps over large arrays that takes longer than the sweep does. Blocks are told to be free by
their reference counts: every array over one, and every view of it, refers to the block.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from itertools import cycle
from threading import RLock
from typing import Any, Literal

import numpy as np

from loopdiff.backends.python_objects import HAS_LOCK
from loopdiff.memory.arena import ALIGNMENT, LARGE_ARRAY, PAGE, STAGGER, aligned_block

LEAST = 1 << 15  # bytes: what is smaller comes from memory that stays mapped
MOST = 256 << 20  # bytes that are kept
BLOCKS, LOOKS = 64, 8  # of one size: that are kept, and that a call looks at
Block = tuple[np.ndarray, int]  # the memory, and where its first cache line starts


def references(block: Block) -> int:
    return sys.getrefcount(block[0])


FREE = references(aligned_block(0))
# Where within a page blocks begin, in turn: before those of a workspace, which are behind its beginning
PLACES = cycle(-k * STAGGER % PAGE for k in range(1, PAGE // ALIGNMENT))
IS_SAFE = HAS_LOCK  # without it, counts of references tell nothing about other threads


@dataclass(slots=True)
class Recycler:
    """Blocks by size, those used least lately first.

    Taking one and giving it back are single operations on built-in containers: nobody else sees a block while it is
    looked at. The `lock` is for the bytes that are `held`; who has it may be interrupted by a finalizer that asks for
    memory.
    """

    blocks: dict[int, deque[Block]] = field(default_factory=dict)
    held: int = 0
    lock: RLock = field(default_factory=RLock)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Literal["C", "F"], size: int) -> np.ndarray:
        """An array of `size` bytes with anything in it, which starts on a cache line."""
        if size < LEAST or not IS_SAFE:
            return np.empty(shape, dtype, order)
        waiting = self.blocks.get(size)
        for _ in range(0 if waiting is None else min(LOOKS, len(waiting))):
            try:
                block = waiting.popleft()  # type: ignore[union-attr]
            except IndexError:  # other threads look at the rest
                break
            is_free = references(block) == FREE
            found = np.ndarray(shape, dtype, block[0], block[1], None, order) if is_free else None
            waiting.append(block)  # type: ignore[union-attr]
            if found is not None:
                return found
        block = aligned_block(size, next(PLACES) if size >= LARGE_ARRAY else None)
        found = np.ndarray(shape, dtype, block[0], block[1], None, order)
        self.keep(size, block)
        return found

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Literal["C", "F"], size: int) -> np.ndarray:
        """An array of `size` bytes, all of them zero."""
        if size < LEAST or not IS_SAFE:
            return np.zeros(shape, dtype, order)
        found = self.empty(shape, dtype, order, size)
        found.fill(0)
        return found

    def keep(self, size: int, block: Block) -> None:
        """Remember the block, and forget all others where they would be too much."""
        with self.lock:
            if self.held + size > MOST:
                self.blocks, self.held = {}, 0
            waiting = self.blocks.setdefault(size, deque())
            if size <= MOST and len(waiting) < BLOCKS:
                waiting.append(block)
                self.held += size


GRADIENTS = Recycler()
