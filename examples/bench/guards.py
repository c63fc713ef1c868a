"""What the guards cost per call: overlap of eight arguments, and changes of the arrays that a pullback needs.

The least of many short batches on one pinned core; the price of a check is what it adds to the same call without it.
Types and layouts, and with them whether a written array is read-only, are looked at to find the compiled code: that
has a line of its own.

    python examples/bench/guards.py
"""

from __future__ import annotations

import timing

CORE = timing.pin_to_one_core()

import sys  # noqa: E402
import timeit  # noqa: E402
from collections.abc import Callable  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.memory.guards import checksum  # noqa: E402

BUDGET = 2.0
ROUNDS, BATCH = 300, 50


def corners(a, b, c, d, e, f, g, out):
    out[0, 0] = a[0, 0] * b[0, 0] * c[0, 0] * d[0, 0] * e[0, 0] * f[0, 0] * g[0, 0]


def least(call: Callable[[], object]) -> float:
    """Microseconds of one call, undisturbed."""
    return 1e6 * min(timeit.repeat(call, repeat=ROUNDS, number=BATCH)) / BATCH


def prices(side: int) -> dict[str, float]:
    """Microseconds by guard, for eight square arrays."""
    checked, trusted = vectorize_grad(corners), vectorize_grad(check="never")(corners)
    args = tuple(np.random.default_rng(0).random((side, side)) for _ in range(8))
    cotangent = np.ones((side, side))
    checked(*args)
    known = checked.checked(args)
    _, guarded = checked.vjp(*args)
    _, free = trusted.vjp(*args)
    return {
        "finding the code for the types": least(lambda: known.guard(*args)),
        "overlap": least(lambda: known.prepare(*args)),
        "vjp: seven checksums": least(lambda: checked.vjp(*args)) - least(lambda: trusted.vjp(*args)),
        "pullback: the same": least(lambda: guarded(out=cotangent)) - least(lambda: free(out=cotangent)),
        "one checksum": least(lambda: checksum(args[0])),
        "one copy, for comparison": least(lambda: args[0].copy()),
    }


def main() -> None:
    for side in (4, 72):
        found = prices(side)
        print(f"eight arrays of {side} x {side}, microseconds on core {CORE}")
        for what, price in found.items():
            print(f"  {what:32s} {price:8.2f}")
        verdict = "within" if found["overlap"] < BUDGET else "OVER"
        print(f"  overlap is {verdict} the budget of {BUDGET:.0f} per call")


if __name__ == "__main__":
    main()
