"""What kernels call, for the CPU: the functions of `device_functions` under the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.backends.cpu.scalar_math import digamma, jit, max2, min2, strong_mul, trigamma
from loopdiff.backends.cuda.spelling import BY_ZERO, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT, STATUS

WARP = 32


def of_numpy(name: str) -> Any:
    ufunc = getattr(np, name)
    return jit((lambda x, y: ufunc(x, y)) if ufunc.nin == 2 else (lambda x: ufunc(x)))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f"{name}_{suffix}": found
    for name in ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod", "sign")
    for found in [of_numpy(name)]
    for suffix in ("f64", "f32", "i64")
}


# -- integers ------------------------------------------------------------------------------------------------
@jit
def checked_floordiv(a: int, b: int, status: Any) -> int:
    if b == 0:
        status[BY_ZERO] = 1
        status[STATUS] = 1
        return 0
    return -a if b == -1 else a // b


@jit
def checked_mod(a: int, b: int, status: Any) -> int:
    if b == 0:
        status[MODULO_ZERO] = 1
        status[STATUS] = 1
        return 0
    return 0 if b == -1 else a % b


@jit
def checked_pow(base: int, exponent: int, status: Any) -> int:
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
def checked_shl(value: int, count: int, status: Any) -> int:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value << count if count < 64 else 0


@jit
def checked_shr(value: int, count: int, status: Any) -> int:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value >> min(count, 63)


# -- sums over the threads of a block ------------------------------------------------------------------------
def block_function(combine: Callable[..., Any]) -> Callable[..., Any]:
    """What a block makes of the values of its threads: as shuffles within warps do, then among the first of each."""

    @jit
    def over_block(lanes: Any) -> Any:
        warps = lanes.size // WARP
        for warp in range(warps):
            width = WARP // 2
            while width > 0:
                for lane in range(width):
                    here = warp * WARP + lane
                    lanes[here] = combine(lanes[here], lanes[here + width])
                width //= 2
        for warp in range(warps):
            lanes[warp] = lanes[warp * WARP]
        width = warps // 2
        while width > 0:
            for warp in range(width):
                lanes[warp] = combine(lanes[warp], lanes[warp + width])
            width //= 2
        return lanes[0]

    return over_block


@jit
def plus(a: Any, b: Any) -> Any:
    return a + b


block_add, block_max, block_min = map(block_function, (plus, max2, min2))


def finish_function(combine: Callable[..., Any], over_block: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what the blocks found to a scalar, by one block: each thread takes every 256th."""

    @jit
    def finish(parts: Any, lanes: Any, neutral: Any, target: Any) -> None:
        for lane in range(lanes.size):
            value = neutral
            for turn in range((parts.size - lane + lanes.size - 1) // lanes.size):
                value = combine(value, parts[lane + turn * lanes.size])
            lanes[lane] = value
        target[0] = combine(target[0], over_block(lanes))

    return finish


finish_add = finish_function(plus, block_add)
finish_max = finish_function(max2, block_max)
finish_min = finish_function(min2, block_min)

__all__ = [
    "FUNCTIONS", "block_add", "block_max", "block_min", "checked_floordiv", "checked_mod",
    "checked_pow", "checked_shl", "checked_shr", "digamma", "finish_add", "finish_max", "finish_min", "max2", "min2",
    "strong_mul", "trigamma",
]  # fmt: skip
