"""What kernels call that is the same on the GPU and on the CPU: plain functions, which each side compiles for itself.

Operations on integers that raise in Python note it in `status`, and go on with zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.backends.cuda.text.spelling import BY_ZERO, MODULO_ZERO, NEGATIVE_POWER, NEGATIVE_SHIFT, STATUS
from loopdiff.mapping.update_lists import DIGIT, TILE

WARP = 32  # threads that exchange values without memory
# Lists of updates: threads of a block, and updates that each sorts; bits of a split, and how many values these and a
# digit have.
THREADS = 256
EACH = TILE // THREADS
SPLIT = 4
SPLITS, DIGITS = 1 << SPLIT, 1 << DIGIT
# Checksums: those of `guards.mixed`.
HALF_WORD = np.uint64(0xFFFFFFFF)
BITS, FOLD = np.uint64(32), np.uint64(29)
KEY = np.uint64(0x9E3779B97F4A7C15)


def plus(a: Any, b: Any) -> Any:
    return a + b


def checked_floordiv(a: Any, b: Any, status: Any) -> Any:
    if b == 0:
        status[BY_ZERO] = 1
        status[STATUS] = 1
        return 0
    return -a if b == -1 else a // b


def checked_mod(a: Any, b: Any, status: Any) -> Any:
    if b == 0:
        status[MODULO_ZERO] = 1
        status[STATUS] = 1
        return 0
    return 0 if b == -1 else a % b


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


def checked_shl(value: Any, count: Any, status: Any) -> Any:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value << count if count < 64 else 0


def checked_shr(value: Any, count: Any, status: Any) -> Any:
    if count < 0:
        status[NEGATIVE_SHIFT] = 1
        status[STATUS] = 1
        return 0
    return value >> min(count, 63)


CHECKED_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    f.__name__: f for f in (checked_floordiv, checked_mod, checked_pow, checked_shl, checked_shr)
}
