"""Residency of arrays in a GPU's cache across kernels, under least-recently-used replacement.

Arrays count as a whole: what is left of one is forgotten. What is written leaves the cache once, whenever that is, and
is counted when it is written.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Resident:
    """Bytes of arrays in a cache of `size` bytes, the least recently used first, and those that memory has not yet."""

    size: float
    held: dict[Hashable, float] = field(default_factory=dict)
    changed: set[Hashable] = field(default_factory=set)

    def read(self, array: Hashable, amount: float) -> float:
        """Bytes that come from memory where `amount` of an array are read."""
        moved = max(0.0, amount - self.held.get(array, 0.0))
        self.keep(array, amount)
        return moved

    def write(self, array: Hashable, amount: float) -> float:
        """Bytes that go to memory, sooner or later, where `amount` of an array are written."""
        moved = max(0.0, amount - (self.held.get(array, 0.0) if array in self.changed else 0.0))
        self.keep(array, amount)
        if array in self.held:
            self.changed.add(array)
        return moved

    def keep(self, array: Hashable, amount: float) -> None:
        self.held[array] = max(amount, self.held.pop(array, 0.0))
        while sum(self.held.values()) > self.size:
            oldest = next(iter(self.held))
            del self.held[oldest]
            self.changed.discard(oldest)
