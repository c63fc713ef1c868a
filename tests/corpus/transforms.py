"""Programs with Fourier transforms, and with functions that choose and place."""

from __future__ import annotations

import numpy as np

from .entry import Entry


# A pulse that disperses, and how far its spectrum is from what was measured.
def dispersed(x, spectrum, s):
    k = np.fft.fftfreq(len(x), d=0.5)
    z = np.fft.ifft(np.fft.fft(x) * np.exp(-1j * s * k**2))
    far = np.abs(np.fft.rfft(x)) ** 2 - spectrum
    return np.sum(np.abs(z) ** 4) + np.sum(far * far) + np.fft.fftshift(x)[0]


def dispersed_oracle(xp, x, spectrum, s):
    k = xp.fft.fftfreq(len(x), d=0.5)
    z = xp.fft.ifft(xp.fft.fft(x) * xp.exp(-1j * s * k**2))
    far = xp.abs(xp.fft.rfft(x)) ** 2 - spectrum
    return {"result": xp.sum(xp.abs(z) ** 4) + xp.sum(far * far) + xp.fft.fftshift(x)[0]}


# A piecewise response, the middle of what is there, and the product of two filters.
def chosen_response(x, y, k, s):
    t = np.choose(k, [x, y, x * y])
    np.putmask(t, y > 0.5, s * x)
    middle = np.nanmedian(np.where(x > 0.2, x, np.nan))
    taps = np.polymul(1.0 + x[:3], 1.0 + y[:2])
    return np.sum(t * t) + middle * np.sum(np.nancumsum(taps)) + np.sum(y[np.lexsort((x, k))] * x) + np.modf(s)[0]


def chosen_response_oracle(xp, x, y, k, s):
    t = xp.where(y > 0.5, s * x, xp.where(k == 0, x, xp.where(k == 1, y, x * y)))
    middle = xp.nanmedian(xp.where(x > 0.2, x, xp.nan))
    taps = xp.convolve(1.0 + x[:3], 1.0 + y[:2])
    order = xp.lexsort((x, k))
    return {"result": xp.sum(t * t) + middle * xp.sum(xp.cumsum(taps)) + xp.sum(y[order] * x) + xp.modf(s)[0]}


ENTRIES = (
    Entry(
        name="chosen_response",
        function=chosen_response,
        make=lambda r, n=6: dict(x=r.random(n), y=r.random(n), k=r.integers(0, 3, n), s=1.7),
        wrt=("x", "y", "s"),
        oracle=chosen_response_oracle,
        is_twin=True,
        constructs=(
            "np.choose, compress, extract, putmask, place, unravel_index, lexsort, partition, nanmedian, histogram2d",
        ),
    ),
    Entry(
        name="dispersed",
        function=dispersed,
        make=lambda r, n=6: dict(x=r.random(n), spectrum=r.random(n // 2 + 1), s=0.7),
        wrt=("x", "s"),
        oracle=dispersed_oracle,
        is_twin=True,
        constructs=("np.fft.fft, ifft, rfft, irfft, fft2, fftn, fftfreq, fftshift",),
    ),
)
