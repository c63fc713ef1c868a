"""Sounds as what sounds when: Fourier transforms of short windows, back again, and bands as ears hear them.

The transforms are sums over the samples of a window, `O(length)` for each frequency, as products of matrices: windows
of a few hundred samples are what they are for.
"""

from __future__ import annotations

import math

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator


def turns(length, like):
    """The cosines and sines of `2 pi k n / length` for frequencies `k` up to half of `length`, `(2, K, length)`."""
    angles = 2.0 * math.pi / length * np.arange(length)
    cosines, sines = np.cos(angles), np.sin(angles)
    waves = np.empty((2, length // 2 + 1, length), dtype=like.dtype)
    for k in range(length // 2 + 1):
        for n in range(length):
            waves[0, k, n] = cosines[k * n % length]
            waves[1, k, n] = sines[k * n % length]
    return waves


@operator
def stft(x, window, *, hop):
    """The Fourier transform of windows of a signal, one each `hop` samples (Allen and Rabiner, 1977): in frame `t` and
    frequency `k` the sum over `n` of `window[n] * x[t * hop + n] * exp(-2 pi i k n / length)`.

    Args:
        x: `(B, N)`, floats. The first frame begins at its first sample: margins are the caller's.
        window: `(length,)`, with elements.
        hop: From one frame to the next, 1 or more.

    Returns:
        Real and imaginary parts, both `(B, length // 2 + 1, T)`; only whole frames are taken.

    Raises:
        ArgumentError: LD332 where the signal is shorter than the window, `hop` is below 1, or `x` holds integers.
    """
    require_floats(x)
    (B, N), length = x.shape, window.shape[0]
    if hop < 1 or length < 1 or length > N:
        raise ValueError("`hop` is 1 or more, and a signal is no shorter than the window")
    K, T = length // 2 + 1, (N - length) // hop + 1
    waves = turns(length, x)
    real, imaginary = np.zeros((B, K, T), dtype=x.dtype), np.zeros((B, K, T), dtype=x.dtype)
    for b in range(B):
        for t in range(T):
            for k in range(K):
                for n in range(length):
                    real[b, k, t] += window[n] * x[b, t * hop + n] * waves[0, k, n]
                    imaginary[b, k, t] -= window[n] * x[b, t * hop + n] * waves[1, k, n]
    return real, imaginary


@operator
def spectrogram(x, window, *, hop, power=2.0):
    """The absolute values of `stft` to a power, with derivative 0 where they are zero: `(B, N)` gives
    `(B, length // 2 + 1, T)`. Arguments and errors as there."""
    real, imaginary = stft(x, window, hop=hop)
    y = np.zeros_like(real)
    B, K, T = real.shape
    for b in range(B):
        for k in range(K):
            for t in range(T):
                square = real[b, k, t] ** 2 + imaginary[b, k, t] ** 2
                if square != 0.0:
                    y[b, k, t] = square ** (0.5 * power)
    return y


@operator
def power_to_db(power, *, reference=1.0, least=1e-10, span=80.0):
    """Powers in decibels, `10 * log10(max(power, least) / reference)`, and no more than `span` below the loudest, or
    `span=None`; where a limit is taken the derivative is zero, or that of the loudest. `power` has any shape with
    elements."""
    flat = power.reshape(-1)
    y = np.empty_like(flat)
    loudest = -np.inf
    for i in range(flat.shape[0]):
        y[i] = 10.0 * (np.log10(flat[i] if flat[i] > least else least) - np.log10(reference))
        if y[i] > loudest:
            loudest = y[i]
    if span is not None:
        for i in range(flat.shape[0]):
            y[i] = y[i] if y[i] >= loudest - span else loudest - span
    return y.reshape(power.shape)


@operator
def db_to_power(decibels, *, reference=1.0):
    """`reference * 10 ** (decibels / 10)`, element by element."""
    return reference * 10.0 ** (0.1 * decibels)


@operator
def istft(real, imaginary, window, *, hop):
    """The signal whose short Fourier transforms are nearest to those given (Griffin and Lim, 1984, equation 6): inverse
    transforms times the window, added up where they overlap, over the sum of squares of the window there.

    Args:
        real, imaginary: Both `(B, length // 2 + 1, T)`, floats, as `stft` gives them. Imaginary parts of the lowest
            frequency and, of even lengths, the highest, are not read.
        window: `(length,)`, with elements.
        hop: From one frame to the next, 1 or more.

    Returns:
        `(B, (T - 1) * hop + length)`; 0 where no window is but zero.

    Raises:
        ArgumentError: LD332 where shapes do not fit, there is no frame, `hop` is below 1, or arrays hold integers.
    """
    require_floats(real)
    (B, K, T), length = real.shape, window.shape[0]
    if hop < 1 or T < 1 or length < 1 or length // 2 + 1 != K or imaginary.shape != real.shape:
        raise ValueError("both parts are (B, length // 2 + 1, T), with a frame or more, and `hop` is 1 or more")
    N = (T - 1) * hop + length
    waves = turns(length, real)
    total, weight = np.zeros((B, N), dtype=real.dtype), np.zeros(N, dtype=window.dtype)
    for t in range(T):
        for n in range(length):
            weight[t * hop + n] += window[n] * window[n]
    for b in range(B):
        for t in range(T):
            for n in range(length):
                sample = 0.0
                for k in range(K):
                    twice = 1.0 if 2 * k % length == 0 else 2.0
                    sample += twice * (real[b, k, t] * waves[0, k, n] - imaginary[b, k, t] * waves[1, k, n])
                total[b, t * hop + n] += window[n] * sample / length
    for b in range(B):
        for n in range(N):
            total[b, n] = total[b, n] / weight[n] if weight[n] > 0.0 else 0.0
    return total


def mel(frequency):
    """A frequency in mels (O'Shaughnessy, 1987)."""
    return 2595.0 * math.log10(1.0 + frequency / 700.0)


def hertz(mels):
    """The frequency of so many mels."""
    return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)


@operator
def mel_filters(power, *, bands, rate, low=0.0, high=None):
    """Powers of frequencies in bands as wide as ears hear them: triangles that are equidistant in mels, each from the
    peak of the one below to that of the one above (Davis and Mermelstein, 1980), with height 1.

    Args:
        power: `(B, K, T)`, floats: of frequencies from 0 to `rate / 2`, two or more.
        bands: How many.
        rate: Samples per second.
        low, high: Where the lowest band begins and the highest ends; `high=None` is `rate / 2`.

    Returns:
        `(B, bands, T)`.

    Raises:
        ArgumentError: LD332 where limits do not ascend, there are fewer than two frequencies, or `power` is integers.
    """
    require_floats(power)
    B, K, T = power.shape
    last = 0.5 * rate if high is None else high
    if not 0.0 <= low < last or K < 2:
        raise ValueError("`low` is below `high` and not below 0, and there are two frequencies or more")
    y = np.zeros((B, bands, T), dtype=power.dtype)
    step = (mel(last) - mel(low)) / (bands + 1)
    for m in range(bands):
        left, peak = hertz(mel(low) + m * step), hertz(mel(low) + (m + 1) * step)
        right = hertz(mel(low) + (m + 2) * step)
        for k in range(K):
            frequency = 0.5 * rate * k / (K - 1)
            height = max(0.0, min((frequency - left) / (peak - left), (right - frequency) / (right - peak)))
            for b in range(B):
                for t in range(T):
                    y[b, m, t] += height * power[b, k, t]
    return y
