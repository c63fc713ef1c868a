"""Cells of grids over the places from 0 to 1, and what their corners count."""

from __future__ import annotations


def scaled(x, cells):
    """A place as a number of cells, from 0 to as many as there are."""
    if x < 0.0:
        return 0.0 * cells
    return 1.0 * cells if x > 1.0 else x * cells


def cell_at(place, cells):
    """The cell where a place is; of places on a border that behind it, if there is one; of NaN the first."""
    return min(int(place), cells - 1) if place > 0.0 else 0


def portion(t, smooth):
    """What the corner behind counts at the part `t` of a cell: `t` itself, or smoothstep, which has slope zero at both
    ends."""
    return t * t * (3.0 - 2.0 * t) if smooth else t


def corner(t, behind):
    """What one of two corners counts along an axis, where that behind counts `t`."""
    return t if behind == 1 else 1.0 - t
