"""Paired timing on one pinned core: the candidates take turns, so that both see the same machine."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping

Call = Callable[[], object]


def pin_to_one_core() -> int:
    """Restrict this process, and thread pools it starts later, to one core. Call before other imports."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if not hasattr(os, "sched_setaffinity"):
        return -1
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def calls_per_batch(call: Call, target: float) -> int:
    """How many calls take about `target` seconds."""
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        spent = time.perf_counter() - start
        if spent > target / 2:
            return max(1, round(count * target / spent))
        count *= 4


def medians(candidates: Mapping[str, Call], rounds: int = 31, batch: float = 0.01) -> dict[str, float]:
    """Median seconds of one call of each candidate, over `rounds` batches taken in turn; the first call may compile."""
    for call in candidates.values():
        call()
    counts = {name: calls_per_batch(call, batch) for name, call in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - start) / counts[name])
    return {name: statistics.median(found) for name, found in times.items()}


def microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:11.1f}"
