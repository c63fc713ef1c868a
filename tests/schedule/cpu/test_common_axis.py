"""Axes that all steps of a sequential loop have in common: threads begin once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.mapping.loops import Parallel
from tests.gradients.interpreted import interpreting
from tests.schedule.cpu.test_threads import disordering, sharing_of


def recurrent(x, u, h):
    """Samples of a batch, a product and its activation in each step."""
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            for k in range(x.shape[2]):
                for j in range(x.shape[2]):
                    x[t, n, k] += h[t, n, j] * u[k, j]
        for n in range(x.shape[1]):
            for k in range(x.shape[2]):
                h[t + 1, n, k] = np.tanh(x[t, n, k])


def waves(x, u, h):
    """Strings beside each other, of which velocities and places take turns; ends stay."""
    n, m = x.shape[1], x.shape[2]
    v = np.zeros((n, m))
    for t in range(x.shape[0]):
        for b in range(n):
            for i in range(1, m - 1):
                v[b, i] += u[0, 0] * (h[0, b, i - 1] - 2.0 * h[0, b, i] + h[0, b, i + 1])
        for b in range(n):
            for i in range(1, m - 1):
                h[0, b, i] += 0.1 * v[b, i] + x[t, b, i]


def filtered(x, u, h):
    """Filters with constant matrices beside each other: prediction, and correction by a scratch of their own."""
    n, m = x.shape[1], x.shape[2]
    innovation = np.empty(m)
    for t in range(x.shape[0]):
        for b in range(n):
            for i in range(m):
                h[t + 1, b, i] = 0.0
                for j in range(m):
                    h[t + 1, b, i] += u[i, j] * h[t, b, j]
        for b in range(n):
            for i in range(m):
                innovation[i] = x[t, b, i] - h[t + 1, b, i]
            for i in range(m):
                h[t + 1, b, i] += 0.3 * innovation[i] + 0.1 * innovation[m - 1 - i] * h[t + 1, b, i]


def arguments() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    u = rng.uniform(-0.4, 0.4, (6, 6))
    return {"x": rng.uniform(-1, 1, (5, 7, 6)), "u": u, "h": rng.uniform(-1, 1, (6, 7, 6))}


def results(function: Callable[..., Any], context: Any) -> list[np.ndarray]:
    args = arguments()
    with context():
        _, pullback = vectorize_grad(cache=False, parallel=True)(function).vjp(*args.values())
        weight = np.cos(np.arange(args["h"].size)).reshape(args["h"].shape)
        return [args["x"], args["h"], *pullback(h=weight)]


@pytest.mark.parametrize("function", [recurrent, waves, filtered])
def test_chunks_go_through_all_steps(function: Callable[..., Any]) -> None:
    for found, expected in zip(results(function, disordering), results(function, interpreting), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    shared = [s for s in sharing_of(function, **arguments()) if isinstance(s, Parallel)]
    assert [len(s.beside) for s in shared if s.beside] == [1]
    assert not any(s.is_repeated for s in shared)


def neighbours(x, h):
    """A step reads what another sample wrote in the one before."""
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            x[t, n] = h[t, n] * 2.0
        for n in range(1, x.shape[1]):
            h[t + 1, n] = x[t, n - 1]


def another_way_round(x, h):
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            x[t, n] = h[t, n] * 2.0
        for n in range(x.shape[1]):
            h[t + 1, n] = x[t, x.shape[1] - 1 - n]


def summed(x, h):
    """All samples add to the same elements."""
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            h[t + 1, n] = h[t, n] * 2.0
        for n in range(x.shape[1]):
            x[t, 0] += h[t + 1, n]


def other_ranges(x, h):
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            x[t, n] = h[t, n] * 2.0
        for n in range(t):
            h[t + 1, n] = x[t, n] * x[t, n]


def a_number_between(x, h):
    s = 1.0
    for t in range(x.shape[0]):
        for n in range(x.shape[1]):
            x[t, n] = h[t, n] * s
        s = x[t, 0]
        for n in range(x.shape[1]):
            h[t + 1, n] = x[t, n] * s


@pytest.mark.parametrize("function", [neighbours, another_way_round, summed, other_ranges, a_number_between])
def test_what_places_hand_on_to_each_other_is_no_axis(function: Callable[..., Any]) -> None:
    found = sharing_of(function, x=np.ones((9, 9)), h=np.ones((10, 9)))
    assert not any(isinstance(s, Parallel) and s.beside for s in found)


def test_threads_find_what_one_thread_does() -> None:
    def outputs(*, parallel: bool) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        x, u, h = rng.uniform(-1, 1, (40, 19, 64)), rng.uniform(-0.2, 0.2, (64, 64)), rng.uniform(-1, 1, (41, 19, 64))
        f = vectorize_grad(cache=False, parallel=parallel)(recurrent)
        _, pullback = f.vjp(x, u, h)
        return [x, h, *pullback(h=np.cos(np.arange(h.size)).reshape(h.shape))]

    for found, expected in zip(outputs(parallel=True), outputs(parallel=False), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
