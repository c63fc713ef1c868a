"""Tapes that grow: gradients of loops that data end, whatever calls before needed, and arguments that are restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.calls import growing
from loopdiff.calls.runs import with_spare


@vectorize_grad(wrt=("x",))
def squared_up(x, y):
    """Squares each `x`, which is overwritten, until it is large; `y` counts how often."""
    for i in range(x.shape[0]):
        v = x[i]
        while v < 1e3:
            v = v * v
            y[i] += 1.0
        x[i] = v


def halved(x, limit):
    n = 0.0
    while x > limit:
        x = 0.5 * x
        n += x * x
    return n


@vectorize_grad(wrt=("x",))
def walked(x, steps, where):
    """A walk through `steps` that leaves the array if these are wrong."""
    s, k = 0.0, 0
    while s < 10.0:
        s += x[k] * x[k]
        x[k] = s
        k = steps[k]
    where[0] = s


def times_squared(x: np.ndarray) -> np.ndarray:
    return np.array([next(k for k in range(60) if v ** (2**k) >= 1e3) for v in x])


@pytest.mark.parametrize("sizes", [(3, 4000, 5, 4000), (2000, 1, 1, 3), (0, 1, 0)])
def test_overwritten_arguments(sizes: tuple[int, ...]) -> None:
    for size in sizes:
        x = np.random.default_rng(size).uniform(1.001, 3.0, size)
        k = times_squared(x)
        after, y = x.copy(), np.zeros(size)
        _, pullback = squared_up.vjp(after, y)
        np.testing.assert_array_equal(y, k)
        np.testing.assert_allclose(after, x ** (2.0**k), rtol=1e-9)
        np.testing.assert_allclose(pullback(x=np.ones(size)).x, 2.0**k * x ** (2.0**k - 1), rtol=1e-9)


def forwards(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many iterations each forward sweep had room for."""
    found: list[int] = []
    real = growing.GrowingTapes.__init__

    def watched(self: Any, run: Any) -> None:
        real(self, run)
        call: Callable[..., Any] = self.call
        self.call = lambda *args: found.append(self.state[0][0]) or call(*args)

    monkeypatch.setattr(growing.GrowingTapes, "__init__", watched)
    return found


def test_one_forward_sweep_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    found = forwards(monkeypatch)
    f = vectorize_grad(halved)
    for trips in (3, 3, 10, 900, 900, 800, 3, 3):
        value, gradients = f.value_and_grad(1.0, 0.5**trips)
        assert value == pytest.approx((1.0 - 0.25**trips) / 3.0, rel=1e-14)
        assert gradients.x == pytest.approx(2.0 * value, rel=1e-14)
    few, many = with_spare((0,), growing.SPARE)[0], with_spare((900,), growing.SPARE)[0]
    assert found == [few] * 4 + [many] * 4 + [with_spare((3,), growing.SPARE)[0]]


def test_arguments_are_restored_where_it_fails() -> None:
    x, steps = np.full(40, 0.5), np.arange(1, 41)
    steps[30] = -70
    for _ in range(2):
        given = x.copy()
        with pytest.raises(ArgumentError, match="LD31"):
            walked.vjp(given, steps, np.zeros(1))
        np.testing.assert_array_equal(given, x)
    steps[30], given = 31, np.full(40, 1.0)
    where = np.zeros(1)
    _, pullback = walked.vjp(given, steps, where)
    assert where[0] == 10.0
    np.testing.assert_array_equal(pullback(where=np.ones(1)).x, np.where(np.arange(40) < 10, 2.0, 0.0))


def test_a_limit_has_it_counted_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    found = forwards(monkeypatch)
    f = vectorize_grad(memory_limit=10_000)(halved)
    assert f.value_and_grad(1.0, 0.5**50)[1].x == pytest.approx(2.0 / 3.0, rel=1e-14)
    assert found == []
