"""`autotune=True`: a few schedules are measured once, and what was chosen stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.calls import autotune as tuning
from loopdiff.differentiable import Differentiable
from loopdiff.specialize.specialization import Specialization


def scaled(A, x):
    t = 0.0
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            t += A[i, j] * x[i]
    return t


def decorated() -> Differentiable:
    return vectorize_grad(autotune=True)(scaled)


@pytest.fixture
def measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """How many schedules each measurement compares, where nothing is remembered yet; the last one of them is made to
    be the fastest."""
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path))
    seen: list[int] = []

    def measured(variants: list[Specialization], args: Any) -> list[tuple[float, float]]:
        seen.append(len(variants))
        return [(1.0 / (k + 1), 1.0 / (k + 1)) for k in range(len(variants))]

    monkeypatch.setattr(tuning, "measured", measured)
    return seen


def arguments(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(float(n * m)).reshape(n, m), np.linspace(0.0, 1.0, n)


def test_the_fastest_is_chosen_once_for_a_size_and_means_the_same(measurements: list[int]) -> None:
    f, args = decorated(), arguments(33, 40)
    value, gradient = f.value_and_grad(*args)
    assert value == pytest.approx(scaled(*args))
    np.testing.assert_allclose(gradient.A, np.broadcast_to(args[1][:, None], (33, 40)))
    np.testing.assert_allclose(gradient.x, args[0].sum(1))
    assert len(measurements) == 1
    assert 2 <= measurements[0] <= 4
    texts = [g.compile(*args).explain(measure=False) for g in (f, vectorize_grad(scaled))]
    assert texts[0] != texts[1]
    again = f.grad(*arguments(40, 41))
    f.vjp(*args)
    assert len(measurements) == 1, "sizes of as many binary digits count as one"
    np.testing.assert_array_equal(f.grad(*args).A, gradient.A)
    np.testing.assert_allclose(again.x, arguments(40, 41)[0].sum(1))
    decorated().grad(*args)
    assert len(measurements) == 1, "another process finds it on disk"
    f.grad(*arguments(5, 6))
    assert len(measurements) == 2


def test_schedules_are_measured_on_copies() -> None:
    @vectorize_grad(autotune=True)
    def grown(x):
        s = 0.0
        for i in range(x.shape[0]):
            x[i] = 2.0 * x[i]
            s += x[i]
        return s

    x = np.ones(7)
    assert grown.value_and_grad(x)[0] == 14.0
    assert x.tolist() == [2.0] * 7


def test_the_first_stays_unless_another_is_clearly_faster() -> None:
    assert tuning.preferred([1.0, 0.99, 1.5]) == 0
    assert tuning.preferred([1.0, 0.9, 0.8]) == 2


def test_it_does_not_change_what_is_generated() -> None:
    assert decorated().options.key == vectorize_grad(scaled).options.key


def test_what_is_remembered_is_for_the_same_gradients(measurements: list[int]) -> None:
    def both(a, b):
        t = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                t += np.sin(a[i, j])
        for r in range(b.shape[0]):
            for q in range(b.shape[1]):
                t += np.cos(b[r, q])
        return t

    args = arguments(3, 5)[0], arguments(300, 5)[0]
    for wrt in (("a", "b"), ("a",)):
        vectorize_grad(wrt=wrt, autotune=True)(both).value_and_grad(*args)
    assert len(measurements) == 2
