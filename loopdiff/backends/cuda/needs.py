"""What has to be installed for kernels to be compiled, and the GPUs that they are compiled for."""

from __future__ import annotations

import importlib.util

from loopdiff.errors import NOWHERE, BackendError
from loopdiff.errors.codes import reject

CAPABILITY = (9, 0)  # of the GPUs that kernels are compiled for


def require_numba_cuda() -> None:
    """Raise BackendError (LD602) unless numba-cuda is installed."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise BackendError(reject("LD602", "CUDA kernels need numba-cuda, which is not installed", NOWHERE))
