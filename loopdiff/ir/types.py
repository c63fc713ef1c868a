"""Scalar types of expressions and types of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal


class ScalarType(Enum):
    """The four types an expression can have. Narrow integer elements widen to INT when loaded."""

    BOOL = "bool"
    INT = "int64"
    F32 = "float32"
    F64 = "float64"

    @property
    def is_float(self) -> bool:
        return self in (ScalarType.F32, ScalarType.F64)


BOOL, INT, F32, F64 = ScalarType.BOOL, ScalarType.INT, ScalarType.F32, ScalarType.F64

Layout = Literal["C", "F", "A"]
ELEMENT_TYPES = {
    "float64": F64, "float32": F32, "bool": BOOL,
    "int8": INT, "int16": INT, "int32": INT, "int64": INT,
    "uint8": INT, "uint16": INT, "uint32": INT,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayType:
    """dtype (a NumPy name out of `ELEMENT_TYPES`), rank and memory layout of an array.

    `units` are axes of an argument that have one element, where that decides how it is broadcast.
    """

    dtype: str
    rank: int
    layout: Layout = "C"
    units: tuple[int, ...] = ()

    @property
    def element(self) -> ScalarType:
        return ELEMENT_TYPES[self.dtype]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(':' * self.rank)}]{'' if self.layout == 'C' else ' ' + self.layout}"
