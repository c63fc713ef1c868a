"""The Numba type of a SIMD vector, how it is stored, and how wide vectors are on this machine."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir as llvm_ir
from llvmlite.binding import get_process_triple
from numba.core import config, types
from numba.core.codegen import get_host_cpu_features
from numba.extending import models, register_model

ELEMENTS: dict[str, types.Type] = {
    "float64": types.float64,
    "float32": types.float32,
    "int64": types.int64,
    "bool": types.boolean,
}
ITEM_BITS = {"float64": 64, "float32": 32, "int64": 64, "bool": 64}
LLVM_ELEMENTS: dict[types.Type, llvm_ir.Type] = {
    types.float64: llvm_ir.DoubleType(),
    types.float32: llvm_ir.FloatType(),
    types.int64: llvm_ir.IntType(64),
    types.boolean: llvm_ir.IntType(1),
}


class Vector(types.Type):
    """`width` lanes of `element` (float64, float32, int64 or boolean; a vector of booleans is a mask)."""

    def __init__(self, element: types.Type, width: int) -> None:
        if element not in LLVM_ELEMENTS or width < 1:
            raise TypeError(f"no vector of {width} x {element}")
        self.element = element
        self.width = width
        super().__init__(name=f"vector({element}, {width})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """A vector is one LLVM vector value, in registers and in memory."""

    def __init__(self, manager: Any, fe_type: Vector) -> None:
        super().__init__(manager, fe_type, llvm_ir.VectorType(LLVM_ELEMENTS[fe_type.element], fe_type.width))


def element_of(ty: types.Type) -> types.Type | None:
    """The element type of a vector, or the lane type that a Numba scalar becomes; None for anything else."""
    ty = types.unliteral(ty)
    if isinstance(ty, Vector):
        return ty.element
    if isinstance(ty, types.Boolean):
        return types.boolean
    if isinstance(ty, types.Integer):
        return types.int64
    return ty if ty in (types.float64, types.float32) else None


def width_of(ty: types.Type) -> int:
    """The number of lanes of a vector, 0 for a scalar."""
    return ty.width if isinstance(ty, Vector) else 0


def shaped(element: types.Type, width: int) -> types.Type:
    """The vector of that element and width, or the scalar itself when `width` is 0."""
    return Vector(element, width) if width else element


def join(*operands: types.Type) -> tuple[types.Type, int] | None:
    """Element and width that `operands` are brought to before an operation; None if they do not fit together.

    Scalars take the element type of the vectors (a Python float beside a float32 vector stays float32),
    unless a float meets an integer vector. All vectors must have one width.
    """
    widths = {width_of(t) for t in operands} - {0}
    elements = [e for t in operands if (e := element_of(t)) is not None]
    if len(widths) > 1 or len(elements) < len(operands):
        return None
    leading = [e for e, t in zip(elements, operands, strict=True) if width_of(t)] or elements
    element = max(leading, key=RANK.__getitem__)
    if element in (types.int64, types.boolean):
        element = max(elements, key=RANK.__getitem__)
    return element, widths.pop() if widths else 0


RANK = {types.boolean: 0, types.int64: 1, types.float32: 2, types.float64: 3}


def cpu_features() -> frozenset[str]:
    """The CPU features that Numba compiles for (its own overrides included), as LLVM names them."""
    override = getattr(config, "CPU_FEATURES", None)
    return features_of_host() if override is None else features_in(str(override))


@cache
def features_of_host() -> frozenset[str]:
    """Those of this machine, which LLVM takes a millisecond to find."""
    return features_in(get_host_cpu_features())


def features_in(text: str) -> frozenset[str]:
    return frozenset(f[1:] for f in text.split(",") if f.startswith("+"))


def vector_bits() -> int:
    """The widest vector register, in bits, of the machine that Numba compiles for; 0 if it has none."""
    features = cpu_features()
    for needed, bits in (("avx512f", 512), ("avx2", 256), ("sse2", 128), ("neon", 128), ("vsx", 128)):
        if needed in features:
            return bits
    # These baselines always have 128-bit registers, though LLVM does not always list the feature.
    return 128 if get_process_triple().split("-")[0] in ("x86_64", "aarch64", "arm64") else 0


def has_mask_registers() -> bool:
    """Whether masks have registers of their own, as in AVX-512: masked loads and stores take no longer than others."""
    return vector_bits() == 512


def host_width(dtype: str, bits: int | None = None) -> int:
    """Lanes of `dtype` ("float64", "float32", "int64" or "bool") in a register of `bits` (None: the
    host's)."""
    return max(1, (vector_bits() if bits is None else bits) // ITEM_BITS[dtype])
