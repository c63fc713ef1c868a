"""What generated code asks where the loop that is shared is short: how its chunks are cut along a loop inside."""

from __future__ import annotations

from numba import njit

from loopdiff.backends.cpu.direct import Direct
from loopdiff.backends.cpu.threads.pool import EAGER, load, the_state

# Chunks: no number of threads finds much fewer of them in its share than another. And where they cost something.
ENOUGH, SOME = 16, 6


@njit(error_model="numpy", pipeline_class=Direct)  # which takes a tenth of the time to compile
def cut(trips: int, granule: int, least: int, is_dear: bool, chunks: int, wanted: int) -> tuple[int, int]:
    """(pieces, iterations of each) that each of `chunks` chunks is cut into, along a loop of `trips` iterations, where
    `wanted` chunks are the most that are worth it.

    Pieces begin at multiples of `granule` and are `least` long at least. If they are `is_dear`, chunks that are fair to
    two threads stay whole.
    """
    if load(the_state() + EAGER) != 0:
        most, granule = min(trips, wanted // chunks), 1
    elif is_dear and chunks % 2 == 0:
        most = 1
    else:
        most = min(trips // least, -(-min(wanted, SOME if is_dear else ENOUGH) // chunks))
    if most < 2:
        return 1, max(trips, 0)
    size = -(-trips // most)
    size = -(-size // granule) * granule
    return -(-trips // size), size
