"""Paired timing: the candidates take turns, round after round, so that all of them see the same machine."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Call = Callable[[], object]
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOOPDIFF_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of one call: the median of the rounds, and the least."""

    median: float
    least: float


def thread_settings(count: int) -> dict[str, str]:
    """Environment variables for a process that is to use `count` threads in every pool."""
    return {
        **dict.fromkeys(POOLS, str(count)),
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
    }


def pin(count: int = 1) -> list[int]:
    """Restrict this process, and threads it starts later, to its last `count` cores; which these are."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    cores = sorted(os.sched_getaffinity(0))[-count:]
    os.sched_setaffinity(0, cores)
    return cores


def pin_to_one_core() -> int:
    """`pin`, with the settings of thread pools in this process. Call before other imports."""
    for name, value in thread_settings(1).items():
        os.environ.setdefault(name, value)
    return next(iter(pin()), -1)


def calls_per_batch(call: Call, target: float) -> int:
    """How many calls take about `target` seconds; one if the first, which may compile, takes fifty times that."""
    if seconds_of(call, 1) > 50 * target and seconds_of(call, 1) > 10 * target:
        return 1
    count = 1
    while True:
        spent = count * seconds_of(call, count)
        if spent > target / 2:
            return max(1, round(count * target / spent))
        count *= 4


def seconds_of(call: Call, count: int) -> float:
    """Of one call, of `count` in a row."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def paired(
    candidates: Mapping[str, Call],
    budget: float = 4.0,
    batch: float = 0.01,
    most: int = 31,
    least: int = 5,
    pause: float = 0.0,
) -> dict[str, Timing]:
    """Time the candidates in turn, each round beginning with another one, for about `budget` seconds in all.

    On several cores a `pause` ahead of each batch, in seconds, lets the threads of the candidate before go to sleep:
    those of OpenMP go on asking for work for some milliseconds, on the cores that the next candidate needs. Its own
    threads wake up in a batch that does not count.

    Every candidate has been called before the first round: what it compiles is not timed. One whose batch takes more
    than a tenth of the budget takes part in two rounds only.
    """
    counts = {name: calls_per_batch(call, batch) for name, call in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    begin = time.perf_counter()
    for number in range(most):
        if number >= least and time.perf_counter() - begin > budget:
            break
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            if number < 2 or counts[name] * times[name][-1] < budget / 10:
                time.sleep(pause)
                if pause and (not times[name] or counts[name] * times[name][-1] < budget / 40):
                    seconds_of(candidates[name], counts[name])
                times[name].append(seconds_of(candidates[name], counts[name]))
    return {name: Timing(statistics.median(found), min(found)) for name, found in times.items()}
