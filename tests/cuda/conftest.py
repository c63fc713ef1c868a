"""A machine with a stub of a GPU, and what is computed with there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def stub() -> Iterator[Any]:
    from tests.cuda.stub import gpu_machine

    with gpu_machine() as found:
        before = len(found.memory)
        yield found
        gc.collect()
        assert len(found.memory) == before, "memory was not given back"


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((5, 7))
