"""Functions of NumPy with each of their options give NumPy's values, or are refused: a part of `values`."""

from __future__ import annotations

import pytest

from tests.lengths import every

from .values import differs, programs

DRAWN = every(29, list(dict.fromkeys(programs())))
PARTS = 4  # tests


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of what has no elements or no value
@pytest.mark.parametrize("part", range(PARTS))
def test_values_are_those_of_numpy(part: int) -> None:
    found = {body: differs(body) for body in DRAWN[part::PARTS]}
    assert {body: difference for body, difference in found.items() if difference} == {}
