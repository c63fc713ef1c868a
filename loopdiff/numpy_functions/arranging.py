"""Elements of lists in other places: moved, sorted, and in the order of heaps, as `heapq` has them.

Lists of tuples are `columns`, one list for each place in the tuples; a list of numbers is one column. NaN has no place
in an order: where it would matter, it is an error.
"""

from __future__ import annotations

import numpy as np


def comes_first(i, j, *columns):
    """Whether element `i` is less than element `j`; tuples are compared place by place."""
    for column in columns:
        if column[i] < column[j]:
            return True
        if column[i] != column[j]:
            return False
    return False


def change_places(i, j, *columns):
    for column in columns:
        column[i], column[j] = column[j], column[i]


def no_array(over):
    """What joins a list by `+=` is none."""
    assert not isinstance(over, np.ndarray), "a list and an array, put together by `+=`, make an array"


# -- heaps ---------------------------------------------------------------------------------------------------
def rise(start, last, *columns):
    """The element in place `last` of a heap goes up, not above `start`."""
    place = last
    while place > start:
        above = (place - 1) // 2
        if not comes_first(place, above, *columns):
            return
        change_places(place, above, *columns)
        place = above


def sink(start, end, *columns):
    """The element in place `start` goes down to where its heap ends, before place `end`, and up again as far as it has
    to."""
    place, below = start, 2 * start + 1
    while below < end:
        if below + 1 < end and not comes_first(below, below + 1, *columns):
            below += 1
        change_places(place, below, *columns)
        place = below
        below = 2 * place + 1
    rise(start, place, *columns)


def last_into_heap(*columns):
    """The last element, behind a heap, joins it."""
    last = len(columns[0]) - 1
    ordered_here(last, *columns)
    rise(0, last, *columns)


def least_to_end(*columns):
    """The first element of a heap goes behind the others, which are a heap again."""
    end = len(columns[0]) - 1
    assert end >= 0, "IndexError: a heap without elements"
    change_places(0, end, *columns)
    sink(0, end, *columns)


def into_heap(*columns):
    count = len(columns[0])
    for place in range(count):
        ordered_here(place, *columns)
    for step in range(count // 2):
        sink(count // 2 - 1 - step, count, *columns)


def ordered_here(place, *columns):
    for column in columns:
        assert column[place] == column[place], "NaN has no place in an order"


# -- order ---------------------------------------------------------------------------------------------------
def order_of(is_descending, *keys):
    """Where elements come from when they are sorted by `keys`; equal ones stay in their order. Merge sort, from runs of
    one element up."""
    n = len(keys[0])
    for place in range(n):
        ordered_here(place, *keys)
    now, merged = np.arange(n), np.arange(n)
    width = 1
    while width < n:
        for pair in range((n + 2 * width - 1) // (2 * width)):
            start = 2 * width * pair
            middle, end = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, end):
                is_first = j >= end
                if i < middle and j < end:
                    if is_descending:
                        is_first = not comes_first(now[i], now[j], *keys)
                    else:
                        is_first = not comes_first(now[j], now[i], *keys)
                if is_first:
                    merged[k] = now[i]
                    i += 1
                else:
                    merged[k] = now[j]
                    j += 1
        now[:] = merged
        width *= 2
    return now


def put_in_order(order, *columns):
    """Each column gets its elements in that order."""
    for column in columns:
        taken(order, column)


def taken(order, column):
    old = np.array(column)
    for k in range(len(order)):
        column[k] = old[order[k]]


def first_of(is_greatest, *keys):
    """The place of the first of the least, or greatest, elements."""
    assert len(keys[0]) > 0, "ValueError: nothing to choose from"
    best = 0
    for k in range(len(keys[0])):
        if is_greatest:
            if comes_first(best, k, *keys):
                best = k
        else:
            if comes_first(k, best, *keys):
                best = k
    return best


# -- places --------------------------------------------------------------------------------------------------
def place_to_end(at, *columns):
    """The element in that place, which may count from the end, goes behind the others."""
    count = len(columns[0])
    assert -count <= at < count, "IndexError: the list has no such place"
    place = at
    if at < 0:
        place = at + count
    for column in columns:
        first_goes_last(place, column)


def first_goes_last(place, column):
    moved = column[place]
    for k in range(place, len(column) - 1):
        column[k] = column[k + 1]
    column[len(column) - 1] = moved


def last_to_place(at, *columns):
    """The last element goes where `insert` puts it among those before it."""
    last = len(columns[0]) - 1
    place = min(at, last)
    if at < 0:
        place = max(at + last, 0)
    for column in columns:
        last_goes_first(place, column)


def last_goes_first(place, column):
    last = len(column) - 1
    moved = column[last]
    for step in range(last - place):
        column[last - step] = column[last - step - 1]
    column[place] = moved


def turned_round(*columns):
    count = len(columns[0])
    for k in range(count // 2):
        change_places(k, count - 1 - k, *columns)


def place_in(values, item):
    """The first place of `item`, which has to be there."""
    assert item == item, "NaN is looked for in a list"
    for k in range(len(values)):
        if values[k] == item:
            return k
    raise ValueError("the list has no such element")


def is_in(values, item):
    assert item == item, "NaN is looked for in a list"
    return count_in(values, item) > 0


def count_in(values, item):
    """How many of the elements are equal to `item`."""
    assert item == item, "NaN is looked for in a list"
    count = 0
    for k in range(len(values)):
        if values[k] == item:
            count += 1
    return count


# -- None ----------------------------------------------------------------------------------------------------
def known(value, is_there):
    """A number that may be None."""
    assert is_there, "TypeError: None is asked for as a number"
    return value


def all_known(flags):
    return all(flags)


def descending(v):
    """The numbers from the greatest on; equal ones stay in their order, as `sorted(v, reverse=True)` leaves them."""
    return np.sort(np.array(v)[::-1])[::-1]
