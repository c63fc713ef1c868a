"""Adjoint buffers between a caller and a reverse sweep: what they hold before it, and whose memory they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from loopdiff.ir.nodes import LoopSet
from loopdiff.ir.walk import written_arrays

Order = Literal["C", "F"]
WRITEABLE, ALIGNED = 0x400, 0x100
PASSED_ON = WRITEABLE | ALIGNED  # as compiled code is typed


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the adjoint buffer of the argument at `position` is made.

    `place` is its number in the workspace, None of a gradient, which the caller gets. `is_started`: the sweep fills
    it whatever it holds; others hold a cotangent, or zeros. `is_read_only`: the sweep leaves it as it is.
    """

    position: int
    dtype: np.dtype[Any]
    order: Order
    place: int | None
    is_started: bool
    is_read_only: bool

    def make(self, shape: tuple[int, ...], scratch: Sequence[np.ndarray], start: np.ndarray | None) -> np.ndarray:
        """The buffer for an argument of `shape`, from the `scratch` of the workspace or anew."""
        if self.place is None:
            return self.make_gradient(shape, start)
        buffer = scratch[self.place]
        if start is not None and self.is_read_only and self.fits(start):
            return start
        if start is not None:
            np.copyto(buffer, start, casting="same_kind")
        elif not self.is_started:
            buffer.fill(0)
        return buffer

    def make_gradient(self, shape: tuple[int, ...], start: np.ndarray | None) -> np.ndarray:
        if start is not None:
            return np.array(start, self.dtype, order=self.order)
        return (np.empty if self.is_started else np.zeros)(shape, self.dtype, self.order)

    def fits(self, value: Any) -> bool:
        """Whether compiled code takes `value` itself."""
        if type(value) is not np.ndarray or value.dtype is not self.dtype:
            return False
        flags = value.flags
        is_dense = flags.c_contiguous if self.order == "C" else flags.f_contiguous
        return is_dense and flags.num & PASSED_ON == PASSED_ON


def recipes_of(normal: LoopSet, reverse: LoopSet, buffers: Mapping[str, str], wrt: Collection[str]) -> list[Recipe]:
    """The recipes of `buffers`, by argument. The sweep states the shapes of those that it starts itself."""
    written, places = written_arrays(reverse.body), [p for p in buffers if p not in wrt]
    out: list[Recipe] = []
    for argument, buffer in buffers.items():
        decl = reverse.array(buffer)
        assert decl.type is not None
        out.append(
            Recipe(
                normal.params.index(argument),
                np.dtype(decl.type.dtype),
                "F" if decl.type.layout == "F" else "C",
                places.index(argument) if argument in places else None,
                is_started=decl.extents is not None,
                is_read_only=buffer not in written,
            )
        )
    return out
