"""A fast Fourier transform in place (Cooley and Tukey, 1965), and a low-pass filter fitted to its spectrum."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def fft(re, im):
    n = len(re)
    j = 0
    for i in range(1, n):  # put the elements in the order of their bits read backwards
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
    size = 2
    while size <= n:
        half = size // 2
        for start in range(0, n, size):
            for k in range(half):
                c, s = np.cos(2.0 * np.pi * k / size), -np.sin(2.0 * np.pi * k / size)
                a, b = start + k, start + k + half
                x, y = c * re[b] - s * im[b], c * im[b] + s * re[b]
                re[a], re[b] = re[a] + x, re[a] - x
                im[a], im[b] = im[a] + y, im[a] - y
        size *= 2


@vectorize_grad(wrt="taps")
def misfit(taps, wanted, weight):
    """How far the spectrum of a filter is from what is wanted of it."""
    re, im = np.zeros(len(wanted)), np.zeros(len(wanted))
    re[: len(taps)] = taps
    fft(re, im)
    return (weight * (np.hypot(re, im) - wanted) ** 2).mean()


def main() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    z = rng.standard_normal(256) + 1j * rng.standard_normal(256)
    re, im = z.real.copy(), z.imag.copy()
    fft(re, im)
    print(f"the transform is NumPy's, to {np.abs(re + 1j * im - np.fft.fft(z)).max():.0e}")
    frequency = np.abs(np.fft.fftfreq(256))
    wanted, weight = np.where(frequency < 0.1, 1.0, 0.0), np.where(np.abs(frequency - 0.125) < 0.025, 0.0, 1.0)
    taps = np.full(31, 1.0 / 31.0)
    for k in range(401):
        loss, g = misfit.value_and_grad(taps, wanted, weight)
        taps -= 0.4 * g.taps
        if k % 100 == 0:
            print(f"step {k:3d}  misfit {loss:.2e}")
    gain = np.abs(np.fft.fft(taps, 256))
    print(f"what passes is off by {np.abs(gain - 1)[frequency < 0.1].max():.3f}, "
          f"what is stopped is down to {20 * np.log10(gain[frequency > 0.15].max()):.0f} dB")  # fmt: skip
    return {"gain found": gain[:128], "wanted": wanted[:128]}


if __name__ == "__main__":
    main()
