"""Lanes of complex elements: parts side by side in memory, with others between them, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

SIZES = (0, 1, 7, 8, 9, 33)


def scaled(z, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += z * x[i, j]


def squared(z, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = z - y[i, j] * y[i, j] + x[i, j]


def chosen(z, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j].real > 0.5:
                y[i, j] += z * x[i, j]


def real_first(z, x, y):
    """What is added to one part reads the other one, which was changed just before."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += x[i, j].real
            y[i, j] += 1j * (y[i, j].real * z.imag)


def apart(z, x, y):
    """Something else is between the two parts, and it asks for the real one."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += z.real * x[i, j]
            x[i, j] = 2.0 * x[i, j] + y[i, j].real
            y[i, j] += 1j * x[i, j].imag


def moving(z, x, y):
    """Between the two parts, it is changed which row they are in."""
    rows = np.zeros(1, dtype=np.int64)
    for i in range(x.shape[0]):
        rows[0] = i
        for j in range(x.shape[1]):
            y[rows[0], j] += z * x[i, j]


def every_other(z, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1] // 2):
            y[i, 2 * j] += z * x[i, 2 * j + 1]


def turned(z, x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, x.shape[1] - 1 - j] += z * x[i, j]


ALL = (scaled, squared, chosen, real_first, apart, moving, every_other, turned)


def numbers(shape: tuple[int, int], dtype: Any) -> Any:
    rng = np.random.default_rng(shape[1])
    return (rng.random(shape) + 1j * rng.random(shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("function", ALL)
def test_values(function: Callable[..., Any], dtype: Any) -> None:
    found_in = vectorize_grad(function)
    for n in SIZES:
        z, x, y = 0.75 - 0.5j, numbers((3, n), dtype), numbers((3, n + 1), dtype)[:, 1:].copy()
        found, expected = y.copy(), y.astype(np.complex128)
        found_in(z, x.copy(), found)
        function(z, x.astype(np.complex128), expected)
        np.testing.assert_allclose(found, expected, rtol=1e-13 if dtype is np.complex128 else 1e-5, err_msg=str(n))


@pytest.mark.parametrize("function", ALL)
def test_gaps_between_elements_stay_as_they_are(function: Callable[..., Any]) -> None:
    for n in SIZES:
        whole, expected = numbers((3, 2 * n + 2), complex), numbers((3, 2 * n + 2), complex)
        z, x = 0.75 - 0.5j, numbers((3, n), complex)
        vectorize_grad(function)(z, x.copy(), whole[:, 1:-1:2])
        function(z, x, expected[:, 1:-1:2])
        np.testing.assert_allclose(whole, expected, rtol=1e-13)


@pytest.mark.parametrize("function", [scaled, squared, chosen, apart])
def test_gradients(function: Callable[..., Any]) -> None:
    z, x, y = 0.75 - 0.5j, numbers((3, 9), complex), numbers((3, 10), complex)[:, 1:].copy()
    weight = numbers((3, 11), complex)[:, 2:].copy()
    along = numbers((3, 12), complex)[:, 3:].copy()
    _, pullback = vectorize_grad(function).vjp(z, x.copy(), y.copy())
    found = pullback(y=weight)
    ends = []
    for h in (1e-6, -1e-6):
        end = y + h * along
        function(z, x + h * along, end)
        ends.append(np.sum(weight * end).real)
    slope = np.sum(found.x * along + found.y * along).real
    assert slope == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-7)


def test_both_parts_are_loaded_before_one_is_stored() -> None:
    compiled = vectorize_grad(scaled).compile(1j, numbers((3, 9), complex), numbers((3, 9), complex))
    lines = [t.strip() for t in compiled.source("primal").splitlines() if "_strided(" in t]
    assert [t.startswith("store") for t in lines] == [False, False, True, True]
