"""Arrays as the rows along one of their axes: what is done to each row does not depend on where the axis stood."""

from __future__ import annotations

import numpy as np


def rows_along(x, axis):
    """`(rows, length)`: a view where the axis is the last one of a contiguous array, else a copy."""
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])


def back_from_rows(rows, x, axis):
    """Rows that `rows_along` made of `x`, or others of their shape, in the shape of `x`."""
    return np.moveaxis(rows.reshape(np.moveaxis(x, axis, -1).shape), -1, axis)
