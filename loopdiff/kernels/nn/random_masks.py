"""Numbers left out at random. The random numbers are functions of a seed and a place: none are stored."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.exponentials import softmax
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient

GOLDEN = -7046029254386353131  # the increment and the multipliers of SplitMix64, as signed numbers
FIRST, SECOND = -4658895280553007687, -7723592293110705685
LEAST = -1.7580993408473766  # of `selu`


def uniform_at(seed, place):
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
        y[i] = flat[i] / (1.0 - rate) if uniform_at(seed, i) >= rate else 0.0
    return y.reshape(x.shape)


@operator
def dropout_channels(x, seed, *, rate=0.5):
    """`dropout` of whole channels (Tompson et al., 2015): of `x`, `(N, C, ...)`, all numbers of a channel stay, or
    none. Arguments and errors as there."""
    require_floats(x)
    if rate < 0.0 or rate >= 1.0:
        raise ValueError("`rate` is a probability below 1")
    rows = x.reshape(x.shape[0] * x.shape[1], -1)
    y = np.empty_like(rows)
    for c in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            y[c, i] = rows[c, i] / (1.0 - rate) if uniform_at(seed, c) >= rate else 0.0
    return y.reshape(x.shape)


@operator
def alpha_dropout(x, seed, *, rate=0.5):
    """`dropout` that keeps mean 0 and variance 1 behind `selu` (Klambauer et al., 2017, section 3): numbers are not 0
    but what `selu` has at -inf, and all are scaled and moved. Arguments and errors as there."""
    require_floats(x)
    if rate < 0.0 or rate >= 1.0:
        raise ValueError("`rate` is a probability below 1")
    scale = (1.0 - rate + LEAST * LEAST * rate * (1.0 - rate)) ** -0.5
    flat = x.reshape(-1)
    y = np.empty_like(flat)
    for i in range(flat.shape[0]):
        y[i] = scale * ((flat[i] if uniform_at(seed, i) >= rate else LEAST) - rate * LEAST)
    return y.reshape(x.shape)


@operator
def alpha_dropout_channels(x, seed, *, rate=0.5):
    """`alpha_dropout` of whole channels, as `dropout_channels`: of `x`, `(N, C, ...)`, all numbers of a channel stay,
    or none. Arguments and errors as of `dropout`."""
    require_floats(x)
    if rate < 0.0 or rate >= 1.0:
        raise ValueError("`rate` is a probability below 1")
    scale = (1.0 - rate + LEAST * LEAST * rate * (1.0 - rate)) ** -0.5
    rows = x.reshape(x.shape[0] * x.shape[1], -1)
    y = np.empty_like(rows)
    for c in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            y[c, i] = scale * ((rows[c, i] if uniform_at(seed, c) >= rate else LEAST) - rate * LEAST)
    return y.reshape(x.shape)


@operator
def rrelu(x, seed, *, lower=0.125, upper=1 / 3):
    """`leaky_relu` whose slope below zero is drawn for each number between `lower` and `upper` (Xu et al., 2015). At
    0 the derivative is that slope. `seed` as of `dropout`."""
    require_floats(x)
    flat = x.reshape(-1)
    y = np.empty_like(flat)
    for i in range(flat.shape[0]):
        y[i] = flat[i] if flat[i] > 0.0 else (lower + (upper - lower) * uniform_at(seed, i)) * flat[i]
    return y.reshape(x.shape)


@operator
def gumbel_softmax(logits, seed, *, temperature=1.0, hard=False):
    """Nearly one category for each row, drawn by its logits, with derivatives (Jang et al., 2017, section 2):
    `softmax((logits + g) / temperature)` with `g = -log(-log(u))`, and `u` uniform.

    Args:
        logits: `(N, C)`.
        seed: An integer. The same seed draws the same numbers.
        temperature: Above zero; the lower, the nearer to one category.
        hard: Whether the value is exactly one category, the most likely; the derivative stays that of the softmax.

    Returns:
        `(N, C)`.

    Raises:
        ArgumentError: LD332 for another temperature, or where `logits` holds integers.
    """
    require_floats(logits)
    if temperature <= 0.0:
        raise ValueError("`temperature` is above zero")
    N, C = logits.shape
    scores = np.empty_like(logits)
    for n in range(N):
        for c in range(C):
            u = max(uniform_at(seed, n * C + c), 2.0**-54)
            scores[n, c] = (logits[n, c] - np.log(-np.log(u))) / temperature
    y = softmax(scores, axis=1)
    if hard:
        for n in range(N):
            winner = 0
            for c in range(C):
                if scores[n, c] > scores[n, winner]:
                    winner = c
            for c in range(C):
                y[n, c] = (y[n, c] - stop_gradient(y[n, c])) + (1.0 if c == winner else 0.0)
    return y
