"""What kernels do that sort lists of updates and add them up, each called by all threads of one-dimensional blocks.

A stable radix sort from the least digit on (Satish, Harris and Garland, "Designing efficient sorting algorithms for
manycore GPUs", IPDPS 2009): each block sorts a tile by one digit of eight bits, in shared memory and as two splits by
four bits, so that equal digits leave for the same place in the order in which they came. Then runs of equal places are
added up, each thread those of a part; a run that goes beyond it is left for the next round. No order depends on which
thread is first. Written with barriers only, so that Numba's simulator can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba.core import types

from loopdiff.backends.cuda.common_functions import DIGITS, EACH, HALF, HALVES, THREADS, TILE
from loopdiff.backends.cuda.toolchain import cuda
from loopdiff.transform.update_lists import RUN

jit = cuda.jit(device=True)
BOTH, COUNTERS = 2 * TILE, HALVES * THREADS


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
def sort_tile(places: Any, shift: Any, held: Any, origins: Any, counters: Any, lanes: Any) -> None:
    """Sort the tile of this block by the digit at bit `shift`: into the first half of `held`, with where each was in
    the tile in `origins`. What lies beyond the end of the list comes last."""
    thread, first = cuda.threadIdx.x, cuda.blockIdx.x * TILE
    for k in range(thread, TILE, THREADS):
        held[k] = places[first + k] if first + k < places.shape[0] else -1
        origins[k] = k
    for half in range(2):
        source, target = half * TILE, TILE - half * TILE
        at = shift + HALF * half
        for part in range(HALVES):
            counters[part * THREADS + thread] = 0
        cuda.syncthreads()
        for k in range(source + thread * EACH, source + (thread + 1) * EACH):
            counters[((held[k] >> at) & (HALVES - 1)) * THREADS + thread] += 1
        cuda.syncthreads()
        own = 0
        for k in range(thread * HALVES, (thread + 1) * HALVES):
            own += counters[k]
        start, _ = before(own, lanes)
        for k in range(thread * HALVES, (thread + 1) * HALVES):
            number = counters[k]
            counters[k] = start
            start += number
        cuda.syncthreads()
        for k in range(source + thread * EACH, source + (thread + 1) * EACH):
            counter = ((held[k] >> at) & (HALVES - 1)) * THREADS + thread
            place = target + counters[counter]
            counters[counter] += 1
            held[place] = held[k]
            origins[place] = origins[k]
        cuda.syncthreads()


@jit
def find_digits(places: Any, shift: Any, held: Any, begins: Any, ends: Any) -> None:
    """Where in a sorted tile each digit begins and ends; nowhere, if it does not occur."""
    thread = cuda.threadIdx.x
    count = min(TILE, places.shape[0] - cuda.blockIdx.x * TILE)
    begins[thread] = 0
    ends[thread] = 0
    cuda.syncthreads()
    for k in range(thread, count, THREADS):
        digit = (held[k] >> shift) & (DIGITS - 1)
        if k == 0 or ((held[k - 1] >> shift) & (DIGITS - 1)) != digit:
            begins[digit] = k
        if k == count - 1 or ((held[k + 1] >> shift) & (DIGITS - 1)) != digit:
            ends[digit] = k + 1
    cuda.syncthreads()


@jit
def sorted_tile(places: Any, shift: Any) -> Any:
    """The tile of this block, sorted by a digit: see `sort_tile` and `find_digits`."""
    held = cuda.shared.array(BOTH, types.int32)
    origins = cuda.shared.array(BOTH, types.int16)
    counters = cuda.shared.array(COUNTERS, types.int16)
    lanes = cuda.shared.array(THREADS, types.int64)
    begins = cuda.shared.array(DIGITS, types.int32)
    ends = cuda.shared.array(DIGITS, types.int32)
    sort_tile(places, shift, held, origins, counters, lanes)
    find_digits(places, shift, held, begins, ends)
    return held, origins, begins, ends


@jit
def count_digits(places: Any, counts: Any, shift: Any) -> None:
    """How often each digit occurs in the tile of this block: all tiles of one digit side by side."""
    _, _, begins, ends = sorted_tile(places, shift)
    thread = cuda.threadIdx.x
    counts[thread * cuda.gridDim.x + cuda.blockIdx.x] = ends[thread] - begins[thread]


@jit
def move_updates(places: Any, values: Any, starts: Any, new_places: Any, new_values: Any, shift: Any) -> None:
    """Move the updates of a tile to where those with their digit start."""
    held, origins, begins, _ = sorted_tile(places, shift)
    first = cuda.blockIdx.x * TILE
    for k in range(cuda.threadIdx.x, min(TILE, places.shape[0] - first), THREADS):
        digit = (held[k] >> shift) & (DIGITS - 1)
        place = starts[digit * cuda.gridDim.x + cuda.blockIdx.x] + k - begins[digit]
        new_places[place] = held[k]
        new_values[place] = values[first + origins[k]]


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
def fold_updates(places: Any, values: Any, target: Any, left_places: Any, left_values: Any) -> None:
    """Add up runs of equal places, each thread those of `RUN` updates: runs that are whole to the `target`, the others
    to what is left, two for each thread."""
    thread = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
    first, count = thread * RUN, places.shape[0]
    if first >= count:
        return
    end = min(first + RUN, count)
    nothing = values.dtype.type(0)
    left_places[2 * thread] = 0
    left_places[2 * thread + 1] = 0
    left_values[2 * thread] = nothing
    left_values[2 * thread + 1] = nothing
    place, total = places[first], nothing
    is_part = first > 0 and places[first - 1] == place
    for k in range(first, end):
        if places[k] != place:
            if is_part:
                left_places[2 * thread] = place
                left_values[2 * thread] = total
            elif place > 0:
                add_at(target, place, total)
            place, total, is_part = places[k], nothing, False
        total += values[k]
    goes_on = end < count and places[end] == place
    if is_part:
        left_places[2 * thread] = place
        left_values[2 * thread] = total
    if goes_on:
        left_places[2 * thread + 1] = place
        if not is_part:
            left_values[2 * thread + 1] = total
    elif not is_part and place > 0:
        add_at(target, place, total)


SORTING_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "count_digits": count_digits, "sum_tiles": sum_tiles, "scan_tiles": scan_tiles, "move_updates": move_updates,
    "fold_updates": fold_updates,
}  # fmt: skip
