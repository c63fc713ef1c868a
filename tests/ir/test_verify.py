"""What a LoopSet has to be after every stage: text that is, and text that breaks one invariant."""

from __future__ import annotations

import pytest

from loopdiff.errors import InternalError
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.verify import verify

TEXT = """
loopset f(x, n)
    argument x: float64[:, :]
    local t: float64[:] extents ({extent})
    scalar n: int64
allocate t filled with 0.0
for i in range(0, {bound}, 1):
    let v = {value}
    t[{subscript}] += v
return float64({result})
""".strip()
VALID = {
    "extent": "x.shape[1] + n",
    "bound": "x.shape[0]",
    "value": "float64(t.shape[0])",
    "subscript": "min(i, x.shape[1] - 1)",
    "result": "x.shape[0] * x.shape[1]",
}


def test_extents_of_declared_arrays_are_accepted() -> None:
    verify(read_loopset(TEXT.format(**VALID)), "test")


@pytest.mark.parametrize("wrong", ["y.shape[0]", "x.shape[2]", "x.shape[-1]", "n.shape[0]"])
@pytest.mark.parametrize("place", VALID)
def test_extents_of_what_is_not_there_are_refused(place: str, wrong: str) -> None:
    """In bounds of loops, values, subscripts, results and extents of declarations."""
    text = TEXT.format(**VALID | {place: f"2 * {wrong}" if place != "value" else f"float64({wrong})"})
    with pytest.raises(InternalError, match=r"invariant V11 broken after stage 'test'"):
        verify(read_loopset(text), "test")
