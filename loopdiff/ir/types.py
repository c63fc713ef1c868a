"""Scalar types of expressions and types of arrays."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from loopdiff.immutable import immutable, replace


class ScalarType(Enum):
    """The types an expression can have. Narrow integer elements widen to INT when loaded.

    The complex ones end with the front end: `frontend.binding.complex_parts` makes two real values of each complex one.
    """

    __hash__ = object.__hash__  # as of Op

    BOOL = "bool"
    INT = "int64"
    F32 = "float32"
    F64 = "float64"
    C64 = "complex64"
    C128 = "complex128"

    @property
    def is_float(self) -> bool:
        return self in (ScalarType.F32, ScalarType.F64)

    @property
    def is_complex(self) -> bool:
        return self in (ScalarType.C64, ScalarType.C128)

    @property
    def part(self) -> ScalarType:
        """The type of the real and the imaginary part; of a real type, itself."""
        return PARTS.get(self, self)


BOOL, INT, F32, F64, C64, C128 = ScalarType
PARTS = {C64: F32, C128: F64}

Layout = Literal["C", "F", "A"]
ELEMENT_TYPES = {
    "float64": F64, "float32": F32, "bool": BOOL,
    "int8": INT, "int16": INT, "int32": INT, "int64": INT,
    "uint8": INT, "uint16": INT, "uint32": INT,
    "complex64": C64, "complex128": C128,
    "float16": F32, "bfloat16": F32,
}  # fmt: skip
HALVES = ("float16", "bfloat16")  # types of elements that widen where they are loaded, and round where they are stored
NUMBER_TYPES = {n: kind for n, kind in ELEMENT_TYPES.items() if n not in HALVES}  # those that numbers have, too


@immutable
class ArrayType:
    """dtype (a NumPy name out of `ELEMENT_TYPES`), rank and memory layout of an array.

    Elements of `HALVES` are loaded as float32; what a bound LoopSet stores in them is rounded before, by an operation.

    `axes` label the extents of an argument, where they decide what is generated (see `frontend.extents`).
    `is_pair`: the last axis has extent 2 and holds the real and the imaginary part of complex elements.
    """

    dtype: str
    rank: int
    layout: Layout = "C"
    axes: tuple[int, ...] = ()
    is_pair: bool = False

    @property
    def element(self) -> ScalarType:
        return ELEMENT_TYPES[self.dtype]

    @property
    def keeps_values(self) -> bool:
        """Whether what is read is what was stored: narrow integers wrap where they are stored."""
        return self.dtype == self.element.value

    @property
    def is_half(self) -> bool:
        return self.dtype in HALVES

    @property
    def slope(self) -> ArrayType:
        """The type of derivatives of such elements: sums of many are not kept in the format of a half."""
        return replace(self, dtype=self.element.value) if self.is_half else self

    def __str__(self) -> str:
        axes = [":"] * (self.rank - self.is_pair) + ["2"] * self.is_pair
        return f"{self.dtype}[{', '.join(axes)}]{'' if self.layout == 'C' else ' ' + self.layout}"
