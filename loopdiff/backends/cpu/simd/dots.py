"""Products of a few rows with columns that are contiguous: dot products, as copies would cost more than they save."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils

from loopdiff.immutable import immutable

from .build import INT64, constant, overloaded
from .kernels import Lanes, shared_function
from .lanes import emit_sum, first_lanes
from .words import Word, counted, words

ROWS = 5  # More rows are worth copies of the columns.
COLUMNS = 8  # Columns at a time: so many sums hide the latency of each.


@immutable
class Dots:
    """C[r, c] = scale * the sum over s of A[r, s] * B[s, c], or C += that; A and B are contiguous along the sum."""

    lanes: Lanes

    def function(self, module: Any) -> Any:
        """c, c_row, a, a_row, b, b_col, rows, columns, count, is_sum, scale."""
        kinds = [*[INT64] * 10, self.lanes.scalar]
        return shared_function(module, f"loopdiff.dots.{self.lanes.scalar}", kinds, self.body, is_unrolled=True)

    def body(self, builder: Any, *args: Any) -> None:
        c, c_row, a, a_row, b, b_col, rows, columns, count, is_sum = words(builder, args[:-1])
        size = self.lanes.itemsize
        with counted(builder, columns, COLUMNS) as column, counted(builder, rows) as row:
            last = columns - column - 1
            places = [b + (column + last.least(k)) * b_col for k in range(COLUMNS)]
            sums = self.sums(builder, a + row * a_row, places, count)
            for k, total in enumerate(sums):
                with builder.if_then(last.test(">=", k)):
                    pointer = builder.bitcast(
                        (c + row * c_row + (column + k) * size).pointer, self.lanes.scalar.as_pointer()
                    )
                    old = builder.load(pointer, align=size, typ=self.lanes.scalar)
                    kept = builder.select(is_sum.test("!=", 0), old, constant(self.lanes.scalar, 0))
                    builder.store(overloaded(builder, "llvm.fmuladd", total, args[-1], kept), pointer, align=size)

    def sums(self, builder: Any, a: Word, places: list[Word], count: Word) -> list[Any]:
        """The dot products of what lies at `a` with what lies at each of the places."""
        vector, width, size = self.lanes.vector, self.lanes.width, self.lanes.itemsize
        held = [cgutils.alloca_once_value(builder, constant(vector, 0)) for _ in places]
        full = count // width * width

        def add(first: Word, mask: Any) -> None:
            left = self.lanes.load(builder, (a + first * size).pointer, mask)
            for cell, place in zip(held, places, strict=True):
                right = self.lanes.load(builder, (place + first * size).pointer, mask)
                old = builder.load(cell, typ=vector)
                builder.store(overloaded(builder, "llvm.fmuladd", left, right, old), cell)

        for cell in held:
            builder.store(constant(vector, 0), cell)
        with counted(builder, full, width) as first:
            add(first, None)
        with builder.if_then(full.test("<", count)):
            add(full, first_lanes(builder, (count - full).value, width))
        return [emit_sum(builder, self.lanes.element, builder.load(cell, typ=vector)) for cell in held]
