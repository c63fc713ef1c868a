"""Names that change hands, in a fixed sample of the programs of `aliases.py`."""

from __future__ import annotations

import pytest

from loopdiff.errors import LoopdiffError
from tests.frontend.aliases import mismatch, program
from tests.lengths import IS_LONG

REFUSED_LATE = (4, 5, 19)  # programs that are refused after seconds: a long run looks at them, too


@pytest.mark.parametrize("first", range(0, 100 if IS_LONG else 20, 20))
def test_names_stand_for_what_they_do_in_python(first: int) -> None:
    seeds = [seed for seed in range(first, first + 20) if IS_LONG or seed not in REFUSED_LATE]
    accepted = [seed for seed in seeds if is_right(seed)]
    assert len(accepted) > 7


def is_right(seed: int) -> bool:
    """Whether the program is accepted; then it does what it does in Python."""
    try:
        found = mismatch(seed)
    except LoopdiffError:
        return False
    assert found is None, f"{found}\n{program(seed)}"
    return True
