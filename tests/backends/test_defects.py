"""Defects of LLVM: generated code gives what its text says, whichever version is installed."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from numba import njit

from loopdiff.backends.cpu import defects
from loopdiff.backends.cpu.direct import Direct, passes
from loopdiff.backends.cpu.direct.syntax import Contents, Unknown
from loopdiff.backends.cpu.simd import load, load_masked, select, store


def swapped(x: Any, y: Any) -> None:
    """Vectors: what is read under a mask comes from before the store."""
    for i in range(0, x.shape[0], 8):
        mask = load(x, (i,), 8) > 0.0
        found = load_masked(x, (i,), mask)
        others = load_masked(x, (i,), ~mask)
        store(x, (i,), load(y, (i,), 8))
        store(y, (i,), select(mask, found, others))


def chosen(x: Any, y: Any) -> None:
    """Scalars, which LLVM would make vectors of."""
    for i in range(x.shape[0]):
        is_positive = y[i] > 0.0
        found = 0.0
        if is_positive:
            found = x[i]
        x[i] = 7.0
        y[i] = found if is_positive else y[i] * 2.0


@pytest.mark.parametrize("is_direct", [True, False])
@pytest.mark.parametrize("function", [swapped, chosen])
def test_what_is_read_under_a_mask_is_from_before_a_store(
    function: Any, is_direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: Any) -> None:
        raise Unknown("left to Numba")

    if not is_direct:
        monkeypatch.setattr(passes, "lowered", unknown)
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1.0, 1.0, (2, 72))
    if function is swapped:
        expected = y, x
    else:
        expected = np.full(72, 7.0), np.where(y > 0.0, x, 2.0 * y)
    found = x.copy(), y.copy()
    njit(error_model="numpy", pipeline_class=Direct)(function)(*found)
    np.testing.assert_array_equal(found, expected)


def test_what_cannot_be_asked_is_taken_for_defective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defects, "EXAMPLE", "no module")
    assert defects.moves_masked_loads.__wrapped__()


def test_contents_of_loops_include_what_they_go_over() -> None:
    body = ast.parse("for i in range(n if n > 0 else 1):\n    pass").body
    assert {ast.For, ast.IfExp, ast.Pass} <= Contents().of(body)
