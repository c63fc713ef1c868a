"""Lists of updates on the device, from the host's side: the launches that sort them and add them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from loopdiff.backends.cuda import launching
from loopdiff.backends.cuda.common_functions import THREADS
from loopdiff.mapping.update_lists import DIGIT, REST, RUN, TILE

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


def sorting(count_digits: Launch, scan: Launch, move: Launch) -> Launch:
    """The function that sorts a list by places up to `most`, of which there are some, each with `width` values, with
    room for another one; whether it is where it was afterwards."""

    @njit
    def sort(places: Any, values: Any, more_places: Any, more_values: Any, most: int, width: int) -> bool:
        count, bits = places.shape[0], 1
        while most >> bits > 0:
            bits += 1
        rounds = (bits + DIGIT - 1) // DIGIT
        digit = (bits + rounds - 1) // rounds
        tiles = (count + TILE - 1) // TILE
        counts = device_empty(((1 << digit) * tiles,), np.int32)
        is_there = True
        for shift in range(0, bits, digit):
            if is_there:
                count_digits(tiles, 1, 1, places, counts, shift, digit)
                scan(counts)
                move(tiles, 1, 1, places, values, counts, more_places, more_values, shift, digit, width)
            else:
                count_digits(tiles, 1, 1, more_places, counts, shift, digit)
                scan(counts)
                move(tiles, 1, 1, more_places, more_values, counts, places, values, shift, digit, width)
            is_there = not is_there
        release(counts)
        return is_there

    return sort


def adding(sort: Launch, fold: Launch, fold_rest: Launch, dtype: Any) -> Launch:
    """The function that adds values of a list to the row of `width` elements of an array whose number is their place
    and that of the one before the first of `rows`, and none to place zero. The list is not the same afterwards.

    `fold` and `fold_rest` add up what is sorted, by many blocks and by one.
    """

    @njit
    def add_runs(places: Any, values: Any, target: Any, before_first: int, width: int) -> None:
        count, is_first, is_last = places.shape[0], True, False
        while not is_last:
            is_last = count <= REST
            parts = (count + RUN - 1) // RUN
            left_places, left_values = device_empty((2 * parts,), np.int32), device_empty((2 * parts * width,), dtype)
            if is_last:
                fold_rest(1, 1, 1, places, values, target, before_first, width, left_places, left_values)
            else:
                blocks = (parts * width + THREADS - 1) // THREADS
                fold(blocks, 1, 1, places, values, target, before_first, width, left_places, left_values)
            if not is_first:
                release(places)
                release(values)
            places, values, count, is_first = left_places, left_values, 2 * parts, False
        release(places)
        release(values)

    @njit
    def add_listed(places: Any, values: Any, target: Any, before_first: int, rows: int, width: int) -> None:
        count = places.shape[0]
        if count == 0 or rows == 0 or width == 0:
            return
        more_places, more_values = device_empty((count,), np.int32), device_empty((count * width,), dtype)
        if sort(places, values, more_places, more_values, rows, width):
            add_runs(places, values, target, before_first, width)
        else:
            add_runs(more_places, more_values, target, before_first, width)
        release(more_places)
        release(more_values)

    return add_listed
