"""Which kernels the lists of updates of a module need, and the lines that make functions of the host from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numba.core import types
from numba.np.numpy_support import from_dtype

from loopdiff.ir.types import ArrayType

I32, I64 = (types.Array(kind, 1, "C") for kind in (types.int32, types.int64))
PARAMETERS = {
    "count_digits": ("places", "counts", "shift", "bits"),
    "sum_tiles": ("numbers", "sums"),
    "scan_tiles": ("numbers", "sums"),
    "move_updates": ("places", "values", "starts", "new_places", "new_values", "shift", "bits", "width"),
    "fold_updates": ("places", "values", "target", "before_first", "width", "left_places", "left_values"),
    "fold_rest": ("places", "values", "target", "before_first", "width", "left_places", "left_values"),
}


@dataclass(slots=True)
class Lists:
    """Arrays, by type, that lists are added to, and whether numbers of updates are scanned."""

    targets: set[ArrayType] = field(default_factory=set)
    has_offsets: bool = False

    def add_name(self, kind: ArrayType) -> str:
        """The name of the function that adds a list to an array of this type."""
        return f"add_listed_{suffix(kind)}"

    def kernels(self) -> Iterator[tuple[str, str, tuple[types.Type, ...]]]:
        """For each kernel its name, the function that all its threads call, and its signature."""
        if self.targets:
            yield "count_digits", "count_digits", (I32, I32, types.int64, types.int64)
        scanned = [*([I32] if self.targets else []), *([I64] if self.has_offsets else [])]
        for numbers in scanned:
            for function in ("sum_tiles", "scan_tiles"):
                yield f"{function}_{numbers.dtype}", function, (numbers, I64)
        for dtype in sorted({t.dtype for t in self.targets}):
            values = array_type(ArrayType(dtype, 1))
            yield f"move_{dtype}", "move_updates", (I32, values, I32, I32, values, *(types.int64,) * 3)
        for kind in self.sorted_targets():
            values = array_type(ArrayType(kind.dtype, 1))
            given = (I32, values, array_type(kind), types.int64, types.int64, I32, values)
            yield f"fold_{suffix(kind)}", "fold_updates", given
            yield f"fold_rest_{suffix(kind)}", "fold_rest", given

    def host_lines(self) -> Iterator[str]:
        """Lines of the host's module, where kernels are known by their names."""
        if self.targets or self.has_offsets:
            yield "from loopdiff.backends.cuda.sorting import adding, scanning, sorting"
        if self.has_offsets:
            yield "scan_int64 = scanning(sum_tiles_int64_kernel, scan_tiles_int64_kernel)"
        if self.targets:
            yield "scan_int32 = scanning(sum_tiles_int32_kernel, scan_tiles_int32_kernel)"
        for dtype in sorted({t.dtype for t in self.targets}):
            yield f"sort_{dtype} = sorting(count_digits_kernel, scan_int32, move_{dtype}_kernel)"
        for kind in self.sorted_targets():
            folds = f"fold_{suffix(kind)}_kernel, fold_rest_{suffix(kind)}_kernel"
            yield f"{self.add_name(kind)} = adding(sort_{kind.dtype}, {folds}, np.{kind.dtype})"

    def sorted_targets(self) -> list[ArrayType]:
        return sorted(self.targets, key=suffix)


def suffix(kind: ArrayType) -> str:
    return f"{kind.dtype}_{kind.rank}{kind.layout}"


def array_type(kind: ArrayType) -> types.Array:
    return types.Array(from_dtype(np.dtype(kind.dtype)), kind.rank, kind.layout)
