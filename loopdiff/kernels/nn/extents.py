"""Options that are one number, or one for each axis."""

from __future__ import annotations


def pair(value):
    return value if isinstance(value, tuple) else (value, value)


def triple(value):
    return value if isinstance(value, tuple) else (value, value, value)


def sides(padding):
    """Cells before and behind each of two axes: of one number, of one for each axis, or of two pairs."""
    above, left = pair(padding)
    return pair(above), pair(left)


def all_sides(padding):
    """`sides` of three axes."""
    front, above, left = triple(padding)
    return pair(front), pair(above), pair(left)


def windows_along(extent, margin, window, step=1, apart=1, ceil_mode=False):
    """How many windows begin at each `step` of an axis, with so many cells `margin` before and behind it: those that
    end inside, or, with `ceil_mode`, one more that begins before the margin behind and ends outside."""
    before, behind = margin
    room = extent + before + behind - apart * (window - 1) - 1
    count = 1 + room // step
    if ceil_mode:
        count = 1 + min((room + step - 1) // step, (extent + before - 1) // step)
    if count < 1:
        raise ValueError("the window is larger than what it goes over")
    return count
