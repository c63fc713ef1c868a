"""What kernels call, for the GPU: the functions of `emulated_functions` under the same names.

Numba's CUDA target is imported here and in `compiler`, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from loopdiff.backends.cuda.common_functions import BITS, CHECKED_FUNCTIONS, FOLD, HALF_WORD, KEY, WARP, plus
from loopdiff.backends.cuda.sorting_kernels import SORTING_FUNCTIONS
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.ir import scalar_eval

jit = cuda.jit(device=True)
libdevice = cuda.libdevice
WARPS, ALL = 8, 0xFFFFFFFF


@jit
def max2(a: Any, b: Any) -> Any:
    return b if b > a or b != b else a


@jit
def min2(a: Any, b: Any) -> Any:
    return b if b < a or b != b else a


@jit
def sign_i64(x: Any) -> Any:
    return np.int64(x > 0) - np.int64(x < 0)


@jit
def sign_f64(x: Any) -> Any:
    return libdevice.copysign(1.0, x) if x > 0.0 or x < 0.0 else x if x != x else 0.0


@jit
def sign_f32(x: Any) -> Any:
    is_some = x > np.float32(0.0) or x < np.float32(0.0)
    return libdevice.copysignf(np.float32(1.0), x) if is_some else x if x != x else np.float32(0.0)


def with_own_floor(function: FunctionType) -> Callable[..., Any]:
    """`function` with the device's `floor` where it has NumPy's, which the CUDA target does not know."""
    names = {**function.__globals__, "floor": libdevice.floor}
    return jit(FunctionType(function.__code__, names, function.__name__))


digamma, trigamma = map(with_own_floor, (scalar_eval.digamma, scalar_eval.trigamma))
strong_mul = jit(scalar_eval.strong_product)


def block_function(combine: Callable[[Any, Any], Any], dtype: Any) -> Callable[..., Any]:
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


block_add_int64 = block_function(jit(plus), np.int64)


def warp_function(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """What a warp makes of the values of its lanes, known to all of them."""

    @jit
    def over_warp(value: Any) -> Any:
        width = WARP // 2
        while width > 0:
            value = combine(value, cuda.shfl_down_sync(ALL, value, width))
            width //= 2
        return cuda.shfl_sync(ALL, value, 0)

    return over_warp


@jit
def of_first_lane(value: Any) -> Any:
    return cuda.shfl_sync(ALL, value, 0)


@jit
def mix_words(words: Any, parts: Any) -> None:
    """Sum words, each mixed with a key for its place, over the block: see `guards.mixed`."""
    first, step = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x, cuda.gridDim.x * cuda.blockDim.x
    total = np.uint64(0)
    for k in range(first, words.shape[0], step):
        word = np.uint64(words[k]) ^ (KEY * np.uint64(k + 1))
        word = word + (word & HALF_WORD) * (word >> BITS)
        total += word ^ (word >> FOLD)
    found = block_add_int64(np.int64(total))
    if cuda.threadIdx.x == 0:
        parts[cuda.blockIdx.x] = found


@jit
def strict_sub_f64(a: Any, b: Any) -> Any:
    """The library has none for doubles."""
    return libdevice.dadd_rn(a, -b)


COMBINE = {"add": jit(plus), "max": max2, "min": min2}
KINDS = {"float64": np.float64, "float32": np.float32, "int64": np.int64}
OF_LIBDEVICE = ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod")
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{f"block_{op}_{name}": block_function(f, kind) for op, f in COMBINE.items() for name, kind in KINDS.items()},
    **{f"warp_{op}_{name}": warp_function(f) for op, f in COMBINE.items() for name in KINDS},
    **{f"{n}_f64": getattr(libdevice, n) for n in OF_LIBDEVICE},
    **{f"{n}_f32": getattr(libdevice, f"{n}f") for n in OF_LIBDEVICE},
    "strict_add_f64": libdevice.dadd_rn, "strict_add_f32": libdevice.fadd_rn,
    "strict_sub_f64": strict_sub_f64, "strict_sub_f32": libdevice.fsub_rn,
    "strict_mul_f64": libdevice.dmul_rn, "strict_mul_f32": libdevice.fmul_rn,
    "strict_div_f64": libdevice.ddiv_rn, "strict_div_f32": libdevice.fdiv_rn,
    **{name: jit(function) for name, function in CHECKED_FUNCTIONS.items()},
    **SORTING_FUNCTIONS,
    "max2": max2, "min2": min2, "digamma": digamma, "trigamma": trigamma, "strong_mul": strong_mul,
    "mix_words": mix_words, "of_first_lane": of_first_lane,
    "sign_f64": sign_f64, "sign_f32": sign_f32, "sign_i64": sign_i64,
}  # fmt: skip
