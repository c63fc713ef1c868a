"""Rows at computed places: a few elements one by one, more in vectors, and what several nests have in common."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.backends.cpu.simd import host_width
from loopdiff.model import tuning
from loopdiff.pipeline.cpu import compile_loopset
from tests.ad.interpreted import lower


def looked_up(y, table, place, w, total):
    """A table that is read and added to, and a sum over each of its rows."""
    for n in range(place.shape[0]):
        for f in range(table.shape[1]):
            y[n, f] += w[n] * table[place[n], f]
        for f in range(table.shape[1]):
            total[n] += y[n, f] * table[place[n], f]
        for f in range(table.shape[1]):
            table[place[n], f] += 0.5 * y[n, f]


def added(y, table, place, w, total):
    for n in range(place.shape[0]):
        for f in range(table.shape[1]):
            table[place[n], f] += w[n] * y[n, f] + total[n]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("function", "few"), [(looked_up, tuning.FEW_SUMMED), (added, tuning.FEW)])
def test_rows_of_every_length(function, few, dtype):
    rng = np.random.default_rng(0)
    compiled = None
    for length in (0, 1, 2, 4, 5, 8, 9, 15, 16, 17, 40, 130):
        args = {
            "y": rng.standard_normal((6, length)).astype(dtype),
            "table": rng.standard_normal((4, length)).astype(dtype),
            "place": np.array([3, 0, 3, 3, 1, 0]),
            "w": rng.standard_normal(6).astype(dtype),
            "total": rng.standard_normal(6).astype(dtype),
        }
        expected = {name: value.copy() for name, value in args.items()}
        function(*expected.values())
        compiled = compiled or compile_loopset(lower(function, args))
        compiled.dispatcher(*args.values())
        rtol = 1e-12 if dtype is np.float64 else 2e-4
        for name, value in args.items():
            np.testing.assert_allclose(value, expected[name], rtol=rtol, atol=rtol, err_msg=name)
    assert compiled is not None
    assert f"<= {min(few, host_width(np.dtype(dtype).name) - 1)}:" in compiled.source


def copied(y, table, place):
    for n in range(place.shape[0]):
        for f in range(table.shape[1]):
            y[n, f] = table[place[n], f]


def test_rows_that_are_only_copied_are_vectors():
    """Nothing waits for what they store."""
    args = {"y": np.zeros((3, 5)), "table": np.ones((4, 5)), "place": np.array([3, 0, 1])}
    assert " <= " not in compile_loopset(lower(copied, args)).source
