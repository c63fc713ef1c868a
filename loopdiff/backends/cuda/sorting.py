"""Lists of updates on the device, from the host's side: the launches that sort them and add them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from loopdiff.backends.cuda import launching
from loopdiff.backends.cuda.common_functions import DIGITS, THREADS, TILE
from loopdiff.transform.update_lists import DIGIT, RUN

Launch = Callable[..., Any]
device_empty: Any = launching.device_empty
release: Any = launching.release


def scanning(sum_tiles: Launch, scan_tiles: Launch) -> Callable[..., Any]:
    """The function that replaces numbers by the sums of those before each."""

    @njit
    def scan(numbers: Any) -> None:
        tiles = (numbers.shape[0] + TILE - 1) // TILE
        sums = device_empty((tiles,), np.int64)
        sum_tiles(tiles, 1, 1, numbers, sums)
        scan_tiles(tiles, 1, 1, numbers, sums)
        release(sums)

    return scan


def adding(count_digits: Launch, scan: Launch, move: Launch, fold: Launch, dtype: Any) -> Callable[..., Any]:
    """The function that adds each value of a list to the element of an array whose number, from one, is its place, and
    none to that of number zero. The list is not the same afterwards."""

    @njit
    def sort(places: Any, values: Any, more_places: Any, more_values: Any, most: int) -> bool:
        count = places.shape[0]
        tiles = (count + TILE - 1) // TILE
        counts = device_empty((DIGITS * tiles,), np.int32)
        shift, is_there = 0, True
        while most >> shift > 0:
            if is_there:
                count_digits(tiles, 1, 1, places, counts, shift)
                scan(counts)
                move(tiles, 1, 1, places, values, counts, more_places, more_values, shift)
            else:
                count_digits(tiles, 1, 1, more_places, counts, shift)
                scan(counts)
                move(tiles, 1, 1, more_places, more_values, counts, places, values, shift)
            is_there = not is_there
            shift += DIGIT
        release(counts)
        return is_there

    @njit
    def add_runs(places: Any, values: Any, target: Any) -> None:
        count, is_first = places.shape[0], True
        while True:
            threads = (count + RUN - 1) // RUN
            left_places, left_values = device_empty((2 * threads,), np.int32), device_empty((2 * threads,), dtype)
            fold((threads + THREADS - 1) // THREADS, 1, 1, places, values, target, left_places, left_values)
            if not is_first:
                release(places)
                release(values)
            places, values, count, is_first = left_places, left_values, 2 * threads, False
            if threads == 1:
                break
        release(places)
        release(values)

    @njit
    def add_listed(places: Any, values: Any, target: Any) -> None:
        count = places.shape[0]
        if count == 0:
            return
        more_places, more_values = device_empty((count,), np.int32), device_empty((count,), dtype)
        if sort(places, values, more_places, more_values, target.size):
            add_runs(places, values, target)
        else:
            add_runs(more_places, more_values, target)
        release(more_places)
        release(more_values)

    return add_listed
