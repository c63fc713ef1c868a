"""A function is read once for arguments of whose types nothing else depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.frontend import parse


def states(x, A):
    for _ in range(2):
        x = x + A @ x
    return x


def test_columns_are_no_reason_to_read_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether an axis has one element is asked of no array here."""
    read, times = parse.parse_surface, []

    def counted(*args: Any) -> parse.Surface:
        times.append(args)
        return read(*args)

    monkeypatch.setattr(parse, "parse_surface", counted)
    f = vectorize_grad(cache=False)(states)
    x, A = np.ones((3, 1)), np.eye(3)
    times.clear()
    np.testing.assert_array_equal(f(x, A), states(x, A))
    assert len(times) == 1
    np.testing.assert_array_equal(f(np.ones((3, 2)), A), states(np.ones((3, 2)), A))
    np.testing.assert_array_equal(f(x[:1], A[:1, :1]), states(x[:1], A[:1, :1]))
