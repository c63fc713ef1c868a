"""Products in loops that leave an operand as it is: it is copied once, and anew where it is another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad


def recurrent(x, u, h):
    for t in range(x.shape[0]):
        g = x[t] + h @ u.T
        h[:] = np.tanh(g)


def power_iteration(x, u, h):
    for _ in range(x.shape[0]):
        z = h @ u.T
        h[:] = z / np.sqrt((z * z).sum())


def filtered(x, u, h):
    """Two operands beside each other, in a loop around a loop."""
    for t in range(x.shape[0]):
        for _ in range(3):
            p = h @ u.T
            h[:] = p + 0.3 * (x[t] - p) @ u


def by_blocks(x, u, h):
    """Two layers, applied to a few samples at a time."""
    for t in range(x.shape[0]):
        a = np.maximum(x[t] @ u.T, 0.0)
        x[t] = a @ u.T


def arguments(dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [
        rng.uniform(-0.3, 0.3, shape).astype(dtype) for shape in ((9, 7, 37), (37, 37), (7, 37))
    ]  # fmt: skip


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("function", [recurrent, power_iteration, by_blocks])
def test_operands_that_stay_are_copied_once(function: Callable[..., Any], *, parallel: bool) -> None:
    """What comes of it is what Python says, also when the operand was changed between calls, and for several types."""
    f = vectorize_grad(cache=False, parallel=parallel)(function)
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
        args = arguments(dtype)
        assert "multiply_again(" in f.compile(*args).source("primal")
        for number in range(3):
            args[1] += np.float32(0.01 * number)
            expected = [a.copy() for a in args]
            function(*expected)
            f(*args)
            for found, wanted in zip(args, expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def changed(x, u, h):
    """The operand is written in the loop."""
    for t in range(x.shape[0]):
        h[:] = np.tanh(x[t] + h @ u.T)
        u[0, 0] += h[0, 0]


def elsewhere(x, u, h):
    """The operand is another part of an array in each iteration."""
    for t in range(x.shape[0]):
        h[:] = np.tanh(h @ x[t].T @ x[t])


def growing(x, u, h):
    """The operand gets longer."""
    for t in range(1, x.shape[0]):
        h[:, :t] = np.tanh(h @ u[:t].T)


@pytest.mark.parametrize("function", [changed, elsewhere, growing])
def test_operands_that_change_are_copied_anew(function: Callable[..., Any]) -> None:
    f, args = vectorize_grad(cache=False)(function), arguments("float64")
    expected = [a.copy() for a in args]
    function(*expected)
    f(*args)
    assert "multiply_again(" not in f.compile(*args).source("primal")
    for found, wanted in zip(args, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_loops_around_each_other_have_one_copy() -> None:
    f, args = vectorize_grad(cache=False)(filtered), arguments("float64")
    expected = [a.copy() for a in args]
    filtered(*expected)
    f(*args)
    for found, wanted in zip(args, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    text = f.compile(*args).source("primal")
    assert text.count("= -1\n") == text.count("give_up(") == text.count("= multiply_again(")
    first = text.index("_kept = -1")
    assert first < text.index("\n    for t in range")
