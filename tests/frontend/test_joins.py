"""Notes of copies that stand for arrays, of which the parser keeps as many as there are places and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.frontend import parse
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parsing.joins import broken
from loopdiff.frontend.parsing.state import Whole
from loopdiff.source import source_of


def exchanged(A, c, n):
    B = A
    for i in range(n):
        for j in range(3):
            if c > 0.5:
                A = B
            elif j < 2:
                A = 0.5 * np.tanh(A)
            if i > 2:
                B = A
    return A.sum() + B.sum()


def test_a_copy_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that repeat what they hold double with each place where ways meet."""
    met: list[Whole] = []

    def seen(whole: Whole) -> object:
        met.append(whole)
        return broken(whole)

    monkeypatch.setattr(parse, "broken", seen)
    parse.parse_function(source_of(exchanged), argument_types({"A": np.ones((2, 3)), "c": 0.3, "n": 3}))
    assert any(whole.copies for whole in met)
    for whole in met:
        assert len(whole.copies) == len(set(whole.copies))
