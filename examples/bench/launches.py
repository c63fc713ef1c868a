"""What it costs to launch a kernel, apart from the driver's own time: parameters are packed for a function that does
nothing.

    python launches.py

Prints nanoseconds per launch from compiled code, for kernels of several numbers of two-dimensional arrays.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from numba import cfunc, njit, types

from loopdiff.backends.cuda.launching import SLOTS, launcher

LAUNCHES, ROUNDS = 200_000, 11
COUNTS = (0, 1, 4, 16)
Pointer = types.voidptr
SIGNATURE = types.int32(Pointer, *[types.uint32] * 7, Pointer, Pointer, Pointer)


@cfunc(SIGNATURE)
def nothing(
    f: Any, gx: Any, gy: Any, gz: Any, bx: Any, by: Any, bz: Any, shared: Any, stream: Any, p: Any, e: Any
) -> int:
    return 0


def launches_of(count: int) -> Any:
    """A compiled function that launches a kernel of so many arrays, again and again."""
    names = ", ".join(f"a{k}" for k in range(count))
    text = f"def run(turns{', ' if names else ''}{names}):\n"
    text += f"    for turn in range(turns):\n        launch(1 + turn % 7, 1, 1{', ' if names else ''}{names})\n"
    space: dict[str, Any] = {"launch": launcher(f"bench_{count}", (256, 1, 1))}
    exec(text, space)
    return njit(nogil=True)(space["run"])


def nanoseconds(count: int) -> float:
    """The median time of one launch."""
    arrays = [np.zeros((3, 4)) for _ in range(count)]
    run = launches_of(count)
    run(1, *arrays)
    found: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run(LAUNCHES, *arrays)
        found.append((time.perf_counter() - start) / LAUNCHES * 1e9)
    return statistics.median(found)


def main() -> None:
    address: Any = nothing.address
    SLOTS["cuLaunchKernel"].value = address
    print("arrays  ns per launch")
    for count in COUNTS:
        print(f"{count:6d}  {nanoseconds(count):.1f}")


if __name__ == "__main__":
    main()
