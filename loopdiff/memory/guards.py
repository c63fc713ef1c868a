"""What a pullback remembers of the arrays it needs, to notice that they were changed.

A change that nobody notices would make a wrong gradient, so the checksum leaves no byte out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from loopdiff.backends.machine_code import kept
from loopdiff.settings.options import Check

HALF = np.uint64(0xFFFFFFFF)
BITS, FOLD = np.uint64(32), np.uint64(29)
KEY = np.uint64(0x9E3779B97F4A7C15)
Mark = int | bytearray
Mixer = Callable[..., Any]
SMALL = 1 << 16  # bytes that are compared sooner than a checksum is made ready


@kept
@njit(nogil=True)
def mixed(words: Any, total: Any, key: Any) -> Any:
    """`total` with `words` added, each mixed with a key for its place: equal sums of different words are chance.

    The product alone would do for random keys (Black et al. 1999, "UMAC"); these are a sequence, in which signs that
    flip together cancel, but for the fold.
    """
    for k in range(words.size):
        word = np.uint64(words[k]) ^ key
        word = word + (word & HALF) * (word >> BITS)
        total += word ^ (word >> FOLD)
        key += KEY
    return total


def checksum(array: np.ndarray, mix: Mixer = mixed) -> int:
    """A number that tells different contents of an array apart. The views are NumPy's: Numba takes long over them."""
    array = dense(array)
    if array.itemsize % 8 == 0 and array.flags.aligned:
        return mix(array.reshape(-1).view(np.uint64), np.uint64(array.nbytes), KEY)
    octets = array.reshape(-1).view(np.uint8)
    end = octets.size // 8 * 8
    words = octets[:end].view(np.uint64)
    total = mix(words if words.flags.aligned else words.copy(), np.uint64(octets.size), KEY)
    if end == octets.size:
        return total
    rest = np.zeros(8, np.uint8)
    rest[: octets.size - end] = octets[end:]
    return mixed(rest.view(np.uint64), np.uint64(total), np.uint64(total))


def dense(array: np.ndarray) -> np.ndarray:
    """The elements without gaps, in the order of memory where they have none."""
    flags = array.flags
    return array if flags.c_contiguous else array.T if flags.f_contiguous else np.ascontiguousarray(array)


def is_compared_whole(check: Check, array: np.ndarray) -> bool:
    """Whether a mark of `array` is a copy of it."""
    return check == "always" or (check != "never" and array.nbytes <= SMALL)


def mark_of(check: Check, array: np.ndarray, mix: Mixer = mixed) -> Mark:
    """What `array` is compared with later: all of it, or a checksum."""
    if is_compared_whole(check, array):
        return bytearray(octets_of(array).data)
    return checksum(array, mix)


def holds(mark: Mark, array: np.ndarray, mix: Mixer = mixed) -> bool:
    """Whether `array` is what it was when it got its `mark`."""
    return mark == (octets_of(array) if type(mark) is bytearray else checksum(array, mix))


def octets_of(array: np.ndarray) -> np.ndarray:
    """The elements without gaps, in a type that Python's buffers know: bfloat16 is none of NumPy's own."""
    found = dense(array)
    return found if found.dtype.kind != "V" else found.view(np.uint16)
