"""`stop_gradient`: the value, without derivative in either mode and under every tape policy."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import stop_gradient
from tests.ad.interpreted import jvp, vjp


def normalised(x, y):
    """Weights that count as constants, in memory that is written over; and an overwritten constant."""
    total = 0.0
    for i in range(x.shape[0]):
        total += np.exp(x[i])
    held = stop_gradient(total) * total
    for i in range(x.shape[0]):
        y[i] = stop_gradient(np.exp(x[i])) / total * y[i]
        y[i] = stop_gradient(y[i]) * x[i] * held
    return held + stop_gradient(x[0])


X, Y = np.array([0.3, -0.2, 0.7]), np.array([1.0, 2.0, -1.0])


def expected_slopes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By hand: d held / dx, and the slopes of the final y with everything declared constant held."""
    total = np.exp(X).sum()
    by_held = total * np.exp(X)
    weights = np.exp(X) / total * Y
    return by_held, weights * total * total, np.outer(weights * X, by_held)


def test_forward_mode() -> None:
    along = np.array([1.0, -0.5, 0.25])
    by_held, direct, through_held = expected_slopes()
    results, finals = jvp(normalised, {"x": X, "y": Y}, {"x": along, "y": np.ones(3)})
    np.testing.assert_allclose(results, (by_held @ along,))
    np.testing.assert_allclose(finals["y"], direct * along + through_held @ along)


@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
def test_reverse_mode(policy: str) -> None:
    weight = np.array([2.0, 0.5, -1.0])
    by_held, direct, through_held = expected_slopes()
    found = vjp(normalised, {"x": X, "y": Y}, wrt=("x", "y"), seeds=(3.0,), cotangents={"y": weight}, policy=policy)
    np.testing.assert_allclose(found.gradients["x"], 3.0 * by_held + weight * direct + weight @ through_held)
    np.testing.assert_allclose(found.gradients["y"], np.zeros(3))


def test_in_plain_python() -> None:
    assert stop_gradient(X) is X
