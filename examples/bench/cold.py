"""The first gradient in a new process: all that is compiled, or read from the disk cache, until the numbers are there.

The board runs this twice per kernel with the same cache, which is empty the first time. Imports are apart, and so is
what Numba loads before its first function of all, whatever that is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    trying(task["kernel"])
    cache = Path(os.environ["LOOPDIFF_CACHE_DIR"])
    phase = "warm" if cache.exists() and any(cache.iterdir()) else "cold"
    start = time.perf_counter()
    import numba
    from kernels import problem
    from peers import loops

    imports = time.perf_counter() - start
    start = time.perf_counter()
    numba.njit(lambda x: x)(1)
    numba_start = time.perf_counter() - start
    at = problem(task["kernel"], task["size"], task.get("dtype"))
    start = time.perf_counter()
    gradient = loops.gradient(at, loops.decorated(at))
    gradient()
    first = time.perf_counter() - start
    start = time.perf_counter()
    gradient()
    again = time.perf_counter() - start
    row = {"kernel": at.name, "phase": phase, "imports": imports, "numba": numba_start, "call": again}
    yield row | {"seconds": max(0.0, first - again)}
