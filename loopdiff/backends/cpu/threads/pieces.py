"""What generated code asks where the loop that is shared is short: how its chunks are cut along a loop inside."""

from __future__ import annotations

from numba import njit

from loopdiff.backends.cpu.threads.calling import share
from loopdiff.backends.cpu.threads.pool import EAGER, load, the_state

FINE = 4096  # iterations that are as many chunks as are worth it, to a few hundredths


@njit
def cut(
    trips: int, granule: int, least: int, enough: int, chunks: int, is_repeated: bool, work: float, apart: float
) -> tuple[int, int]:  # fmt: skip
    """(pieces, iterations of each) that each of `chunks` chunks is cut into, along a loop of `trips` iterations.

    Pieces begin at multiples of `granule` and are `least` long at least; there are no more than make `enough` chunks.
    All chunks take `work` nanoseconds together, and what one has for itself costs `apart`.
    """
    wanted, _ = share(FINE, 1, 1, is_repeated, work, apart)
    if load(the_state() + EAGER) != 0:
        most, granule = min(trips, wanted // chunks), 1
    else:
        most = min(trips // least, -(-min(wanted, enough) // chunks))
    if most < 2:
        return 1, max(trips, 0)
    size = -(-trips // most)
    size = -(-size // granule) * granule
    return -(-trips // size), size
