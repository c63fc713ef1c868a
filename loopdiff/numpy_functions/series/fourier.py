"""Fourier transforms of lines, of real and imaginary parts in arrays of their own.

Lines of a power of two go through stages of radix 4, all of which read and write the same places (Pease, "An adaptation
of the fast Fourier transform for parallel processing", JACM 1968): loops over whole vectors, which stay so in the
reverse sweep. Other lengths are convolutions of such lines (Bluestein, 1970). Transforms back are transforms of the
parts exchanged.
"""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_complex
from loopdiff.numpy_functions.building import roll


def transform_lines(re, im):
    """The transform of each line, in place."""
    n = re.shape[1]
    is_other = n & (n - 1) != 0
    size = length_of_stages(n)
    room, width = 4 * n if is_other else n, n if is_other else 0
    c, s = np.empty(room, dtype=re.dtype), np.empty(room, dtype=re.dtype)
    order = np.zeros(room, dtype=np.int64)
    fill_waves(c, s, size)
    fill_order(order, size)
    u, v = np.empty(room, dtype=re.dtype), np.empty(room, dtype=re.dtype)
    g, h = np.empty(room, dtype=re.dtype), np.empty(room, dtype=re.dtype)
    p, q = np.empty(width, dtype=re.dtype), np.empty(width, dtype=re.dtype)
    filter_re, filter_im = np.empty(4 * width, dtype=re.dtype), np.empty(4 * width, dtype=re.dtype)
    if is_other:
        fill_chirp(p, q)
        fill_filter(p, q, u, v, size)
        pass_stages(u, v, g, h, c, s, order, size)
        for k in range(size):
            filter_re[k], filter_im[k] = u[k] / size, v[k] / size
    for line in range(re.shape[0]):
        if is_other:
            put_times_chirp(re[line], im[line], p, q, u, v, size)
        else:
            u[:n] = re[line]
            v[:n] = im[line]
        for turn in range(2 if is_other else 1):
            if turn == 1:  # and back
                for k in range(size):
                    a, b = u[k], v[k]
                    u[k], v[k] = a * filter_im[k] + b * filter_re[k], a * filter_re[k] - b * filter_im[k]
            pass_stages(u, v, g, h, c, s, order, size)
        if is_other:
            for k in range(n):
                re[line, k], im[line, k] = v[k] * p[k] - u[k] * q[k], v[k] * q[k] + u[k] * p[k]
        else:
            re[line] = u[:n]
            im[line] = v[:n]


def fill_filter(p, q, u, v, size):
    """The chirp backwards, from both ends."""
    n = p.shape[0]
    for k in range(n):
        u[k], v[k] = p[k], -q[k]
    for k in range(n, size):
        u[k], v[k] = (p[size - k], -q[size - k]) if size - k < n else (0.0, 0.0)


def put_times_chirp(re, im, p, q, u, v, size):
    n = p.shape[0]
    for k in range(n, size):
        u[k], v[k] = 0.0, 0.0
    for k in range(n):
        u[k], v[k] = re[k] * p[k] - im[k] * q[k], re[k] * q[k] + im[k] * p[k]


def length_of_stages(n):
    """`n` if it is a power of two, else one of at least 2 n - 1."""
    a = 2 * n - 2
    b = a | a >> 1
    c = b | b >> 2
    d = c | c >> 4
    e = d | d >> 8
    f = e | e >> 16
    return n if n & (n - 1) == 0 else f + 1


def fill_waves(c, s, n):
    """The `n`-th roots of one, clockwise."""
    for k in range(n):
        angle = 2.0 * np.pi / n * (k if 2 * k < n else k - n)
        c[k], s[k] = np.cos(angle), -np.sin(angle)


def fill_chirp(p, q):
    """Waves that become faster: exp(-i pi k k / n)."""
    n = p.shape[0]
    for k in range(n):
        at = k * k % (2 * n)
        angle = np.pi / n * (at if at < n else at - 2 * n)
        p[k], q[k] = np.cos(angle), -np.sin(angle)


def fill_order(order, n):
    """Which frequency the stages leave in each of `n` places."""
    done = 1
    while done < n:
        radix = 4 if 4 * done <= n else 2
        for q in range(done - 1, -1, -1):
            first = order[q]
            for k in range(radix):
                order[radix * q + k] = first + done * k
        done *= radix


def pass_stages(u, v, g, h, c, s, order, n):
    """The transform of a power of two elements, in place; what is read of a quarter each goes side by side."""
    m = n // 4
    done = 1
    while 4 * done <= n:
        for t in range(m):
            at = t & -done
            ar, ai, br, bi = u[t] + u[t + 2 * m], v[t] + v[t + 2 * m], u[t] - u[t + 2 * m], v[t] - v[t + 2 * m]
            cr, ci = u[t + m] + u[t + 3 * m], v[t + m] + v[t + 3 * m]
            dr, di = v[t + m] - v[t + 3 * m], u[t + 3 * m] - u[t + m]
            g[4 * t], h[4 * t] = ar + cr, ai + ci
            er, ei = br + dr, bi + di
            g[4 * t + 1], h[4 * t + 1] = c[at] * er - s[at] * ei, c[at] * ei + s[at] * er
            fr, fi = ar - cr, ai - ci
            g[4 * t + 2], h[4 * t + 2] = c[2 * at] * fr - s[2 * at] * fi, c[2 * at] * fi + s[2 * at] * fr
            kr, ki = br - dr, bi - di
            g[4 * t + 3], h[4 * t + 3] = c[3 * at] * kr - s[3 * at] * ki, c[3 * at] * ki + s[3 * at] * kr
        for t in range(n):
            u[t], v[t] = g[t], h[t]
        done *= 4
    if done < n:
        for t in range(n // 2):
            g[2 * t], h[2 * t] = u[t] + u[t + n // 2], v[t] + v[t + n // 2]
            g[2 * t + 1], h[2 * t + 1] = u[t] - u[t + n // 2], v[t] - v[t + n // 2]
    else:
        for t in range(n):
            g[t], h[t] = u[t], v[t]
    for t in range(n):
        u[order[t]], v[order[t]] = g[t], h[t]


# -- NumPy's functions ---------------------------------------------------------------------------------------
def fft(a, n=None, axis=-1, norm=None):
    return transformed(a, n, axis, norm, False)


def ifft(a, n=None, axis=-1, norm=None):
    return transformed(a, n, axis, norm, True)


def rfft(a, n=None, axis=-1, norm=None):
    """The first half of the transform of real numbers, and the element in the middle; the rest mirrors it."""
    assert not holds_complex(a), "np.fft.rfft takes real numbers"
    lines = np.moveaxis(a, axis, -1)
    count = lines.shape[-1] if n is None else n
    re, im = parts_of(lines, count)
    transform_all(re, im)
    factor = scale(count, norm, False)
    half = count // 2 + 1
    return np.moveaxis(factor * re[..., :half] + 1j * (factor * im[..., :half]), -1, axis)


def irfft(a, n=None, axis=-1, norm=None):
    """The real numbers with that transform; what is imaginary of its first element, and of one in the middle, is not
    looked at."""
    lines = np.moveaxis(a, axis, -1)
    count = 2 * (lines.shape[-1] - 1) if n is None else n
    re, im = parts_of(lines[..., : count // 2 + 1], count)
    last = (count - 1) // 2
    im[..., :1] = 0.0
    im[..., last + 1 :] = 0.0
    re[..., count - last :] = re[..., 1 : last + 1][..., ::-1]
    im[..., count - last :] = -im[..., 1 : last + 1][..., ::-1]
    transform_all(im, re)
    return np.moveaxis(scale(count, norm, True) * re, -1, axis)


def hfft(a, n=None, axis=-1, norm=None):
    if norm == "ortho":
        return irfft(np.conj(a), n, axis, "ortho")
    return irfft(np.conj(a), n, axis, "backward") if norm == "forward" else irfft(np.conj(a), n, axis, "forward")


def ihfft(a, n=None, axis=-1, norm=None):
    if norm == "ortho":
        return np.conj(rfft(a, n, axis, "ortho"))
    return np.conj(rfft(a, n, axis, "backward") if norm == "forward" else rfft(a, n, axis, "forward"))


def transformed(a, n, axis, norm, is_inverse):
    lines = np.moveaxis(a, axis, -1)
    count = lines.shape[-1] if n is None else n
    re, im = parts_of(lines, count)
    if is_inverse:
        transform_all(im, re)
    else:
        transform_all(re, im)
    factor = scale(count, norm, is_inverse)
    return np.moveaxis(factor * re + 1j * (factor * im), -1, axis)


def parts_of(lines, count):
    """Real and imaginary parts of `count` elements of each line: the first ones, and zeros if it has fewer."""
    assert count > 0, "functions of np.fft take one element or more"
    used = min(count, lines.shape[-1])
    kind = 1.0 * np.real(lines.ravel()[:0])
    re = np.zeros(lines.shape[:-1] + (count,), dtype=kind.dtype)  # noqa: RUF005 - stars are taken apart
    im = np.zeros_like(re)
    re[..., :used] = np.real(lines[..., :used])
    if holds_complex(lines):
        im[..., :used] = np.imag(lines[..., :used])
    return re, im


def transform_all(re, im):
    if re.ndim == 1:
        transform_lines(re[None], im[None])
    elif re.ndim == 2:
        transform_lines(re, im)
    elif re.ndim == 3:
        for i in range(re.shape[0]):
            transform_lines(re[i], im[i])
    else:
        assert re.ndim == 4, "functions of np.fft take arrays of up to four axes here"
        for i in range(re.shape[0]):
            for j in range(re.shape[1]):
                transform_lines(re[i, j], im[i, j])


def scale(n, norm, is_inverse):
    is_known = norm is None or norm == "backward" or norm == "ortho" or norm == "forward"
    assert is_known, "`norm` of functions of np.fft is 'backward', 'ortho' or 'forward'"
    if norm == "ortho":
        return 1.0 / np.sqrt(1.0 * n)
    return 1.0 / n if is_inverse != (norm == "forward") else 1.0


def fft2(a, s=None, axes=(-2, -1), norm=None):
    assert len(axes) == 2, "np.fft.fft2 goes along two axes"
    return along_axes(fft, a, s, (axes[0], axes[1]), norm, 1)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    assert len(axes) == 2, "np.fft.ifft2 goes along two axes"
    return along_axes(ifft, a, s, (axes[0], axes[1]), norm, 1)


def fftn(a, s=None, axes=None, norm=None):
    return along_axes(fft, a, s, axes, norm, 1)


def ifftn(a, s=None, axes=None, norm=None):
    return along_axes(ifft, a, s, axes, norm, 1)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    assert len(axes) == 2, "np.fft.rfft2 goes along two axes"
    return rfftn(a, s, (axes[0], axes[1]), norm)


def rfftn(a, s=None, axes=None, norm=None):
    """Halves along the last axis."""
    first = rfft(a, None if s is None else s[-1], -1 if axes is None else axes[-1], norm)
    return along_axes(fft, first, s, axes, norm, 2)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    assert len(axes) == 2, "np.fft.irfft2 goes along two axes"
    return irfftn(a, s, (axes[0], axes[1]), norm)


def irfftn(a, s=None, axes=None, norm=None):
    others = along_axes(ifft, a, s, axes, norm, 2)
    return irfft(others, None if s is None else s[-1], -1 if axes is None else axes[-1], norm)


def along_axes(f, a, s, axes, norm, start):
    """`f` along the axes from the last one back, or the one before it (`start`); all where none are named."""
    if axes is None:
        assert not isinstance(s, tuple), "functions of np.fft take `axes` with `s` here"
        assert 0 < a.ndim < 4, "functions of np.fft transform up to three axes here"
        if a.ndim == 1:
            return along_axes_named(f, a, s, (-1,), norm, start)
        if a.ndim == 2:
            return along_axes_named(f, a, s, (-2, -1), norm, start)
        return along_axes_named(f, a, s, (-3, -2, -1), norm, start)
    return along_axes_named(f, a, s, axes, norm, start)


def along_axes_named(f, a, s, axes, norm, start):
    assert 0 < len(axes) < 4, "functions of np.fft transform up to three axes here"
    assert s is None or len(s) == len(axes), "Shape and axes have different lengths."
    first = f(a, None if s is None else s[-1], axes[-1], norm) if start == 1 else a
    if len(axes) == 1:
        return first
    elif len(axes) == 2:
        return f(first, None if s is None else s[-2], axes[-2], norm)
    else:
        second = f(first, None if s is None else s[-2], axes[-2], norm)
        return f(second, None if s is None else s[-3], axes[-3], norm)


def fftfreq(n, d=1.0):
    """The frequencies of a transform, those below zero last."""
    k = np.arange(n)
    return np.where(k < (n + 1) // 2, k, k - n) * np.float64(1.0 / (n * d))


def rfftfreq(n, d=1.0):
    return np.arange(n // 2 + 1) * np.float64(1.0 / (n * d))


def fftshift(x, axes=None):
    """The element of frequency zero in the middle."""
    return shifted(x, axes, False)


def ifftshift(x, axes=None):
    return shifted(x, axes, True)


def shifted(x, axes, is_inverse):
    if axes is None:
        assert 0 < x.ndim < 4, "np.fft.fftshift of all axes takes up to three"
        first = shifted_along(x, 0, is_inverse)
        if x.ndim == 1:
            return first
        second = shifted_along(first, 1, is_inverse)
        if x.ndim == 2:
            return second
        return shifted_along(second, 2, is_inverse)
    if not isinstance(axes, tuple):
        return shifted_along(x, axes, is_inverse)
    out = shifted_along(x, axes[0], is_inverse)
    for k in range(1, len(axes)):
        out = shifted_along(out, axes[k], is_inverse)
    return out


def shifted_along(x, axis, is_inverse):
    n = x.shape[axis]
    return roll(x, -(n // 2) if is_inverse else n // 2, axis)
