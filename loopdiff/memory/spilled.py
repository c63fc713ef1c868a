"""Arrays between the sweeps in files: runs that need more than there is of memory, and less than there is of disk.

A file has no name from the start, or is deleted when it is closed, so nothing is left of it however the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from mmap import mmap
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from loopdiff.errors import NOWHERE, OutOfMemoryError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.memory.arena import Order, Sizes, allocate, size_in_bytes

LEAST_SPILLED = 1 << 20  # bytes: what is smaller stays in memory


@immutable
class Spill:
    """Workspaces of which the arrays at `positions` are in files of a `folder`, where they are large."""

    folder: str
    positions: frozenset[int]

    def is_in_file(self, position: int, size: int) -> bool:
        """Whether the array at a position, of so many bytes, is in a file."""
        return position in self.positions and size >= LEAST_SPILLED

    def allocate(
        self, sizes: Sizes, dtypes: Sequence[np.dtype[Any]], orders: Sequence[Order]
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """Arrays with anything in them, those in memory in one block."""
        kinds = list(zip(sizes, dtypes, orders, strict=True))
        filed = {k for k, (shape, dtype, _) in enumerate(kinds) if self.is_in_file(k, size_in_bytes(shape, dtype))}
        rest = [kind for k, kind in enumerate(kinds) if k not in filed]
        held = iter(allocate(tuple(s for s, _, _ in rest), [d for _, d, _ in rest], [o for _, _, o in rest]))
        return tuple(self.in_file(*kind) if k in filed else next(held) for k, kind in enumerate(kinds))

    def in_file(self, shape: tuple[int, ...], dtype: np.dtype[Any], order: Order) -> np.ndarray:
        """An array in a file of its own. Raises OutOfMemoryError (LD612) where there is no room for it."""
        size = size_in_bytes(shape, dtype)
        try:
            with TemporaryFile(dir=self.folder) as file:
                reserve(file.fileno(), size)
                return np.ndarray(shape, dtype, mmap(file.fileno(), size), order=order)
        except OSError as error:
            message = f"the folder {self.folder!r} of `spill` has no room for {size} bytes: {error.strerror}"
            raise OutOfMemoryError(reject("LD612", message, NOWHERE)) from error


def reserve(number: int, size: int) -> None:
    """Make the open file with this number `size` bytes long. Room that is only promised, as where the system has no
    function that takes it, ends the process when it is used and not there."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(number, 0, size)
    else:
        os.truncate(number, size)
