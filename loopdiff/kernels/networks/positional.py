"""Numbers as waves and polynomials that small networks see more in."""

from __future__ import annotations

import math

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator


def part_of_period(turns):
    """Turns without whole ones, exactly: sums with a shift, and products with pi, would lose digits of what is left."""
    return turns - np.floor(turns)


@operator
def frequency_encoding(x, *, octaves, shift=0.0):
    """Sines and cosines of `2 pi (2 ** o * x + o * shift)` for octaves `o` from 0 (Mildenhall et al., 2020, eq. 4).

    Args:
        x: `(N, D)`, floats; waves have the period 1.
        octaves: How many.
        shift: By what part of a period waves of an octave are moved against those of the one below.

    Returns:
        `(N, D * octaves * 2)`: of each number the octaves, of each octave sine and cosine.

    Raises:
        ArgumentError: LD332 where `x` holds integers.
    """
    require_floats(x)
    N, D = x.shape
    y = np.empty((N, D, octaves, 2), dtype=x.dtype)
    for n in range(N):
        for d in range(D):
            for o in range(octaves):
                angle = 2.0 * math.pi * (part_of_period(2.0**o * x[n, d]) + o * shift)
                y[n, d, o, 0] = np.sin(angle)
                y[n, d, o, 1] = np.cos(angle)
    return y.reshape(N, D * octaves * 2)


@operator
def fourier_features(x, frequencies, phases):
    """Sines of `2 pi (frequencies @ x + phases)`, waves along directions that are drawn once (Rahimi and Recht, 2007;
    Tancik et al., 2020) or learned (Li et al., 2021): all arguments have derivatives.

    Args:
        x: `(N, D)`, floats.
        frequencies: `(K, D)`, how many periods to the length 1.
        phases: `(K,)`, in periods: a cosine begins at 1/4.

    Returns:
        `(N, K)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_floats(x)
    (N, D), K = x.shape, frequencies.shape[0]
    if frequencies.shape[1] != D or phases.shape[0] != K:
        raise ValueError("`frequencies` is (K, D), and `phases` (K,)")
    y = np.empty((N, K), dtype=x.dtype)
    for n in range(N):
        for k in range(K):
            turns = phases[k]
            for d in range(D):
                turns += frequencies[k, d] * x[n, d]
            y[n, k] = np.sin(2.0 * math.pi * turns)
    return y


def triangle_wave(x):
    """A wave of lines with the period 1: 1 at integers, -1 between them."""
    return 1.0 - 4.0 * abs(x - np.floor(x + 0.5))


@operator
def triangle_encoding(x, *, octaves, shift=0.0):
    """As `frequency_encoding`, with waves of lines in place of sines and cosines: where these are 1, 0 and -1, so are
    they. At integers of a wave, where it is 1, the derivative is zero; where it is -1 it is that to the right.

    Args:
        x, octaves, shift: As of `frequency_encoding`.

    Returns:
        `(N, D * octaves * 2)`.

    Raises:
        ArgumentError: LD332 where `x` holds integers.
    """
    require_floats(x)
    N, D = x.shape
    y = np.empty((N, D, octaves, 2), dtype=x.dtype)
    for n in range(N):
        for d in range(D):
            for o in range(octaves):
                turns = part_of_period(2.0**o * x[n, d]) + o * shift
                y[n, d, o, 0] = triangle_wave(turns - 0.25)
                y[n, d, o, 1] = triangle_wave(turns)
    return y.reshape(N, D * octaves * 2)


@operator
def spherical_harmonics(directions, *, degree):
    """Real spherical harmonics of directions, by the recurrences of Legendre's functions (Sloan, 2013).

    They have the sign of Condon and Shortley. No angle is made, so that poles are places like others.

    Args:
        directions: `(N, 3)`, floats, unit vectors: of others the same polynomials are computed.
        degree: Harmonics below it, 1 or more.

    Returns:
        `(N, degree ** 2)`: that of degree `l` and order `m` in the column `l * (l + 1) + m`.

    Raises:
        ArgumentError: LD332 where directions have no three components, or are integers.
    """
    require_floats(directions)
    if directions.shape[1] != 3:
        raise ValueError("`directions` is (N, 3)")
    y = np.empty((directions.shape[0], degree * degree), dtype=directions.dtype)
    for n in range(directions.shape[0]):
        u, v, w = directions[n, 0], directions[n, 1], directions[n, 2]
        even, odd, top = 1.0, 0.0, 1.0  # the real and the imaginary part of (u + i v) ** m, and Legendre's of m and m
        for m in range(degree):
            before, here = 0.0, top
            for l in range(m, degree):
                ratio = 1.0
                for k in range(l - m + 1, l + m + 1):
                    ratio = ratio / k
                scaled = np.sqrt((2 * l + 1) * ratio / (4.0 * math.pi)) * here
                if m == 0:
                    y[n, l * (l + 1)] = scaled
                else:
                    y[n, l * (l + 1) + m] = math.sqrt(2.0) * scaled * even
                    y[n, l * (l + 1) - m] = math.sqrt(2.0) * scaled * odd
                before, here = here, ((2 * l + 1) * w * here - (l + m) * before) / (l + 1 - m)
            even, odd = u * even - v * odd, u * odd + v * even
            top *= -(2 * m + 1)
    return y
