"""The processor that Numba compiles for, as the cost model sees it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from loopdiff.backends.cpu.simd.types import vector_bits
from loopdiff.model.machine import Cache, Machine

SHARED = 2  # the last cache is shared: what one core can count on is a part of it
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def host_machine() -> Machine:
    """The host, its caches where the system tells their sizes; else those of the default machine."""
    caches = Machine().caches
    sizes = host_caches()
    if len(sizes) == len(caches):
        caches = tuple(Cache(size, known.bandwidth) for size, known in zip(sizes, caches, strict=True))
    return Machine(vector_bits(), caches=caches)


@cache
def host_caches() -> tuple[int, ...]:
    """Bytes of the caches for data, the smallest first; empty where the system does not tell."""
    found: dict[int, int] = {}
    for folder in CACHES.glob("index*"):
        try:
            kind, level, text = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
            if kind != "Instruction":
                found[int(level)] = int(text.rstrip("KMG")) * UNITS.get(text[-1], 1)
        except (OSError, ValueError, IndexError):
            return ()
    *private, last = [found[level] for level in sorted(found)] or [0]
    return (*private, last // SHARED) if private else ()
