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
