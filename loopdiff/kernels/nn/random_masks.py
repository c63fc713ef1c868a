"""Numbers left out at random. The random numbers are functions of a seed and a place: none are stored."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator

GOLDEN = -7046029254386353131  # the increment and the multipliers of SplitMix64, as signed numbers
FIRST, SECOND = -4658895280553007687, -7723592293110705685


def uniform(seed, place):
    """A number in [0, 1): SplitMix64 (Steele, Lea and Flood, 2014, figure 17) at a place of a stream."""
    z = seed + (place + 1) * GOLDEN
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * FIRST
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * SECOND
    z = z ^ ((z >> 31) & 0x1FFFFFFFF)
    return ((z >> 11) & 0x1FFFFFFFFFFFFF) * 2.0**-53


@operator
def dropout(x, seed, *, rate=0.5):
    """`x / (1 - rate)`, and 0 with probability `rate` (Srivastava et al., 2014).

    The reverse sweep draws the same numbers again: no mask is kept.

    Args:
        x: An array of any shape.
        seed: An integer. The same seed and shape leave out the same elements.
        rate: The probability, at least 0 and below 1.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 for another rate, or where `x` holds integers.
    """
    require_floats(x)
    if rate < 0.0 or rate >= 1.0:
        raise ValueError("`rate` is a probability below 1")
    flat = x.reshape(-1)
    y = np.empty_like(flat)
    for i in range(flat.shape[0]):
        y[i] = flat[i] / (1.0 - rate) if uniform(seed, i) >= rate else 0.0
    return y.reshape(x.shape)
