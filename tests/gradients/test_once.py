"""Loops of which single iterations do much, in a fixed sample of the programs of `once.py`."""

from __future__ import annotations

import pytest

from loopdiff.fuzz.engines import eager_threads
from tests.gradients.once import SETTINGS, mismatch, program


@pytest.mark.part(7)
@pytest.mark.parametrize("seed", range(40))
def test_single_iterations_do_what_they_do_in_python(seed: int) -> None:
    setting = list(SETTINGS)[seed % len(SETTINGS)]
    with eager_threads(setting == "threads"):
        assert mismatch(seed, setting, 9) is None, program(seed)
