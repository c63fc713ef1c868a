"""What this machine can do at best, measured in the same run: multiply-adds per second, and bytes copied per second.

The peak is that of independent fused multiply-adds on whole registers; the bandwidths are those of a copy (bytes read
plus bytes written) between arrays that together fill a part of each cache level, or are far larger than the last.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
from timing import paired

from loopdiff.backends.cpu import simd

# Intrinsics: compiled code calls them without the typing context that their definitions take first.
load: Any = simd.load
store: Any = simd.store
fma: Any = simd.fma

CHAINS = 12
STEPS = 4096
LEVELS = ("L1", "L2", "L3", "memory")
FALLBACK = {"L1": 32 << 10, "L2": 1 << 20, "L3": 32 << 20}


def cache_bytes() -> dict[str, int]:
    """The size of every cache level of the first core."""
    found = dict(FALLBACK)
    for folder in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if (folder / "type").read_text().strip() != "Instruction":
            size = (folder / "size").read_text().strip()
            factor = {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)
            found[f"L{(folder / 'level').read_text().strip()}"] = int(size.rstrip("KM")) * factor
    return found


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def chains(width: int) -> Any:
    """Twelve independent sums of products on registers of `width` lanes: enough for two units of four cycles."""

    @numba.njit
    def run(data, out):
        a, b = load(data, (0,), width), load(data, (width,), width)
        c0, c1, c2, c3, c4, c5 = a, b, a, b, a, b
        d0, d1, d2, d3, d4, d5 = b, a, b, a, b, a
        for _ in range(STEPS):
            c0, c1, c2, c3, c4, c5 = (
                fma(a, c0, b),
                fma(a, c1, b),
                fma(a, c2, b),
                fma(a, c3, b),
                fma(a, c4, b),
                fma(a, c5, b),
            )
            d0, d1, d2, d3, d4, d5 = (
                fma(b, d0, a),
                fma(b, d1, a),
                fma(b, d2, a),
                fma(b, d3, a),
                fma(b, d4, a),
                fma(b, d5, a),
            )
        store(out, (0,), c0 + c1 + c2 + c3 + c4 + c5 + d0 + d1 + d2 + d3 + d4 + d5)

    return run


def multiply_adds(dtype: str) -> float:
    """Floating-point operations per second of independent chains of fused multiply-adds."""
    width = simd.host_width(dtype)
    run = chains(width)
    data = np.repeat(np.array([0.5, 0.25], dtype), width)
    out = np.zeros(width, dtype)
    time = paired({"fma": lambda: run(data, out)}, budget=0.5, batch=0.005)["fma"].least
    return 2.0 * CHAINS * width * STEPS / time


@numba.njit(fastmath=True)
def copied(source: np.ndarray, target: np.ndarray, times: int) -> None:
    """There and back, `times` times."""
    for _ in range(times):
        for i in range(source.size):
            target[i] = source[i]
        for i in range(source.size):
            source[i] = target[i]


def copy_bandwidth(level_bytes: int) -> float:
    """Bytes per second read and written by copies between two arrays, together of about `level_bytes`."""
    count = max(1024, level_bytes // 16)
    times = max(1, (4 << 20) // level_bytes)
    source, target = np.ones(count), np.zeros(count)
    candidates: dict[str, Callable[[], object]] = {
        "loop": lambda: copied(source, target, times),
        "library": lambda: [(np.copyto(target, source), np.copyto(source, target)) for _ in range(times)],
    }
    found = paired(candidates, budget=0.6, batch=0.005, most=15)
    return 32.0 * count * times / min(t.least for t in found.values())


def measure() -> dict[str, Any]:
    sizes = cache_bytes()
    within = {level: sizes[level] // 2 for level in sizes} | {"memory": max(64 << 20, 4 * sizes["L3"])}
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "caches": sizes,
        "flops": {dtype: multiply_adds(dtype) for dtype in ("float64", "float32")},
        "bandwidth": {level: copy_bandwidth(within[level]) for level in LEVELS},
        "vector_bits": simd.vector_bits(),
    }


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    trying("machine")
    yield measure()
