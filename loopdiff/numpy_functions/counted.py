"""Functions of integers: numbers of arrangements, divisors, and windows of so many numbers."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_integers


def factorial(n):
    assert 0 <= n <= 20, "math.factorial of an integer below 0, or above 20, does not fit in 64 bits"
    found = 1
    for i in range(2, n + 1):
        found *= i
    return found


def comb(n, k):
    """How many choices there are of `k` among `n`."""
    assert n >= 0 and k >= 0, "math.comb takes integers that are not negative"  # noqa: PT018
    found = 1
    for i in range(1, min(k, n - k) + 1):
        factor = n - min(k, n - k) + i
        assert found <= 9223372036854775807 // factor, "math.comb does not fit in 64 bits"
        found = found * factor // i
    return found if k <= n else 0


def gcd(a, b):
    """The greatest common divisor of two integers."""
    left, right = abs(a) | 0, abs(b) | 0  # no floats
    while right != 0:
        left, right = right, left % right
    return left


def prod(iterable, *, start=1):
    """The product of what is gone through, in order."""
    total = start
    for value in iterable:
        total = total * value
    return total


def hanning(M):
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1))


def hamming(M):
    return 0.54 + 0.46 * np.cos(np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1))


def blackman(M):
    angle = np.pi * np.arange(1 - M, M, 2) / max(M - 1, 1)
    return 0.42 + 0.5 * np.cos(angle) + 0.08 * np.cos(2.0 * angle)


def bartlett(M):
    return 1.0 - np.abs(np.arange(1 - M, M, 2)) / max(M - 1, 1)


def lcm(a, b):
    """The least integer that both divide."""
    return abs(a // max(gcd(a, b), 1) * b)


def exact_lcm(a, b):
    """The same, which Python has however large it is."""
    times = abs(a // max(gcd(a, b), 1))
    assert times == 0 or abs(b) <= 9223372036854775807 // times, "math.lcm does not fit in 64 bits"
    return times * abs(b)


def gcd_of_each(x1, x2):
    return of_each_pair(gcd, x1, x2)


def lcm_of_each(x1, x2):
    return of_each_pair(lcm, x1, x2)


def of_each_pair(f, x1, x2):
    """A function of two integers, element by element."""
    assert holds_integers(x1) and holds_integers(x2), "np.gcd and np.lcm take integers"  # noqa: PT018
    if np.ndim(x1) == 0 and np.ndim(x2) == 0:
        return f(x1, x2)
    left, right = x1 + 0 * x2, x2 + 0 * x1
    first, second, out = left.ravel(), right.ravel(), np.ravel(0 * left)
    for i in range(first.shape[0]):
        out[i] = f(first[i], second[i])
    return out.reshape(left.shape)
