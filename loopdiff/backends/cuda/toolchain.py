"""The CUDA toolchain: Numba's CUDA target, made to compile where no GPU and no driver is.

numba-cuda 0.30.4 names `np.row_stack`, which NumPy 2.5 took away, and asks the current device for its compute
capability whenever it compiles a device function. What it is told here instead is `CAPABILITY`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from loopdiff.backends.cuda.needs import CAPABILITY, require_numba_cuda


def load_cuda() -> Any:
    """`numba.cuda` of the package numba-cuda. Raises BackendError (LD602) where that is not installed."""
    require_numba_cuda()
    if not hasattr(np, "row_stack"):
        setattr(np, "row_stack", np.vstack)  # noqa: B010
    import _numba_cuda_redirector  # noqa: F401  # a `.pth` imports it too, but not below `pip install --target`
    from numba import cuda
    from numba.cuda import libdevice  # noqa: F401

    if not cuda.is_available():
        compile_without_device()
    return cuda


def compile_without_device() -> None:
    """Have Numba compile for `CAPABILITY` where it would ask the driver."""
    import numba.cuda.codegen as codegen
    import numba.cuda.dispatcher as dispatcher

    device = SimpleNamespace(id=0, name=b"none", compute_capability=CAPABILITY)
    devices = SimpleNamespace(get_context=lambda *_: SimpleNamespace(device=device))
    setattr(dispatcher, "get_current_device", lambda: device)  # noqa: B010
    setattr(codegen, "devices", devices)  # noqa: B010


cuda = load_cuda()
