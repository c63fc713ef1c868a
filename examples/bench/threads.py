"""One thread against two, `parallel=False` against `parallel=True`, in one process that has two cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kernels import problem
from peers import loops
from report import duration
from timing import paired

SPEEDUP, LEAST, LONG = 1.6, 0.95, 0.010


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for size in ("tiny", "S", "M"):
        trying(f"{task['kernel']} {size}")
        candidates = {}
        for is_parallel in (False, True):
            at = problem(task["kernel"], size, task.get("dtype"))
            candidates[str(is_parallel)] = loops.gradient(at, loops.decorated(at, parallel=is_parallel))
        times = {name: t.median for name, t in paired(candidates, budget=min(1.0, task["budget"]), most=15).items()}
        speedup = times["False"] / times["True"]
        least = SPEEDUP if times["False"] > LONG else LEAST
        yield {
            "kernel": task["kernel"],
            "size": size,
            "times": times,
            "speedup": speedup,
            "is_met": speedup >= least,
            "is_long": times["False"] > LONG,
            "cells": {
                "kernel": f"{task['kernel']} {size}",
                "one thread": duration(times["False"]),
                "two threads": duration(times["True"]),
                "faster": f"{speedup:.2f}" if speedup >= least else f"**{speedup:.2f}**",
            },
        }
