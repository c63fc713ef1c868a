"""Adjoint buffers between a caller and a reverse sweep: what they hold before it, and whose memory they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import numpy as np

from loopdiff.backends.python_objects import ALIGNED, WRITEABLE
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import written_arrays

Order = Literal["C", "F"]
PASSED_ON = WRITEABLE | ALIGNED  # as compiled code is typed


@immutable
class Recipe:
    """How the adjoint buffer of the argument at `position` is made.

    `place` is its number in the workspace, None of a gradient, which the caller gets, and of a cotangent that the sweep
    leaves as it is (`is_read_only`). `is_started`: the sweep fills it whatever it holds; others hold a cotangent, or
    zeros.
    """

    position: int
    dtype: np.dtype[Any]
    order: Order
    place: int | None
    is_started: bool
    is_read_only: bool

    def begun(
        self, cast: Callable[..., np.ndarray], scratch: np.ndarray | None, cotangent: np.ndarray
    ) -> np.ndarray:  # fmt: skip
        """The buffer, holding a cotangent: that itself, or a copy that `cast` makes, anew or in the `scratch` of the
        workspace."""
        if self.is_read_only and self.fits(cotangent):
            return cotangent
        return cast(cotangent, self.dtype, self.order, scratch)

    def fits(self, value: Any) -> bool:
        """Whether compiled code takes `value` itself."""
        if type(value) is not np.ndarray or value.dtype is not self.dtype:
            return False
        flags = value.flags
        is_dense = flags.c_contiguous if self.order == "C" else flags.f_contiguous
        return is_dense and flags.num & PASSED_ON == PASSED_ON


def recipes_of(
    normal: ir.LoopSet, reverse: ir.LoopSet, buffers: Mapping[str, str], wrt: Collection[str]
) -> list[Recipe]:
    """The recipes of `buffers`, by argument. The sweep states the shapes of those that it starts itself."""
    places = scratch_of(reverse, buffers, wrt)
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
                is_read_only=argument not in wrt and argument not in places,
            )
        )
    return out


def scratch_of(reverse: ir.LoopSet, buffers: Mapping[str, str], wrt: Collection[str]) -> list[str]:
    """The arguments whose buffers the sweep works in, and the caller does not get."""
    written = written_arrays(reverse.body)
    return [argument for argument, buffer in buffers.items() if argument not in wrt and buffer in written]
