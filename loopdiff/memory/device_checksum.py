"""A number that tells different contents of an array of the device apart, made there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numba.core import types

from loopdiff.backends.cuda import launching
from loopdiff.backends.cuda.kernel_store import kernel_code, launcher_of
from loopdiff.backends.cuda.text.device import KernelText, common_module, finish_module
from loopdiff.backends.cuda.text.kernels import BLOCKS
from loopdiff.backends.load import write_module
from loopdiff.immutable import replace
from loopdiff.ir.types import INT

MOST_BLOCKS = 1024
device_empty: Any = launching.device_empty
release: Any = launching.release
clear: Any = launching.clear
peek: Any = launching.peek
WORDS = (np.dtype(np.int64), np.dtype(np.int8))


def checksum(array: np.ndarray) -> int:
    """The checksum of an array of the device without gaps: sums of words mixed with keys for their places, as those of
    the host's arrays (`guards.mixed`), which come in no order."""
    dense = array if array.flags.c_contiguous else array.T
    octets = dense.reshape(-1).view(np.int8)
    dtype = WORDS[octets.size % 8 != 0 or array.ctypes.data % 8 != 0]
    words = octets.view(dtype)
    if not words.size:
        return 0
    blocks = min(-(-words.size // BLOCKS[1][0]), MOST_BLOCKS)
    return int(summing(dtype)(words, blocks))


@cache
def summing(dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The function that mixes and sums words of a dtype on so many blocks."""
    mix, finish = (launcher_of(k.digest, k.block) for k in kernels_of(dtype))

    @njit
    def summed(words: Any, blocks: int) -> Any:
        parts = device_empty((blocks,), np.int64)
        total = device_empty((1,), np.int64)
        clear(total)
        mix(blocks, 1, 1, words, parts)
        finish(1, 1, 1, parts, total)
        found = peek(total, 0)
        release(parts)
        release(total)
        return found

    return summed


@cache
def kernels_of(dtype: np.dtype[Any]) -> tuple[KernelText, ...]:
    """The kernel that mixes and sums words of a dtype, and the one that adds up what its blocks have found."""
    parts = types.Array(types.int64, 1, "C")
    words = types.Array(types.int64 if dtype.itemsize == 8 else types.int8, 1, "C")
    kernel = KernelText(f"mix_{dtype.name}_kernel", (words, parts), 1, BLOCKS[1])
    modules = common_module(kernel, "mix_words", ("words", "parts")), finish_module("add", INT)
    return tuple(
        replace(k, digest=kernel_code(write_module(m.stem, m.text), k)) for m in modules for k in m.kernels
    )  # fmt: skip
