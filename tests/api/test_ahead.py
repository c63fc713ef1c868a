"""Compilation ahead of the first call."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir.types import ArrayType
from loopdiff.pipeline import display

X = np.linspace(0.0, 1.0, 7)


def squares(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


@pytest.mark.parametrize("settings", [{}, {"memory_limit": 10**6}, {"check": "first"}, {"parallel": True}])
def test_nothing_is_left_to_compile_after_precompile(settings: dict[str, Any]) -> None:
    f = vectorize_grad(cache=False, **settings)(squares)
    f.precompile(numba.float64[::1])
    made = dict(f.compile(X).timings)
    f(X)
    f.value_and_grad(X)
    f.vjp(X)[1](1.0)
    f.jvp((X,), {"x": X})
    assert list(f.compile(X).timings) == list(made)


def test_precompile_runs_nothing() -> None:
    @vectorize_grad(cache=False)
    def shift(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] + 1.0

    y = np.zeros_like(X)
    shift.precompile(X, y)
    assert not y.any()
    assert "numba shift" in shift.compile(X, y).timings


def test_precompile_is_one_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that shows it does not go and come back between the sweeps."""
    started: list[object] = []

    class Counted(display.Ticker):
        def start(self) -> None:
            started.append(self.progress)
            super().start()

    monkeypatch.setattr(display, "Ticker", Counted)
    f = vectorize_grad(cache=False, progress="always")(squares)
    f.specialize({"x": ArrayType("float64", 1, "C")})
    started.clear()
    f.precompile(numba.float64[::1])
    assert len(started) == 1
