"""Polynomials by their coefficients, those of the highest power first."""

from __future__ import annotations

import numpy as np

from loopdiff.numpy_functions.branching import holds_complex
from loopdiff.numpy_functions.building import atleast_1d


def polyadd(a1, a2):
    """The sum of two polynomials."""
    return added(atleast_1d(a1), atleast_1d(a2))


def polysub(a1, a2):
    return added(atleast_1d(a1), -atleast_1d(a2))


def added(a1, a2):
    n, m = a1.shape[0], a2.shape[0]
    kind = np.concatenate((a1[:0], a2[:0]))
    out = np.zeros(max(n, m), dtype=kind.dtype)
    for i in range(n):
        out[max(n, m) - n + i] += a1[i]
    for i in range(m):
        out[max(n, m) - m + i] += a2[i]
    return out


def polymul(a1, a2):
    """The product of two polynomials."""
    first, second = atleast_1d(a1), atleast_1d(a2)
    assert first[0] != 0 and second[0] != 0, "np.polymul takes first coefficients that are not zero here"  # noqa: PT018
    return np.convolve(first, second)


def poly(seq_of_zeros):
    """The polynomial that is zero there, with one as its first coefficient."""
    assert seq_of_zeros.ndim == 1, "np.poly takes a vector of zeros here"
    assert not holds_complex(seq_of_zeros), "np.poly takes real zeros here"
    kind = 1.0 * seq_of_zeros[:0]
    out = np.zeros(seq_of_zeros.shape[0] + 1, dtype=kind.dtype)
    out[0] = 1.0
    for i, zero in enumerate(seq_of_zeros):
        for k in range(i + 1, 0, -1):
            out[k] -= zero * out[k - 1]
    return out
