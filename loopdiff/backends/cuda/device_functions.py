"""What kernels call, for the GPU: the functions of `emulated_functions` under the same names.

Numba's CUDA target is imported here and in `compiler`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from loopdiff.backends.cuda.spelling import BY_ZERO, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT, STATUS
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.ir import scalar_eval

jit = cuda.jit(device=True)
libdevice = cuda.libdevice
WARP, WARPS, ALL = 32, 8, 0xFFFFFFFF


@jit
def max2(a: Any, b: Any) -> Any:
    return a if a > b or a != a else b


@jit
def min2(a: Any, b: Any) -> Any:
    return a if a < b or a != a else b


@jit
def sign_i64(x: Any) -> Any:
    return np.int64(x > 0) - np.int64(x < 0)


@jit
def sign_f64(x: Any) -> Any:
    return libdevice.copysign(1.0, x) if x > 0.0 or x < 0.0 else x


@jit
def sign_f32(x: Any) -> Any:
    return libdevice.copysignf(np.float32(1.0), x) if x > np.float32(0.0) or x < np.float32(0.0) else x


def with_own_floor(function: FunctionType) -> Callable[..., Any]:
    """`function` with the device's `floor` where it has NumPy's, which the CUDA target does not know."""
    names = {**function.__globals__, "floor": libdevice.floor}
    return jit(FunctionType(function.__code__, names, function.__name__))


digamma, trigamma = map(with_own_floor, (scalar_eval.digamma, scalar_eval.trigamma))
strong_mul = jit(scalar_eval.strong_product)


@jit
def checked_floordiv(a: Any, b: Any, status: Any) -> Any:
    if b == 0:
        status[BY_ZERO] = 1
        status[STATUS] = 1
        return 0
    return -a if b == -1 else a // b


@jit
def checked_mod(a: Any, b: Any, status: Any) -> Any:
    if b == 0:
        status[MODULO_ZERO] = 1
        status[STATUS] = 1
        return 0
    return 0 if b == -1 else a % b


@jit
def checked_pow(base: Any, exponent: Any, status: Any) -> Any:
    if exponent < 0:
        status[NEGATIVE_POWER] = 1
        status[STATUS] = 1
        return 0
    result = 1
    while exponent > 0:
        if exponent & 1:
            result *= base
        base *= base
        exponent >>= 1
    return result


@jit
def checked_shl(value: Any, count: Any, status: Any) -> Any:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value << count if count < 64 else 0


@jit
def checked_shr(value: Any, count: Any, status: Any) -> Any:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value >> min(count, 63)


def block_function(combine: Callable[[Any, Any], Any], dtype: Any, zero: Any) -> Callable[..., Any]:
    """What a block of 32, 64, 128 or 256 threads makes of their values, known to its first thread: by shuffles within
    warps, then among what these found."""

    @jit
    def over_block(value: Any) -> Any:
        lane = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
        found = cuda.shared.array(WARPS, dtype)
        width = WARP // 2
        while width > 0:
            value = combine(value, cuda.shfl_down_sync(ALL, value, width))
            width //= 2
        if lane % WARP == 0:
            found[lane // WARP] = value
        cuda.syncthreads()
        if lane < WARP:
            warps = cuda.blockDim.x * cuda.blockDim.y // WARP
            value = found[lane % warps]
            width = warps // 2
            while width > 0:
                value = combine(value, cuda.shfl_down_sync(ALL, value, width))
                width //= 2
        cuda.syncthreads()
        return value

    return over_block


@jit
def plus(a: Any, b: Any) -> Any:
    return a + b


COMBINE = {"add": plus, "max": max2, "min": min2}
KINDS = {"float64": (np.float64, 0.0), "float32": (np.float32, np.float32(0.0)), "int64": (np.int64, 0)}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{f"block_{op}_{k}": block_function(f, *kind) for op, f in COMBINE.items() for k, kind in KINDS.items()},
    **{f"{n}_f64": getattr(libdevice, n) for n in ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod")},
    **{f"{n}_f32": getattr(libdevice, f"{n}f") for n in ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod")},
    "max2": max2, "min2": min2, "digamma": digamma, "trigamma": trigamma, "strong_mul": strong_mul,
    "checked_floordiv": checked_floordiv, "checked_mod": checked_mod, "checked_pow": checked_pow,
    "checked_shl": checked_shl, "checked_shr": checked_shr, "sign_f64": sign_f64, "sign_f32": sign_f32,
    "sign_i64": sign_i64,
}  # fmt: skip
