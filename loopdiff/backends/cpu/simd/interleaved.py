"""Lanes that lie a few elements apart, among others that belong to nobody: whole vectors, and a shuffle."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from numba.core import types

from loopdiff.immutable import immutable

from .apart import Apart
from .build import INT8, INT64, constant, llvm_type, shuffle
from .places import Place, whole_load, whole_store
from .types import has_mask_registers


@immutable
class Interleaved:
    """`width` lanes, one in each `step` elements from the pointer `first` on.

    `step` vectors hold them at most, the last of which ends with the last lane: no other memory is touched.
    """

    first: Any
    step: int
    width: int

    def pieces(self) -> Iterator[tuple[int, dict[int, int]]]:
        """Where each vector starts, in elements, and which lane each of its elements is, where that is one."""
        last = (self.width - 1) * (self.step - 1)
        begun: set[int] = set()
        for start in (min(self.width * k, last) for k in range(self.step)):
            own = range(-(-start // self.step), (start + self.width - 1) // self.step + 1)
            lanes = {n * self.step - start: n for n in own if n not in begun}
            begun |= set(own)
            if lanes:
                yield start, lanes

    def pointer(self, builder: Any, at: Place, start: int) -> Any:
        return builder.gep(self.first, [INT64(start * at.itemsize)], source_etype=INT8)

    def load(self, builder: Any, at: Place, mask: Any) -> Any:
        found: list[tuple[Any, dict[int, int]]] = []
        for start, lanes in self.pieces():
            own = None if mask is None else self.spread(builder, mask, lanes)
            value = whole_load(builder, at, self.pointer(builder, at, start), self.width, own)
            found.append((value, {lane: place for place, lane in lanes.items()}))

        def joined(left: tuple[Any, dict[int, int]], right: tuple[Any, dict[int, int]]) -> tuple[Any, dict[int, int]]:
            picks = [
                self.width + right[1][lane] if lane in right[1] else left[1].get(lane, 0) for lane in range(self.width)
            ]
            return shuffle(builder, left[0], picks, right[0]), {lane: lane for lane in range(self.width)}

        return reduce(joined, found)[0]

    def spread(self, builder: Any, lanes_of: Any, places: dict[int, int]) -> Any:
        """The lanes of a vector at their `places` among the elements of a piece, and zeros between them."""
        zeros = constant(lanes_of.type, 0)
        return shuffle(builder, lanes_of, [places.get(k, self.width) for k in range(self.width)], zeros)

    def store(self, builder: Any, at: Place, value: Any, mask: Any) -> None:
        if not has_mask_registers():
            Apart(self.first, INT64(self.step * at.itemsize), self.width).store(builder, at, value, mask)
            return
        mask = constant(llvm_type(types.boolean, self.width), 1) if mask is None else mask
        for start, lanes in self.pieces():
            lanes_of, own = (self.spread(builder, v, lanes) for v in (value, mask))
            whole_store(builder, at, self.pointer(builder, at, start), lanes_of, own)
