"""Checksums of large arrays on several threads: the same numbers as on one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from loopdiff.backends.cpu.threads.calling import run_in_chunks, share
from loopdiff.backends.machine_code import kept
from loopdiff.memory.guards import KEY, mixed

BLOCK = 4096  # words
TAKES = 0.6  # nanoseconds a word


@njit
def mixed_chunk(chunk: int, words: Any, key: Any, size: int, parts: Any) -> None:
    first = chunk * size
    parts[chunk] = mixed(words[first : first + size], np.uint64(0), key + KEY * np.uint64(first))


@kept
@njit(nogil=True)
def mixed_on_threads(words: Any, total: Any, key: Any) -> Any:
    """What `mixed` gives."""
    chunks, size = share(words.size, BLOCK, 1, False, TAKES * words.size, 0.0)
    parts = np.zeros(chunks, np.uint64)
    run_in_chunks(mixed_chunk, chunks, words, key, size, parts)
    for part in parts:
        total += part
    return total
