"""Mathematical functions of SIMD vectors, and the table from operation names to them."""

from __future__ import annotations

from typing import Any

from .. import scalar_math, simd
from .decided import decided_hypot
from .functions import DEFAULT, HIGH, LIBM, vector_function

__all__ = ["ACCURATE_FUNCTIONS", "VECTOR_FUNCTIONS", "vector_function", "vector_functions"]

COMMON: dict[str, Any] = {
    "sqrt": simd.sqrt, "floor": simd.floor, "ceil": simd.ceil, "trunc": simd.trunc, "round": simd.rint,
    "abs": simd.abs_, "sign": simd.sign, "copysign": simd.copysign, "min": simd.minimum, "max": simd.maximum,
    "isnan": simd.isnan, "isinf": simd.isinf, "isfinite": simd.isfinite,
    "digamma": simd.lanewise(scalar_math.digamma, is_same=True),
    "trigamma": simd.lanewise(scalar_math.trigamma, is_same=True),
}  # fmt: skip
STRICT = {"decided_hypot": decided_hypot, **{f"strict_{name}": function for name, function in LIBM.items()}}
VECTOR_FUNCTIONS: dict[str, Any] = {**COMMON, **STRICT, **DEFAULT}
ACCURATE_FUNCTIONS: dict[str, Any] = {**COMMON, **STRICT, **HIGH}
"""By operation (lower-case name of its `Op`): the intrinsic that generated code calls; operations missing
here are operators of the vector type. The first table is within 4 ulp, the second within about 1. Those named `strict`
give the bits that scalar code gives."""


def vector_functions(accuracy: str) -> dict[str, Any]:
    """The table for `accuracy` "default" or "high"."""
    return {"default": VECTOR_FUNCTIONS, "high": ACCURATE_FUNCTIONS}[accuracy]
