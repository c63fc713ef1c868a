"""What kernels do that sort lists of updates and add them up, each called by all threads of one-dimensional blocks.

A stable radix sort from the least digit on (Satish, Harris and Garland, "Designing efficient sorting algorithms for
manycore GPUs", IPDPS 2009): each block sorts a tile by one digit, of as many bits as the host says, in shared memory
and as splits by four bits, so that equal digits leave for the same place in the order in which they came. Then runs of
equal places are added up, each thread those of a part; a run that goes beyond it is left for the next round. No order
depends on which thread is first. Written with barriers only, so that Numba's simulator can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba.core import types

from loopdiff.backends.cuda.common_functions import DIGITS, EACH, SPLIT, SPLITS, THREADS
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.mapping.update_lists import RUN, TILE

jit = cuda.jit(device=True)
BOTH, COUNTERS = 2 * TILE, SPLITS * THREADS


@jit
def before(value: Any, lanes: Any) -> Any:
    """The sum of `value` over the threads before this one, and over all; `lanes` is shared memory for it."""
    thread = cuda.threadIdx.x
    lanes[thread] = value
    cuda.syncthreads()
    step = 1
    while step < THREADS:
        other = lanes[thread - step] if thread >= step else 0
        cuda.syncthreads()
        lanes[thread] += other
        cuda.syncthreads()
        step *= 2
    result, total = lanes[thread] - value, lanes[THREADS - 1]
    cuda.syncthreads()
    return result, total


@jit
def sum_tiles(numbers: Any, sums: Any) -> None:
    """The sum of a tile of `numbers`, into `sums`."""
    lanes = cuda.shared.array(THREADS, types.int64)
    thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
    total = 0
    for k in range(tile * TILE + thread, min((tile + 1) * TILE, numbers.shape[0]), THREADS):
        total += numbers[k]
    _, total = before(total, lanes)
    if thread == 0:
        sums[tile] = total


@jit
def scan_tiles(numbers: Any, sums: Any) -> None:
    """Replace the `numbers` of a tile by the sums of all those before each; `sums` are those of the tiles."""
    lanes = cuda.shared.array(THREADS, types.int64)
    thread, tile = cuda.threadIdx.x, cuda.blockIdx.x
    earlier = 0
    for k in range(thread, tile, THREADS):
        earlier += sums[k]
    _, start = before(earlier, lanes)
    first = tile * TILE + thread * EACH
    last = min(first + EACH, numbers.shape[0])
    own = 0
    for k in range(first, last):
        own += numbers[k]
    place, _ = before(own, lanes)
    place += start
    for k in range(first, last):
        value = numbers[k]
        numbers[k] = place
        place += value


@jit
def sort_tile(places: Any, shift: Any, bits: Any, held: Any, origins: Any, counters: Any, lanes: Any) -> Any:
    """Sort the tile of this block by the `bits` from bit `shift` on: into the part of `held` that begins at what is
    returned, with where each was in the tile in `origins`. What lies beyond the end of the list comes last."""
    thread, first = cuda.threadIdx.x, cuda.blockIdx.x * TILE
    for k in range(thread, TILE, THREADS):
        held[k] = places[first + k] if first + k < places.shape[0] else -1
        origins[k] = k
    source, at, end = 0, shift, shift + bits
    while at < end:
        mask = (1 << min(SPLIT, end - at)) - 1
        target = TILE - source
        for part in range(SPLITS):
            counters[part * THREADS + thread] = 0
        cuda.syncthreads()
        for k in range(source + thread * EACH, source + (thread + 1) * EACH):
            counters[((held[k] >> at) & mask) * THREADS + thread] += 1
        cuda.syncthreads()
        own = 0
        for k in range(thread * SPLITS, (thread + 1) * SPLITS):
            own += counters[k]
        start, _ = before(own, lanes)
        for k in range(thread * SPLITS, (thread + 1) * SPLITS):
            number = counters[k]
            counters[k] = start
            start += number
        cuda.syncthreads()
        for k in range(source + thread * EACH, source + (thread + 1) * EACH):
            counter = ((held[k] >> at) & mask) * THREADS + thread
            place = target + counters[counter]
            counters[counter] += 1
            held[place] = held[k]
            origins[place] = origins[k]
        cuda.syncthreads()
        source = target
        at += SPLIT
    return source


@jit
def find_digits(places: Any, shift: Any, bits: Any, held: Any, source: Any, begins: Any, ends: Any) -> None:
    """Where in a sorted tile, which begins at `source`, each digit begins and ends; nowhere, if it does not occur."""
    thread, mask = cuda.threadIdx.x, (1 << bits) - 1
    count = min(TILE, places.shape[0] - cuda.blockIdx.x * TILE)
    for digit in range(thread, 1 << bits, THREADS):
        begins[digit] = 0
        ends[digit] = 0
    cuda.syncthreads()
    for k in range(thread, count, THREADS):
        digit = (held[source + k] >> shift) & mask
        if k == 0 or ((held[source + k - 1] >> shift) & mask) != digit:
            begins[digit] = k
        if k == count - 1 or ((held[source + k + 1] >> shift) & mask) != digit:
            ends[digit] = k + 1
    cuda.syncthreads()


@jit
def sorted_tile(places: Any, shift: Any, bits: Any) -> Any:
    """The tile of this block, sorted by a digit: see `sort_tile` and `find_digits`."""
    held = cuda.shared.array(BOTH, types.int32)
    origins = cuda.shared.array(BOTH, types.int16)
    counters = cuda.shared.array(COUNTERS, types.int16)
    lanes = cuda.shared.array(THREADS, types.int64)
    begins = cuda.shared.array(DIGITS, types.int16)
    ends = cuda.shared.array(DIGITS, types.int16)
    source = sort_tile(places, shift, bits, held, origins, counters, lanes)
    find_digits(places, shift, bits, held, source, begins, ends)
    return held, origins, source, begins, ends


@jit
def count_digits(places: Any, counts: Any, shift: Any, bits: Any) -> None:
    """How often each digit occurs in the tile of this block: all tiles of one digit side by side."""
    _, _, _, begins, ends = sorted_tile(places, shift, bits)
    for digit in range(cuda.threadIdx.x, 1 << bits, THREADS):
        counts[digit * cuda.gridDim.x + cuda.blockIdx.x] = ends[digit] - begins[digit]


@jit
def move_updates(
    places: Any, values: Any, starts: Any, new_places: Any, new_values: Any, shift: Any, bits: Any, width: Any
) -> None:
    """Move the updates of a tile, of `width` values each, to where those with their digit start."""
    held, origins, source, begins, _ = sorted_tile(places, shift, bits)
    first = cuda.blockIdx.x * TILE
    for k in range(cuda.threadIdx.x, min(TILE, places.shape[0] - first), THREADS):
        digit = (held[source + k] >> shift) & ((1 << bits) - 1)
        place = starts[digit * cuda.gridDim.x + cuda.blockIdx.x] + k - begins[digit]
        new_places[place] = held[source + k]
        old = first + origins[source + k]
        for n in range(width):
            new_values[place * width + n] = values[old * width + n]


@jit
def add_at(target: Any, place: Any, value: Any) -> None:
    """Add to the element of that number, from one, in C order."""
    number = place - 1
    if number < target.size:
        if target.ndim == 1:
            target[number] += value
        elif target.ndim == 2:
            target[number // target.shape[1], number % target.shape[1]] += value
        elif target.ndim == 3:
            rest = number // target.shape[2]
            target[rest // target.shape[1], rest % target.shape[1], number % target.shape[2]] += value
        else:
            rest = number // target.shape[3]
            outer = rest // target.shape[2]
            target[
                outer // target.shape[1], outer % target.shape[1], rest % target.shape[2], number % target.shape[3]
            ] += value


@jit
def fold_part(
    number: Any, count: Any, places: Any, values: Any, target: Any, before_first: Any, width: Any, left_places: Any,
    left_values: Any,
) -> None:  # fmt: skip
    """Add up one of the `width` values of each update over runs of equal places among the `RUN` updates of a part of
    `count`; `number` says which part and which value. Runs that are whole go to the `target`, whose row of the number
    `before_first` comes before place one, the others to what is left, two for each part."""
    part, n = number // width, number % width
    first = part * RUN
    end = min(first + RUN, count)
    nothing = values.dtype.type(0)
    left_place, next_place, left, next_left = 0, 0, nothing, nothing
    place, total = places[first], nothing
    is_part = first > 0 and places[first - 1] == place
    for k in range(first, end):
        if places[k] != place:
            if is_part:
                left_place, left = place, total
            elif place > 0:
                add_at(target, (place + before_first - 1) * width + n + 1, total)
            place, total, is_part = places[k], nothing, False
        total += values[k * width + n]
    goes_on = end < count and places[end] == place
    if is_part:
        left_place, left = place, total
    if goes_on:
        next_place = place
        if not is_part:
            next_left = total
    elif not is_part and place > 0:
        add_at(target, (place + before_first - 1) * width + n + 1, total)
    if n == 0:
        left_places[2 * part] = left_place
        left_places[2 * part + 1] = next_place
    left_values[2 * part * width + n] = left
    left_values[(2 * part + 1) * width + n] = next_left


@jit
def fold_updates(
    places: Any, values: Any, target: Any, before_first: Any, width: Any, left_places: Any, left_values: Any
) -> None:  # fmt: skip
    """Add up runs of equal places, each thread one value of those of a part: see `fold_part`."""
    number, count = cuda.blockIdx.x * THREADS + cuda.threadIdx.x, places.shape[0]
    if number < (count + RUN - 1) // RUN * width:
        fold_part(number, count, places, values, target, before_first, width, left_places, left_values)


@jit
def fold_rest(
    places: Any, values: Any, target: Any, before_first: Any, width: Any, left_places: Any, left_values: Any
) -> None:  # fmt: skip
    """Add up runs of equal places until nothing is left, by one block: what is left goes back and forth."""
    count = places.shape[0]
    while True:
        parts = (count + RUN - 1) // RUN
        for number in range(cuda.threadIdx.x, parts * width, THREADS):
            fold_part(number, count, places, values, target, before_first, width, left_places, left_values)
        cuda.syncthreads()
        if parts == 1:
            return
        places, left_places = left_places, places
        values, left_values = left_values, values
        count = 2 * parts


SORTING_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "count_digits": count_digits, "sum_tiles": sum_tiles, "scan_tiles": scan_tiles, "move_updates": move_updates,
    "fold_updates": fold_updates, "fold_rest": fold_rest,
}  # fmt: skip
