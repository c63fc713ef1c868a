"""Numba's analyses recurse as deep as the flow of a function is long: long functions compile all the same."""

from __future__ import annotations

import sys

import pytest

from loopdiff.pipeline.code import deep_recursion


def depth(n: int) -> int:
    return n and 1 + depth(n - 1)


def test_functions_may_recurse_deeply_inside_alone() -> None:
    before = sys.getrecursionlimit()
    with deep_recursion():
        assert depth(5 * before) == 5 * before
    assert sys.getrecursionlimit() == before
    with pytest.raises(RecursionError):
        depth(5 * before)
