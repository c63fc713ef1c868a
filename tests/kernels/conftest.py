"""Tests of kernels are about values: their code is optimised as little as that of what is long, in half the time.

LLVM in full is what all other tests have, and these in a long run; functions that all programs share have it here, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

from loopdiff.backends.cpu.direct import library
from tests.lengths import IS_LONG


@pytest.fixture(autouse=True, scope="module")
def little_optimised() -> Iterator[None]:
    with patch.object(library, "LONG", library.LONG if IS_LONG else 0):
        yield
