"""What kernels call, for the CPU: the functions of `device_functions` under the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.backends.cpu.scalar_math import (
    digamma,
    jit,
    max2,
    min2,
    sign,
    strict_add,
    strict_div,
    strict_mul,
    strict_sub,
    strong_mul,
    trigamma,
)
from loopdiff.backends.cuda.common_functions import CHECKED_FUNCTIONS, WARP, plus


def of_numpy(name: str) -> Any:
    ufunc = getattr(np, name)
    return jit((lambda x, y: ufunc(x, y)) if ufunc.nin == 2 else (lambda x: ufunc(x)))


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


# -- lists of updates ----------------------------------------------------------------------------------------
@jit
def scan(offsets: Any) -> None:
    """Replace numbers by the sums of those before each."""
    total = 0
    for k in range(offsets.size):
        offsets[k], total = total, total + offsets[k]


@jit
def add_listed(places: Any, values: Any, target: Any, before_first: Any, width: Any) -> None:
    """Add values to the row of `width` elements of `target` whose number, from one and from after the first ones, is
    their place; none to that of number zero."""
    for k in range(places.size):
        if places[k] > 0:
            for n in range(width):
                target.flat[(before_first + places[k] - 1) * width + n] += values[k * width + n]


@jit
def clear_rows(array: Any, first: Any, end: Any) -> None:
    """Set the elements from place `first` to before `end` along the first axis to zero."""
    array[first:end] = 0


@jit
def of_first_lane(value: Any) -> Any:
    return value


COMBINE = {"add": jit(plus), "max": max2, "min": min2}
BLOCK_FUNCTIONS = {op: block_function(combine) for op, combine in COMBINE.items()}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{f"block_{op}": over_block for op, over_block in BLOCK_FUNCTIONS.items()},
    **{f"finish_{op}": finish_function(combine, BLOCK_FUNCTIONS[op]) for op, combine in COMBINE.items()},
    **{
        f"{name}_{suffix}": found
        for name in ("floor", "ceil", "trunc", "rint", "cbrt", "exp2", "fmod")
        for found in [of_numpy(name)]
        for suffix in ("f64", "f32", "i64")
    },
    "strict_add_f64": strict_add, "strict_add_f32": strict_add,
    "strict_sub_f64": strict_sub, "strict_sub_f32": strict_sub,
    "strict_mul_f64": strict_mul, "strict_mul_f32": strict_mul,
    "strict_div_f64": strict_div, "strict_div_f32": strict_div,
    **{name: jit(function) for name, function in CHECKED_FUNCTIONS.items()},
    "scan": scan, "add_listed": add_listed, "clear_rows": clear_rows, "of_first_lane": of_first_lane,
    "max2": max2, "min2": min2, "digamma": digamma, "trigamma": trigamma, "strong_mul": strong_mul,
    "sign_f64": sign, "sign_f32": sign, "sign_i64": sign,
}  # fmt: skip
