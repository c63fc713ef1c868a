"""Sums whose loops end before they begin, in every form of a contraction: nothing is read, and they are zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad


def of_rows(A, B, C, low, alpha):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            C[m, n] = 0.0
            for k in range(low, A.shape[1]):
                C[m, n] += alpha * A[m, k] * B[n, k]


def of_columns(A, B, C, low, alpha):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            C[m, n] = 0.0
            for k in range(low, A.shape[1]):
                C[m, n] += alpha * A[m, k] * B[k, n]


def of_two_terms(A, B, C, low, alpha):
    for m in range(C.shape[0]):
        for n in range(C.shape[1]):
            C[m, n] = 0.0
            for k in range(low, A.shape[1]):
                C[m, n] += alpha * A[m, k] * B[n, k] + A[m, k] * B[m, k]


@pytest.mark.parametrize("function", [of_rows, of_columns, of_two_terms])
def test_they_are_zero(function: Callable[..., Any]) -> None:
    f = vectorize_grad(wrt=("A", "B"))(function)
    for rows, terms in ((3, 0), (3, 1), (3, 3), (12, 2)):
        held = np.full((2, 40, 40), np.nan)
        args = held[0, 10 : 10 + rows, 10 : 10 + terms], held[1, 10:31, 10 : 10 + terms]
        if function is of_columns:
            args = args[0], held[1, 10 : 10 + terms, 10:31]
        C = np.full((rows, 21), np.nan)
        _, pullback = f.vjp(*args, C, 4, np.inf)
        np.testing.assert_array_equal(C, np.zeros_like(C))
        for found in pullback(C=np.ones_like(C)):
            np.testing.assert_array_equal(found, np.zeros_like(found))
